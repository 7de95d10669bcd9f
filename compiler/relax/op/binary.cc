// Arithmetic of two tensors with numpy's broadcasting.
#include <fmt/format.h>

#include "compiler/ir/structural.h"
#include "compiler/relax/op/arguments.h"
#include "compiler/relax/op/rows.h"
#include "support/status_macros.h"

namespace lathe::relax {
namespace {

StatusOr<PrimShape> BroadcastShapes(const Call& call, const PrimShape& a, const PrimShape& b) {
  const PrimShape& longer = a.size() >= b.size() ? a : b;
  const PrimShape& shorter = a.size() >= b.size() ? b : a;
  PrimShape shape = longer;
  const size_t skip = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    const PrimExpr &x = longer[skip + i], &y = shorter[i];
    if (IsConstInt(x, 1)) {
      shape[skip + i] = y;
    } else if (!IsConstInt(y, 1) && !SameShape({x}, {y})) {
      return ArgumentError(call, fmt::format("shapes {} and {} do not broadcast", ToText(a), ToText(b)));
    }
  }
  return shape;
}

StatusOr<StructInfo> InferBinary(const Call& call) {
  ASSIGN_OR_RETURN(const TensorStructInfo a, TensorInfo(call, 0));
  ASSIGN_OR_RETURN(const TensorStructInfo b, TensorInfo(call, 1));
  if (a.dtype != b.dtype)
    return ArgumentError(call, fmt::format("operands are {} and {}; cast one", a.dtype.ToString(), b.dtype.ToString()));
  ASSIGN_OR_RETURN(PrimShape shape, BroadcastShapes(call, *a.shape, *b.shape));
  return TensorResult(call, std::move(shape), a.dtype);
}

// Element `point` of the result's shape in `buffer`, right-aligned, extents of 1 repeated.
PrimExpr LoadBroadcast(const Buffer& buffer, const te::Axes& point, const PrimShape& shape) {
  te::Axes indices(point.end() - static_cast<std::ptrdiff_t>(buffer->shape.size()), point.end());
  const size_t skip = point.size() - indices.size();
  for (size_t i = 0; i < indices.size(); ++i) {
    if (IsConstInt(buffer->shape[i], 1) && !IsConstInt(shape[skip + i], 1))
      indices[i] = IntConst(indices[i].dtype(), 0);
  }
  return Load(buffer, indices);
}

using CombineFn = PrimExpr (*)(const PrimExpr& a, const PrimExpr& b);

template <CombineFn kCombine>
StatusOr<PrimFunc> LegalizeBinary(const Call& call, const StructInfo& result) {
  te::ComputeBuilder builder;
  const std::vector<Buffer> inputs = MakeInputs(builder, call, {"A", "B"});
  const TensorStructInfo& info = *result.As<TensorStructInfo>();
  const auto operand = [&](size_t i, const te::Axes& point) {
    if (IsEmbedded(call, call.args[i])) return OnlyElementOf(*AsConstant(call.args[i]));
    return LoadBroadcast(i == 1 && inputs.size() == 2 ? inputs[1] : inputs[0], point, *info.shape);
  };
  const std::string name(call.op->kernel_name);
  const Buffer out = builder.Compute(
      "T_" + name, *info.shape, [&](const te::Axes& point) { return kCombine(operand(0, point), operand(1, point)); });
  return builder.Build(name, out);
}

PrimExpr Add(const PrimExpr& a, const PrimExpr& b) { return a + b; }
PrimExpr Subtract(const PrimExpr& a, const PrimExpr& b) { return a - b; }
PrimExpr Multiply(const PrimExpr& a, const PrimExpr& b) { return a * b; }
PrimExpr Divide(const PrimExpr& a, const PrimExpr& b) { return a / b; }
// NaN where one of them is: Max and Min keep that of their first operand.
PrimExpr OrNaN(const PrimExpr& b, const PrimExpr& value) {
  if (!b.dtype().is_float() || b.As<FloatImm>() != nullptr) return value;
  return MakeSelect(lathe::MakeCall(DataType::Bool(), "isnan", {b}), b, value);
}
PrimExpr Maximum(const PrimExpr& a, const PrimExpr& b) { return OrNaN(b, Max(a, b)); }
PrimExpr Minimum(const PrimExpr& a, const PrimExpr& b) { return OrNaN(b, Min(a, b)); }

constexpr OpPatternKind kBroadcast = OpPatternKind::kBroadcast;
constexpr Op kBinaryOps[] = {
    {"add", 2, kBroadcast, InferBinary, LegalizeBinary<Add>, "add"},
    {"divide", 2, kBroadcast, InferBinary, LegalizeBinary<Divide>, "divide"},  // Of integers: truncates toward zero.
    {"maximum", 2, kBroadcast, InferBinary, LegalizeBinary<Maximum>, "maximum"},
    {"minimum", 2, kBroadcast, InferBinary, LegalizeBinary<Minimum>, "minimum"},
    {"multiply", 2, kBroadcast, InferBinary, LegalizeBinary<Multiply>, "multiply"},
    {"subtract", 2, kBroadcast, InferBinary, LegalizeBinary<Subtract>, "subtract"},
};

}  // namespace

std::span<const Op> BinaryOps() { return kBinaryOps; }

}  // namespace lathe::relax
