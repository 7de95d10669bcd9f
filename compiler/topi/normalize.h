// Softmax, and norms over some axes.
#pragma once

#include <optional>

#include "compiler/topi/operand.h"

namespace lathe::topi {

StatusOr<Tensor> Softmax(const Tensor& x, int64_t axis);
StatusOr<Tensor> LogSoftmax(const Tensor& x, int64_t axis);

// (x - mean) / sqrt(var + epsilon) * gamma + beta, with mean and variance given per index of `axis`.
StatusOr<Tensor> BatchNorm(const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& mean,
                           const Tensor& variance, int64_t axis, double epsilon, bool center, bool scale);
// The three that follow normalise in float32 where x is of a narrower type, and scale in that type.
// Mean and variance of the elements along `axes`; gamma and beta have these dimensions of x.
StatusOr<Tensor> LayerNorm(const Tensor& x, const Tensor& gamma, std::optional<Tensor> beta,
                           const std::vector<int64_t>& axes, double epsilon);
// Along `axes`; gamma and beta have an element per index of `channel_axis`.
StatusOr<Tensor> InstanceNorm(const Tensor& x, const Tensor& gamma, const Tensor& beta, int64_t channel_axis,
                              const std::vector<int64_t>& axes, double epsilon);
// Along `axes` and the channels of one of `num_groups` equal groups.
StatusOr<Tensor> GroupNorm(const Tensor& x, const Tensor& gamma, const Tensor& beta, int64_t num_groups,
                           int64_t channel_axis, const std::vector<int64_t>& axes, double epsilon);
// x / sqrt(mean of squares along `axes` + epsilon) * weight, in float32.
StatusOr<Tensor> RmsNorm(const Tensor& x, const Tensor& weight, const std::vector<int64_t>& axes, double epsilon);
// x / (bias + alpha / size * sum of squares of the `size` neighbours along `axis`) ^ beta. Its numbers are floats, as
// in TVM: 0.0001 is 9.9999997473787516e-05.
StatusOr<Tensor> LocalResponseNorm(const Tensor& x, int64_t size, int64_t axis, float alpha, float beta, float bias);

}  // namespace lathe::topi
