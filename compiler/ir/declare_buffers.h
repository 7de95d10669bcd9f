// Programs that make nodes by hand may use buffers over memory that is there without a declaration.
#pragma once

#include <unordered_set>

#include "compiler/ir/stmt.h"

namespace lathe {

// Each gets one, in the innermost suite that has all of its uses, before the first of them:
//   p = T.allocate([4], "int32"); f(); X[0] = 1    -->    p = T.allocate([4], "int32"); f()
//                                                         X = decl_buffer((4,), data=p); X[0] = 1
// Those whose memory nothing introduces stay as they are.
PrimFunc DeclareBuffers(PrimFunc func);

struct DeclaredBuffers {
  Stmt body;
  std::unordered_set<const BufferNode*> added;
};
DeclaredBuffers FindDeclarations(const PrimFunc& func);

}  // namespace lathe
