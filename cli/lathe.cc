#include "cli/lathe.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/verbs.h"
#include "compiler/codegen/llvm/compile_module.h"
#include "runtime/measure_policy.h"

namespace lathe {

int RunLathe(int argc, char** argv) {
  CLI::App app{"Makes tensor programs fast on the devices they will run on, and remembers how."};
  app.name("lathe");
  app.set_version_flag("--version", fmt::format("lathe {} (codegen {}.{}, measurement policy {})", LATHE_VERSION, kCodegenVersion / 1000,
                                                kCodegenVersion % 1000, kMeasurePolicyVersion));
  app.footer("Exit codes: 0 ok, 1 failed, 2 usage, 3 miss, 4 unavailable, 6 timeout, 130 interrupted.");
  app.require_subcommand(1);
  int exit_code = kExitOk;
  for (const auto add : {AddTune, AddBest, AddCompile, AddRun, AddShow, AddJobs, AddWatch, AddCancel, AddTrials, AddUp, AddWorker, AddDevice, AddDevices, AddDb, AddDoctor}) {
    add(app, exit_code);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool is_help = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success);
    app.exit(error, std::cout, std::cerr);
    return is_help ? kExitOk : kExitUsage;
  }
  return exit_code;
}

}  // namespace lathe
