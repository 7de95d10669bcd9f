#include <fmt/format.h>

#include <algorithm>

#include "support/status_macros.h"
#include "tests/reference/operators.h"
#include "tests/reference/window.h"

namespace lathe::reference {
namespace {

constexpr int64_t kTile = 32;  // Output positions at a time: accumulators stay in the first cache.

// sums[r][j] += Σ_k weights[r * depth + k] * column[k * kTile + j], with fixed extents, so that compilers vectorise it.
template <int kRows>
void MultiplyTile(const double* weights, const double* column, int64_t depth, double (*sums)[kTile]) {
  for (int64_t k = 0; k < depth; ++k) {
    for (int r = 0; r < kRows; ++r) {
      const double weight = weights[r * depth + k];
      for (int64_t j = 0; j < kTile; ++j) sums[r][j] += weight * column[k * kTile + j];
    }
  }
}

struct Convolution {
  Window window;
  std::vector<int64_t> table;
  int64_t batch, channels, filters, groups;
  int64_t input_size, output_size, taps;  // Per channel.
  int64_t depth() const { return channels / groups * taps; }
};

// column[k][j]: what tap k (channel-major) of output position `first + j` sees; rest of the tile is zero.
void FillColumn(const Convolution& c, const double* image, int64_t first, int64_t count, std::vector<double>& column) {
  for (int64_t channel = 0, k = 0; channel < c.channels / c.groups; ++channel) {
    for (int64_t tap = 0; tap < c.taps; ++tap, ++k) {
      for (int64_t j = 0; j < kTile; ++j) {
        const int64_t index = j < count ? c.table[(first + j) * c.taps + tap] : kPadding;
        column[k * kTile + j] = index < 0 ? 0 : image[channel * c.input_size + index];
      }
    }
  }
}

// One group of one image.
void ConvolveGroup(const Convolution& c, const double* image, const double* weights, const double* bias,
                   double* result) {
  std::vector<double> column(c.depth() * kTile);
  const int64_t filters = c.filters / c.groups;
  for (int64_t first = 0; first < c.output_size; first += kTile) {
    const int64_t count = std::min(kTile, c.output_size - first);
    FillColumn(c, image, first, count, column);
    for (int64_t filter = 0; filter < filters;) {
      const int64_t rows = filters - filter >= 4 ? 4 : 1;
      double sums[4][kTile];
      for (int64_t r = 0; r < rows; ++r) std::fill_n(sums[r], kTile, bias ? bias[filter + r] : 0.0);
      (rows == 4 ? MultiplyTile<4> : MultiplyTile<1>)(weights + filter * c.depth(), column.data(), c.depth(), sums);
      for (int64_t r = 0; r < rows; ++r) std::copy_n(sums[r], count, result + (filter + r) * c.output_size + first);
      filter += rows;
    }
  }
}

StatusOr<Convolution> DescribeConvolution(const Node& node) {
  const Tensor &x = node.Input(0), &w = node.Input(1);
  RETURN_IF_ERROR(RequireFloats(x, "x"));
  RETURN_IF_ERROR(RequireFloats(w, "w"));
  Convolution c;
  c.groups = node.Int("group", 1);
  if (x.rank() < 3 || w.rank() != x.rank() || c.groups < 1 || c.groups > w.dims[0] || w.dims[1] > x.dims[1] ||
      w.dims[1] * c.groups != x.dims[1] || w.dims[0] % c.groups != 0) {
    return InvalidArgument(
        fmt::format("x is {}, w is {}, group is {}: x [N, C, ...], w [M, C / group, ...] with M % group = 0 required",
                    DimsText(x.dims), DimsText(w.dims), c.groups));
  }
  if (node.HasInput(2) && (node.Input(2).dims != Dims{w.dims[0]} || !IsFloat(node.Input(2).type))) {
    return InvalidArgument(fmt::format("bias is {}, floats [{}] required", TypeText(node.Input(2)), w.dims[0]));
  }
  const Dims kernel(w.dims.begin() + 2, w.dims.end());
  if (node.Has("kernel_shape") && node.Ints("kernel_shape") != kernel) {
    return InvalidArgument(
        fmt::format("kernel_shape is {}, w is {}", DimsText(node.Ints("kernel_shape")), DimsText(w.dims)));
  }
  ASSIGN_OR_RETURN(c.window, MakeWindow(node, Dims(x.dims.begin() + 2, x.dims.end()), kernel));
  ASSIGN_OR_RETURN(c.table, WindowTable(c.window));
  c.batch = x.dims[0];
  c.channels = x.dims[1];
  c.filters = w.dims[0];
  c.input_size = Product(c.window.input);
  c.output_size = Product(c.window.output);
  c.taps = Product(kernel);
  return c;
}

}  // namespace

Outputs EvaluateConv(const Node& node) {
  ASSIGN_OR_RETURN(const Convolution c, DescribeConvolution(node));
  Dims dims = {c.batch, c.filters};
  dims.insert(dims.end(), c.window.output.begin(), c.window.output.end());
  RETURN_IF_ERROR(ElementCount(dims).status());
  Tensor y = Tensor::Zeros(std::move(dims), node.Input(0).type);
  const double* bias = node.HasInput(2) ? node.Input(2).floats.data() : nullptr;
  const int64_t group_channels = c.channels / c.groups, group_filters = c.filters / c.groups;
  for (int64_t n = 0; n < c.batch; ++n) {
    for (int64_t g = 0; g < c.groups; ++g) {
      ConvolveGroup(c, node.Input(0).floats.data() + (n * c.channels + g * group_channels) * c.input_size,
                    node.Input(1).floats.data() + g * group_filters * c.depth(),
                    bias ? bias + g * group_filters : nullptr,
                    y.floats.data() + (n * c.filters + g * group_filters) * c.output_size);
    }
  }
  return One(std::move(y));
}

}  // namespace lathe::reference
