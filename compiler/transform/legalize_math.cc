#include "compiler/transform/legalize_math.h"

#include <cmath>

#include "compiler/ir/visitor.h"
#include "compiler/transform/float_math.h"

namespace lathe {
namespace {

using float_math::FloatMath;

using Unary = Expr (FloatMath::*)(const Expr&);
constexpr std::pair<std::string_view, Unary> kUnary[] = {
    {"acos", &FloatMath::Acos},       {"acosh", &FloatMath::Acosh}, {"asin", &FloatMath::Asin},
    {"asinh", &FloatMath::Asinh},     {"atan", &FloatMath::Atan},   {"atanh", &FloatMath::Atanh},
    {"cos", &FloatMath::Cos},         {"cosh", &FloatMath::Cosh},   {"erf", &FloatMath::Erf},
    {"exp", &FloatMath::Exp},         {"exp10", &FloatMath::Exp10}, {"exp2", &FloatMath::Exp2},
    {"log", &FloatMath::Log},         {"log10", &FloatMath::Log10}, {"log1p", &FloatMath::Log1p},
    {"log2", &FloatMath::Log2},       {"round", &FloatMath::Round}, {"rsqrt", &FloatMath::Rsqrt},
    {"sigmoid", &FloatMath::Sigmoid}, {"sin", &FloatMath::Sin},     {"sinh", &FloatMath::Sinh},
    {"tan", &FloatMath::Tan},         {"tanh", &FloatMath::Tanh},
};

bool Is16Bit(DataType type) { return type.is_float() && type.bits == 16; }

// float16 and bfloat16 are computed in float32.
Expr Computed(const Expr& e) { return Is16Bit(e.dtype()) ? MakeCast(DataType::Float(32).shaped_as(e.dtype()), e) : e; }

bool IsComputable(DataType type) { return type.is_float() && !type.is_narrow_float() && !type.is_scalable; }

// The number that `e` is in all lanes.
const FloatImm* AsFloatConst(const Expr& e) {
  const Broadcast* lanes = e.As<Broadcast>();
  return lanes == nullptr ? e.As<FloatImm>() : lanes->value.As<FloatImm>();
}

Expr Power(FloatMath& math, const Expr& x, const Expr& exponent) {
  const FloatImm* constant = AsFloatConst(exponent);
  if (constant != nullptr && constant->value == 0.5) return MakeCall(x.dtype(), "sqrt", {x});
  if (constant != nullptr && std::abs(constant->value) <= 32 && std::trunc(constant->value) == constant->value)
    return math.PowInt(x, static_cast<int64_t>(constant->value));
  return math.Pow(x, Computed(exponent));
}

std::optional<Expr> OfTwo(FloatMath& math, std::string_view name, const Expr& a, const Expr& b) {
  if (name == "ldexp" && b.dtype().is_int() && b.dtype().has_shape_of(a.dtype())) return math.Ldexp(Computed(a), b);
  if (a.dtype() != b.dtype()) return std::nullopt;
  if (name == "pow") return Power(math, Computed(a), b);
  if (name == "atan2") return math.Atan2(Computed(a), Computed(b));
  if (name == "hypot") return math.Hypot(Computed(a), Computed(b));
  if (name == "nextafter" && !Is16Bit(a.dtype())) return math.NextAfter(a, b);
  return std::nullopt;
}

std::optional<Expr> Legal(FloatMath& math, const Call& call) {
  if (call.args.empty() || !IsComputable(call.args[0].dtype())) return std::nullopt;
  if (call.args.size() == 2) return OfTwo(math, call.op->name, call.args[0], call.args[1]);
  if (call.args.size() != 1) return std::nullopt;
  for (const auto& [known, method] : kUnary) {
    if (known == call.op->name) return (math.*method)(Computed(call.args[0]));
  }
  return std::nullopt;
}

class Legalizer : public StmtExprMutator {
 protected:
  Expr VisitExpr(const Expr& e) override {
    const Expr visited = StmtExprMutator::VisitExpr(e);
    const Call* call = visited.As<Call>();
    if (call == nullptr) return visited;
    FloatMath math(num_calls_ == 0 ? "" : "_" + std::to_string(num_calls_));
    const std::optional<Expr> value = Legal(math, *call);
    if (!value) return visited;
    ++num_calls_;
    return math.Finish(MakeCast(e.dtype(), *value));
  }

 private:
  int num_calls_ = 0;
};

}  // namespace

PrimFunc LegalizeMath(PrimFunc func) {
  func.body = Legalizer{}(func.body);
  return func;
}

}  // namespace lathe
