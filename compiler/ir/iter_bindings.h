// What the iter vars of a block stand for where it is realized.
#pragma once

#include "compiler/ir/visitor.h"

namespace lathe {

// Each iter var of the block with its value, in terms of the loops around it. What has no partner, as in a function
// that is not well-formed, is left out.
VarMap IterBindings(const BlockRealize& realize);

}  // namespace lathe
