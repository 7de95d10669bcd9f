#include "runner/program/kernel_timer.h"

#include <sys/resource.h>

#include <algorithm>

#include "runner/monotonic.h"

namespace lathe {
namespace {

int64_t InvoluntarySwitches() {
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nivcsw : 0;
}

}  // namespace

RuntimeResult<BatchTiming> KernelTimer::Run(uint64_t calls) {
  BatchTiming batch;
  int32_t error = 0;
  const std::vector<int64_t> delays = run_delay_.Read();
  const int64_t switches = InvoluntarySwitches();
  const int64_t cpu_begin = ReadClockNs(CLOCK_THREAD_CPUTIME_ID);
  const int64_t begin = MonotonicNs();
  batch.timed_ns = flusher_ != nullptr ? TimeOneByOne(calls, error) : TimeBackToBack(calls, error);
  batch.wall_ns = std::max<int64_t>(1, MonotonicNs() - begin);
  const int64_t cpu = ReadClockNs(CLOCK_THREAD_CPUTIME_ID) - cpu_begin;
  batch.timed_ns = std::max<int64_t>(1, batch.timed_ns);
  batch.involuntary_switches = InvoluntarySwitches() - switches;
  const auto share = [&](int64_t lost_ns) {
    return std::max(0.0, static_cast<double>(lost_ns) / static_cast<double>(batch.wall_ns));
  };
  // A lone thread that never waits loses wall time only to others. Of several, each may wait for another; the scheduler
  // knows who waited for a CPU, and the others wait for the one that had to wait longest.
  batch.other_share = share(run_delay_.LongestSince(delays));
  if (context_.get()->num_threads == 1) batch.other_share = std::max(batch.other_share, share(batch.wall_ns - cpu));
  if (error == 0) return batch;
  // The next call says why in words; should it succeed, the number has to do.
  RUNTIME_RETURN_IF_ERROR(CallKernel(kernel_, arguments_, context_));
  return RuntimeError{RuntimeCode::kInternal, FormatText("call %s: kernel returned error %d in one of %llu calls",
                                                         kernel_.meta->name.c_str(), error, (unsigned long long)calls)};
}

int64_t KernelTimer::TimeBackToBack(uint64_t calls, int32_t& error) {
  const int64_t begin = MonotonicNs();
  for (uint64_t i = 0; i < calls; ++i) error |= Call();
  return MonotonicNs() - begin;
}

int64_t KernelTimer::TimeOneByOne(uint64_t calls, int32_t& error) {
  int64_t sum = 0;
  for (uint64_t i = 0; i < calls; ++i) {
    flusher_->Flush();
    const int64_t begin = MonotonicNs();
    error |= Call();
    sum += MonotonicNs() - begin;
  }
  return sum;
}

}  // namespace lathe
