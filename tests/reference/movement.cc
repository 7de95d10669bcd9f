#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "support/status_macros.h"
#include "tests/reference/operators.h"

namespace lathe::reference {
namespace {

AxisOffsets WholeAxes(const Dims& dims) {
  const Dims strides = Strides(dims);
  AxisOffsets axes(dims.size());
  for (size_t a = 0; a < dims.size(); ++a) {
    for (int64_t i = 0; i < dims[a]; ++i) axes[a].push_back(i * strides[a]);
  }
  return axes;
}

StatusOr<Tensor> TakeAxes(const Tensor& x, const AxisOffsets& axes, Fill fill = {}) {
  Dims dims;
  for (const auto& axis : axes) dims.push_back(static_cast<int64_t>(axis.size()));
  RETURN_IF_ERROR(ElementCount(dims).status());
  return Take(x, std::move(dims), OuterSum(axes), fill);
}

template <typename T>
void CopyBlocks(const std::vector<T>& from, std::vector<T>& to, int64_t outer, int64_t block, int64_t stride,
                int64_t at) {
  for (int64_t o = 0; o < outer && block > 0; ++o)
    std::copy_n(from.begin() + o * block, block, to.begin() + o * stride + at);
}

}  // namespace

Outputs EvaluateTranspose(const Node& node) {
  const Tensor& x = node.Input(0);
  Dims perm = node.Ints("perm");
  if (!node.Has("perm")) {
    perm.resize(x.rank());
    std::iota(perm.rbegin(), perm.rend(), 0);
  }
  Dims sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  const AxisOffsets from = WholeAxes(x.dims);
  AxisOffsets to;
  for (size_t a = 0; a < sorted.size(); ++a) {
    if (sorted[a] != static_cast<int64_t>(a) || sorted.size() != from.size()) {
      return InvalidArgument(fmt::format("perm is {}, a permutation of {} axes required", DimsText(perm), x.rank()));
    }
    to.push_back(from[perm[a]]);
  }
  if (sorted.size() != from.size()) return InvalidArgument(fmt::format("perm is empty, {} axes required", x.rank()));
  ASSIGN_OR_RETURN(Tensor y, TakeAxes(x, to));
  return One(std::move(y));
}

// The axis is required since opset 4 and 1 by default before.
Outputs EvaluateConcat(const Node& node) {
  if (node.opset() >= 4 && !node.Has("axis")) return InvalidArgument("attribute axis is absent");
  const Tensor& first = node.Input(0);
  ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(node.Int("axis", 1), first.rank()));
  Dims dims = first.dims;
  dims[axis] = 0;
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    if (!node.HasInput(i)) return InvalidArgument(fmt::format("input {} is absent", i));
    const Tensor& x = node.Input(i);
    Dims expected = first.dims;
    if (x.rank() == first.rank()) expected[axis] = x.dims[axis];
    if (x.type != first.type || x.dims != expected) {
      return InvalidArgument(fmt::format("input {} is {}, input 0 is {}: equal but for axis {} required", i,
                                         TypeText(x), TypeText(first), axis));
    }
    dims[axis] += x.dims[axis];
  }
  RETURN_IF_ERROR(ElementCount(dims).status());
  Tensor y = Tensor::Zeros(dims, first.type);
  const std::span<const int64_t> all = dims;
  const int64_t outer = Product(all.first(axis)), inner = Product(all.subspan(axis + 1)), stride = dims[axis] * inner;
  for (size_t i = 0, at = 0; i < node.num_inputs(); ++i) {
    const int64_t block = node.Input(i).dims[axis] * inner;
    if (IsFloat(first.type)) {
      CopyBlocks(node.Input(i).floats, y.floats, outer, block, stride, at);
    } else {
      CopyBlocks(node.Input(i).ints, y.ints, outer, block, stride, at);
    }
    at += block;
  }
  return One(std::move(y));
}

namespace {

// Where the padded coordinate `at` (0 is the input's first) comes from; kOutside shows the constant. size > 0 unless
// constant.
int64_t PadSource(int64_t at, int64_t size, std::string_view mode) {
  if (at >= 0 && at < size) return at;
  if (mode == "edge") return std::clamp<int64_t>(at, 0, size - 1);
  if (mode == "wrap") return ((at % size) + size) % size;
  if (mode == "reflect") {  // ... 2 1 0 1 2 ... n-2 n-1 n-2 ...
    const int64_t period = std::max<int64_t>(1, 2 * (size - 1)), phase = ((at % period) + period) % period;
    return phase < size ? phase : period - phase;
  }
  return kOutside;
}

struct Pads {
  Dims begin, end;
};

StatusOr<Pads> ReadPads(const Node& node) {
  const int64_t rank = node.Input(0).rank();
  ASSIGN_OR_RETURN(const Dims pads, node.IntsFromAttributeOrInput(node.opset() < 2 ? "paddings" : "pads", 1, 11));
  Dims axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (node.opset() >= 18 && node.HasInput(3)) {
    RETURN_IF_ERROR(RequireInts(node.Input(3), "axes"));
    ASSIGN_OR_RETURN(axes, NormalizeAxes(node.Input(3).ints, rank));
  }
  if (pads.size() != 2 * axes.size())
    return InvalidArgument(fmt::format("pads is {}, {} values required", DimsText(pads), 2 * axes.size()));
  Pads result{Dims(rank), Dims(rank)};
  for (size_t i = 0; i < axes.size(); ++i) {
    result.begin[axes[i]] = pads[i];
    result.end[axes[i]] = pads[i + axes.size()];
  }
  return result;
}

StatusOr<Fill> PadValue(const Node& node) {
  if (node.opset() < 11) return Fill{node.Float("value", 0), 0};
  if (!node.HasInput(2)) return Fill{};
  const Tensor& value = node.Input(2);
  if (value.size() != 1 || value.type != node.Input(0).type)
    return InvalidArgument(fmt::format("constant_value is {}", TypeText(value)));
  return IsFloat(value.type) ? Fill{value.floats[0], 0} : Fill{0, value.ints[0]};
}

}  // namespace

// Negative pads crop.
Outputs EvaluatePad(const Node& node) {
  const Tensor& x = node.Input(0);
  const std::string mode = node.String("mode", "constant");
  if (mode != "constant" && mode != "edge" && mode != "reflect" && !(mode == "wrap" && node.opset() >= 19)) {
    return InvalidArgument(
        fmt::format("mode is \"{}\": constant, edge, reflect or (since opset 19) wrap required", mode));
  }
  ASSIGN_OR_RETURN(const Pads pads, ReadPads(node));
  ASSIGN_OR_RETURN(const Fill fill, PadValue(node));
  const Dims strides = Strides(x.dims);
  Dims dims = x.dims;
  for (int64_t a = 0; a < x.rank(); ++a) {
    constexpr int64_t kMost = int64_t{1} << 28;
    if (std::max(std::abs(std::clamp(pads.begin[a], -kMost - 1, kMost + 1)),
                 std::abs(std::clamp(pads.end[a], -kMost - 1, kMost + 1))) > kMost) {
      return InvalidArgument(fmt::format("pads of axis {}: {} and {}", a, pads.begin[a], pads.end[a]));
    }
    dims[a] += pads.begin[a] + pads.end[a];
    if (dims[a] > 0 && x.dims[a] == 0 && mode != "constant")
      return InvalidArgument(fmt::format("mode {} of an empty axis {}", mode, a));
  }
  RETURN_IF_ERROR(ElementCount(dims).status());
  AxisOffsets axes(x.rank());
  for (int64_t a = 0; a < x.rank(); ++a) {
    for (int64_t i = 0; i < dims[a]; ++i) {
      const int64_t source = PadSource(i - pads.begin[a], x.dims[a], mode);
      axes[a].push_back(source == kOutside ? kOutside : source * strides[a]);
    }
  }
  ASSIGN_OR_RETURN(Tensor y, TakeAxes(x, axes, fill));
  return One(std::move(y));
}

// starts, ends, axes (and steps) are attributes before opset 10, inputs since.
Outputs EvaluateSlice(const Node& node) {
  const Tensor& x = node.Input(0);
  ASSIGN_OR_RETURN(const Dims starts, node.IntsFromAttributeOrInput("starts", 1, 10));
  ASSIGN_OR_RETURN(const Dims ends, node.IntsFromAttributeOrInput("ends", 2, 10));
  ASSIGN_OR_RETURN(Dims axes, node.IntsFromAttributeOrInput("axes", 3, 10));
  ASSIGN_OR_RETURN(Dims steps, node.IntsFromAttributeOrInput("steps", 4, 10));
  if (axes.empty()) {
    axes.resize(starts.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (steps.empty()) steps.assign(starts.size(), 1);
  ASSIGN_OR_RETURN(axes, NormalizeAxes(axes, x.rank()));
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size()) {
    return InvalidArgument(
        fmt::format("{} starts, {} ends, {} axes, {} steps", starts.size(), ends.size(), axes.size(), steps.size()));
  }
  AxisOffsets offsets = WholeAxes(x.dims);
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t size = x.dims[axes[i]], step = steps[i];
    if (step == 0) return InvalidArgument(fmt::format("step of axis {} is 0", axes[i]));
    const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
    const auto clamped = [&](int64_t at) { return std::clamp(at < 0 ? at + size : at, low, std::max(low, high)); };
    const int64_t start = std::max<int64_t>(clamped(starts[i]), 0), end = clamped(ends[i]);
    const int64_t stride =
        std::clamp(step, -size - 1, size + 1);  // A longer one takes the first element just the same.
    const std::vector<int64_t> whole = std::move(offsets[axes[i]]);
    std::vector<int64_t> taken;
    for (int64_t at = start; stride > 0 ? at < end : at > end && at < size; at += stride) taken.push_back(whole[at]);
    offsets[axes[i]] = std::move(taken);
  }
  ASSIGN_OR_RETURN(Tensor y, TakeAxes(x, offsets));
  return One(std::move(y));
}

// Parts of one axis; equal ones, the last of them possibly smaller, where none are asked for.
Outputs EvaluateSplit(const Node& node) {
  const Tensor& x = node.Input(0);
  ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(node.Int("axis", 0), x.rank()));
  ASSIGN_OR_RETURN(Dims parts, node.IntsFromAttributeOrInput("split", 1, 13));
  const auto count = static_cast<int64_t>(node.num_outputs());
  const bool is_asked = !parts.empty() || count == 0;
  for (int64_t i = 0, size = (x.dims[axis] + count - 1) / std::max<int64_t>(count, 1); !is_asked && i < count; ++i)
    parts.push_back(std::min(size, x.dims[axis] - i * size));
  const bool is_uneven = !is_asked && node.opset() < 18 && parts.front() != parts.back();
  const bool is_negative = std::any_of(parts.begin(), parts.end(), [](int64_t part) { return part < 0; });
  if (is_uneven || is_negative || static_cast<int64_t>(parts.size()) != count ||
      std::accumulate(parts.begin(), parts.end(), int64_t{0}) != x.dims[axis])
    return InvalidArgument(fmt::format("{} outputs of [{}] parts of {}", count, fmt::join(parts, ", "), x.dims[axis]));
  std::vector<Tensor> outputs;
  int64_t begin = 0;
  for (const int64_t part : parts) {
    AxisOffsets offsets = WholeAxes(x.dims);
    offsets[axis] = {offsets[axis].begin() + begin, offsets[axis].begin() + begin + part};
    ASSIGN_OR_RETURN(Tensor y, TakeAxes(x, offsets));
    outputs.push_back(std::move(y));
    begin += part;
  }
  return outputs;
}

Outputs EvaluateGather(const Node& node) {
  const Tensor &x = node.Input(0), &indices = node.Input(1);
  RETURN_IF_ERROR(RequireInts(indices, "indices"));
  ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(node.Int("axis", 0), x.rank()));
  AxisOffsets offsets = WholeAxes(x.dims);
  const int64_t stride = Strides(x.dims)[axis];
  offsets[axis].clear();
  for (int64_t index : indices.ints) {
    const StatusOr<int64_t> at = NormalizeAxis(index, x.dims[axis]);
    if (!at.ok()) return InvalidArgument(fmt::format("index {} outside axis {} of {}", index, axis, DimsText(x.dims)));
    offsets[axis].push_back(*at * stride);
  }
  ASSIGN_OR_RETURN(Tensor y, TakeAxes(x, offsets));
  y.dims.erase(y.dims.begin() + axis);  // The indices' axes take its place.
  y.dims.insert(y.dims.begin() + axis, indices.dims.begin(), indices.dims.end());
  return One(std::move(y));
}

Outputs EvaluateExpand(const Node& node) {
  RETURN_IF_ERROR(RequireInts(node.Input(1), "shape"));
  RETURN_IF_ERROR(ElementCount(node.Input(1).ints).status());
  ASSIGN_OR_RETURN(Dims dims, BroadcastDims(node.Input(0).dims, node.Input(1).ints));
  const std::vector<int64_t> offsets = BroadcastOffsets(node.Input(0).dims, dims);
  return One(Take(node.Input(0), std::move(dims), offsets));
}

}  // namespace lathe::reference
