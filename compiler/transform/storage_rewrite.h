// Memory that is not needed any more is used again: allocations move to the outermost place that one thread, one turn
// of a parallel loop or the function has, and share memory where their lives do not overlap, or where a statement reads
// an element of one only to write the same element of the other. Buffers of one dimension; after FlattenBuffer and
// VectorizeLoop.
//   A = T.allocate([8]); B = T.allocate([8]); C = T.allocate([8]); ... --> one allocation for A and C
#pragma once

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

struct StorageRewriteOptions {
  bool reuses = true;           // else allocations only move.
  bool same_type_only = false;  // Memory of one element type is not used for another, as Vulkan demands.
};
// As TVM's pass, allocations that are read as vectors only are of vectors then (PointerValueTypeRewrite).
// InvalidArgument: a vectorized loop, a launch with memory inside of a parallel loop, an unknown scope, virtual threads
// inside of threads, extents that are not known where memory would be.
StatusOr<PrimFunc> StorageRewrite(PrimFunc func, const StorageRewriteOptions& options);

}  // namespace lathe
