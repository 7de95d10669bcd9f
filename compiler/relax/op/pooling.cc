// Pools of one to three spatial dimensions over NC<spatial> data, whose channels may be in blocks (layout "NCHW16c":
// [N, C / 16, H, W, 16]): a last dimension that comes along.
//
// Attributes: layout, pool_size, strides, dilation, padding (begins, then ends), ceil_mode, count_include_pad. With
// ceil_mode a last window that would start in the padding after the data is left out, and what hangs over never counts,
// as ONNX and PyTorch have it.
#include <fmt/format.h>

#include "compiler/ir/integer.h"
#include "compiler/relax/op/arguments.h"
#include "compiler/relax/op/layout.h"
#include "compiler/relax/op/rows.h"
#include "support/status_macros.h"

namespace lathe::relax {
namespace {

size_t BlockDims(const Call& call) { return BlockOf(StringAttr(call.attrs, "layout", ""), 'c') > 0 ? 1 : 0; }

struct PoolGeometry {
  std::vector<int64_t> data, window, strides, dilation, pads, out;
  size_t rank() const { return window.size(); }
  int64_t begin(size_t i) const { return pads[i]; }
  int64_t end(size_t i) const { return pads[rank() + i]; }
};

Status InferOut(const Call& call, bool ceil_mode, PoolGeometry& g) {
  constexpr int64_t kLimit = int64_t{1} << 31;
  for (size_t i = 0; i < g.rank(); ++i) {
    const auto is_odd = [&](int64_t value, int64_t least) { return value < least || value > kLimit; };
    if (is_odd(g.window[i], 1) || is_odd(g.strides[i], 1) || is_odd(g.dilation[i], 1) || is_odd(g.begin(i), 0) ||
        is_odd(g.end(i), 0)) {
      return ArgumentError(
          call,
          fmt::format("dimension {}: window {}, stride {}, dilation {}, pads {} and {}; window, stride and dilation "
                      "from 1, pads from 0 required",
                      i, g.window[i], g.strides[i], g.dilation[i], g.begin(i), g.end(i)));
    }
    const int64_t extent = g.data[i + 2], covered = (g.window[i] - 1) * g.dilation[i] + 1,
                  room = extent + g.begin(i) + g.end(i);
    if (room < covered && !ceil_mode)
      return ArgumentError(call,
                           fmt::format("dimension {}: the window covers {}, the padded data has {}", i, covered, room));
    const int64_t steps = room - covered;
    int64_t out = (ceil_mode ? FloorDivide(steps + g.strides[i] - 1, g.strides[i]) : steps / g.strides[i]) + 1;
    if (ceil_mode && (out - 1) * g.strides[i] >= extent + g.begin(i)) --out;
    if (out < 1)
      return ArgumentError(call,
                           fmt::format("dimension {}: the window covers {}, the padded data has {}", i, covered, room));
    g.out.push_back(out);
  }
  return OkStatus();
}

StatusOr<PoolGeometry> PoolGeometryOf(const Call& call, size_t rank) {
  ASSIGN_OR_RETURN(const TensorStructInfo data, TensorInfo(call, 0));
  const size_t required = rank + 2 + BlockDims(call);
  if (data.shape->size() != required)
    return ArgumentError(call, fmt::format("data is {}, {} dimensions required", ToText(data), required));
  PoolGeometry g;
  ASSIGN_OR_RETURN(g.data, ConstantExtents(call, data));
  ASSIGN_OR_RETURN(g.window, IntsAttrOr(call, "pool_size", rank, 1));
  ASSIGN_OR_RETURN(g.strides, IntsAttrOr(call, "strides", rank, 1));
  ASSIGN_OR_RETURN(g.dilation, IntsAttrOr(call, "dilation", rank, 1));
  ASSIGN_OR_RETURN(g.pads, IntsAttrOr(call, "padding", 2 * rank, 0));
  RETURN_IF_ERROR(InferOut(call, BoolAttr(call.attrs, "ceil_mode", false), g));
  return g;
}

PrimShape OutShape(const PoolGeometry& g) {
  PrimShape shape = ToPrimShape(g.data);
  for (size_t i = 0; i < g.rank(); ++i) shape[2 + i] = g.out[i];
  return shape;
}

template <size_t kRank>
StatusOr<StructInfo> InferPool(const Call& call) {
  ASSIGN_OR_RETURN(const PoolGeometry g, PoolGeometryOf(call, kRank));
  return TensorResult(call, OutShape(g), call.args[0].struct_info().As<TensorStructInfo>()->dtype);
}

// As much after the data as the last window reaches; what no window reaches is left out.
Buffer PadForWindows(te::ComputeBuilder& builder, const PoolGeometry& g, const Buffer& data, const PrimExpr& value) {
  std::vector<int64_t> begins(g.data.size(), 0), ends = begins;
  for (size_t i = 0; i < g.rank(); ++i) {
    const int64_t reach = (g.out[i] - 1) * g.strides[i] + (g.window[i] - 1) * g.dilation[i] + 1;
    begins[2 + i] = g.begin(i);
    ends[2 + i] = std::max<int64_t>(reach - g.data[i + 2] - g.begin(i), 0);
  }
  return PadBuffer(builder, data, begins, ends, value);
}

Buffer ReduceWindows(te::ComputeBuilder& builder, const PoolGeometry& g, const Buffer& padded, te::Combiner combiner,
                     const std::string& name) {
  return builder.Reduce(name, OutShape(g), ToPrimShape(g.window), combiner,
                        [&](const te::Axes& point, const te::Axes& reduced) {
                          te::Axes from = point;
                          for (size_t i = 0; i < g.rank(); ++i)
                            from[2 + i] = point[2 + i] * PrimExpr(g.strides[i]) + reduced[i] * PrimExpr(g.dilation[i]);
                          return combiner == te::Combiner::kSum ? LoadWide(padded, from) : Load(padded, from);
                        });
}

template <size_t kRank>
StatusOr<PrimFunc> LegalizeMaxPool(const Call& call, const StructInfo&) {
  ASSIGN_OR_RETURN(const PoolGeometry g, PoolGeometryOf(call, kRank));
  te::ComputeBuilder builder;
  const std::vector<Buffer> inputs = MakeInputs(builder, call, {"data"});
  const Buffer padded = PadForWindows(builder, g, inputs[0], te::Identity(te::Combiner::kMax, inputs[0]->dtype));
  return builder.Build("max_pool" + std::to_string(kRank) + "d",
                       ReduceWindows(builder, g, padded, te::Combiner::kMax, "pool_max"));
}

// How many taps of window `at` in dimension `i` lie in [low, high) of the data's coordinates; a constant where all
// windows agree.
PrimExpr CountTaps(const PoolGeometry& g, size_t i, const PrimExpr& at, int64_t low, int64_t high) {
  const int64_t d = g.dilation[i];
  const auto count_at = [&](int64_t o) {
    const int64_t start = o * g.strides[i] - g.begin(i);
    return std::min(g.window[i], FloorDivide(high - start + d - 1, d)) -
           std::max<int64_t>(0, FloorDivide(low - start + d - 1, d));
  };
  bool is_same = true;
  for (int64_t o = 1; o < g.out[i] && is_same; ++o) is_same = count_at(o) == count_at(0);
  if (is_same) return count_at(0);
  const PrimExpr start = at * PrimExpr(g.strides[i]) - PrimExpr(g.begin(i));
  const PrimExpr last = Min(PrimExpr(g.window[i]), FloorDiv(PrimExpr(high + d - 1) - start, d));
  return last - Max(PrimExpr(0), FloorDiv(PrimExpr(low + d - 1) - start, d));
}

template <size_t kRank>
StatusOr<PrimFunc> LegalizeAvgPool(const Call& call, const StructInfo&) {
  ASSIGN_OR_RETURN(const PoolGeometry g, PoolGeometryOf(call, kRank));
  const bool include_pad = BoolAttr(call.attrs, "count_include_pad", false);
  te::ComputeBuilder builder;
  const std::vector<Buffer> inputs = MakeInputs(builder, call, {"data"});
  const DataType type = inputs[0]->dtype;
  const Buffer padded = PadForWindows(builder, g, inputs[0], ConstOf(type, 0));
  const Buffer sum = ReduceWindows(builder, g, padded, te::Combiner::kSum, "pool_sum");
  const Buffer average = builder.Compute("pool_avg", OutShape(g), [&](const te::Axes& point) {
    PrimExpr count = 1;
    for (size_t i = 0; i < kRank; ++i) {
      const int64_t low = include_pad ? -g.begin(i) : 0, high = g.data[i + 2] + (include_pad ? g.end(i) : 0);
      count = count * CountTaps(g, i, point[2 + i], low, high);
    }
    const int64_t* constant = AsIntConst(count);
    const PrimExpr divisor = constant != nullptr ? ConstOf(sum->dtype, static_cast<double>(*constant))
                                                 : MakeCast(sum->dtype, Max(count, PrimExpr(1)));
    return MakeCast(type, Load(sum, point) / divisor);
  });
  return builder.Build("avg_pool" + std::to_string(kRank) + "d", average);
}

// Attribute output_size; each output cell covers an equal share of the data.
StatusOr<std::vector<int64_t>> AdaptiveWindow(const Call& call) {
  ASSIGN_OR_RETURN(const TensorStructInfo data, TensorInfo(call, 0));
  const size_t others = 2 + BlockDims(call);
  if (static_cast<size_t>(data.ndim) <= others)
    return ArgumentError(call, fmt::format("data is {}, at least {} dimensions required", ToText(data), others + 1));
  ASSIGN_OR_RETURN(const std::vector<int64_t> extents, ConstantExtents(call, data));
  ASSIGN_OR_RETURN(const std::vector<int64_t> out, IntsAttrOr(call, "output_size", extents.size() - others, 1));
  std::vector<int64_t> window;
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] < 1 || extents[i + 2] < out[i] || extents[i + 2] % out[i] != 0) {
      return ArgumentError(call, fmt::format("output extent {} must divide the data's {}", out[i], extents[i + 2]));
    }
    window.push_back(extents[i + 2] / out[i]);
  }
  return window;
}

StatusOr<StructInfo> InferAdaptive(const Call& call) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> window, AdaptiveWindow(call));
  TensorStructInfo info = *call.args[0].struct_info().As<TensorStructInfo>();
  for (size_t i = 0; i < window.size(); ++i) (*info.shape)[i + 2] = FloorDiv((*info.shape)[i + 2], window[i]);
  return StructInfo(std::move(info));
}

StatusOr<Buffer> ReduceAdaptive(te::ComputeBuilder& builder, const Call& call, const StructInfo& result,
                                te::Combiner combiner, const std::string& name) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> window, AdaptiveWindow(call));
  const std::vector<Buffer> inputs = MakeInputs(builder, call, {"data"});
  return builder.Reduce(name, *result.As<TensorStructInfo>()->shape, ToPrimShape(window), combiner,
                        [&](const te::Axes& point, const te::Axes& reduced) {
                          te::Axes from = point;
                          for (size_t i = 0; i < window.size(); ++i)
                            from[2 + i] = point[2 + i] * PrimExpr(window[i]) + reduced[i];
                          return combiner == te::Combiner::kSum ? LoadWide(inputs[0], from) : Load(inputs[0], from);
                        });
}

StatusOr<PrimFunc> LegalizeAdaptiveMax(const Call& call, const StructInfo& result) {
  te::ComputeBuilder builder;
  ASSIGN_OR_RETURN(const Buffer out, ReduceAdaptive(builder, call, result, te::Combiner::kMax, "adaptive_pool_max"));
  return builder.Build("adaptive_max_pool", out);
}

StatusOr<PrimFunc> LegalizeAdaptiveAvg(const Call& call, const StructInfo& result) {
  te::ComputeBuilder builder;
  ASSIGN_OR_RETURN(const Buffer sum, ReduceAdaptive(builder, call, result, te::Combiner::kSum, "adaptive_pool_sum"));
  ASSIGN_OR_RETURN(const std::vector<int64_t> window, AdaptiveWindow(call));
  const double count = static_cast<double>(ElementCount(window).value_or(1));
  const Buffer average = builder.Compute("adaptive_pool_avg", sum->shape, [&](const te::Axes& point) {
    return MakeCast(result.As<TensorStructInfo>()->dtype, Load(sum, point) / ConstOf(sum->dtype, count));
  });
  return builder.Build("adaptive_avg_pool", average);
}

constexpr OpPatternKind kPoolPattern = OpPatternKind::kCommReduce;
constexpr Op kPoolingOps[] = {
    {"nn.adaptive_avg_pool", 1, kPoolPattern, InferAdaptive, LegalizeAdaptiveAvg, "adaptive_avg_pool"},
    {"nn.adaptive_max_pool", 1, kPoolPattern, InferAdaptive, LegalizeAdaptiveMax, "adaptive_max_pool"},
    {"nn.avg_pool1d", 1, kPoolPattern, InferPool<1>, LegalizeAvgPool<1>, "avg_pool1d"},
    {"nn.avg_pool2d", 1, kPoolPattern, InferPool<2>, LegalizeAvgPool<2>, "avg_pool2d"},
    {"nn.avg_pool3d", 1, kPoolPattern, InferPool<3>, LegalizeAvgPool<3>, "avg_pool3d"},
    {"nn.max_pool1d", 1, kPoolPattern, InferPool<1>, LegalizeMaxPool<1>, "max_pool1d"},
    {"nn.max_pool2d", 1, kPoolPattern, InferPool<2>, LegalizeMaxPool<2>, "max_pool2d"},
    {"nn.max_pool3d", 1, kPoolPattern, InferPool<3>, LegalizeMaxPool<3>, "max_pool3d"},
};

}  // namespace

std::span<const Op> PoolingOps() { return kPoolingOps; }

}  // namespace lathe::relax
