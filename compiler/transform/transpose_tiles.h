#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

inline constexpr int64_t kMostRowsOfSquare = 16;  // Each is a vector, all of them are there at once.

// Transposes square tiles in registers. An unrolled loop of n steps (a power of two, up to 16) around a store of n
// neighbouring lanes, which loads lanes far apart, loads rows instead, whose neighbours are the steps of the loop, and
// shuffles them: n * log2(n) shuffles of two vectors instead of n * n loads of one element.
//   for u in unroll(4) { B[ramp(u*8, 1, 4)] = A[ramp(u, 9, 4)] }
//   -->  row = A[ramp(0, 1, 4)] ... row_3 = A[ramp(27, 1, 4)]
//        part = T.Shuffle([row, row_1], [0, 4, 1, 5]), part_1 = T.Shuffle([row, row_1], [2, 6, 3, 7]) ...
//        part_4 = T.Shuffle([part, part_2], [0, 1, 4, 5]) ...
//        B[ramp(0, 1, 4)] = part_4 ... B[ramp(24, 1, 4)] = part_7
// Rows hold just the elements that the loop reads. Loops with guards, or whose lanes are a few elements apart
// (kMaxLoadStride), stay. After VectorizeLoop, before UnrollLoop.
PrimFunc TransposeTiles(PrimFunc func);

}  // namespace lathe
