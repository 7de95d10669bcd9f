// lathe db verify, lathe db backup.
#pragma once

namespace CLI {
class App;
}

namespace lathe {

void AddDbUpkeep(CLI::App& db, int& exit_code);

}  // namespace lathe
