// What a program says for the sake of earlier passes, and a later one has no use for.
#pragma once

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// Drops statements T.evaluate(T.assume(...)), and what is left empty.
PrimFunc RemoveAssume(PrimFunc func);
// Drops stores of T.undef(), also through variables of a let, and what is left empty. InvalidArgument where the
// undefined value is used otherwise.
StatusOr<PrimFunc> RemoveStoreUndef(PrimFunc func);

}  // namespace lathe
