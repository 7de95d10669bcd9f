// What each store of a scheduled function does: its loops, the places it touches, its arithmetic. The input of
// features.
#pragma once

#include <vector>

#include "compiler/arith/index_space.h"
#include "compiler/ir/stmt.h"

namespace lathe {

// Operations of one execution of a store's value; index arithmetic is not counted.
struct OpCounts {
  double mul_add = 0;                                                  // An addition that one multiplication feeds.
  double add = 0, mul = 0, div = 0, compare = 0, math = 0, other = 0;  // Of data.
  double integer = 0, branch = 0, cast = 0;  // branch: select, if_then_else, boolean operators.
  // T.if_then_else of one condition for all lanes, which costs next to nothing: loops are split at its ends, or it is
  // asked once for a whole tile (loop_partition, skip_zero_terms). Not in total().
  double guard = 0;
  double flops() const { return 2 * mul_add + add + mul + div + compare + math + other; }
  double total() const { return mul_add + add + mul + div + compare + math + other + integer + branch + cast; }
};

struct NestLoop {
  int id;  // In the index space.
  int64_t extent;
  ForKind kind;
  bool reduces;  // Does not move the place that is stored to.
};

// One buffer that the store touches, everywhere it touches it.
struct NestAccess {
  Buffer buffer;
  std::vector<int64_t> shape;                   // Symbolic extents count as 1.
  std::vector<std::vector<AffineForm>> places;  // One form per dimension.
  bool is_read = false, is_write = false;
  bool in_register = false;  // No memory behind it.
  uint64_t loops = 0;        // That move it.
};

struct StoreNest {
  std::vector<NestLoop> loops;       // Outermost first.
  std::vector<NestAccess> accesses;  // The stored buffer first; a buffer that is read and written is one access.
  OpCounts ops;
  // Neighbours that an instruction multiplies and adds up for each lane: no iterations, but they are touched, by a loop
  // of their own.
  int64_t dot_parts = 1;
  uint64_t dot_loop = 0;
  double iterations = 1;  // Of all loops together.
  double useful =
      1;  // Iterations of the block's own domain per iteration: below 1 for guarded tails and recomputation.
};

struct LoopNests {
  IndexSpace space;
  std::vector<StoreNest>
      stores;  // In order of the text. Initial values of reductions that are not decomposed are left out.
  double parameter_bytes = 0;
  double allocated_bytes = 0, largest_allocation_bytes = 0;  // Outside registers.
  int num_blocks = 0;
};

// Never fails: what it does not understand counts as nothing.
LoopNests CollectLoopNests(const PrimFunc& scheduled);

}  // namespace lathe
