#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// Turns each block's init into an ordinary statement before its body, guarded by "every reduction iter var is at its
// minimum".
//   block(vi S, vk R): init { C[vi] = 0 } C[vi] += A[vi, vk]  -->  if vk == 0 { C[vi] = 0 } C[vi] += A[vi, vk]
PrimFunc LowerInitBlock(PrimFunc func);

}  // namespace lathe
