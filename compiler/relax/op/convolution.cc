// Convolutions of one to three spatial dimensions: data NC<spatial>, weights OI<spatial> or, blocked for vectors of
// output channels, OI<spatial><b>o (attribute kernel_layout, e.g. "OIHW16o": W[o // 16, i, kh, kw, o % 16]). Data and
// result may have their channels in blocks, too (data_layout and out_layout, e.g. "NCHW16c": [N, C / 16, H, W, 16]);
// weights then have the data's block of inputs and the result's of outputs ("OIHW16i16o").
//
// Attributes: strides, padding (begins, then ends), dilation, groups, data_layout, out_layout, kernel_layout, channels
// (where blocking padded the weights).
#include <fmt/format.h>

#include <algorithm>

#include "compiler/relax/op/arguments.h"
#include "compiler/relax/op/layout.h"
#include "compiler/relax/op/rows.h"
#include "support/status_macros.h"

namespace lathe::relax {
namespace {

// Channels that stand next to each other behind the spatial dimensions; 0: none do.
struct ConvBlocks {
  int64_t data = 0, out = 0;
  int64_t weight_in = 0, weight_out = 0;
};
ConvBlocks ConvBlocksOf(const Call& call) {
  const std::string kernel = StringAttr(call.attrs, "kernel_layout", "");
  return {BlockOf(StringAttr(call.attrs, "data_layout", ""), 'c'),
          BlockOf(StringAttr(call.attrs, "out_layout", ""), 'c'), BlockOf(kernel, 'i'), BlockOf(kernel, 'o')};
}

struct ConvGeometry {
  ConvBlocks blocks;
  std::vector<int64_t> data;                       // [N, C, spatial...], whatever the layout.
  std::vector<int64_t> kernel, strides, dilation;  // Per spatial dimension.
  std::vector<int64_t> pads;                       // Begins, then ends.
  std::vector<int64_t> out;                        // Spatial extents of the result.
  int64_t groups = 1, in_per_group = 1, out_channels = 1;
  size_t rank() const { return kernel.size(); }
  int64_t out_per_group() const { return out_channels / groups; }
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

// [N, C / b, spatial..., b] as [N, C, spatial...].
std::vector<int64_t> WithoutBlock(std::vector<int64_t> shape, int64_t block) {
  if (block == 0) return shape;
  shape[1] *= block;
  shape.pop_back();
  return shape;
}

Status CheckBlocks(const Call& call, const ConvGeometry& g, const std::vector<int64_t>& data,
                   const std::vector<int64_t>& weight) {
  const ConvBlocks& b = g.blocks;
  if (b.data == 0 && b.out == 0 && b.weight_in == 0) return OkStatus();  // The weights alone, which may be padded.
  const bool has_extents = (b.data == 0 || data.back() == b.data) &&
                           (b.weight_out == 0 || weight.back() == b.weight_out) &&
                           (b.weight_in == 0 || weight[g.rank() + 2] == b.weight_in);
  const bool has_whole = (b.out == 0 || g.out_per_group() % b.out == 0 || g.is_depthwise()) &&
                         (b.data == 0 || g.in_per_group % b.data == 0 || g.is_depthwise());
  const bool agree = (b.out == 0 || b.weight_out == b.out) && b.weight_in == (g.is_depthwise() ? 0 : b.data) &&
                     (!g.is_depthwise() || (b.data == b.out && g.out_channels == g.groups)) &&
                     (b.data == 0 || b.out > 0);
  if (has_extents && has_whole && agree) return OkStatus();
  return ArgumentError(
      call,
      fmt::format("blocks of {} channels of the data, {} of the result, {} and {} of the weights, {} input and {} "
                  "output channels per group: blocks must divide them and be the last extents, weights have "
                  "those of data and result, a depthwise convolution has one",
                  b.data, b.out, b.weight_in, b.weight_out, g.in_per_group, g.out_per_group()));
}

StatusOr<ConvGeometry> ConvGeometryOf(const Call& call, size_t rank) {
  ASSIGN_OR_RETURN(const TensorStructInfo data, TensorInfo(call, 0));
  ASSIGN_OR_RETURN(const TensorStructInfo weight, TensorInfo(call, 1));
  ConvGeometry g;
  g.blocks = ConvBlocksOf(call);
  const size_t data_rank = rank + 2 + (g.blocks.data > 0 ? 1 : 0);
  const size_t weight_rank = rank + 2 + (g.blocks.weight_in > 0 ? 1 : 0) + (g.blocks.weight_out > 0 ? 1 : 0);
  if (data.shape->size() != data_rank || weight.shape->size() != weight_rank || data.dtype != weight.dtype) {
    return ArgumentError(call, fmt::format("data is {} and weights are {}, {} and {} dimensions of one type required",
                                           ToText(data), ToText(weight), data_rank, weight_rank));
  }
  ASSIGN_OR_RETURN(const std::vector<int64_t> extents, ConstantExtents(call, data));
  ASSIGN_OR_RETURN(const std::vector<int64_t> w, ConstantExtents(call, weight));
  g.data = WithoutBlock(extents, g.blocks.data);
  g.kernel.assign(w.begin() + 2, w.begin() + 2 + static_cast<std::ptrdiff_t>(rank));
  ASSIGN_OR_RETURN(g.strides, IntsAttrOr(call, "strides", rank, 1));
  ASSIGN_OR_RETURN(g.dilation, IntsAttrOr(call, "dilation", rank, 1));
  ASSIGN_OR_RETURN(g.pads, IntsAttrOr(call, "padding", 2 * rank, 0));
  g.groups = IntAttr(call.attrs, "groups", 1);
  g.in_per_group = w[1] * std::max<int64_t>(1, g.blocks.weight_in);
  g.out_channels = g.blocks.weight_out > 0 ? IntAttr(call.attrs, "channels", w[0] * g.blocks.weight_out) : w[0];
  if (g.groups < 1 || g.in_per_group < 1 || g.data[1] % g.groups != 0 || g.data[1] / g.groups != g.in_per_group ||
      g.out_channels % g.groups != 0) {
    return ArgumentError(
        call,
        fmt::format(
            "{} groups, data {}, weights {}: input channels / groups must be the weights' second extent, and groups "
            "divide the output channels",
            g.groups, ToText(*data.shape), ToText(*weight.shape)));
  }
  RETURN_IF_ERROR(CheckBlocks(call, g, extents, w));
  RETURN_IF_ERROR(InferOut(call, g));
  return g;
}

PrimShape OutShape(const ConvGeometry& g) {
  const int64_t block = g.blocks.out;
  PrimShape shape = {g.data[0], block > 0 ? g.out_channels / block : g.out_channels};
  shape.insert(shape.end(), g.out.begin(), g.out.end());
  if (block > 0) shape.push_back(block);
  return shape;
}

template <size_t kRank>
StatusOr<StructInfo> InferConv(const Call& call) {
  ASSIGN_OR_RETURN(const ConvGeometry g, ConvGeometryOf(call, kRank));
  return TensorResult(call, OutShape(g), call.args[0].struct_info().As<TensorStructInfo>()->dtype);
}

std::string BlockName(const ConvGeometry& g) {
  const char* const layout = g.rank() == 1 ? "ncw" : g.rank() == 2 ? "nchw" : "ncdhw";
  return fmt::format("{}conv{}d_{}{}",
                     g.is_depthwise() ? "depthwise_"
                     : g.groups > 1   ? "group_"
                                      : "",
                     g.rank(), layout, g.blocks.out > 0 ? "c" : "");
}

// The channels within a block are the last of the spatial and of the reduced axes.
te::AxisNames AxisNamesOf(const ConvGeometry& g) {
  te::AxisNames names = {{"nn", "ff"}, {}};
  if (!g.is_depthwise()) names.reduced.push_back("rc");
  for (size_t i = 3 - g.rank(); i < 3; ++i) {
    names.spatial.push_back(std::string(2, "zyx"[i]));
    names.reduced.push_back(std::string("r") + "zyx"[i]);
  }
  if (g.blocks.out > 0) names.spatial.push_back("fb");
  if (g.blocks.weight_in > 0) names.reduced.push_back("rb");
  return names;
}

// What the channel dimension of the data is indexed by: a channel, or a block of them.
PrimExpr DataChannel(const ConvGeometry& g, const PrimExpr& out_channel, const te::Axes& reduced) {
  const PrimExpr in_group = g.is_depthwise() ? PrimExpr(0) : reduced[0];
  if (g.groups == 1) return in_group;
  if (g.is_depthwise() && g.blocks.out > 0) return out_channel;
  const PrimExpr group = FloorDiv(out_channel, g.out_per_group() / std::max<int64_t>(1, g.blocks.out));
  return group * PrimExpr(g.in_per_group / std::max<int64_t>(1, g.blocks.data)) + in_group;
}

Buffer Convolve(te::ComputeBuilder& builder, const ConvGeometry& g, const Buffer& padded, const Buffer& weight) {
  const ConvBlocks& blocks = g.blocks;
  std::vector<PrimExpr> extents;
  if (!g.is_depthwise()) extents.push_back(g.in_per_group / std::max<int64_t>(1, blocks.weight_in));
  extents.insert(extents.end(), g.kernel.begin(), g.kernel.end());
  if (blocks.weight_in > 0) extents.push_back(blocks.weight_in);
  const auto product = [&](const te::Axes& point, const te::Axes& reduced) {
    const PrimExpr out_channel = point[1];
    const bool is_split = blocks.weight_out > 0 && blocks.out == 0;  // The weights alone are in blocks.
    const size_t first = g.is_depthwise() ? 0 : 1;
    te::Axes from = {point[0], DataChannel(g, out_channel, reduced)};
    te::Axes with = {is_split ? FloorDiv(out_channel, blocks.weight_out) : out_channel,
                     g.is_depthwise() ? PrimExpr(0) : reduced[0]};
    for (size_t i = 0; i < g.rank(); ++i) {
      from.push_back(point[2 + i] * PrimExpr(g.strides[i]) + reduced[first + i] * PrimExpr(g.dilation[i]));
      with.push_back(reduced[first + i]);
    }
    if (blocks.data > 0) from.push_back(g.is_depthwise() ? point.back() : reduced.back());
    if (blocks.weight_in > 0) with.push_back(reduced.back());
    if (blocks.out > 0) with.push_back(point.back());
    if (is_split) with.push_back(FloorMod(out_channel, blocks.weight_out));
    return LoadWide(padded, from) * LoadWide(weight, with);
  };
  return builder.Reduce(BlockName(g), OutShape(g), extents, te::Combiner::kSum, product, AxisNamesOf(g));
}

template <size_t kRank>
StatusOr<PrimFunc> LegalizeConv(const Call& call, const StructInfo&) {
  ASSIGN_OR_RETURN(const ConvGeometry g, ConvGeometryOf(call, kRank));
  te::ComputeBuilder builder;
  const std::vector<Buffer> inputs = MakeInputs(builder, call, {"data", "weight"});
  std::vector<int64_t> begins(inputs[0]->shape.size(), 0), ends = begins;
  std::copy_n(g.pads.begin(), kRank, begins.begin() + 2);
  std::copy_n(g.pads.begin() + kRank, kRank, ends.begin() + 2);
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
    {"nn.conv1d", 2, kAnchor, InferConv<1>, LegalizeConv<1>, "conv1d", OpFamily::kConvolution},
    {"nn.conv2d", 2, kAnchor, InferConv<2>, LegalizeConv<2>, "conv2d", OpFamily::kConvolution},
    {"nn.conv3d", 2, kAnchor, InferConv<3>, LegalizeConv<3>, "conv3d", OpFamily::kConvolution},
};

}  // namespace

std::span<const Op> ConvolutionOps() { return kConvolutionOps; }

}  // namespace lathe::relax
