// The verbs of `lathe`: each adds its subcommand and, when chosen, sets the exit code.
#pragma once

namespace CLI {
class App;
}

namespace lathe {

// Documented in docs/formats/cli_json.md; scripts rely on them.
enum ExitCode : int {
  kExitOk = 0,
  kExitFailed = 1,
  kExitUsage = 2,
  kExitMiss = 3,
  kExitUnavailable = 4,
  kExitNotAllowed = 5,
  kExitTimeout = 6,
  kExitInterrupted = 130
};

void AddUp(CLI::App& app, int& exit_code);
void AddTune(CLI::App& app, int& exit_code);
void AddBest(CLI::App& app, int& exit_code);
void AddCompile(CLI::App& app, int& exit_code);
void AddRun(CLI::App& app, int& exit_code);
void AddJobs(CLI::App& app, int& exit_code);
void AddWatch(CLI::App& app, int& exit_code);
void AddCancel(CLI::App& app, int& exit_code);
void AddTrials(CLI::App& app, int& exit_code);
void AddExplain(CLI::App& app, int& exit_code);
void AddAsked(CLI::App& app, int& exit_code);
void AddShow(CLI::App& app, int& exit_code);
void AddDevices(CLI::App& app, int& exit_code);
void AddWorkers(CLI::App& app, int& exit_code);
void AddWhy(CLI::App& app, int& exit_code);
void AddDrain(CLI::App& app, int& exit_code);
void AddReserve(CLI::App& app, int& exit_code);
void AddRelease(CLI::App& app, int& exit_code);
void AddWorker(CLI::App& app, int& exit_code);
void AddDevice(CLI::App& app, int& exit_code);
void AddDb(CLI::App& app, int& exit_code);
void AddModel(CLI::App& app, int& exit_code);
void AddDoctor(CLI::App& app, int& exit_code);
void AddCa(CLI::App& app, int& exit_code);
void AddInvite(CLI::App& app, int& exit_code);
void AddCertificate(CLI::App& app, int& exit_code);
void AddToken(CLI::App& app, int& exit_code);
void AddAudit(CLI::App& app, int& exit_code);

}  // namespace lathe
