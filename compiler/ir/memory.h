// T.allocate and T.allocate_const as what everybody below runs: a buffer over the same variable, filled by stores.
#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// nullopt: it has a condition. Annotations are hints and fall away.
std::optional<Stmt> AsAllocBuffer(const Allocate& allocate);
Stmt AsAllocBuffer(const AllocateConst& allocate);

}  // namespace lathe
