// Stores of one element or of the lanes of a vector.
#pragma once

#include "compiler/interpreter/code.h"

namespace lathe {

// What puts `value`, of the lanes of `store.value`, where `access` says. A copy into an allocation takes along that
// nobody has written an element; who uses it then is at fault.
StmtCodePtr MakeStoreCode(const BufferStore& store, AccessCode access, ExprCodePtr value);

}  // namespace lathe
