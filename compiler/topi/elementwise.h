// Operators that work on each element alone.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "compiler/topi/operand.h"

namespace lathe::topi {

// "exp", "tanh" ...: those that are a call of the operation of that name; also "negative", "sign", "logical_not",
// "identity".
std::span<const std::string_view> UnaryNames();
StatusOr<Tensor> Unary(std::string_view name, const Tensor& x);

StatusOr<Tensor> Cast(const Tensor& x, DataType type);
StatusOr<Tensor> Clip(const Tensor& x, const Expr& low, const Expr& high);
StatusOr<Tensor> Full(const Shape& shape, DataType type, const Expr& value, const std::string& name = "T_full");
// Sum of tensors of one shape.
StatusOr<Tensor> ElementwiseSum(const std::vector<Tensor>& xs);

// ---- topi.nn
StatusOr<Tensor> Relu(const Tensor& x);
StatusOr<Tensor> LeakyRelu(const Tensor& x, double alpha);
// `slope` has one element per index of dimension `axis` of x.
StatusOr<Tensor> Prelu(const Tensor& x, const Tensor& slope, int64_t axis);

}  // namespace lathe::topi
