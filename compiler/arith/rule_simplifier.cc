// Simplification by rules: numbers. Conditions are in rule_conditions.cc.
#include "compiler/arith/rule_simplifier.h"

#include <algorithm>
#include <cmath>

#include "compiler/arith/canonicalizer.h"
#include "compiler/arith/inequality_chains.h"
#include "compiler/arith/linear.h"
#include "compiler/ir/integer.h"

namespace lathe {
namespace {

constexpr int kMaxDepth = 5;

// The sets of rules of an operation; nullptr: it has none of that kind.
struct OperationRules {
  const RuleSet *vector, *first, *index, *integer, *any;
};

OperationRules FindOperationRules(BinaryOp op) {
  static const auto named = [](const char* vector, const char* index, const char* any = "", const char* first = "",
                               const char* integer = "") {
    return OperationRules{FindRules(vector), FindRules(first), FindRules(index), FindRules(integer), FindRules(any)};
  };
  static const OperationRules add = named("add vector", "add", "add any"),
                              sub = named("sub vector", "sub", "sub any", "", "sub integer"),
                              mul = named("mul vector", "mul"), tdiv = named("tdiv vector", "tdiv"),
                              tmod = named("tmod vector", "tmod"),
                              floordiv = named("floordiv vector", "floordiv", "", "floordiv first"),
                              floormod = named("floormod vector", "floormod"),
                              choice = named("min max vector", "min max", "min max any", "min max first");
  switch (op) {
    case BinaryOp::kAdd:
      return add;
    case BinaryOp::kSub:
      return sub;
    case BinaryOp::kMul:
      return mul;
    case BinaryOp::kDiv:
      return tdiv;
    case BinaryOp::kTruncMod:
      return tmod;
    case BinaryOp::kFloorDiv:
      return floordiv;
    case BinaryOp::kFloorMod:
      return floormod;
    default:
      return choice;
  }
}

bool IsFinite(int64_t end) { return end != IntBound::kNegInf && end != IntBound::kPosInf; }
bool IsUpTo(int64_t a, int64_t b) { return a <= b && (IsFinite(a) || IsFinite(b)); }

struct ScaledPart {
  Expr scaled;  // Without its factor.
  int64_t factor;
  Expr rest;
};

// The x, c and y of x * c + y, x * c and y + x * c.
std::optional<ScaledPart> AsScaledPart(const Expr& e) {
  const Binary* op = e.As<Binary>();
  if (op == nullptr) return std::nullopt;
  const auto product = [](const Expr& side) -> const Binary* {
    const Binary* times = side.As<Binary>();
    return times != nullptr && times->op == BinaryOp::kMul && AsIntConst(times->b) != nullptr ? times : nullptr;
  };
  if (op->op == BinaryOp::kAdd) {
    if (const Binary* times = product(op->a)) return ScaledPart{times->a, *AsIntConst(times->b), op->b};
  }
  if (const Binary* times = product(e)) return ScaledPart{times->a, *AsIntConst(times->b), IntConst(e.dtype(), 0)};
  if (op->op == BinaryOp::kAdd) {
    if (const Binary* times = product(op->b)) return ScaledPart{times->a, *AsIntConst(times->b), op->a};
  }
  return std::nullopt;
}

// As machines cast: what comes before the point, where the type holds it.
std::optional<Expr> CastOfFloat(DataType to, const FloatImm& imm, DataType from) {
  if (from != DataType::Float(32) && from != DataType::Float(64)) return std::nullopt;
  const double value = from.bits == 32 ? static_cast<double>(static_cast<float>(imm.value)) : imm.value;
  if (to.is_float()) return FloatConst(to, value);
  constexpr double kExact = int64_t{1} << 53;
  const IntBound type = TypeBound(to);
  const bool fits = to.is_int() && std::abs(value) < kExact && type.Contains(static_cast<int64_t>(value));
  return fits ? std::optional(IntConst(to, static_cast<int64_t>(value))) : std::nullopt;
}

std::optional<Expr> CastOfInteger(DataType to, int64_t value, DataType from) {
  if (to.is_bool()) return IntConst(to, value != 0);
  if (to.is_int()) return IntConst(to, WrapToWidth(value, to.bits, to.is_signed_int()));
  if (to.is_float() && from.is_signed_int()) return FloatConst(to, static_cast<double>(value));
  return std::nullopt;
}

Expr FoldedCast(DataType to, const Expr& value);

// Lanes are cast one by one.
std::optional<Expr> CastOfLanes(DataType to, const Expr& value) {
  const auto cast = [&](const Expr& part) { return FoldedCast(to.element(), part); };
  if (const Broadcast* broadcast = value.As<Broadcast>())
    return Expr::Make(to, Broadcast{cast(broadcast->value), broadcast->lanes});
  const Ramp* ramp = value.As<Ramp>();
  if (ramp == nullptr || !IsIndexType(to.element()) || !IsIndexType(ramp->base.dtype())) return std::nullopt;
  return Expr::Make(to, Ramp{cast(ramp->base), cast(ramp->stride), ramp->lanes});
}

// The cast, without one where it can be done now.
Expr FoldedCast(DataType to, const Expr& value) {
  std::optional<Expr> folded;
  if (!to.is_scalar()) folded = CastOfLanes(to, value);
  if (const int64_t* constant = AsIntConst(value)) folded = CastOfInteger(to, *constant, value.dtype());
  if (const FloatImm* imm = value.As<FloatImm>()) folded = CastOfFloat(to, *imm, value.dtype());
  return folded.value_or(MakeCast(to, value));
}

}  // namespace

Expr RuleSimplifier::VisitExpr(const Expr& e) { return RewriteNode(e); }

Expr RuleSimplifier::RewriteNode(const Expr& e) {
  if (e.As<IntImm>() != nullptr || e.As<FloatImm>() != nullptr || --budget_ <= 0) return e;
  if (IsVar(e)) {
    if (const Expr* value = owner_.ValueOf(e.get())) return *value;
    return e.dtype().is_bool() ? ByLiterals(e).value_or(e) : e;
  }
  if (const Binary* op = e.As<Binary>()) return RewriteBinary(e, *op);
  if (e.As<Not>() != nullptr) return RewriteComparison(e);
  if (AsChoice(e)) return RewriteChoice(e);
  if (e.As<Call>() != nullptr) return RewriteCall(e);
  if (const Let* let = e.As<Let>()) return RewriteLet(e, *let);
  if (const Reduce* reduce = e.As<Reduce>()) return RewriteReduce(e, *reduce);
  const Expr visited = VisitChildren(e);
  const Cast* cast = visited.As<Cast>();
  if (cast == nullptr || cast->value.dtype() == e.dtype()) return cast == nullptr ? visited : cast->value;
  const Expr folded = FoldedCast(e.dtype(), cast->value);
  return folded.As<Cast>() != nullptr ? visited : folded;
}

Expr RuleSimplifier::Again(const Expr& e) {
  if (depth_ >= kMaxDepth) return e;
  ++depth_;
  Expr result = VisitExpr(e);
  --depth_;
  return result;
}

std::optional<Expr> RuleSimplifier::Apply(const RuleSet& rules, const Expr& e) {
  const Binary* op = e.As<Binary>();
  for (const Rule& rule : rules) {
    if (op != nullptr && (rule.before.kind != RuleNode::Kind::kBinary || rule.before.op != op->op)) continue;
    RuleBindings bindings;
    bindings.type = e.dtype();
    if (!MatchRule(rule.before, e, bindings)) continue;
    const auto prove = [&](BinaryOp comparison, const Expr& a, const Expr& b) { return Proves(comparison, a, b); };
    if (!rule.conditions.empty() && !HoldsRule(rule, bindings, prove)) continue;
    const std::optional<Expr> result = BuildRule(rule.after, bindings, e.dtype());
    if (!result || result->dtype() != e.dtype()) continue;
    return rule.is_recursive ? Again(*result) : *result;
  }
  return std::nullopt;
}

// ---- What is known ----------------------------------------------------------------------------------------------

uint8_t RuleSimplifier::CompareWith(const Expr& e, int64_t value) {
  const IntBound bound = owner_.analyzer().ConstIntBound(e);
  uint8_t order = 0;
  if (bound.min < value) order |= kLess;
  if (bound.Contains(value)) order |= kSame;
  if (bound.max > value) order |= kGreater;
  if (value == 0 && (order & kSame) != 0 && AsIntConst(e) == nullptr && owner_.analyzer().Modular(e).base != 0)
    order &= ~kSame;
  return order;
}

uint8_t RuleSimplifier::Compare(const Expr& a, const Expr& b) {
  const auto is_decided = [](uint8_t order) { return order == kLess || order == kSame || order == kGreater; };
  const Expr difference = a - b;
  uint8_t order = CompareWith(difference, 0);
  if (is_decided(order) || order == 0) return order;
  const Expr simple = VisitExpr(difference);
  if (!simple.same_as(difference)) order &= CompareWith(simple, 0);
  if (UsesLiterals()) order &= CompareByLiterals(a, b);
  if ((order & kSame) != 0 && IsKnownToDiffer(a, b)) order &= ~kSame;
  return order;
}

uint8_t RuleSimplifier::CompareByLiterals(const Expr& a, const Expr& b) const {
  const bool is_chain = owner_.extensions().transitively_prove_inequalities;
  const InequalityChains known(owner_.literals(), owner_.ranges());
  if (known.empty()) return kAnyOrder;
  const auto beyond = [&](const Expr& x, const Expr& y, uint8_t greater) -> uint8_t {
    const std::optional<int64_t> most = known.LargestDifference(x, y, is_chain);
    if (!most || *most > 0) return kAnyOrder;
    return static_cast<uint8_t>(kAnyOrder & ~(*most < 0 ? greater | kSame : greater));
  };
  return beyond(a, b, kGreater) & beyond(b, a, kLess);
}

bool RuleSimplifier::IsKnownToDiffer(const Expr& a, const Expr& b) const {
  const bool is_chain = owner_.extensions().transitively_prove_inequalities;
  const InequalityChains chains(is_chain ? owner_.literals() : std::vector<Expr>(), {});
  const auto is_same = [&](const Expr& x, const Expr& y) {
    return SameExpr(x, y) || (chains.LargestDifference(x, y, true) == 0 && chains.LargestDifference(y, x, true) == 0);
  };
  return std::any_of(owner_.literals().begin(), owner_.literals().end(), [&](const Expr& known) {
    const Binary* op = known.As<Binary>();
    if (op == nullptr || op->op != BinaryOp::kNE) return false;
    return (is_same(op->a, a) && is_same(op->b, b)) || (is_same(op->a, b) && is_same(op->b, a));
  });
}

bool RuleSimplifier::Proves(BinaryOp comparison, const Expr& a, const Expr& b) {
  if (!IsIndexType(a.dtype()) || a.dtype() != b.dtype()) return false;
  if (const int64_t* limit = AsIntConst(b); limit != nullptr && comparison == BinaryOp::kGE)
    return owner_.analyzer().CanProveGreaterEqual(a, *limit);
  const uint8_t order = Compare(a, b);
  switch (comparison) {
    case BinaryOp::kEQ:
      return order == kSame;
    case BinaryOp::kNE:
      return (order & kSame) == 0;
    case BinaryOp::kLT:
      return order == kLess;
    case BinaryOp::kLE:
      return (order & kGreater) == 0;
    case BinaryOp::kGT:
      return order == kGreater;
    default:
      return (order & kLess) == 0;
  }
}

// ---- Arithmetic -------------------------------------------------------------------------------------------------

Expr RuleSimplifier::RewriteBinary(const Expr& e, const Binary& op) {
  if (op.op >= BinaryOp::kEQ && op.op <= BinaryOp::kGE) return RewriteComparison(e);
  if (op.op == BinaryOp::kAnd || op.op == BinaryOp::kOr) return RewriteConnective(e, op);
  const Expr a = VisitExpr(op.a), b = VisitExpr(op.b);
  return RulesOfBinary(a.same_as(op.a) && b.same_as(op.b) ? e : MakeBinary(op.op, a, b));
}

Expr RuleSimplifier::RulesOfBinary(const Expr& e) {
  const Binary& op = *e.As<Binary>();
  const Expr folded = FoldBinary(op.op, op.a, op.b);
  if (folded.As<Binary>() == nullptr || !SameExpr(folded, e)) return folded;
  const OperationRules rules = FindOperationRules(op.op);
  std::optional<Expr> result;
  if (!e.dtype().is_scalar()) {
    if (rules.vector != nullptr) result = Apply(*rules.vector, e);
    if (!result) result = LanesOfRamp(op);
  } else if (IsIndexType(e.dtype())) {
    if (rules.first != nullptr) result = Apply(*rules.first, e);
    if (!result) result = RulesBefore(e, op);
    if (!result && rules.index != nullptr) result = Apply(*rules.index, e);
    if (!result) result = RemainderByFacts(op);
  } else if (e.dtype().is_float()) {
    result = RulesOfFloats(e, op);
  }
  if (!result && !e.dtype().is_float() && rules.integer != nullptr) result = Apply(*rules.integer, e);
  if (!result && rules.any != nullptr) result = Apply(*rules.any, e);
  return result.value_or(e);
}

std::optional<Expr> RuleSimplifier::RulesBefore(const Expr& e, const Binary& op) {
  if (op.op == BinaryOp::kMin || op.op == BinaryOp::kMax) return ByBounds(op);
  return op.op == BinaryOp::kFloorDiv ? QuotientOfSum(e, op) : std::nullopt;
}

std::optional<Expr> RuleSimplifier::ByBounds(const Binary& op) {
  const IntBound a = owner_.analyzer().ConstIntBound(op.a), b = owner_.analyzer().ConstIntBound(op.b);
  const bool is_min = op.op == BinaryOp::kMin;
  if (is_min ? IsUpTo(a.max, b.min) : IsUpTo(b.max, a.min)) return op.a;
  if (is_min ? IsUpTo(b.max, a.min) : IsUpTo(a.max, b.min)) return op.b;
  return std::nullopt;
}

// (x * c + y) // d = x * (c // d) + y // d + k, where the remainders make k everywhere; x // (d // c) + y // d, where
// the remainder of y is less than c.
std::optional<Expr> RuleSimplifier::QuotientOfSum(const Expr& e, const Binary& op) {
  const int64_t* divisor = AsIntConst(op.b);
  const std::optional<ScaledPart> part = divisor == nullptr || *divisor == 0 ? std::nullopt : AsScaledPart(op.a);
  if (!part || (*divisor == -1)) return std::nullopt;
  const DataType type = e.dtype();
  const Expr by = op.b;
  const auto constant = [&](int64_t value) { return IntConst(type, value); };
  const Expr rest_left = FloorMod(part->rest, by);
  const Expr residue = FloorDiv(part->scaled * constant(FloorModulo(part->factor, *divisor)) + rest_left, by);
  const IntBound bound = owner_.analyzer().ConstIntBound(residue);
  const Expr rest_quotient = FloorDiv(part->rest, by);
  const auto rest_or_zero = [&] {
    return Proves(BinaryOp::kEQ, rest_quotient, constant(0)) ? constant(0) : rest_quotient;
  };
  if (bound.is_const() && IsFinite(bound.min))
    return part->scaled * constant(FloorDivide(part->factor, *divisor)) + (rest_or_zero() + constant(bound.min));
  const bool divides = part->factor > 0 && *divisor > 0 && *divisor % part->factor == 0;
  if (!divides || !owner_.analyzer().CanProveLess(rest_left, part->factor)) return std::nullopt;
  return FloorDiv(part->scaled, constant(*divisor / part->factor)) + rest_or_zero();
}

std::optional<Expr> RuleSimplifier::RemainderByFacts(const Binary& op) {
  if (op.op != BinaryOp::kFloorMod && op.op != BinaryOp::kTruncMod) return std::nullopt;
  const int64_t* divisor = AsIntConst(op.b);
  if (divisor == nullptr || *divisor <= 0) return std::nullopt;
  if (op.op == BinaryOp::kTruncMod && !owner_.analyzer().CanProveGreaterEqual(op.a, 0)) return std::nullopt;
  const ModularSet modular = owner_.analyzer().Modular(op.a);
  if (modular.coeff % *divisor == 0) return IntConst(op.a.dtype(), FloorModulo(modular.base, *divisor));
  if (op.op == BinaryOp::kTruncMod || !owner_.analyzer().ConstIntBound(op.a).Within(0, *divisor - 1))
    return std::nullopt;
  return op.a;
}

// A ramp divided by a constant: a ramp where the constant divides the stride, and a broadcast where all lanes have one
// quotient.
std::optional<Expr> RuleSimplifier::LanesOfRamp(const Binary& op) {
  const Ramp* ramp = op.a.As<Ramp>();
  const Broadcast* by = op.b.As<Broadcast>();
  const int64_t* divisor = by == nullptr ? nullptr : AsIntConst(by->value);
  const int64_t* stride = ramp == nullptr ? nullptr : AsIntConst(ramp->stride);
  if (stride == nullptr || divisor == nullptr || *divisor <= 0 || *stride == INT64_MIN) return std::nullopt;
  if (!IsIndexType(ramp->base.dtype())) return std::nullopt;
  const bool truncates = op.op == BinaryOp::kDiv || op.op == BinaryOp::kTruncMod;
  const bool is_quotient = op.op == BinaryOp::kFloorDiv || op.op == BinaryOp::kDiv;
  if (!truncates && op.op != BinaryOp::kFloorDiv && op.op != BinaryOp::kFloorMod) return std::nullopt;
  Analyzer& facts = owner_.analyzer();
  const DataType type = op.a.dtype(), element = ramp->base.dtype();
  const auto broadcast = [&](Expr value) { return Expr::Make(type, Broadcast{std::move(value), ramp->lanes}); };
  const auto lanes = [&](Expr base, Expr step) {
    return Expr::Make(type, Ramp{std::move(base), std::move(step), ramp->lanes});
  };
  int64_t reach;
  if (__builtin_mul_overflow(*stride, ramp->lanes - 1, &reach) || __builtin_add_overflow(reach, *divisor, &reach))
    return std::nullopt;
  reach -= *divisor;
  // Truncation is rounding down where nothing is negative.
  if (truncates && (!facts.CanProveGreaterEqual(ramp->base, 0) || type.is_scalable ||
                    !facts.CanProveGreaterEqual(ramp->base + IntConst(element, reach), 0)))
    return std::nullopt;
  const Expr of_base = FoldBinary(op.op, ramp->base, by->value);
  if (*stride % *divisor == 0)
    return is_quotient ? lanes(of_base, IntConst(element, *stride / *divisor)) : broadcast(of_base);
  const ModularSet modular = facts.Modular(ramp->base);
  const bool is_known = modular.coeff % *divisor == 0;
  const Expr known = IntConst(element, FloorModulo(modular.base, *divisor));
  const bool settles =
      !type.is_scalable && FloorDivide(modular.base, *divisor) == FloorDivide(modular.base + reach, *divisor);
  const bool is_inside =
      modular.coeff != 0 && *divisor % modular.coeff == 0 && *stride > 0 && modular.base + reach < modular.coeff;
  if (settles && (is_known || is_inside)) {
    if (is_quotient) return broadcast(of_base);
    return lanes(is_known ? known : of_base, ramp->stride);
  }
  if (is_quotient || !is_known || SameExpr(known, ramp->base)) return std::nullopt;
  return MakeBinary(op.op, lanes(known, ramp->stride), op.b);
}

namespace {

std::optional<double> Computed(BinaryOp op, double x, double y) {
  if (op == BinaryOp::kAdd) return x + y;
  if (op == BinaryOp::kSub) return x - y;
  if (op == BinaryOp::kMul) return x * y;
  return op == BinaryOp::kDiv && y != 0 ? std::optional(x / y) : std::nullopt;
}

bool IsFloat(const Expr& e, double value) { return e.As<FloatImm>() != nullptr && e.As<FloatImm>()->value == value; }

// x * 1, x / 1 and x - 0 are x, whatever x is; x + 0 is not where x is -0.
std::optional<Expr> WithoutNeutral(const Binary& op) {
  if (op.op == BinaryOp::kMul && IsFloat(op.a, 1)) return op.b;
  const bool is_product = op.op == BinaryOp::kMul || op.op == BinaryOp::kDiv;
  const bool is_positive_zero = IsFloat(op.b, 0) && !std::signbit(op.b.As<FloatImm>()->value);
  const bool is_neutral = is_product ? IsFloat(op.b, 1) : op.op == BinaryOp::kSub && is_positive_zero;
  return is_neutral ? std::optional(op.a) : std::nullopt;
}

// Of two numbers, as the type rounds the result.
std::optional<Expr> FoldedFloats(DataType type, const Binary& op) {
  const FloatImm *a = op.a.As<FloatImm>(), *b = op.b.As<FloatImm>();
  if (a == nullptr || b == nullptr || (type != DataType::Float(32) && type != DataType::Float(64))) return std::nullopt;
  const std::optional<double> value = Computed(op.op, a->value, b->value);
  if (!value || !std::isfinite(*value)) return std::nullopt;
  return FloatConst(type, type.bits == 32 ? static_cast<double>(static_cast<float>(*value)) : *value);
}

}  // namespace

// By a power of two, both ways are exact.
std::optional<Expr> RuleSimplifier::RulesOfFloats(const Expr& e, const Binary& op) {
  const FloatImm* divisor = op.b.As<FloatImm>();
  if (std::optional<Expr> folded = FoldedFloats(e.dtype(), op)) return folded;
  if (std::optional<Expr> other = WithoutNeutral(op)) return other;
  if (op.op != BinaryOp::kDiv || divisor == nullptr || !e.dtype().is_scalar()) return std::nullopt;
  int exponent;
  if (std::abs(std::frexp(divisor->value, &exponent)) != 0.5 || std::abs(exponent) > 10) return std::nullopt;
  return op.a * FloatConst(e.dtype(), 1.0 / divisor->value);
}

}  // namespace lathe
