// The verbs of `lathe`: each adds its subcommand and, when chosen, sets the exit code.
#pragma once

namespace CLI {
class App;
}

namespace lathe {

// Documented in docs/cli.md; scripts rely on them.
enum ExitCode : int { kExitOk = 0, kExitFailed = 1, kExitUsage = 2, kExitMiss = 3, kExitUnavailable = 4, kExitTimeout = 6, kExitInterrupted = 130 };

void AddTune(CLI::App& app, int& exit_code);
void AddBest(CLI::App& app, int& exit_code);
void AddCompile(CLI::App& app, int& exit_code);
void AddRun(CLI::App& app, int& exit_code);

}  // namespace lathe
