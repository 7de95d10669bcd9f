// Ctrl-C and SIGTERM as numbers to look at.
#pragma once

namespace lathe {

// From now on SIGINT and SIGTERM are counted instead of ending the process. On the main thread, before any other exists.
void CountInterrupts();
int NumInterrupts();

}  // namespace lathe
