// Operators that only copy what lies together in memory. LegalizeOps says so in attributes of call_tir, for FuseOps and
// for the executor's plan, which can do without such copies (place_slices.h).
#pragma once

#include "compiler/relax/expr.h"

namespace lathe::relax {

inline constexpr const char* kJoinedAtAttr = "joined_at";  // Where in the result each argument begins, in bytes.
inline constexpr const char* kCutAtAttr = "cut_at";        // Where in the argument the result begins, in bytes.

// What call_tir of `call`, an operator's, is to say:
//   concat of tensors whose extents before the axis are 1:                            joined_at
//   strided_slice whose elements are neighbours in its argument, in the same order:   cut_at
// Nothing for other operators and where an extent is symbolic.
AttrMap SliceAttrs(const Call& call, const StructInfo& result);

}  // namespace lathe::relax
