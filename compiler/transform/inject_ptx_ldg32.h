#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// Elements of float32 that are read from memory where a condition holds, and are 0 elsewhere, come by a load under a
// predicate, whose operands lie in registers of their own.
//   L[i] = T.if_then_else(c, A[j], T.float32(0))
//   -->  addr[0] = j; addr[1] = i; predicate[0] = c; L[addr[1]] = 0
//        T.ptx_ldg32("float32", L.data, predicate[0], A[addr[0]], addr[1])
// A is in global memory, of one dimension, and nowhere written: its loads go through a cache that does not see writes.
PrimFunc InjectPTXLDG32(PrimFunc func);

}  // namespace lathe
