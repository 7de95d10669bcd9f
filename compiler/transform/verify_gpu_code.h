// Whether kernels fit the GPU that they are meant for.
#pragma once

#include <cstdint>
#include <limits>

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

struct GpuLimits {
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  int64_t max_local_memory_per_block = kNone, max_shared_memory_per_block = kNone;  // Bytes of allocations, summed.
  int64_t max_threads_per_block = kNone, max_thread_x = kNone, max_thread_y = kNone, max_thread_z = kNone;
  int64_t max_vthread = kNone;
  int64_t max_vector_bytes = kNone;  // Of one load, store, conversion or element of an allocation.
  int64_t max_kernels = kNone;
};
// By TVM's names. InvalidArgument: a name that is none, or no number.
StatusOr<GpuLimits> ReadGpuLimits(const AttrMap& constraints);

// InvalidArgument: what of a lowered function exceeds the limits, all of it; or launches of one axis in one kernel that
// have different lengths.
Status VerifyGpuCode(const PrimFunc& func, const GpuLimits& limits);

// InvalidArgument: the function allocates more of scope "global.vtcm" at once than its target says ("vtcm-capacity"),
// else than `default_bytes`; 0: no limit.
Status VerifyVtcmLimit(const PrimFunc& func, int64_t default_bytes);

}  // namespace lathe
