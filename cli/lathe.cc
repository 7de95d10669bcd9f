#include "cli/lathe.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>

#include "cli/report_error.h"
#include "cli/verbs.h"
#include "compiler/codegen/llvm/compile_module.h"
#include "runner/measure_policy.h"

namespace lathe {

int RunLathe(int argc, char** argv) {
  CLI::App app{"Makes tensor programs fast on the devices they will run on, and remembers how."};
  app.name("lathe");
  app.set_version_flag("--version", fmt::format("lathe {} (codegen {}.{}, measurement policy {})", LATHE_VERSION,
                                                kCodegenVersion / 1000, kCodegenVersion % 1000, kMeasurePolicyVersion));
  app.footer("Exit codes: 0 ok, 1 failed, 2 usage, 3 miss, 4 unavailable, 5 not allowed, 6 timeout, 130 interrupted.");
  app.require_subcommand(1);
  int exit_code = kExitOk;
  for (const auto add : {AddTune,   AddBest,    AddCompile, AddRun,         AddAsked,   AddShow,  AddJobs,
                         AddWatch,  AddWhy,     AddCancel,  AddTrials,      AddExplain, AddUp,    AddWorker,
                         AddDevice, AddDevices, AddWorkers, AddReserve,     AddRelease, AddDrain, AddDb,
                         AddModel,  AddCa,      AddInvite,  AddCertificate, AddToken,   AddAudit, AddDoctor}) {
    add(app, exit_code);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool is_help = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success);
    const bool is_unknown_verb = app.get_subcommands().empty() && argc > 1 && argv[1][0] != '-' && !is_help;
    if (is_unknown_verb) {
      LogLine(fmt::format("no verb \"{}\"; `lathe --help` lists them", argv[1]));
      return kExitUsage;
    }
    app.exit(error, std::cout, std::cerr);
    return is_help ? kExitOk : kExitUsage;
  } catch (const std::exception& error) {  // Of the standard library: no memory, no more threads.
    return ReportError(ResourceExhausted(fmt::format("{}: {}", argc > 1 ? argv[1] : "lathe", error.what())));
  }
  std::cout.flush();
  const bool is_written = std::cout.good() && std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (is_written || exit_code != kExitOk) return exit_code;
  return ReportError(
      ResourceExhausted("the results cannot be written to standard output; free some space, or mend the pipe"));
}

}  // namespace lathe
