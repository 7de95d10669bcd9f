// Calls a kernel n times and says what that took and who disturbed it.
#pragma once

#include <cstdint>

#include "runtime/cache_flush.h"
#include "runtime/kernel_call.h"
#include "runtime/measure_policy.h"
#include "runtime/run_delay.h"

namespace lathe {

class KernelTimer {
 public:
  // All outlive the timer. With a flusher each call is timed alone, after a flush that is not timed.
  KernelTimer(const Artifact::Kernel& kernel, const KernelArguments& arguments, KernelContext& context,
              CacheFlusher* flusher)
      : kernel_(kernel), arguments_(arguments), context_(context), flusher_(flusher) {}

  // Fails with the kernel's error.
  RuntimeResult<BatchTiming> Run(uint64_t calls);

 private:
  int32_t Call() { return kernel_.function(context_.get(), arguments_.buffers.data(), arguments_.scalars.data()); }
  int64_t TimeBackToBack(uint64_t calls, int32_t& error);
  int64_t TimeOneByOne(uint64_t calls, int32_t& error);

  const Artifact::Kernel& kernel_;
  const KernelArguments& arguments_;
  KernelContext& context_;
  CacheFlusher* const flusher_;
  const RunDelayMeter run_delay_;  // Of the threads that the context's pool has by now.
};

}  // namespace lathe
