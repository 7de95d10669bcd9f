// The part of every verb before its work: flags and --help.
#pragma once

#include <optional>

namespace CLI {
class App;
}

namespace lathe {

// nullopt: go on. Else the verb ends with this exit code: help was shown (0), or the usage error was (2).
std::optional<int> ParseFlags(CLI::App& app, int argc, char** argv);

}  // namespace lathe
