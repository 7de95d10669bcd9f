#include "cli/interrupts.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>

#include "cli/verbs.h"

namespace lathe {
namespace {

std::atomic<int> interrupts = 0;
std::atomic<int> wake_event = -1;  // An eventfd: readable once there is something to look at.
static_assert(std::atomic<int>::is_always_lock_free);

// Rounded up, so that whoever waits for the rest of a time does not wake before it. -1: for ever.
int RestMillis(const std::optional<TimePoint>& deadline) {
  if (!deadline) return -1;
  const auto rest = std::chrono::ceil<std::chrono::milliseconds>(*deadline - SystemClock().Now()).count();
  return static_cast<int>(std::clamp<int64_t>(rest, 0, INT_MAX));
}

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
  if (wake_event < 0) wake_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  SetHandler([](int) {
    const int error = errno;
    interrupts.fetch_add(1);
    WakeMainThread();
    errno = error;
  });
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

bool AwaitInterrupts(int count, const std::function<bool()>& is_over, std::optional<Duration> limit, Sleep sleep) {
  const auto deadline = limit ? std::optional(SystemClock().Now() + *limit) : std::nullopt;
  while (NumInterrupts() < count && !is_over()) {
    const int rest = RestMillis(deadline);
    if (rest == 0) return false;
    pollfd event{.fd = wake_event, .events = POLLIN, .revents = 0};
    sleep(&event, 1, rest);
    eventfd_t ignored = 0;
    eventfd_read(wake_event, &ignored);  // Before the next look, so that what comes after it wakes again.
  }
  return true;
}

void WakeMainThread() { eventfd_write(wake_event, 1); }  // As a handler may.

}  // namespace lathe
