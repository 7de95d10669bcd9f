#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "support/status_macros.h"
#include "tests/reference/operators.h"
#include "tests/reference/window.h"

namespace lathe::reference {
namespace {

struct Pool {
  Window window;
  std::vector<int64_t> table;
  Dims dims;  // Of the output.
  int64_t planes, input_size, output_size, taps;
};

StatusOr<Pool> DescribePool(const Node& node) {
  const Tensor& x = node.Input(0);
  if (x.rank() < 3) return InvalidArgument(fmt::format("x is {}, [N, C, ...] required", TypeText(x)));
  Pool p;
  ASSIGN_OR_RETURN(p.window, MakeWindow(node, Dims(x.dims.begin() + 2, x.dims.end()), node.Ints("kernel_shape")));
  ASSIGN_OR_RETURN(p.table, WindowTable(p.window));
  p.dims = {x.dims[0], x.dims[1]};
  p.dims.insert(p.dims.end(), p.window.output.begin(), p.window.output.end());
  RETURN_IF_ERROR(ElementCount(p.dims).status());
  p.planes = x.dims[0] * x.dims[1];
  p.input_size = Product(p.window.input);
  p.output_size = Product(p.window.output);
  p.taps = Product(p.window.kernel);
  return p;
}

// The tap whose element is the greatest (the first of equals, NaN above all); -1 if the window sees only padding.
template <typename Values>
int64_t GreatestTap(const Values& values, int64_t base, const int64_t* taps, int64_t count) {
  int64_t best = -1;
  for (int64_t t = 0; t < count; ++t) {
    if (taps[t] < 0) continue;
    const auto value = values[base + taps[t]];
    if (best < 0 || value > values[base + taps[best]] ||
        (value != value && values[base + taps[best]] == values[base + taps[best]]))
      best = t;
  }
  return best;
}

// Column-major numbers the first spatial axis fastest.
int64_t ColumnMajorIndex(int64_t row_major, const Dims& dims) {
  const Dims strides = Strides(dims);
  int64_t index = 0, step = 1;
  for (size_t a = 0; a < dims.size(); step *= dims[a], ++a) index += row_major / strides[a] % dims[a] * step;
  return index;
}

template <typename Values>
void FillMaxPool(const Pool& p, const Values& x, bool column_major, Values& y, std::vector<int64_t>& indices) {
  using Value = typename Values::value_type;
  const Value lowest = std::numeric_limits<Value>::has_infinity ? -std::numeric_limits<Value>::infinity()
                                                                : std::numeric_limits<Value>::lowest();
  for (int64_t plane = 0; plane < p.planes; ++plane) {
    for (int64_t o = 0; o < p.output_size; ++o) {
      const int64_t* taps = p.table.data() + o * p.taps;
      const int64_t base = plane * p.input_size, at = plane * p.output_size + o;
      const int64_t best = GreatestTap(x, base, taps, p.taps);
      y[at] = best < 0 ? lowest : x[base + taps[best]];
      indices[at] = best < 0 ? -1 : base + (column_major ? ColumnMajorIndex(taps[best], p.window.input) : taps[best]);
    }
  }
}

// [N, C, 1, ...] from the elements of each plane.
template <typename Combine>
Outputs ReducePlanes(const Node& node, Combine combine) {
  const Tensor& x = node.Input(0);
  RETURN_IF_ERROR(RequireFloats(x, "x"));
  if (x.rank() < 2) return InvalidArgument(fmt::format("x is {}, [N, C, ...] required", TypeText(x)));
  Dims dims(x.dims.size(), 1);
  dims[0] = x.dims[0];
  dims[1] = x.dims[1];
  Tensor y = Tensor::Zeros(std::move(dims), x.type);
  if (y.size() == 0) return One(std::move(y));
  const int64_t plane = x.size() / y.size();
  if (plane == 0) return InvalidArgument(fmt::format("x is {}: empty planes", TypeText(x)));
  for (int64_t i = 0; i < y.size(); ++i) y.floats[i] = combine(std::span(x.floats).subspan(i * plane, plane));
  return One(std::move(y));
}

}  // namespace

Outputs EvaluateMaxPool(const Node& node) {
  ASSIGN_OR_RETURN(const Pool p, DescribePool(node));
  const Tensor& x = node.Input(0);
  Tensor y = Tensor::Zeros(p.dims, x.type), indices = Tensor::Zeros(p.dims, DataType::kInt64);
  const bool column_major = node.Int("storage_order", 0) != 0;
  if (IsFloat(x.type)) {
    FillMaxPool(p, x.floats, column_major, y.floats, indices.ints);
  } else if (x.type == DataType::kUint8 || x.type == DataType::kInt8) {
    FillMaxPool(p, x.ints, column_major, y.ints, indices.ints);
  } else {
    return InvalidArgument(fmt::format("x is {}, floats, int8 or uint8 required", TypeText(x)));
  }
  std::vector<Tensor> outputs = One(std::move(y));
  outputs.push_back(std::move(indices));
  return outputs;
}

Outputs EvaluateAveragePool(const Node& node) {
  const Tensor& x = node.Input(0);
  RETURN_IF_ERROR(RequireFloats(x, "x"));
  ASSIGN_OR_RETURN(const Pool p, DescribePool(node));
  const bool count_padding = node.Int("count_include_pad", 0) != 0;
  Tensor y = Tensor::Zeros(p.dims, x.type);
  for (int64_t plane = 0; plane < p.planes; ++plane) {
    for (int64_t o = 0; o < p.output_size; ++o) {
      double sum = 0;
      int64_t count = 0;
      for (int64_t t = 0; t < p.taps; ++t) {
        const int64_t index = p.table[o * p.taps + t];
        if (index >= 0) sum += x.floats[plane * p.input_size + index];
        count += index >= 0 || (index == kPadding && count_padding);
      }
      y.floats[plane * p.output_size + o] = sum / static_cast<double>(count);
    }
  }
  return One(std::move(y));
}

Outputs EvaluateGlobalMaxPool(const Node& node) {
  return ReducePlanes(node, [](std::span<const double> plane) {
    double greatest = plane[0];
    for (double v : plane) greatest = v > greatest || std::isnan(v) ? v : greatest;
    return greatest;
  });
}

Outputs EvaluateGlobalAveragePool(const Node& node) {
  return ReducePlanes(node, [](std::span<const double> plane) {
    double sum = 0;
    for (double v : plane) sum += v;
    return sum / static_cast<double>(plane.size());
  });
}

}  // namespace lathe::reference
