#include "cli/interrupts.h"

#include <signal.h>

#include <atomic>

namespace lathe {
namespace {

std::atomic<int> interrupts = 0;
static_assert(std::atomic<int>::is_always_lock_free);

}  // namespace

void CountInterrupts() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupts.fetch_add(1); };
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

int NumInterrupts() { return interrupts.load(); }

}  // namespace lathe
