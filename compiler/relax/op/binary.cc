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

// The exponent of an integer may be a fraction.
StatusOr<StructInfo> InferPower(const Call& call) {
  ASSIGN_OR_RETURN(const TensorStructInfo a, TensorInfo(call, 0));
  ASSIGN_OR_RETURN(const TensorStructInfo b, TensorInfo(call, 1));
  if (!a.dtype.is_int() || !b.dtype.is_float()) return InferBinary(call);
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

// a ^ b of integers by squaring, as far as their type holds it; with a negative exponent what is left of the fraction:
// 0, or a power of 1 and -1.
PrimExpr IntegerPower(const PrimExpr& a, const PrimExpr& b) {
  const DataType type = a.dtype();
  const auto number = [&](int64_t value) { return IntConst(type, value); };
  const auto bit = [&](int64_t i) {
    const PrimExpr shifted = i == 0 ? b : lathe::MakeCall(type, "shift_right", {b, number(i)});
    return lathe::Equal(lathe::MakeCall(type, "bitwise_and", {shifted, number(1)}), number(1));
  };
  constexpr int64_t kBits = 6;  // 2 ^ 64 is in no type.
  PrimExpr power = MakeSelect(bit(0), a, number(1)), square = a;
  for (int64_t i = 1; i < kBits; ++i) {
    square = square * square;
    power = power * MakeSelect(bit(i), square, number(1));
  }
  power = MakeSelect(And(lathe::Equal(a, number(0)), Less(number(0), b)), number(0), power);
  if (!type.is_signed_int()) return power;
  const PrimExpr sign = MakeSelect(bit(0), number(-1), number(1));
  const PrimExpr fraction =
      MakeSelect(lathe::Equal(a, number(1)), number(1), MakeSelect(lathe::Equal(a, number(-1)), sign, number(0)));
  return MakeSelect(Less(b, number(0)), fraction, power);
}

// Of an integer: exact where the exponent is a whole number, else what float64 gives, cut.
PrimExpr FractionalPower(const PrimExpr& a, const PrimExpr& b) {
  const DataType type = a.dtype(), wide = DataType::Float(64);
  const PrimExpr whole = MakeCast(type, b);
  const PrimExpr root = lathe::MakeCall(wide, "pow", {MakeCast(wide, a), MakeCast(wide, b)});
  return MakeSelect(lathe::Equal(MakeCast(b.dtype(), whole), b), IntegerPower(a, whole), MakeCast(type, root));
}

// The usual exponents without logarithms, which are no use for negative bases.
PrimExpr Power(const PrimExpr& a, const PrimExpr& b) {
  if (a.dtype().is_int() && b.dtype().is_float()) return FractionalPower(a, b);
  if (a.dtype().is_int()) return IntegerPower(a, b);
  const FloatImm* exponent = b.As<FloatImm>();
  if (exponent != nullptr && exponent->value == 2) return a * a;
  if (exponent != nullptr && exponent->value == 3) return a * a * a;
  if (exponent != nullptr && exponent->value == 0.5) return lathe::MakeCall(a.dtype(), "sqrt", {a});
  return lathe::MakeCall(a.dtype(), "pow", {a, b});
}

constexpr OpPatternKind kBroadcast = OpPatternKind::kBroadcast;
constexpr Op kBinaryOps[] = {
    {"add", 2, kBroadcast, InferBinary, LegalizeBinary<Add>, "add"},
    {"divide", 2, kBroadcast, InferBinary, LegalizeBinary<Divide>, "divide"},  // Of integers: truncates toward zero.
    {"maximum", 2, kBroadcast, InferBinary, LegalizeBinary<Maximum>, "maximum"},
    {"minimum", 2, kBroadcast, InferBinary, LegalizeBinary<Minimum>, "minimum"},
    {"multiply", 2, kBroadcast, InferBinary, LegalizeBinary<Multiply>, "multiply"},
    {"power", 2, kBroadcast, InferPower, LegalizeBinary<Power>, "power"},
    {"subtract", 2, kBroadcast, InferBinary, LegalizeBinary<Subtract>, "subtract"},
};

}  // namespace

std::span<const Op> BinaryOps() { return kBinaryOps; }

}  // namespace lathe::relax
