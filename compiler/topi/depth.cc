#include "compiler/topi/depth.h"

#include "support/status_macros.h"

namespace lathe::topi {
namespace {

// Where a layout has its channels and pixels.
struct ImagePlaces {
  size_t channel, row, column;
};

StatusOr<ImagePlaces> ImagePlacesOf(std::string_view op, const Tensor& x, int64_t block_size,
                                    const std::string& layout) {
  RETURN_IF_ERROR(CheckNdim(op, "data", x, 4));
  if (block_size < 1) return OperatorError(op, "the block size is less than 1");
  if (layout == "NCHW") return ImagePlaces{1, 2, 3};
  if (layout == "NHWC") return ImagePlaces{3, 1, 2};
  return OperatorError(op, "no layout \"" + layout + "\"; choose \"NCHW\" or \"NHWC\"");
}

Expr TruncDivOf(const Expr& a, const Expr& b) { return MakeBinary(BinaryOp::kDiv, a, b); }
Expr TruncModOf(const Expr& a, const Expr& b) { return MakeBinary(BinaryOp::kTruncMod, a, b); }

te::ComputeOptions ImageOptions(const char* name) {
  return {.name = name, .tag = kInjective, .attrs = {}, .axis_names = {}, .layout_free = {}};
}

}  // namespace

StatusOr<Tensor> SpaceToDepth(const Tensor& x, int64_t block_size, const std::string& layout) {
  ASSIGN_OR_RETURN(const ImagePlaces at, ImagePlacesOf("nn.space_to_depth", x, block_size, layout));
  const Expr channels = x.shape()[at.channel], size = block_size;
  Shape shape = x.shape();
  shape[at.channel] = channels * size * size;
  for (const size_t place : {at.row, at.column}) shape[place] = FloorDiv(shape[place], size);
  const auto pixel = [&](Point point) {
    const Expr block = TruncDivOf(point[at.channel], channels);
    point[at.channel] = TruncModOf(point[at.channel], channels);
    point[at.row] = TruncDivOf(block, size) + point[at.row] * size;
    point[at.column] = TruncModOf(block, size) + point[at.column] * size;
    return x(point);
  };
  return te::Compute(shape, pixel, ImageOptions("space_to_depth"));
}

StatusOr<Tensor> DepthToSpace(const Tensor& x, int64_t block_size, const std::string& layout, const std::string& mode) {
  ASSIGN_OR_RETURN(const ImagePlaces at, ImagePlacesOf("nn.depth_to_space", x, block_size, layout));
  const Expr size = block_size, channels = FloorDiv(x.shape()[at.channel], size * size);
  Shape shape = x.shape();
  shape[at.channel] = channels;
  for (const size_t place : {at.row, at.column}) shape[place] = shape[place] * size;
  const auto pixel = [&](Point point) {
    const Expr in_block = size * TruncModOf(point[at.row], size) + TruncModOf(point[at.column], size);
    point[at.channel] =
        mode == "DCR" ? channels * in_block + point[at.channel] : point[at.channel] * size * size + in_block;
    for (const size_t place : {at.row, at.column}) point[place] = TruncDivOf(point[place], size);
    return x(point);
  };
  return te::Compute(shape, pixel, ImageOptions("depth_to_space"));
}

}  // namespace lathe::topi
