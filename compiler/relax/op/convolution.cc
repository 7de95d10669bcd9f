// Convolutions of one to three spatial dimensions: data NC<spatial>, weights OI<spatial> or, blocked for vectors of
// output channels, OI<spatial><b>o (attribute kernel_layout, e.g. "OIHW16o": W[o // 16, i, kh, kw, o % 16]).
//
// Attributes: strides, padding (begins, then ends), dilation, groups, kernel_layout, channels (where blocking padded
// the weights).
#include <fmt/format.h>

#include "compiler/relax/op/arguments.h"
#include "compiler/relax/op/kernel_layout.h"
#include "compiler/relax/op/rows.h"
#include "support/status_macros.h"

namespace lathe::relax {
namespace {

struct ConvGeometry {
  std::vector<int64_t> data;                                          // [N, C, spatial...]
  std::vector<int64_t> kernel, strides, dilation;                     // Per spatial dimension.
  std::vector<int64_t> pads;                                          // Begins, then ends.
  std::vector<int64_t> out;                                           // Spatial extents of the result.
  int64_t groups = 1, in_per_group = 1, out_channels = 1, block = 0;  // block 0: plain weights.
  size_t rank() const { return kernel.size(); }
  bool is_depthwise() const { return groups > 1 && in_per_group == 1; }
};

Status InferOut(const Call& call, ConvGeometry& g) {
  for (size_t i = 0; i < g.rank(); ++i) {
    if (g.strides[i] < 1 || g.dilation[i] < 1 || g.kernel[i] < 1 || g.pads[i] < 0 || g.pads[g.rank() + i] < 0) {
      return ArgumentError(
          call,
          fmt::format("dimension {}: kernel {}, stride {}, dilation {}, pads {} and {}; strides, dilations and kernels "
                      "from 1, pads from 0 required",
                      i, g.kernel[i], g.strides[i], g.dilation[i], g.pads[i], g.pads[g.rank() + i]));
    }
    constexpr int64_t kLimit = int64_t{1} << 31;
    if (g.strides[i] > kLimit || g.dilation[i] > kLimit || g.pads[i] > kLimit || g.pads[g.rank() + i] > kLimit) {
      return ArgumentError(call, fmt::format("dimension {}: stride, dilation or pads beyond 2^31", i));
    }
    const int64_t covered = (g.kernel[i] - 1) * g.dilation[i] + 1,
                  room = g.data[i + 2] + g.pads[i] + g.pads[g.rank() + i];
    if (room < covered)
      return ArgumentError(call,
                           fmt::format("dimension {}: the kernel covers {}, the padded data has {}", i, covered, room));
    g.out.push_back((room - covered) / g.strides[i] + 1);
  }
  return OkStatus();
}

StatusOr<ConvGeometry> ConvGeometryOf(const Call& call, size_t rank) {
  ASSIGN_OR_RETURN(const TensorStructInfo data, TensorInfo(call, 0));
  ASSIGN_OR_RETURN(const TensorStructInfo weight, TensorInfo(call, 1));
  ConvGeometry g;
  g.block = BlockOfLayout(StringAttr(call.attrs, "kernel_layout", ""));
  const size_t weight_rank = rank + 2 + (g.block > 0 ? 1 : 0);
  if (data.shape->size() != rank + 2 || weight.shape->size() != weight_rank || data.dtype != weight.dtype) {
    return ArgumentError(call, fmt::format("data is {} and weights are {}, {} and {} dimensions of one type required",
                                           ToText(data), ToText(weight), rank + 2, weight_rank));
  }
  ASSIGN_OR_RETURN(g.data, ConstantExtents(call, data));
  ASSIGN_OR_RETURN(const std::vector<int64_t> w, ConstantExtents(call, weight));
  g.kernel.assign(w.begin() + 2, w.begin() + 2 + static_cast<std::ptrdiff_t>(rank));
  ASSIGN_OR_RETURN(g.strides, IntsAttrOr(call, "strides", rank, 1));
  ASSIGN_OR_RETURN(g.dilation, IntsAttrOr(call, "dilation", rank, 1));
  ASSIGN_OR_RETURN(g.pads, IntsAttrOr(call, "padding", 2 * rank, 0));
  g.groups = IntAttr(call.attrs, "groups", 1);
  g.in_per_group = w[1];
  g.out_channels = g.block > 0 ? IntAttr(call.attrs, "channels", w[0] * g.block) : w[0];
  if (g.groups < 1 || g.in_per_group < 1 || g.data[1] % g.groups != 0 || g.data[1] / g.groups != g.in_per_group ||
      g.out_channels % g.groups != 0) {
    return ArgumentError(
        call,
        fmt::format(
            "{} groups, data {}, weights {}: input channels / groups must be the weights' second extent, and groups "
            "divide the output channels",
            g.groups, ToText(*data.shape), ToText(*weight.shape)));
  }
  RETURN_IF_ERROR(InferOut(call, g));
  return g;
}

PrimShape OutShape(const ConvGeometry& g) {
  PrimShape shape = {g.data[0], g.out_channels};
  shape.insert(shape.end(), g.out.begin(), g.out.end());
  return shape;
}

template <size_t kRank>
StatusOr<StructInfo> InferConv(const Call& call) {
  ASSIGN_OR_RETURN(const ConvGeometry g, ConvGeometryOf(call, kRank));
  return TensorResult(call, OutShape(g), call.args[0].struct_info().As<TensorStructInfo>()->dtype);
}

std::string BlockName(const ConvGeometry& g) {
  const char* const layout = g.rank() == 1 ? "ncw" : g.rank() == 2 ? "nchw" : "ncdhw";
  return fmt::format("{}conv{}d_{}", g.is_depthwise() ? "depthwise_" : g.groups > 1 ? "group_" : "", g.rank(), layout);
}

te::AxisNames AxisNamesOf(const ConvGeometry& g) {
  te::AxisNames names = {{"nn", "ff"}, {}};
  if (!g.is_depthwise()) names.reduced.push_back("rc");
  for (size_t i = 3 - g.rank(); i < 3; ++i) {
    names.spatial.push_back(std::string(2, "zyx"[i]));
    names.reduced.push_back(std::string("r") + "zyx"[i]);
  }
  return names;
}

Buffer Convolve(te::ComputeBuilder& builder, const ConvGeometry& g, const Buffer& padded, const Buffer& weight) {
  std::vector<PrimExpr> extents;
  if (!g.is_depthwise()) extents.push_back(g.in_per_group);
  extents.insert(extents.end(), g.kernel.begin(), g.kernel.end());
  const auto product = [&](const te::Axes& point, const te::Axes& reduced) {
    const PrimExpr out_channel = point[1];
    const PrimExpr in_group = g.is_depthwise() ? PrimExpr(0) : reduced[0];
    const PrimExpr group = FloorDiv(out_channel, g.out_channels / g.groups);
    const size_t first = g.is_depthwise() ? 0 : 1;
    te::Axes from = {point[0], g.groups == 1 ? in_group : group * PrimExpr(g.in_per_group) + in_group};
    te::Axes with = {g.block > 0 ? FloorDiv(out_channel, g.block) : out_channel, in_group};
    for (size_t i = 0; i < g.rank(); ++i) {
      from.push_back(point[2 + i] * PrimExpr(g.strides[i]) + reduced[first + i] * PrimExpr(g.dilation[i]));
      with.push_back(reduced[first + i]);
    }
    if (g.block > 0) with.push_back(FloorMod(out_channel, g.block));
    return LoadWide(padded, from) * LoadWide(weight, with);
  };
  return builder.Reduce(BlockName(g), OutShape(g), extents, te::Combiner::kSum, product, AxisNamesOf(g));
}

template <size_t kRank>
StatusOr<PrimFunc> LegalizeConv(const Call& call, const StructInfo&) {
  ASSIGN_OR_RETURN(const ConvGeometry g, ConvGeometryOf(call, kRank));
  te::ComputeBuilder builder;
  const std::vector<Buffer> inputs = MakeInputs(builder, call, {"data", "weight"});
  std::vector<int64_t> begins = {0, 0}, ends = {0, 0};
  begins.insert(begins.end(), g.pads.begin(), g.pads.begin() + kRank);
  ends.insert(ends.end(), g.pads.begin() + kRank, g.pads.end());
  const Buffer padded = PadBuffer(builder, inputs[0], begins, ends, ConstOf(inputs[0]->dtype, 0));
  const std::string name = fmt::format("{}conv{}d",
                                       g.is_depthwise() ? "depthwise_"
                                       : g.groups > 1   ? "group_"
                                                        : "",
                                       kRank);
  return builder.Build(name, ConvertTo(builder, Convolve(builder, g, padded, inputs[1]), inputs[0]->dtype));
}

constexpr OpPatternKind kAnchor = OpPatternKind::kOutEWiseFusable;
constexpr Op kConvolutionOps[] = {
    {"nn.conv1d", 2, kAnchor, InferConv<1>, LegalizeConv<1>, "conv1d"},
    {"nn.conv2d", 2, kAnchor, InferConv<2>, LegalizeConv<2>, "conv2d"},
    {"nn.conv3d", 2, kAnchor, InferConv<3>, LegalizeConv<3>, "conv3d"},
};

}  // namespace

std::span<const Op> ConvolutionOps() { return kConvolutionOps; }

}  // namespace lathe::relax
