// A function for fixed values of some of its parameters.
#pragma once

#include <variant>
#include <vector>

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// What a parameter is to be: a variable gets a value and goes; a handle keeps its buffer, whose variables take what the
// shape, strides and offset of the given buffer have in their place.
struct Specialization {
  Var param;
  std::variant<Expr, Buffer> value;
};

// Operations on what a value changed are folded. InvalidArgument, with parameter, required and given, where one is no
// parameter, is of another kind, or contradicts another one; FailedPrecondition where the function has no variable, but
// an expression, in the place of what is given.
StatusOr<PrimFunc> Specialize(PrimFunc func, const std::vector<Specialization>& values);

}  // namespace lathe
