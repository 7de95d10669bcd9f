#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// Without what it asserts.
//   assert n > 0, "..."; S  -->  S
PrimFunc SkipAssert(PrimFunc func);

}  // namespace lathe
