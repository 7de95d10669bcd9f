// Operators that move elements and compute nothing.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/relax/op/arguments.h"
#include "compiler/relax/op/rows.h"
#include "support/status_macros.h"

namespace lathe::relax {
namespace {

PrimExpr Product(const PrimShape& shape) {
  PrimExpr product = 1;
  for (const PrimExpr& extent : shape) product = product * extent;
  return product;
}

// args: tensor, shape.
StatusOr<StructInfo> InferReshape(const Call& call) {
  ASSIGN_OR_RETURN(const TensorStructInfo info, TensorInfo(call, 0));
  const ShapeExpr* shape = call.args[1].As<ShapeExpr>();
  if (shape == nullptr) return ArgumentError(call, "argument 1 is no shape");
  ASSIGN_OR_RETURN(StructInfo result, TensorResult(call, shape->values, info.dtype));
  const PrimExpr from_count = Product(*info.shape), to_count = Product(shape->values);
  const int64_t *from = AsIntConst(from_count), *to = AsIntConst(to_count);
  if (from != nullptr && to != nullptr && *from != *to) {
    return ArgumentError(
        call, fmt::format("{} has {} elements, {} has {}", ToText(*info.shape), *from, ToText(shape->values), *to));
  }
  return result;
}

StatusOr<StructInfo> InferFlatten(const Call& call) {
  ASSIGN_OR_RETURN(const TensorStructInfo info, TensorInfo(call, 0));
  return TensorResult(call, {Product(*info.shape)}, info.dtype);
}

StatusOr<StructInfo> InferSqueeze(const Call& call) {
  ASSIGN_OR_RETURN(const TensorStructInfo info, TensorInfo(call, 0));
  const bool is_any = !call.attrs.contains("axis");
  ASSIGN_OR_RETURN(const std::vector<int64_t> axes, NormalizeAxes(call, "axis", info.ndim));
  PrimShape shape;
  for (int64_t i = 0; i < info.ndim; ++i) {
    const PrimExpr& extent = (*info.shape)[i];
    const bool is_named = std::binary_search(axes.begin(), axes.end(), i), is_one = IsConstInt(extent, 1);
    if (is_named && !is_one && !is_any)
      return ArgumentError(call, fmt::format("axis {} of {} is not 1", i, ToText(*info.shape)));
    if (!is_named || !is_one) shape.push_back(extent);
  }
  return TensorResult(call, std::move(shape), info.dtype);
}

StatusOr<StructInfo> InferExpandDims(const Call& call) {
  ASSIGN_OR_RETURN(const TensorStructInfo info, TensorInfo(call, 0));
  const int64_t rank = info.ndim + static_cast<int64_t>(IntsAttr(call.attrs, "axis").size());
  ASSIGN_OR_RETURN(const std::vector<int64_t> axes, NormalizeAxes(call, "axis", rank));
  PrimShape shape;
  for (int64_t i = 0, from = 0; i < rank; ++i)
    shape.push_back(std::binary_search(axes.begin(), axes.end(), i) ? PrimExpr(1) : (*info.shape)[from++]);
  return TensorResult(call, std::move(shape), info.dtype);
}

StatusOr<std::vector<int64_t>> Permutation(const Call& call, int64_t ndim) {
  std::vector<int64_t> axes = IntsAttr(call.attrs, "axes");
  std::vector<bool> seen(static_cast<size_t>(ndim), false);
  for (int64_t& axis : axes) {
    ASSIGN_OR_RETURN(axis, NormalizeAxis(call, axis, ndim));
    seen[axis] = true;
  }
  if (static_cast<int64_t>(axes.size()) != ndim || std::find(seen.begin(), seen.end(), false) != seen.end()) {
    return ArgumentError(call, fmt::format("axes [{}] are no permutation of {} axes", fmt::join(axes, ", "), ndim));
  }
  return axes;
}

StatusOr<StructInfo> InferPermuteDims(const Call& call) {
  ASSIGN_OR_RETURN(const TensorStructInfo info, TensorInfo(call, 0));
  ASSIGN_OR_RETURN(const std::vector<int64_t> axes, Permutation(call, info.ndim));
  PrimShape shape;
  for (const int64_t axis : axes) shape.push_back((*info.shape)[axis]);
  return TensorResult(call, std::move(shape), info.dtype);
}

StatusOr<PrimFunc> LegalizePermuteDims(const Call& call, const StructInfo& result) {
  te::ComputeBuilder builder;
  const Buffer data = MakeInputs(builder, call, {"data"})[0];
  ASSIGN_OR_RETURN(const std::vector<int64_t> axes, Permutation(call, static_cast<int64_t>(data->shape.size())));
  return builder.Build(
      "transpose", builder.Compute("T_transpose", *result.As<TensorStructInfo>()->shape, [&](const te::Axes& point) {
        te::Axes from = point;
        for (size_t i = 0; i < axes.size(); ++i) from[axes[i]] = point[i];
        return Load(data, from);
      }));
}

// arg: a tuple of tensors; attribute axis.
StatusOr<StructInfo> InferConcat(const Call& call) {
  ASSIGN_OR_RETURN(const std::vector<TensorStructInfo> infos, TensorInfos(call));
  if (infos.empty()) return ArgumentError(call, "nothing to join; at least one tensor required");
  TensorStructInfo result = infos[0];
  ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(call, IntAttr(call.attrs, "axis", 0), result.ndim));
  for (size_t i = 1; i < infos.size(); ++i) {
    bool fits = infos[i].ndim == result.ndim && infos[i].dtype == result.dtype;
    for (int64_t k = 0; fits && k < result.ndim; ++k)
      fits = k == axis || SameShape({(*infos[i].shape)[k]}, {(*result.shape)[k]});
    if (!fits)
      return ArgumentError(call, fmt::format("argument {} is {}, the first is {}; they may differ in axis {} only", i,
                                             ToText(infos[i]), ToText(infos[0]), axis));
    (*result.shape)[axis] = (*result.shape)[axis] + (*infos[i].shape)[axis];
  }
  return TensorResult(call, *result.shape, result.dtype);
}

StatusOr<PrimFunc> LegalizeConcat(const Call& call, const StructInfo& result) {
  const TensorStructInfo& info = *result.As<TensorStructInfo>();
  ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(call, IntAttr(call.attrs, "axis", 0), info.ndim));
  te::ComputeBuilder builder;
  const std::vector<Buffer> inputs = MakeInputs(builder, call, {});
  return builder.Build("concatenate", builder.Compute("T_concat", *info.shape, [&](const te::Axes& point) {
    PrimExpr value = Load(inputs[0], point), begin = 0;
    for (size_t i = 1; i < inputs.size(); ++i) {
      begin = begin + inputs[i - 1]->shape[axis];
      te::Axes from = point;
      from[axis] = point[axis] - begin;
      value =
          lathe::MakeCall(info.dtype, "if_then_else", {LessEqual(begin, point[axis]), Load(inputs[i], from), value});
    }
    return value;
  }));
}

// args: tensor, integer indices; attribute axis. Negative indices count from the end; others outside are clipped.
StatusOr<StructInfo> InferTake(const Call& call) {
  ASSIGN_OR_RETURN(const TensorStructInfo data, TensorInfo(call, 0));
  ASSIGN_OR_RETURN(const TensorStructInfo indices, TensorInfo(call, 1));
  if (!indices.dtype.is_int())
    return ArgumentError(call, "indices are " + indices.dtype.ToString() + ", integers required");
  ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(call, IntAttr(call.attrs, "axis", 0), data.ndim));
  PrimShape shape(data.shape->begin(), data.shape->begin() + axis);
  shape.insert(shape.end(), indices.shape->begin(), indices.shape->end());
  shape.insert(shape.end(), data.shape->begin() + axis + 1, data.shape->end());
  return TensorResult(call, std::move(shape), data.dtype);
}

StatusOr<PrimFunc> LegalizeTake(const Call& call, const StructInfo& result) {
  te::ComputeBuilder builder;
  const std::vector<Buffer> inputs = MakeInputs(builder, call, {"data", "indices"});
  const Buffer &data = inputs[0], &indices = inputs[1];
  ASSIGN_OR_RETURN(const int64_t axis,
                   NormalizeAxis(call, IntAttr(call.attrs, "axis", 0), static_cast<int64_t>(data->shape.size())));
  return builder.Build(
      "take", builder.Compute("T_take", *result.As<TensorStructInfo>()->shape, [&](const te::Axes& point) {
        const auto after = point.begin() + axis + static_cast<std::ptrdiff_t>(indices->shape.size());
        const PrimExpr index = MakeCast(kIndexType, Load(indices, te::Axes(point.begin() + axis, after)));
        const PrimExpr positive = MakeSelect(Less(index, PrimExpr(0)), index + data->shape[axis], index);
        te::Axes from(point.begin(), point.begin() + axis);
        from.push_back(Min(Max(positive, PrimExpr(0)), data->shape[axis] - PrimExpr(1)));
        from.insert(from.end(), after, point.end());
        return Load(data, from);
      }));
}

// Attributes axes, begin, end, strides, normalised: 0 <= begin, and begin, end as numpy clips them; stride not 0.
StatusOr<StructInfo> InferStridedSlice(const Call& call) {
  ASSIGN_OR_RETURN(const TensorStructInfo info, TensorInfo(call, 0));
  const std::vector<int64_t> axes = IntsAttr(call.attrs, "axes"), begin = IntsAttr(call.attrs, "begin"),
                             end = IntsAttr(call.attrs, "end"), strides = IntsAttr(call.attrs, "strides");
  if (begin.size() != axes.size() || end.size() != axes.size() || strides.size() != axes.size())
    return ArgumentError(call, "axes, begin, end and strides differ in number");
  ASSIGN_OR_RETURN(std::vector<int64_t> extents, ConstantExtents(call, info));
  for (size_t i = 0; i < axes.size(); ++i) {
    ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(call, axes[i], info.ndim));
    const int64_t step = strides[i], span = step > 0 ? end[i] - begin[i] : begin[i] - end[i];
    if (step == 0 || begin[i] < 0 || begin[i] > extents[axis] || end[i] < -1 || end[i] > extents[axis]) {
      return ArgumentError(call, fmt::format("axis {} of extent {}: begin {}, end {}, stride {}", axis, extents[axis],
                                             begin[i], end[i], step));
    }
    const int64_t magnitude = step > 0 ? step : -step;
    extents[axis] = std::max<int64_t>(0, (span + magnitude - 1) / magnitude);
  }
  return TensorResult(call, ToPrimShape(extents), info.dtype);
}

StatusOr<PrimFunc> LegalizeStridedSlice(const Call& call, const StructInfo& result) {
  te::ComputeBuilder builder;
  const Buffer data = MakeInputs(builder, call, {"data"})[0];
  const std::vector<int64_t> axes = IntsAttr(call.attrs, "axes"), begin = IntsAttr(call.attrs, "begin"),
                             strides = IntsAttr(call.attrs, "strides");
  return builder.Build(
      "strided_slice",
      builder.Compute("T_strided_slice", *result.As<TensorStructInfo>()->shape, [&](const te::Axes& point) {
        te::Axes from = point;
        for (size_t i = 0; i < axes.size(); ++i) {
          const size_t axis = axes[i] < 0 ? axes[i] + point.size() : axes[i];
          from[axis] = point[axis] * PrimExpr(strides[i]) + PrimExpr(begin[i]);
        }
        return Load(data, from);
      }));
}

constexpr OpPatternKind kInjective = OpPatternKind::kInjective;
constexpr Op kManipulateOps[] = {
    {"concat", -1, kInjective, InferConcat, LegalizeConcat, "concatenate"},
    {"expand_dims", 1, kInjective, InferExpandDims, nullptr, "expand_dims", OpFamily::kView},
    {"flatten", 1, kInjective, InferFlatten, nullptr, "flatten", OpFamily::kView},
    {"permute_dims", 1, kInjective, InferPermuteDims, LegalizePermuteDims, "transpose", OpFamily::kTranspose},
    {"reshape", 2, kInjective, InferReshape, nullptr, "reshape", OpFamily::kView},
    {"squeeze", 1, kInjective, InferSqueeze, nullptr, "squeeze", OpFamily::kView},
    {"strided_slice", 1, kInjective, InferStridedSlice, LegalizeStridedSlice, "strided_slice"},
    {"take", 2, kInjective, InferTake, LegalizeTake, "take"},
};

}  // namespace

std::span<const Op> ManipulateOps() { return kManipulateOps; }

}  // namespace lathe::relax
