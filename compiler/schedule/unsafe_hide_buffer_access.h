#pragma once

#include <span>
#include <string_view>

#include "compiler/schedule/schedule.h"

namespace lathe {

// Lets `block` no longer declare the regions of these numbers among what it reads (`buf_type` "read") or writes
// ("write"). The caller answers for it that nobody goes by them: primitives believe what a block declares.
Status UnsafeHideBufferAccess(Schedule& schedule, BlockRV block, std::string_view buf_type,
                              std::span<const int64_t> buf_index_array);

}  // namespace lathe
