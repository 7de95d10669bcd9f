#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "support/status_macros.h"
#include "tests/reference/operators.h"

namespace lathe::reference {
namespace {

// Which parameter belongs to an element: its channel, or (opset <= 8 with spatial = 0) its place within the sample.
struct ParameterIndex {
  int64_t parameters, inner;  // Elements that share a parameter lie `inner` in a row.
  int64_t operator()(int64_t element) const { return element / inner % parameters; }
};

StatusOr<ParameterIndex> IndexParameters(const Node& node, const Tensor& x) {
  if (x.rank() < 2) return InvalidArgument(fmt::format("x is {}, [N, C, ...] required", TypeText(x)));
  const bool per_channel = node.opset() >= 9 || node.Int("spatial", 1) != 0;
  const int64_t sample = Product(std::span(x.dims).subspan(1));
  const ParameterIndex index =
      per_channel ? ParameterIndex{x.dims[1], Product(std::span(x.dims).subspan(2))} : ParameterIndex{sample, 1};
  for (size_t i = 1; i < 5; ++i) {
    RETURN_IF_ERROR(RequireFloats(node.Input(i), "parameter"));
    if (node.Input(i).size() != index.parameters) {
      return InvalidArgument(
          fmt::format("input {} is {}, {} elements required", i, TypeText(node.Input(i)), index.parameters));
    }
  }
  return index;
}

struct Moments {
  std::vector<double> mean, variance;
};

Moments BatchMoments(const Tensor& x, const ParameterIndex& index) {
  Moments m{std::vector<double>(index.parameters), std::vector<double>(index.parameters)};
  const double count = static_cast<double>(x.size()) / static_cast<double>(std::max<int64_t>(index.parameters, 1));
  for (int64_t i = 0; i < x.size(); ++i) m.mean[index(i)] += x.floats[i] / count;
  for (int64_t i = 0; i < x.size(); ++i) m.variance[index(i)] += std::pow(x.floats[i] - m.mean[index(i)], 2) / count;
  return m;
}

StatusOr<bool> IsTraining(const Node& node) {
  if (node.opset() >= 14) return node.Int("training_mode", 0) != 0;
  for (size_t i = 1; i < node.num_outputs(); ++i) {  // Then the number of outputs decided.
    if (node.WantsOutput(i)) return Unimplemented("training outputs before opset 14; export the model for inference");
  }
  return false;
}

Tensor Blend(const Tensor& running, const std::vector<double>& current, double momentum) {
  Tensor blended = running;
  for (size_t i = 0; i < current.size(); ++i)
    blended.floats[i] = running.floats[i] * momentum + current[i] * (1 - momentum);
  return blended;
}

}  // namespace

Outputs EvaluateBatchNormalization(const Node& node) {
  const Tensor& x = node.Input(0);
  RETURN_IF_ERROR(RequireFloats(x, "x"));
  ASSIGN_OR_RETURN(const ParameterIndex index, IndexParameters(node, x));
  ASSIGN_OR_RETURN(const bool training, IsTraining(node));
  const Tensor &scale = node.Input(1), &bias = node.Input(2), &mean = node.Input(3), &variance = node.Input(4);
  const Moments moments = training ? BatchMoments(x, index) : Moments{mean.floats, variance.floats};
  const double epsilon = node.Float("epsilon", 1e-5), momentum = node.Float("momentum", 0.9);
  Tensor y = x;
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t p = index(i);
    y.floats[i] =
        (x.floats[i] - moments.mean[p]) / std::sqrt(moments.variance[p] + epsilon) * scale.floats[p] + bias.floats[p];
  }
  std::vector<Tensor> outputs = One(std::move(y));
  if (training) {
    outputs.push_back(Blend(mean, moments.mean, momentum));
    outputs.push_back(Blend(variance, moments.variance, momentum));
  }
  return outputs;
}

Outputs EvaluateLayerNormalization(const Node& node) {
  Tensor y = node.Input(0);
  RETURN_IF_ERROR(RequireFloats(y, "x"));
  ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(node.Int("axis", -1), y.rank()));
  const int64_t length = Product(std::span(y.dims).subspan(axis));
  for (size_t i : {1, 2}) {
    if (node.HasInput(i) && node.Input(i).size() != length)
      return Unimplemented(fmt::format("input {} is {}, {} elements required", i, TypeText(node.Input(i)), length));
  }
  const double epsilon = node.Float("epsilon", 1e-5);
  std::vector<int64_t> outer(y.dims.begin(), y.dims.begin() + axis);
  outer.resize(y.dims.size(), 1);
  Tensor means = Tensor::Zeros(outer, y.type), inverses = means;
  for (int64_t begin = 0; begin < y.size(); begin += length) {
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < length; ++i) mean += y.floats[begin + i] / static_cast<double>(length);
    for (int64_t i = 0; i < length; ++i)
      variance += std::pow(y.floats[begin + i] - mean, 2) / static_cast<double>(length);
    const double inverse = 1 / std::sqrt(variance + epsilon);
    means.floats[begin / length] = mean;
    inverses.floats[begin / length] = inverse;
    for (int64_t i = 0; i < length; ++i) {
      double& v = y.floats[begin + i];
      v = (v - mean) * inverse * node.Input(1).floats[i];
      if (node.HasInput(2)) v += node.Input(2).floats[i];
    }
  }
  std::vector<Tensor> outputs = One(std::move(y));
  outputs.push_back(std::move(means));
  outputs.push_back(std::move(inverses));
  return outputs;
}

// y = x / (bias + alpha / size * Σ x²)^beta, the sum over `size` neighbouring channels; of an even size one more lies
// above.
Outputs EvaluateLrn(const Node& node) {
  const Tensor& x = node.Input(0);
  RETURN_IF_ERROR(RequireFloats(x, "x"));
  const int64_t size = node.Int("size", 0);
  if (x.rank() < 2 || size < 1)
    return InvalidArgument(fmt::format("x is {}, size is {}: [N, C, ...] and at least 1 required", TypeText(x), size));
  const double alpha = node.Float("alpha", 1e-4), beta = node.Float("beta", 0.75), bias = node.Float("bias", 1);
  const int64_t channels = x.dims[1], inner = Product(std::span(x.dims).subspan(2));
  const int64_t below = std::min((size - 1) / 2, channels), above = std::min(size - 1 - (size - 1) / 2, channels);
  Tensor y = x;
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t c = i / inner % channels;
    double sum = 0;
    for (int64_t d = -std::min(below, c); d <= std::min(above, channels - 1 - c); ++d)
      sum += x.floats[i + d * inner] * x.floats[i + d * inner];
    y.floats[i] = x.floats[i] / std::pow(bias + alpha / static_cast<double>(size) * sum, beta);
  }
  return One(std::move(y));
}

// The identity, unless a training_mode input (opset >= 12) asks for randomness. The mask is bool since opset 10.
Outputs EvaluateDropout(const Node& node) {
  const Tensor& x = node.Input(0);
  RETURN_IF_ERROR(RequireFloats(x, "x"));
  if (node.opset() >= 12 && node.HasInput(2)) {
    const Tensor& training = node.Input(2);
    const double ratio = node.HasInput(1) && node.Input(1).size() == 1 ? AsDoubles(node.Input(1))[0] : 0.5;
    if (training.size() != 1 || IsFloat(training.type))
      return InvalidArgument(fmt::format("training_mode is {}, one bool required", TypeText(training)));
    if (training.ints[0] != 0 && ratio != 0)
      return Unimplemented("training_mode is true: random by definition; export the model for inference");
  }
  Tensor mask = Tensor::Zeros(x.dims, node.opset() >= 10 ? DataType::kBool : x.type);
  std::fill(mask.floats.begin(), mask.floats.end(), 1.0);
  std::fill(mask.ints.begin(), mask.ints.end(), 1);
  std::vector<Tensor> outputs = One(x);
  outputs.push_back(std::move(mask));
  return outputs;
}

namespace {

// Calls row(values) for each line along the axis, gathered and put back. Before opset 13 the tensor counts as the
// matrix [product of dims before the axis, product of the rest], and the axis is 1 by default.
template <typename Row>
Outputs ForEachRow(const Node& node, Row row) {
  Tensor y = node.Input(0);
  RETURN_IF_ERROR(RequireFloats(y, "x"));
  const bool coerced = node.opset() < 13;
  int64_t axis = node.Int("axis", coerced ? 1 : -1);
  if (!(coerced && axis == y.rank())) {
    ASSIGN_OR_RETURN(axis, NormalizeAxis(axis, y.rank()));
  }
  const std::span<const int64_t> dims = y.dims;
  const int64_t length = coerced ? Product(dims.subspan(axis)) : dims[axis];
  const int64_t inner = coerced ? 1 : Product(dims.subspan(axis + 1));
  if (y.size() == 0) return One(std::move(y));
  std::vector<double> line(length);
  for (int64_t outer = 0; outer < y.size() / (length * inner); ++outer) {
    for (int64_t i = 0; i < inner; ++i) {
      const int64_t base = outer * length * inner + i;
      for (int64_t k = 0; k < length; ++k) line[k] = y.floats[base + k * inner];
      row(line);
      for (int64_t k = 0; k < length; ++k) y.floats[base + k * inner] = line[k];
    }
  }
  return One(std::move(y));
}

double ShiftByGreatest(std::vector<double>& line) {  // Returns Σ exp afterwards.
  const double greatest = *std::max_element(line.begin(), line.end());
  double sum = 0;
  for (double& v : line) sum += std::exp(v -= greatest);
  return sum;
}

}  // namespace

Outputs EvaluateSoftmax(const Node& node) {
  return ForEachRow(node, [](std::vector<double>& line) {
    const double sum = ShiftByGreatest(line);
    for (double& v : line) v = std::exp(v) / sum;
  });
}

Outputs EvaluateLogSoftmax(const Node& node) {
  return ForEachRow(node, [](std::vector<double>& line) {
    const double log_sum = std::log(ShiftByGreatest(line));
    for (double& v : line) v -= log_sum;
  });
}

Outputs EvaluateHardmax(const Node& node) {
  return ForEachRow(node, [](std::vector<double>& line) {
    const auto greatest = std::max_element(line.begin(), line.end()) - line.begin();  // The first of equals.
    std::fill(line.begin(), line.end(), 0.0);
    line[greatest] = 1;
  });
}

}  // namespace lathe::reference
