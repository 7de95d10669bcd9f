#pragma once

#include <optional>

#include "compiler/arith/index_map.h"
#include "compiler/schedule/cache_stage.h"
#include "compiler/schedule/trace_map.h"

namespace lathe {

// Lays the index-th buffer that the block touches on that side out by `index_map`, wherever it is used.
//   B: (14,); for i in 0..14 { block P: B[i] = A[i] }                              (lambda i: (i // 4, i % 4),
//   pad_value=0)
//     -->  B: (4, 4); for axis0 in 0..4, axis1 in 0..4 { block P:
//            B[axis0, axis1] = if_then_else(axis0 == 3 and 2 <= axis1, 0, A[axis0*4 + axis1]) }
// A buffer is transformed where it is allocated, or as the function's parameter; nobody sees it in another way than
// element by element. The map is injective on the buffer's shape; nobody looks whether it is, nor for padding, if
// `assume_injective_transform`. Where it leaves gaps, `pad_value` says what is in them, as one expression of the new
// indices: a parameter that nobody writes is assumed to come so (block "buffer_A_assumptions"); a nest that runs over
// the old shape runs over the new one instead; else block "buffer_B_padding" fills them after the last writer.
Status TransformLayout(Schedule& schedule, BlockRV block, int buffer_index, BufferSide side, const TraceMap& index_map,
                       const std::optional<IndexMap>& pad_value = std::nullopt,
                       bool assume_injective_transform = false);

}  // namespace lathe
