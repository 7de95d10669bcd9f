// nn.pad: attributes pad_width (begins, then ends; negative ones crop), pad_mode "constant", "reflect" or "edge",
// pad_value.
#include <fmt/format.h>

#include "compiler/relax/op/arguments.h"
#include "compiler/relax/op/rows.h"
#include "support/status_macros.h"

namespace lathe::relax {
namespace {

StatusOr<StructInfo> InferPad(const Call& call) {
  ASSIGN_OR_RETURN(const TensorStructInfo info, TensorInfo(call, 0));
  const auto rank = static_cast<size_t>(info.ndim);
  ASSIGN_OR_RETURN(const std::vector<int64_t> pads, IntsAttrOr(call, "pad_width", 2 * rank, 0));
  ASSIGN_OR_RETURN(const std::vector<int64_t> extents, ConstantExtents(call, info));
  const std::string mode = StringAttr(call.attrs, "pad_mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge")
    return ArgumentError(call, fmt::format("mode \"{}\"; constant, reflect or edge required", mode));
  PrimShape shape;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t begin = pads[i], end = pads[rank + i], limit = mode == "reflect" ? extents[i] - 1 : int64_t{1} << 31;
    if (begin > limit || end > limit || begin < -extents[i] || end < -extents[i] || extents[i] + begin + end < 0 ||
        (mode == "edge" && extents[i] == 0)) {
      return ArgumentError(
          call, fmt::format("pads {} and {} of an extent of {} in mode \"{}\"", begin, end, extents[i], mode));
    }
    shape.push_back(extents[i] + begin + end);
  }
  return TensorResult(call, std::move(shape), info.dtype);
}

// The element that stands for position `i` of an axis of `extent` elements, which may lie outside.
PrimExpr Reflect(const PrimExpr& i, const PrimExpr& extent) {
  const PrimExpr from_start = Max(i, PrimExpr(0) - i);
  return Min(from_start, PrimExpr(2) * (extent - PrimExpr(1)) - from_start);
}
PrimExpr Clamp(const PrimExpr& i, const PrimExpr& extent) { return Min(Max(i, PrimExpr(0)), extent - PrimExpr(1)); }

StatusOr<PrimFunc> LegalizePad(const Call& call, const StructInfo& result) {
  te::ComputeBuilder builder;
  const Buffer data = MakeInputs(builder, call, {"data"})[0];
  const size_t rank = data->shape.size();
  ASSIGN_OR_RETURN(const std::vector<int64_t> pads, IntsAttrOr(call, "pad_width", 2 * rank, 0));
  const std::string mode = StringAttr(call.attrs, "pad_mode", "constant");
  const std::vector<int64_t> begins(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(rank)),
      ends(pads.begin() + static_cast<std::ptrdiff_t>(rank), pads.end());
  if (mode == "constant") {
    Buffer padded =
        PadBuffer(builder, data, begins, ends, ConstOf(data->dtype, FloatAttr(call.attrs, "pad_value", 0)), "T_pad");
    if (padded.same_as(data))
      padded = builder.Compute("T_pad", data->shape, [&](const te::Axes& point) { return Load(data, point); });
    return builder.Build("pad", padded);
  }
  return builder.Build("pad",
                       builder.Compute("T_pad", *result.As<TensorStructInfo>()->shape, [&](const te::Axes& point) {
                         te::Axes from;
                         for (size_t i = 0; i < rank; ++i) {
                           const PrimExpr at = point[i] - PrimExpr(begins[i]);
                           from.push_back(begins[i] <= 0 && ends[i] <= 0 ? at
                                          : mode == "reflect"            ? Reflect(at, data->shape[i])
                                                                         : Clamp(at, data->shape[i]));
                         }
                         return Load(data, from);
                       }));
}

constexpr Op kPadOps[] = {{"nn.pad", 1, OpPatternKind::kInjective, InferPad, LegalizePad, "pad"}};

}  // namespace

std::span<const Op> PadOps() { return kPadOps; }

}  // namespace lathe::relax
