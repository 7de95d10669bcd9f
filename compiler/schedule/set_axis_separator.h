#pragma once

#include <span>

#include "compiler/schedule/cache_stage.h"

namespace lathe {

// Says where the index-th buffer that the block touches on that side is cut when it is flattened: before each dimension
// that is named, in ascending order. Views of the buffer are cut likewise.
//   B: Buffer((4, 8, 16))  -->  B: Buffer((4, 8, 16), axis_separators=[2]), which is flattened to (32, 16)
// The buffer is no view itself.
Status SetAxisSeparator(Schedule& schedule, BlockRV block, int buffer_index, BufferSide side,
                        std::span<const int64_t> axis_separators);

}  // namespace lathe
