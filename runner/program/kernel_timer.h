// Calls a kernel n times and says what that took and who disturbed it.
#pragma once

#include <cstdint>

#include "runner/cache_flush.h"
#include "runner/measure_policy.h"
#include "runner/run_delay.h"
#include "runtime/kernel_call.h"

namespace lathe {

class KernelTimer {
 public:
  // All outlive the timer; `run_delay` watches the threads of the context's pool. With a flusher each call is timed
  // alone, after a flush that is not timed.
  KernelTimer(const Artifact::Kernel& kernel, const KernelArguments& arguments, KernelContext& context,
              const RunDelayMeter& run_delay, CacheFlusher* flusher)
      : kernel_(kernel), arguments_(arguments), context_(context), run_delay_(run_delay), flusher_(flusher) {}

  // Fails with the kernel's error.
  RuntimeResult<BatchTiming> Run(uint64_t calls);

 private:
  int32_t Call() { return kernel_.function(context_.get(), arguments_.buffers.data(), arguments_.scalars.data()); }
  int64_t TimeBackToBack(uint64_t calls, int32_t& error);
  int64_t TimeOneByOne(uint64_t calls, int32_t& error);

  const Artifact::Kernel& kernel_;
  const KernelArguments& arguments_;
  KernelContext& context_;
  const RunDelayMeter& run_delay_;
  CacheFlusher* const flusher_;
};

}  // namespace lathe
