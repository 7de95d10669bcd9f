#pragma once

#include "compiler/arith/simplifier.h"
#include "compiler/ir/stmt.h"

namespace lathe {

// Simplifies integer expressions by what loops, predicates and branches say about their variables; drops branches that
// cannot be taken, and stores of what is there. Loops stay, as in TVM.
PrimFunc Simplify(PrimFunc func);
// As Simplify; lets of integers that read no memory, of constants and of variables become their uses, as in TVM's pass.
PrimFunc SimplifyLets(PrimFunc func);
// As SimplifyLets, in the forms that programs written for TVM compare with.
PrimFunc SimplifyAsTvm(PrimFunc func, const SimplifyExtensions& extensions = {});
// As Simplify; loops of no iteration go, and those of one that carry no annotation and no thread become their body.
PrimFunc SimplifyLoops(PrimFunc func);

}  // namespace lathe
