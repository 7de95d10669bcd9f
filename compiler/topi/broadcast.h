// Operators of two operands whose shapes are brought together as numpy does: from the last dimension, where an extent
// of 1 is repeated.
#pragma once

#include <span>
#include <string_view>

#include "compiler/topi/operand.h"

namespace lathe::topi {

// "add", "maximum", "equal", "bitwise_and" ...
std::span<const std::string_view> BinaryNames();
// A tensor; an expression where both operands are.
StatusOr<Operand> Binary(std::string_view name, const Operand& a, const Operand& b);

StatusOr<Shape> BroadcastShape(std::string_view op, const Shape& a, const Shape& b);
StatusOr<Tensor> BroadcastTo(const Tensor& x, const Shape& shape);
// x where the condition is not 0, else y; all three are brought to one shape.
StatusOr<Tensor> Where(const Tensor& condition, const Operand& x, const Operand& y);

}  // namespace lathe::topi
