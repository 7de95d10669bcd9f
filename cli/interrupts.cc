#include "cli/interrupts.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "cli/verbs.h"

namespace lathe {
namespace {

std::atomic<int> interrupts = 0;
static_assert(std::atomic<int>::is_always_lock_free);

std::vector<std::string>* files_to_remove = nullptr;

void SetHandler(void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

void CountInterrupts() {
  SetHandler([](int) { interrupts.fetch_add(1); });
}

void EndAtInterrupt(std::vector<std::string> files) {
  files_to_remove =
      new std::vector<std::string>(std::move(files));  // A handler may come at any time, also while the process ends.
  SetHandler([](int) {
    for (const std::string& file : *files_to_remove) unlink(file.c_str());
    constexpr char kWords[] = "\nlathe: interrupted; what was measured is kept\n";
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kWords, sizeof(kWords) - 1);
    _exit(kExitInterrupted);
  });
}

int NumInterrupts() { return interrupts.load(); }

void AwaitInterrupt() {
  while (NumInterrupts() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

}  // namespace lathe
