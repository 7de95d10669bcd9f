#include "compiler/relax/op/arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/status_macros.h"

namespace lathe::relax {
namespace {

constexpr int64_t kMaxElements = (int64_t{1} << 31) - 1;

Status CheckSize(const Call& call, const PrimShape& shape) {
  int64_t elements = 1;
  for (const PrimExpr& extent : shape) {
    const int64_t* value = AsIntConst(extent);
    if (value == nullptr) continue;
    if (*value < 0) return ArgumentError(call, fmt::format("extent {} of {} is negative", *value, ToText(shape)));
    if (__builtin_mul_overflow(elements, *value, &elements) || elements > kMaxElements) {
      return ArgumentError(call, fmt::format("tensor {} has more than 2^31 - 1 elements", ToText(shape)));
    }
  }
  return OkStatus();
}

}  // namespace

Status ArgumentError(const Call& call, std::string_view what) {
  return InvalidArgument(fmt::format("{}: {}", call.op == nullptr ? "call" : call.op->name, what));
}

StatusOr<TensorStructInfo> TensorInfo(const Call& call, size_t arg) {
  if (arg >= call.args.size())
    return ArgumentError(call, fmt::format("{} arguments, at least {} required", call.args.size(), arg + 1));
  const TensorStructInfo* info = call.args[arg].struct_info().As<TensorStructInfo>();
  if (info == nullptr || !info->shape) {
    return ArgumentError(call, fmt::format("argument {} is {}, a tensor of known shape required", arg,
                                           ToText(call.args[arg].struct_info())));
  }
  RETURN_IF_ERROR(CheckSize(call, *info->shape));
  return *info;
}

StatusOr<std::vector<TensorStructInfo>> TensorInfos(const Call& call) {
  std::vector<TensorStructInfo> infos;
  for (const Expr& arg : TensorArgs(call)) {
    const TensorStructInfo* info = arg.struct_info().As<TensorStructInfo>();
    if (info == nullptr || !info->shape) {
      return ArgumentError(call, fmt::format("argument {} is {}, a tensor of known shape required", infos.size(),
                                             ToText(arg.struct_info())));
    }
    RETURN_IF_ERROR(CheckSize(call, *info->shape));
    infos.push_back(*info);
  }
  return infos;
}

StatusOr<StructInfo> TensorResult(const Call& call, PrimShape shape, DataType dtype) {
  RETURN_IF_ERROR(CheckSize(call, shape));
  return StructInfo(MakeTensorInfo(std::move(shape), dtype));
}

StatusOr<int64_t> NormalizeAxis(const Call& call, int64_t axis, int64_t ndim) {
  if (axis < -ndim || axis >= ndim)
    return ArgumentError(call, fmt::format("axis {} of a tensor with {} dimensions", axis, ndim));
  return axis < 0 ? axis + ndim : axis;
}

StatusOr<std::vector<int64_t>> NormalizeAxes(const Call& call, const std::string& name, int64_t ndim) {
  std::vector<int64_t> axes;
  if (!call.attrs.contains(name)) {
    for (int64_t axis = 0; axis < ndim; ++axis) axes.push_back(axis);
    return axes;
  }
  for (const int64_t axis : IntsAttr(call.attrs, name)) {
    ASSIGN_OR_RETURN(const int64_t normal, NormalizeAxis(call, axis, ndim));
    axes.push_back(normal);
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end())
    return ArgumentError(call, fmt::format("an axis stands twice in {}", name));
  return axes;
}

StatusOr<std::vector<int64_t>> IntsAttrOr(const Call& call, const std::string& name, size_t count, int64_t absent) {
  std::vector<int64_t> values = IntsAttr(call.attrs, name);
  if (values.empty()) values.assign(count, absent);
  if (values.size() != count)
    return ArgumentError(call, fmt::format("{} has {} values, {} required", name, values.size(), count));
  return values;
}

StatusOr<std::vector<int64_t>> ConstantExtents(const Call& call, const TensorStructInfo& info) {
  std::optional<std::vector<int64_t>> extents = ConstantShape(*info.shape);
  if (!extents)
    return ArgumentError(call, fmt::format("shape {} is symbolic, a constant one required", ToText(*info.shape)));
  return *std::move(extents);
}

std::vector<Buffer> MakeInputs(te::ComputeBuilder& builder, const Call& call, const std::vector<std::string>& names) {
  std::vector<Buffer> inputs;
  for (const Expr& arg : KernelArgs(call)) {
    const TensorStructInfo& info = *arg.struct_info().As<TensorStructInfo>();
    const size_t i = inputs.size();
    const std::string name = i < names.size() ? names[i] : std::string(1, static_cast<char>('A' + i % 26));
    inputs.push_back(builder.Input(name, *info.shape, info.dtype));
  }
  return inputs;
}

DataType AccumulatorType(DataType type) { return type.is_float() && type.bits < 32 ? DataType::Float(32) : type; }

PrimExpr LoadWide(const Buffer& buffer, const te::Axes& point) {
  return MakeCast(AccumulatorType(buffer->dtype), Load(buffer, point));
}

Buffer ConvertTo(te::ComputeBuilder& builder, const Buffer& buffer, DataType type) {
  if (buffer->dtype == type) return buffer;
  return builder.Compute("T_cast", buffer->shape,
                         [&](const te::Axes& point) { return MakeCast(type, Load(buffer, point)); });
}

PrimExpr ConstOf(DataType type, double value) {
  return type.is_float() ? FloatConst(type, value) : IntConst(type, static_cast<int64_t>(value));
}

PrimExpr OnlyElementOf(const TensorData& data) {
  const DataType type = data.dtype();
  return type.is_float() ? FloatConst(type, data.ToDoubles()[0]) : IntConst(type, data.ToInts()[0]);
}

Buffer PadBuffer(te::ComputeBuilder& builder, const Buffer& data, const std::vector<int64_t>& begins,
                 const std::vector<int64_t>& ends, const PrimExpr& value, const std::string& name) {
  const auto is_zero = [](int64_t pad) { return pad == 0; };
  if (std::all_of(begins.begin(), begins.end(), is_zero) && std::all_of(ends.begin(), ends.end(), is_zero)) return data;
  PrimShape shape;
  for (size_t i = 0; i < begins.size(); ++i) shape.push_back(data->shape[i] + PrimExpr(begins[i] + ends[i]));
  return builder.Compute(name, shape, [&](const te::Axes& point) {
    te::Axes source;
    std::optional<PrimExpr> inside;
    const auto require = [&](const PrimExpr& condition) { inside = inside ? And(*inside, condition) : condition; };
    for (size_t i = 0; i < begins.size(); ++i) {
      source.push_back(point[i] - PrimExpr(begins[i]));
      if (begins[i] > 0) require(LessEqual(PrimExpr(begins[i]), point[i]));
      if (ends[i] > 0) require(Less(point[i], data->shape[i] + PrimExpr(begins[i])));
    }
    const PrimExpr element = Load(data, source);
    return inside ? lathe::MakeCall(data->dtype, "if_then_else", {*inside, element, value}) : element;
  });
}

}  // namespace lathe::relax
