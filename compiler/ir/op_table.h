// The table of callable operations, whole: for those who offer every one of them by name.
#pragma once

#include <span>

#include "compiler/ir/expr.h"

namespace lathe {

std::span<const Op> AllOps();  // Sorted by name.

}  // namespace lathe
