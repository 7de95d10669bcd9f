// What a stage said by double_buffer, for loops: blocks alone do not say where the filling of memory begins and ends.
#pragma once

#include "compiler/ir/stmt.h"

namespace lathe::te {

// Puts all that the blocks of such a stage do, with the loops that are theirs alone, under an attribute
// "double_buffer_scope" of their memory. Before the blocks are lowered.
//   for i: { for j: block B {double_buffer_scope}; for j: block C }  -->  for i: { attr B: for j: block B; for j: ... }
Stmt MarkDoubleBuffers(const Stmt& stmt);

}  // namespace lathe::te
