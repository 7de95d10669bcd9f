#pragma once

#include "compiler/schedule/schedule.h"

namespace lathe {

// The buffer that `block` writes as its buffer_index-th, an allocation of a block around it, gets element type `dtype`:
// what is stored is cast to it, what is loaded is cast back. Unsafe, since values may not fit the new type.
Status UnsafeSetDType(Schedule& schedule, BlockRV block, int buffer_index, const std::string& dtype);

}  // namespace lathe
