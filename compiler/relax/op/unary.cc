// Operators that compute each element from the same element of one tensor.
#include <cmath>

#include "compiler/relax/op/arguments.h"
#include "compiler/relax/op/rows.h"
#include "support/status_macros.h"

namespace lathe::relax {
namespace {

using ElementFn = PrimExpr (*)(const Call& call, const PrimExpr& x);

StatusOr<StructInfo> InferUnary(const Call& call) {
  ASSIGN_OR_RETURN(TensorStructInfo info, TensorInfo(call, 0));
  return StructInfo(std::move(info));
}

StatusOr<StructInfo> InferFloatUnary(const Call& call) {
  ASSIGN_OR_RETURN(TensorStructInfo info, TensorInfo(call, 0));
  if (!info.dtype.is_float())
    return ArgumentError(call, "argument is " + info.dtype.ToString() + ", floating point required");
  return StructInfo(std::move(info));
}

StatusOr<StructInfo> InferAstype(const Call& call) {
  ASSIGN_OR_RETURN(TensorStructInfo info, TensorInfo(call, 0));
  ASSIGN_OR_RETURN(info.dtype, DataType::Parse(StringAttr(call.attrs, "dtype", "")));
  return StructInfo(std::move(info));
}

template <ElementFn kElement>
StatusOr<PrimFunc> LegalizeUnary(const Call& call, const StructInfo& result) {
  te::ComputeBuilder builder;
  const std::vector<Buffer> inputs = MakeInputs(builder, call, {"A"});
  const auto load = [&](const te::Axes& point) {
    return inputs.empty() ? OnlyElementOf(*AsConstant(call.args[0])) : Load(inputs[0], point);
  };
  const std::string name(call.op->kernel_name);
  const Buffer out = builder.Compute("T_" + name, *result.As<TensorStructInfo>()->shape,
                                     [&](const te::Axes& point) { return kElement(call, load(point)); });
  return builder.Build(name, out);
}

PrimExpr Zero(const PrimExpr& x) { return ConstOf(x.dtype(), 0); }
PrimExpr Relu(const Call&, const PrimExpr& x) { return Max(x, Zero(x)); }
PrimExpr Negative(const Call&, const PrimExpr& x) { return Zero(x) - x; }
PrimExpr Clip(const Call& call, const PrimExpr& x) {
  // min > max gives max, as ONNX and numpy have it. Bounds beyond the type's range bound nothing.
  PrimExpr value = x;
  const double low = FloatAttr(call.attrs, "min", -INFINITY), high = FloatAttr(call.attrs, "max", INFINITY);
  if (low > -INFINITY) value = Max(value, ConstOf(x.dtype(), low));
  if (high < INFINITY) value = Min(value, ConstOf(x.dtype(), high));
  return value;
}
PrimExpr HardSigmoidOf(const PrimExpr& x, double alpha, double beta) {
  const PrimExpr line = x * ConstOf(x.dtype(), alpha) + ConstOf(x.dtype(), beta);
  return Min(Max(line, Zero(x)), ConstOf(x.dtype(), 1));
}
PrimExpr HardSigmoid(const Call& call, const PrimExpr& x) {
  return HardSigmoidOf(x, FloatAttr(call.attrs, "alpha", 0.2), FloatAttr(call.attrs, "beta", 0.5));
}
PrimExpr HardSwish(const Call&, const PrimExpr& x) { return x * HardSigmoidOf(x, 1.0 / 6, 0.5); }
PrimExpr Astype(const Call& call, const PrimExpr& x) {
  const DataType type = *DataType::Parse(StringAttr(call.attrs, "dtype", ""));
  return type.is_bool() && !x.dtype().is_bool() ? FoldBinary(BinaryOp::kNE, x, Zero(x)) : MakeCast(type, x);
}
PrimExpr Sigmoid(const Call&, const PrimExpr& x) { return lathe::MakeCall(x.dtype(), "sigmoid", {x}); }
PrimExpr Tanh(const Call&, const PrimExpr& x) { return lathe::MakeCall(x.dtype(), "tanh", {x}); }
PrimExpr Erf(const Call&, const PrimExpr& x) { return lathe::MakeCall(x.dtype(), "erf", {x}); }
// x times the share of a normal distribution that lies below x.
PrimExpr Gelu(const Call& call, const PrimExpr& x) {
  const auto number = [&](double value) { return ConstOf(x.dtype(), value); };
  return x * (number(0.5) + Erf(call, x * number(std::sqrt(0.5))) * number(0.5));
}
// The same, nearly: by tanh.
PrimExpr GeluTanh(const Call& call, const PrimExpr& x) {
  const auto number = [&](double value) { return ConstOf(x.dtype(), value); };
  const PrimExpr inner = x * (number(1) + number(0.044715) * x * x) * number(std::sqrt(2 / M_PI));
  return number(0.5) * x * (number(1) + Tanh(call, inner));
}
PrimExpr Exp(const Call&, const PrimExpr& x) { return lathe::MakeCall(x.dtype(), "exp", {x}); }
PrimExpr Log(const Call&, const PrimExpr& x) { return lathe::MakeCall(x.dtype(), "log", {x}); }
PrimExpr Sqrt(const Call&, const PrimExpr& x) { return lathe::MakeCall(x.dtype(), "sqrt", {x}); }
PrimExpr Abs(const Call&, const PrimExpr& x) { return lathe::MakeCall(x.dtype(), "abs", {x}); }
PrimExpr Floor(const Call&, const PrimExpr& x) { return lathe::MakeCall(x.dtype(), "floor", {x}); }
PrimExpr Ceil(const Call&, const PrimExpr& x) { return lathe::MakeCall(x.dtype(), "ceil", {x}); }

constexpr OpPatternKind kElemWise = OpPatternKind::kElemWise;
constexpr Op kUnaryOps[] = {
    {"abs", 1, kElemWise, InferUnary, LegalizeUnary<Abs>, "abs"},
    {"astype", 1, kElemWise, InferAstype, LegalizeUnary<Astype>, "cast"},
    {"ceil", 1, kElemWise, InferFloatUnary, LegalizeUnary<Ceil>, "ceil"},
    {"clip", 1, kElemWise, InferUnary, LegalizeUnary<Clip>, "clip"},
    {"erf", 1, kElemWise, InferFloatUnary, LegalizeUnary<Erf>, "erf"},
    {"exp", 1, kElemWise, InferFloatUnary, LegalizeUnary<Exp>, "exp"},
    {"floor", 1, kElemWise, InferFloatUnary, LegalizeUnary<Floor>, "floor"},
    {"log", 1, kElemWise, InferFloatUnary, LegalizeUnary<Log>, "log"},
    {"negative", 1, kElemWise, InferUnary, LegalizeUnary<Negative>, "negative"},
    {"nn.gelu", 1, kElemWise, InferFloatUnary, LegalizeUnary<Gelu>, "gelu"},
    {"nn.gelu_tanh", 1, kElemWise, InferFloatUnary, LegalizeUnary<GeluTanh>, "gelu_tanh"},
    {"nn.hard_sigmoid", 1, kElemWise, InferFloatUnary, LegalizeUnary<HardSigmoid>, "hard_sigmoid"},
    {"nn.hardswish", 1, kElemWise, InferFloatUnary, LegalizeUnary<HardSwish>, "hardswish"},
    {"nn.relu", 1, kElemWise, InferUnary, LegalizeUnary<Relu>, "relu"},
    {"sigmoid", 1, kElemWise, InferFloatUnary, LegalizeUnary<Sigmoid>, "sigmoid"},
    {"sqrt", 1, kElemWise, InferFloatUnary, LegalizeUnary<Sqrt>, "sqrt"},
    {"tanh", 1, kElemWise, InferFloatUnary, LegalizeUnary<Tanh>, "tanh"},
};

}  // namespace

std::span<const Op> UnaryOps() { return kUnaryOps; }

}  // namespace lathe::relax
