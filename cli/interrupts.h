// Ctrl-C and SIGTERM as numbers to look at, and the one place where a verb's main thread waits: it sleeps until there
// is something to see.
#pragma once

#include <poll.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "support/clock.h"

namespace lathe {

// From now on SIGINT and SIGTERM are counted instead of ending the process. On the main thread, before any other
// exists.
void CountInterrupts();
int NumInterrupts();
// True once `count` of them have come or `is_over()` holds; false once `limit` is past (nullopt: never). `is_over` is
// asked at first, after each interrupt and after each WakeMainThread. For one thread at a time, after CountInterrupts.
// `sleep` is poll(2), except in tests.
using Sleep = int (*)(pollfd* files, nfds_t count, int timeout_ms);
bool AwaitInterrupts(int count, const std::function<bool()>& is_over, std::optional<Duration> limit,
                     Sleep sleep = ::poll);
// Any thread: what the main thread waits for may have come.
void WakeMainThread();
// From now on they remove these files and end the process with exit code 130. Once only.
void EndAtInterrupt(std::vector<std::string> files);

}  // namespace lathe
