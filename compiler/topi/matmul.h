// Products of matrices.
#pragma once

#include <optional>

#include "compiler/topi/operand.h"

namespace lathe::topi {

// Of the last two dimensions; those before are brought together by broadcasting (topi.matmul).
StatusOr<Tensor> Matmul(const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b);
// topi.nn.matmul: a matrix each, a bias per column, the type of the sum. The layout of b is free.
StatusOr<Tensor> NnMatmul(const Tensor& a, const Tensor& b, std::optional<Tensor> bias,
                          std::optional<DataType> out_type, bool transpose_a, bool transpose_b);
// One product per batch; a batch of 1 serves all.
StatusOr<Tensor> BatchMatmul(const Tensor& a, const Tensor& b, std::optional<DataType> out_type, bool transpose_a,
                             bool transpose_b);

}  // namespace lathe::topi
