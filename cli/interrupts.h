// Ctrl-C and SIGTERM as numbers to look at.
#pragma once

#include <string>
#include <vector>

namespace lathe {

// From now on SIGINT and SIGTERM are counted instead of ending the process. On the main thread, before any other
// exists.
void CountInterrupts();
int NumInterrupts();
// Returns once the first has come.
void AwaitInterrupt();
// From now on they remove these files and end the process with exit code 130. Once only.
void EndAtInterrupt(std::vector<std::string> files);

}  // namespace lathe
