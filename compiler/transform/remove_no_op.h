#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// Removes statements without effect: pure Evaluates, loops of no iterations or of nothing, branches of nothing,
// allocations that nobody reads or writes, lets that nobody uses, stores of what is there. A body that has no effect at
// all becomes one Evaluate.
PrimFunc RemoveNoOp(PrimFunc func);
bool IsNothing(const Stmt& stmt);  // T.evaluate(0)
// A[i] = A[i].
bool StoresWhatIsThere(const BufferStore& store);

}  // namespace lathe
