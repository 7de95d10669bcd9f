#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// Gives variables and buffers of the body names that no other has ("i", "i_1", "i_2" ...), and every definition an
// identity of its own, so that copies of a statement made by other passes do not share any. Parameters stay what they
// are.
PrimFunc UniqueNames(PrimFunc func);

}  // namespace lathe
