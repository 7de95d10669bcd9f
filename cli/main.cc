// lathe: tunes tensor programs, remembers the results, compiles with them.
#include <CLI/CLI.hpp>

#include "cli/verbs.h"

int main(int argc, char** argv) {
  CLI::App app{"Makes tensor programs fast on the devices they will run on, and remembers how."};
  app.name("lathe");
  app.set_version_flag("--version", "lathe " LATHE_VERSION);
  app.require_subcommand(1);
  int exit_code = lathe::kExitOk;
  lathe::AddTune(app, exit_code);
  lathe::AddBest(app, exit_code);
  lathe::AddCompile(app, exit_code);
  lathe::AddRun(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool is_help = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success);
    app.exit(error, std::cout, std::cerr);
    return is_help ? lathe::kExitOk : lathe::kExitUsage;
  }
  return exit_code;
}
