// Asking for rows of a buffer that start at certain addresses.
#pragma once

#include "compiler/schedule/schedule.h"

namespace lathe {

// Annotates `block`, a writer of its buffer_index-th written buffer, an intermediate: the stride of dimension `axis`
// (from the end if negative) is to be factor * k + offset for some k. factor > 0, offset >= 0. In the block's
// annotation "buffer_dim_align", a list of [buffer_index, axis, factor, offset]; a second request for one axis replaces
// the first.
Status StorageAlign(Schedule& schedule, BlockRV block, int buffer_index, int axis, int factor, int offset);

}  // namespace lathe
