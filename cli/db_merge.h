// lathe db merge, lathe db pack.
#pragma once

namespace CLI {
class App;
}

namespace lathe {

void AddDbMerge(CLI::App& db, int& exit_code);
void AddDbPack(CLI::App& db, int& exit_code);

}  // namespace lathe
