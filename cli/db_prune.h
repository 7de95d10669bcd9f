// lathe db prune.
#pragma once

namespace CLI {
class App;
}

namespace lathe {

void AddDbPrune(CLI::App& db, int& exit_code);

}  // namespace lathe
