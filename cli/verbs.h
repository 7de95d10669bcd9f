// The verbs of `lathe`: one file each. Each parses its own flags (argv[0] is the verb), writes data on stdout and the rest on stderr, and
// returns the exit code.
#pragma once

namespace lathe {

int RunJobs(int argc, char** argv);
int RunWatch(int argc, char** argv);
int RunCancel(int argc, char** argv);
int RunTrials(int argc, char** argv);
int RunShow(int argc, char** argv);
int RunDevices(int argc, char** argv);
int RunDb(int argc, char** argv);
int RunDoctor(int argc, char** argv);
int RunDevice(int argc, char** argv);
int RunWorker(int argc, char** argv);
int RunUp(int argc, char** argv);

}  // namespace lathe
