#include "runner/program/crash_report.h"

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "runner/program/limits.h"
#include "runner/runner_protocol.h"
#include "runner/sandbox.h"

namespace lathe {
namespace {

struct GuardedRange {
  uintptr_t begin, end, data, data_end;
  char name[64];
};

// Read by the handler: plain memory, filled before any kernel runs.
constexpr int kMaxRanges = 256;
GuardedRange ranges[kMaxRanges];
int num_ranges = 0;
int report_socket = -1;
uint64_t memory_limit = 0;
alignas(64) char handler_stack[64 << 10];

// Where a failed mmap, malloc or ctx->alloc_workspace leads somebody who does not look at the result.
bool IsFailedAllocation(uintptr_t address) {
  constexpr uintptr_t kReach = 1u << 20;
  return address < kReach || address > UINTPTR_MAX - kReach;
}

const GuardedRange* FindRange(uintptr_t address) {
  for (int i = 0; i < num_ranges; ++i) {
    if (address >= ranges[i].begin && address < ranges[i].end) return &ranges[i];
  }
  return nullptr;
}

constexpr int kFromFilter = 1;  // SYS_SECCOMP, which the C library does not name.

// `call`: what SIGSYS is for. snprintf with integers and strings only is safe here: glibc allocates nothing for these.
void Describe(int signal, uintptr_t address, int call, RunStatus& status, char* text, size_t size) {
  const char* name = sigabbrev_np(signal);
  const bool has_address = signal == SIGSEGV || signal == SIGBUS;
  const GuardedRange* range = has_address ? FindRange(address) : nullptr;
  const uint64_t in_use = has_address ? DataBytesInUse() : 0;
  if (range != nullptr) {
    const bool behind = address >= range->data_end;
    std::snprintf(text, size, "run kernel: SIG%s, touched memory %lld bytes %s buffer \"%s\"", name,
                  static_cast<long long>(behind ? address - range->data_end + 1 : range->data - address),
                  behind ? "past the end of" : "before the begin of", range->name);
  } else if (has_address && IsFailedAllocation(address) && in_use >= memory_limit / 4 * 3) {
    status = RunStatus::kOutOfMemory;
    std::snprintf(text, size,
                  "run kernel: out of memory, %llu of %llu bytes in use, then SIG%s on a refused allocation",
                  static_cast<unsigned long long>(in_use), static_cast<unsigned long long>(memory_limit), name);
  } else if (has_address) {
    std::snprintf(text, size, "run kernel: SIG%s at address 0x%llx", name, static_cast<unsigned long long>(address));
  } else if (signal == SIGSYS && call >= 0) {
    const char* known = ForbiddenCallName(call);
    std::snprintf(text, size, "run kernel: made system call %d (%s), which no kernel may", call, known ? known : "?");
  } else {
    std::snprintf(text, size, "run kernel: SIG%s", name);
  }
}

// EncodeReport allocates, which the crash may have made impossible: this record was encoded beforehand and is patched.
struct PreparedReport {
  std::vector<std::byte> crash, out_of_memory;
  size_t signal_at = 0, message_at = 0;
} prepared;

void OnFatalSignal(int signal, siginfo_t* info, void*) {
  char message[512] = {};
  RunStatus status = RunStatus::kCrash;
  const int call = signal == SIGSYS && info->si_code == kFromFilter ? info->si_syscall : -1;
  Describe(signal, reinterpret_cast<uintptr_t>(info->si_addr), call, status, message, sizeof(message));
  std::vector<std::byte>& record = status == RunStatus::kCrash ? prepared.crash : prepared.out_of_memory;
  std::memcpy(record.data() + prepared.signal_at, &signal, sizeof(signal));
  std::memcpy(record.data() + prepared.message_at, message, sizeof(message));
  (void)!send(report_socket, record.data(), record.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  ::signal(signal, SIG_DFL);
  raise(signal);  // Delivered on return.
}

// The offset of a field, found by encoding it: the layout stays in runner_protocol.cc.
size_t FirstDifference(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  size_t at = 0;
  while (at < a.size() && a[at] == b[at]) ++at;
  return at;
}

void PrepareReports(uint32_t key) {
  RunReport report{.status = RunStatus::kCrash};
  prepared.crash = EncodeReport(report);
  report.signal = 1;
  prepared.signal_at = FirstDifference(prepared.crash, EncodeReport(report));
  report.signal = 0;
  report.message = "x";
  prepared.message_at = FirstDifference(prepared.crash, EncodeReport(report));
  prepared.out_of_memory = EncodeReport({.status = RunStatus::kOutOfMemory});
  SetRecordKey(prepared.crash, key);
  SetRecordKey(prepared.out_of_memory, key);
}

}  // namespace

void InstallCrashReporter(int socket, uint64_t memory_limit_bytes, uint32_t key) {
  report_socket = socket;
  memory_limit = memory_limit_bytes;
  PrepareReports(key);
  const stack_t stack{.ss_sp = handler_stack, .ss_flags = 0, .ss_size = sizeof(handler_stack)};
  sigaltstack(&stack, nullptr);  // Of this thread; pool threads use their own stack.
  struct sigaction action{};
  action.sa_sigaction = OnFatalSignal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS, SIGXFSZ})
    sigaction(signal, &action, nullptr);
}

void NameGuardedRange(const void* begin, int64_t bytes, const void* data, int64_t size, const std::string& name) {
  if (num_ranges == kMaxRanges) return;
  GuardedRange& range = ranges[num_ranges++];
  range.begin = reinterpret_cast<uintptr_t>(begin);
  range.end = range.begin + static_cast<uintptr_t>(bytes);
  range.data = reinterpret_cast<uintptr_t>(data);
  range.data_end = range.data + static_cast<uintptr_t>(size);
  std::snprintf(range.name, sizeof(range.name), "%s", name.c_str());
}

}  // namespace lathe
