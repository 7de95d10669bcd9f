// The canonicalizer's integer half: linear forms, // and % by constants, min and max.
#include <algorithm>

#include "compiler/arith/canonicalizer.h"
#include "compiler/ir/integer.h"

namespace lathe {
namespace {

// |scales| above 1, largest first.
boost::container::small_vector<int64_t, 8> StepCandidates(const LinearForm& form, int64_t divisor) {
  boost::container::small_vector<int64_t, 8> steps;
  for (const Term& term : form.terms) {
    const int64_t step = GreatestCommonDivisor(term.scale, divisor);
    if (step > 1 && step < divisor && std::find(steps.begin(), steps.end(), step) == steps.end()) steps.push_back(step);
  }
  std::sort(steps.begin(), steps.end(), std::greater<>());
  return steps;
}

// A variable, or quotients and remainders of it by constants.
bool IsPieceOfVar(const Expr& e) {
  if (IsVar(e)) return true;
  const Binary* op = e.As<Binary>();
  return op != nullptr && (op->op == BinaryOp::kFloorDiv || op->op == BinaryOp::kFloorMod) &&
         AsIntConst(op->b) != nullptr && IsPieceOfVar(op->a);
}

LinearForm Constant(int64_t value) {
  LinearForm form;
  form.constant = value;
  return form;
}

}  // namespace

// ---- Bounds -----------------------------------------------------------------------------------------------------

namespace {

// The factor by which `known` has to be subtracted from `form` so that a shared term vanishes; 0 without one.
int64_t MatchingFactor(const LinearForm& form, const LinearForm& known) {
  for (const Term& k : known.terms) {
    for (const Term& t : form.terms) {
      if (t.lower != k.lower || t.upper != k.upper || !SameExpr(t.source, k.source)) continue;
      if (t.scale % k.scale == 0 && t.scale / k.scale > 0) return t.scale / k.scale;
    }
  }
  return 0;
}

}  // namespace

IntBound Canonicalizer::Bound(const LinearForm& form) const {
  IntBound bound = BoundOf(form);
  if (form.has_overflowed || form.is_const()) return bound;
  for (const LinearForm* known : facts_.NonNegativeAbout(form)) {
    if (const int64_t factor = MatchingFactor(form, *known)) {
      bound.min = std::max(bound.min, BoundOf(Combine(form, *known, -factor)).min);
    }
    LinearForm negated = form;
    negated.Scale(-1);
    if (const int64_t factor = MatchingFactor(negated, *known)) {
      const int64_t low = BoundOf(Combine(negated, *known, -factor)).min;
      if (low != IntBound::kNegInf) bound.max = std::min(bound.max, -low);
    }
  }
  return bound;
}

std::optional<LinearForm> Canonicalizer::WithoutQuotients(const LinearForm& form) {
  const auto is_quotient = [](const Term& term) {
    return term.lower != 1 && term.upper == kNoUpper && term.scale % term.lower == 0;
  };
  if (std::none_of(form.terms.begin(), form.terms.end(), is_quotient)) return std::nullopt;
  LinearForm whole;
  whole.constant = form.constant;
  for (const Term& term : form.terms) {
    if (!is_quotient(term)) {
      AddTerm(whole, term);
      continue;
    }
    const int64_t factor = term.scale / term.lower;
    AddForm(whole, Form(term.source), factor);
    LinearForm lost;
    lost.constant = factor > 0 ? 1 - term.lower : 0;
    AddForm(whole, lost, factor);
  }
  return whole;
}

bool Canonicalizer::IsNonNegative(const LinearForm& form) {
  if (IsKnownNonNegative(form)) return true;
  const std::optional<LinearForm> whole = WithoutQuotients(form);
  return whole && IsKnownNonNegative(*whole);
}

bool Canonicalizer::IsKnownNonNegative(const LinearForm& form) const {
  if (form.has_overflowed) return false;
  if (BoundOf(form).min >= 0) return true;
  for (const LinearForm* known : facts_.NonNegativeAbout(form)) {
    const int64_t factor = MatchingFactor(form, *known);
    if (factor != 0 && BoundOf(Combine(form, *known, -factor)).min >= 0) return true;
  }
  return false;
}

bool Canonicalizer::IsPartNonNegative(const LinearForm& form) const {
  if (form.has_overflowed) return false;
  for (const LinearForm* known : facts_.NonNegativeAbout(form)) {
    const int64_t part = MatchingFactor(*known, form);
    if (part < 2) continue;
    LinearForm scaled = form;
    scaled.Scale(part);
    if (BoundOf(Combine(scaled, *known, -1)).min > -part) return true;
  }
  return false;
}

namespace {

// Of the remainder by a power of 2.
ModularSet ModularByPower(ModularSet set, int64_t power) {
  const int64_t coeff = set.coeff == 0 ? power : GreatestCommonDivisor(set.coeff, power);
  return {coeff, FloorModulo(set.base, coeff)};
}

}  // namespace

ModularSet Canonicalizer::ModularOfCast(const Expr& e) {
  const Cast* cast = e.As<Cast>();
  if (cast == nullptr || !e.dtype().is_int() || !e.dtype().is_scalar() || !IsIndexType(cast->value.dtype())) return {};
  const LinearForm form = Form(cast->value);
  const ModularSet set = Modular(form);
  const IntBound type = TypeBound(e.dtype());
  if (e.dtype().bits == 64 || Bound(form).Within(type.min, type.max)) return set;
  return ModularByPower(set, int64_t{1} << e.dtype().bits);
}

ModularSet Canonicalizer::ModularOfSource(const Expr& source) {
  if (IsVar(source)) {
    const VarFacts* facts = facts_.Find(source.get());
    return facts == nullptr ? ModularSet() : facts->modular;
  }
  if (--budget_ <= 0) return {};
  const auto of = [&](const Expr& part) { return Modular(Form(part)); };
  if (const std::optional<Choice> choice = AsChoice(source))
    return UnionModular(of(choice->true_value), of(choice->false_value));
  if (const Binary* op = source.As<Binary>()) {
    if (op->op == BinaryOp::kMul) return MulModular(of(op->a), of(op->b));
    if (op->op == BinaryOp::kMin || op->op == BinaryOp::kMax) return UnionModular(of(op->a), of(op->b));
    if (op->op != BinaryOp::kAdd && op->op != BinaryOp::kSub) return {};
    const LinearForm sum = Form(source);
    return sum.terms.size() == 1 && SameExpr(sum.terms[0].source, source) ? ModularSet() : Modular(sum);
  }
  if (source.As<Cast>() != nullptr) return ModularOfCast(source);
  const Call* call = source.As<Call>();
  const int64_t* by = call == nullptr || call->args.size() != 2 ? nullptr : AsIntConst(call->args[1]);
  if (by == nullptr || *by < 0) return {};
  const ModularSet set = of(call->args[0]);
  const bool is_mask = call->op->name == "bitwise_and" && (*by & (*by + 1)) == 0 && *by < IntBound::kPosInf;
  if (is_mask) return ModularByPower(set, *by + 1);
  if (*by >= 31) return {};
  const int64_t power = int64_t{1} << *by;
  if (call->op->name == "shift_left") return MulModular(set, {0, power});
  if (call->op->name != "shift_right" || set.coeff % power != 0) return {};
  return {set.coeff / power, FloorDivide(set.base, power)};
}

ModularSet Canonicalizer::Modular(const LinearForm& form) {
  if (form.has_overflowed) return {};
  ModularSet set{0, form.constant};
  for (const Term& term : form.terms) {
    ModularSet source = ModularOfSource(term.source);
    if (term.upper != kNoUpper) source.coeff = GreatestCommonDivisor(source.coeff, term.upper);
    if (term.lower != 1) {  // (c*k + b)//l = c/l*k + b//l where l divides c.
      source = source.coeff % term.lower == 0
                   ? ModularSet{source.coeff / term.lower, FloorDivide(source.base, term.lower)}
                   : ModularSet{};
    }
    int64_t coeff, base;
    if (__builtin_mul_overflow(source.coeff, term.scale, &coeff) ||
        __builtin_mul_overflow(source.base, term.scale, &base) || __builtin_add_overflow(set.base, base, &base) ||
        coeff == IntBound::kNegInf) {
      return {};
    }
    set = {GreatestCommonDivisor(set.coeff, coeff), base};
  }
  if (set.coeff != 0) set.base = FloorModulo(set.base, set.coeff);
  return set;
}

// ---- Sums -------------------------------------------------------------------------------------------------------

LinearForm Canonicalizer::Opaque(Expr source, IntBound bound) const {
  LinearForm form;
  form.terms.push_back({std::move(source), 1, 1, kNoUpper, bound});
  return form;
}

void Canonicalizer::AddTerm(LinearForm& sum, Term term) {
  const std::optional<size_t> whole = sum.Add(std::move(term));
  if (!whole) return;
  const Term merged = sum.terms[*whole];
  sum.terms.erase(sum.terms.begin() + *whole);
  AddForm(sum, Form(merged.source), merged.scale);
}

void Canonicalizer::JoinSymbolic(LinearForm& sum) {
  for (size_t i = 0; i < sum.terms.size(); ++i) {
    const Binary* mod = sum.terms[i].source.As<Binary>();
    if (mod == nullptr || mod->op != BinaryOp::kFloorMod || !sum.terms[i].is_whole()) continue;
    const std::optional<Product> divisor = ToProduct(mod->b);
    for (size_t k = 0; divisor && k < sum.terms.size(); ++k) {
      std::optional<Product> product = sum.terms[k].is_whole() ? ToProduct(sum.terms[k].source) : std::nullopt;
      if (!product || product->factors.size() != divisor->factors.size() + 1) continue;
      if (__builtin_mul_overflow(product->constant, sum.terms[k].scale, &product->constant)) continue;
      product = DivideExactly(*std::move(product), *divisor);
      const Binary* div = product ? product->factors[0].As<Binary>() : nullptr;
      if (div == nullptr || div->op != BinaryOp::kFloorDiv || product->constant != sum.terms[i].scale) continue;
      if (!SameExpr(div->a, mod->a) || !SameExpr(div->b, mod->b)) continue;
      const Expr whole = mod->a;
      sum.terms.erase(sum.terms.begin() + std::max(i, k));
      sum.terms.erase(sum.terms.begin() + std::min(i, k));
      return AddForm(sum, Form(whole), product->constant);
    }
  }
}

void Canonicalizer::AddForm(LinearForm& sum, const LinearForm& other, int64_t factor) {
  LinearForm scaled = other;
  scaled.Scale(factor);
  sum.has_overflowed |= scaled.has_overflowed;
  sum.AddConstant(scaled.constant);
  for (Term& term : scaled.terms) AddTerm(sum, std::move(term));
  if (sum.terms.size() > 1 && !sum.has_overflowed) JoinSymbolic(sum);
}

namespace {

bool AddPlainConstant(int64_t value, int64_t factor, LinearForm& sum) {
  int64_t product;
  if (__builtin_mul_overflow(value, factor, &product)) return false;
  sum.AddConstant(product);
  return !sum.has_overflowed;
}

bool AddPlainTerm(Term term, LinearForm& sum) {
  const size_t before = sum.terms.size();
  sum.Add(std::move(term));
  return sum.terms.size() >= before && !sum.has_overflowed;  // Terms that cancel may leave the rest in another order.
}

bool AddPlainForm(const LinearForm& form, int64_t factor, LinearForm& sum) {
  if (form.has_overflowed || !AddPlainConstant(form.constant, factor, sum)) return false;
  return std::all_of(form.terms.begin(), form.terms.end(), [&](Term term) {
    return IsVar(term.source) && !__builtin_mul_overflow(term.scale, factor, &term.scale) &&
           AddPlainTerm(std::move(term), sum);
  });
}

}  // namespace

bool Canonicalizer::AddPlainVar(const Expr& var, int64_t factor, LinearForm& sum) const {
  const VarFacts* facts = facts_.Find(var.get());
  if (facts == nullptr) return AddPlainTerm({var, factor, 1, kNoUpper, BoundOfVar(var)}, sum);
  if (facts->value != nullptr) return AddPlainForm(*facts->value, factor, sum);
  if (facts->bound.is_const()) return AddPlainConstant(facts->bound.min, factor, sum);
  return AddPlainTerm({var, factor, 1, kNoUpper, facts->bound}, sum);
}

bool Canonicalizer::AddPlain(const Expr& e, int64_t factor, LinearForm& sum) {
  if (const int64_t* value = AsIntConst(e)) return AddPlainConstant(*value, factor, sum);
  if (IsVar(e)) return AddPlainVar(e, factor, sum);
  const Binary* op = e.As<Binary>();
  if (op == nullptr) return false;
  if (op->op == BinaryOp::kAdd) return AddPlain(op->a, factor, sum) && AddPlain(op->b, factor, sum);
  if (op->op == BinaryOp::kSub && factor != IntBound::kNegInf)
    return AddPlain(op->a, factor, sum) && AddPlain(op->b, -factor, sum);
  const int64_t* constant = AsIntConst(op->b);
  if (constant == nullptr) return false;
  if (op->op == BinaryOp::kMul)
    return *constant != 0 && !__builtin_mul_overflow(factor, *constant, &factor) && AddPlain(op->a, factor, sum);
  const bool is_piece = (op->op == BinaryOp::kFloorDiv || op->op == BinaryOp::kFloorMod) && IsPieceOfVar(op->a);
  return is_piece && AddPlainForm(FormOfBinary(e, *op), factor, sum);
}

LinearForm Canonicalizer::Form(const Expr& e) {
  if (const int64_t* value = AsIntConst(e)) return Constant(*value);
  if (--budget_ <= 0) return Opaque(e, TypeBound(e.dtype()));
  if (IsVar(e)) {
    const VarFacts* facts = facts_.Find(e.get());
    if (facts == nullptr) return Opaque(e, BoundOfVar(e));
    if (facts->value != nullptr) return *facts->value;
    if (facts->bound.is_const()) return Constant(facts->bound.min);
    return Opaque(e, facts->bound);
  }
  if (const Binary* op = e.As<Binary>()) {
    if (LinearForm plain; op->op <= BinaryOp::kMul && AddPlain(e, 1, plain)) return plain;
    return FormOfBinary(e, *op);
  }
  if (AsChoice(e)) return FormOfChoice(e);
  if (const Cast* cast = e.As<Cast>()) return FormOfCast(e, *cast);
  const Expr visited = VisitChildren(e);
  const Call* call = visited.As<Call>();
  if (const auto folded = call != nullptr ? FoldBits(*call, e.dtype()) : std::nullopt)
    return Constant(*AsIntConst(*folded));
  return Opaque(visited, call != nullptr ? BoundOfCall(*call, e.dtype()) : TypeBound(e.dtype()));
}

namespace {

// Up to where a float type has all integers.
int64_t ExactUpTo(DataType type) {
  if (type == DataType::Float(64)) return int64_t{1} << 53;
  return type == DataType::Float(32) ? int64_t{1} << 24 : 0;
}

}  // namespace

// Of the integer that `value` is or, as a float, keeps.
IntBound Canonicalizer::BoundOfInteger(const Expr& value) {
  if (IsIndexType(value.dtype())) return BoundOf(Form(value));
  if (value.dtype().is_int() || value.dtype().is_bool()) return TypeBound(value.dtype());
  const Cast* cast = value.As<Cast>();
  if (cast == nullptr || !IsIndexType(cast->value.dtype())) return {};
  const IntBound bound = BoundOf(Form(cast->value));
  const int64_t limit = ExactUpTo(value.dtype());
  return bound.Within(-limit, limit) ? bound : IntBound();
}

LinearForm Canonicalizer::FormOfCast(const Expr& e, const Cast& cast) {
  const Expr value = Rewrite(cast.value);
  const IntBound type = TypeBound(e.dtype()), bound = BoundOfInteger(value);
  const bool is_kept = bound.Within(type.min, type.max);
  if (const int64_t* constant = AsIntConst(value); constant != nullptr && is_kept) return Constant(*constant);
  return Opaque(value.same_as(cast.value) ? e : MakeCast(e.dtype(), value), is_kept ? bound : type);
}

namespace {

// 2 ** y for the y from 0 of a shift.
IntBound PowersOf(IntBound y) {
  const auto power = [](int64_t exponent) { return exponent < 63 ? int64_t{1} << exponent : IntBound::kPosInf; };
  return {power(y.min), power(y.max)};
}

}  // namespace

// Of operations on bits: x >> y for y from 0, x << y where neither is negative, and x & y where one of them is not.
IntBound Canonicalizer::BoundOfCall(const Call& call, DataType type) {
  const IntBound whole = TypeBound(type);
  const std::string_view name = call.op->name;
  const bool is_shift = name == "shift_right" || name == "shift_left";
  if ((!is_shift && name != "bitwise_and") || call.args.size() != 2) return whole;
  const IntBound a = Bound(Form(call.args[0])), b = Bound(Form(call.args[1]));
  if (name == "bitwise_and") {
    if (a.min < 0 && b.min < 0) return whole;
    return {0, a.min < 0 ? b.max : b.min < 0 ? a.max : std::min(a.max, b.max)};
  }
  if (b.min < 0) return whole;
  if (name == "shift_right") return FloorDivBounds(a, PowersOf(b));
  return a.min < 0 ? whole : MulBounds(a, PowersOf(b));
}

LinearForm Canonicalizer::FormOfBinary(const Expr& e, const Binary& op) {
  switch (op.op) {
    case BinaryOp::kAdd:
    case BinaryOp::kSub: {
      LinearForm sum = Form(op.a);
      AddForm(sum, Form(op.b), op.op == BinaryOp::kAdd ? 1 : -1);
      if (!sum.has_overflowed) DistributeMinMax(sum, e.dtype());
      return sum;
    }
    case BinaryOp::kMul:
      return FormOfMul(e, op);
    case BinaryOp::kFloorDiv:
      return FormOfFloorDiv(e, op);
    case BinaryOp::kFloorMod:
      return FormOfFloorMod(e, op);
    case BinaryOp::kDiv:
    case BinaryOp::kTruncMod:
      return FormOfTruncated(e, op);
    case BinaryOp::kMin:
    case BinaryOp::kMax:
      return FormOfMinMax(e, op.op, Form(op.a), Form(op.b));
    default:
      return Opaque(VisitChildren(e), TypeBound(e.dtype()));
  }
}

// `e` again, on simplified operands, as one term.
LinearForm Canonicalizer::Rebuild(const Expr& e, const Binary& op, const LinearForm& a, const LinearForm& b,
                                  IntBound bound) {
  const auto operand = [&](const LinearForm& form, const Expr& before) {
    if (!FitsIn(form, e.dtype())) return before;
    Expr after = FormToExpr(form, e.dtype());
    return SameExpr(after, before) ? before : after;
  };
  Expr x = operand(a, op.a), y = operand(b, op.b);
  if (x.same_as(op.a) && y.same_as(op.b)) return Opaque(e, bound);
  return Opaque(MakeBinary(op.op, std::move(x), std::move(y)), bound);
}

LinearForm Canonicalizer::FormOfMul(const Expr& e, const Binary& op) {
  LinearForm a = Form(op.a), b = Form(op.b);
  if (a.is_const()) std::swap(a, b);
  if (b.is_const()) {
    a.Scale(b.constant);
    return a;
  }
  const IntBound bound = MulBounds(BoundOf(a), BoundOf(b));
  if (a.has_overflowed || b.has_overflowed) return Rebuild(e, op, a, b, bound);
  // (c*x) * (d*y) = c*d * (x*y), so that products of variables meet.
  const int64_t c = a.constant == 0 && a.terms.size() == 1 ? a.terms[0].scale : 1;
  const int64_t d = b.constant == 0 && b.terms.size() == 1 ? b.terms[0].scale : 1;
  int64_t factor;
  if ((c == 1 && d == 1) || __builtin_mul_overflow(c, d, &factor)) return Rebuild(e, op, a, b, bound);
  if (c != 1) a.terms[0].scale = 1;
  if (d != 1) b.terms[0].scale = 1;
  LinearForm product = Rebuild(e, op, a, b, MulBounds(BoundOf(a), BoundOf(b)));
  product.Scale(factor);
  return product;
}

// ---- Division by constants --------------------------------------------------------------------------------------

std::optional<LinearForm> Canonicalizer::DropBelow(const LinearForm& form, int64_t step, LinearForm* left) const {
  LinearForm high, low;
  for (const Term& term : form.terms) {
    if (term.scale % step != 0) {
      low.terms.push_back(term);
      continue;
    }
    high.terms.push_back(term);
    high.terms.back().scale /= step;
  }
  low.constant = FloorModulo(form.constant, step);
  const std::optional<int64_t> quotient = CommonQuotient(BoundOf(low), step);
  if (!quotient) return std::nullopt;
  high.constant = FloorDivide(form.constant, step);
  high.AddConstant(*quotient);
  if (left != nullptr) {
    low.constant -= *quotient * step;
    *left = std::move(low);
  }
  return high;
}

namespace {

// What a common step is taken out of, as TVM's rule has it: (x*4 + y) // 12 = x // 3 for y below 4. Of a sum of more
// it is left where it is, so that what fuse and split make looks as it does there.
bool IsBareTerm(const LinearForm& high) { return high.terms.size() == 1 && high.terms[0].scale == 1; }

}  // namespace

LinearForm Canonicalizer::DivConst(LinearForm form, int64_t divisor, DataType type) {
  if (divisor == 1 || form.has_overflowed) return form;
  LinearForm result = Constant(FloorDivide(form.constant, divisor)),
             rest = Constant(FloorModulo(form.constant, divisor));
  for (Term& term : form.terms) {
    const bool divides = term.scale % divisor == 0;
    if (divides) term.scale /= divisor;
    (divides ? result : rest).terms.push_back(std::move(term));
  }
  if (const auto quotient = CommonQuotient(Bound(rest), divisor)) {
    result.AddConstant(*quotient);
    return result;
  }
  for (const int64_t step : StepCandidates(rest, divisor)) {
    if (auto high = DropBelow(rest, step, nullptr); high && IsBareTerm(*high)) {
      AddForm(result, DivConst(std::move(*high), divisor / step, type), 1);
      return result;
    }
  }
  if (rest.terms.size() == 1 && rest.constant == 0 && rest.terms[0].scale == 1) {
    Term term = rest.terms[0];
    int64_t lower;
    if (!__builtin_mul_overflow(term.lower, divisor, &lower) && (term.upper == kNoUpper || term.upper % lower == 0)) {
      if (!IsVar(term.source)) is_settled_ = false;
      term.lower = lower;
      AddTerm(result, std::move(term));
      return result;
    }
  }
  AddTerm(result, {FormToExpr(rest, type), 1, divisor, kNoUpper, BoundOf(rest)});
  return result;
}

LinearForm Canonicalizer::ModConst(LinearForm form, int64_t divisor, DataType type) {
  if (divisor == 1) return Constant(0);
  LinearForm rest = Constant(FloorModulo(form.constant, divisor));
  for (Term& term : form.terms) {
    if (term.scale % divisor == 0) continue;
    if (term.scale > divisor && form.terms.size() == 1 && form.constant == 0) term.scale %= divisor;
    rest.terms.push_back(std::move(term));
  }
  if (const auto quotient = CommonQuotient(Bound(rest), divisor)) {
    rest.AddConstant(-*quotient * divisor);
    return rest;
  }
  if (const ModularSet known = Modular(rest); known.coeff % divisor == 0)
    return Constant(FloorModulo(known.base, divisor));
  for (const int64_t step : StepCandidates(rest, divisor)) {
    LinearForm left;
    if (auto high = DropBelow(rest, step, &left); high && IsBareTerm(*high)) {
      LinearForm result = ModConst(std::move(*high), divisor / step, type);
      result.Scale(step);
      AddForm(result, left, 1);
      return result;
    }
  }
  LinearForm result;
  if (rest.terms.size() == 1 && rest.constant == 0 && rest.terms[0].scale == 1) {
    Term term = rest.terms[0];
    int64_t upper;
    if (!__builtin_mul_overflow(term.lower, divisor, &upper) && (term.upper == kNoUpper || term.upper % upper == 0)) {
      if (!IsVar(term.source)) is_settled_ = false;
      term.upper = upper;
      AddTerm(result, std::move(term));
      return result;
    }
  }
  AddTerm(result, {FormToExpr(rest, type), 1, 1, divisor, BoundOf(rest)});
  return result;
}

namespace {

// Where the type holds -a for every a: the least number has no opposite, and unlike a sum that wraps on the way, a
// quotient of one that has wrapped is another number.
bool Negate(LinearForm& a, DataType type) {
  a.Scale(-1);
  const IntBound bound = BoundOf(a), all = TypeBound(type);
  return FitsIn(a, type) && bound.Within(all.min, all.max);
}

}  // namespace

LinearForm Canonicalizer::FormOfFloorDiv(const Expr& e, const Binary& op) {
  LinearForm a = Form(op.a), b = Form(op.b);
  if (b.is_const() && b.constant != 0 && b.constant != IntBound::kNegInf && FitsIn(a, e.dtype())) {
    if (b.constant > 0) return DivConst(std::move(a), b.constant, e.dtype());
    LinearForm opposite = a;
    if (!Negate(opposite, e.dtype())) return Rebuild(e, op, a, b, TypeBound(e.dtype()));
    return DivConst(std::move(opposite), -b.constant, e.dtype());  // x // -c == -x // c
  }
  if (!FitsIn(a, e.dtype()) || !FitsIn(b, e.dtype()) || b.is_const()) return Rebuild(e, op, a, b, TypeBound(e.dtype()));
  Quotient split = DivideSymbolic(a, b, e.dtype());
  LinearForm above = Combine(b, split.rest, -1);  // b - rest - 1
  above.AddConstant(-1);
  if (split.rest.IsZero() || (IsNonNegative(split.rest) && IsNonNegative(above))) return std::move(split.quotient);
  AddForm(split.quotient, Rebuild(e, op, split.rest, b, FloorDivBounds(Bound(split.rest), Bound(b))), 1);
  return std::move(split.quotient);
}

Canonicalizer::Quotient Canonicalizer::DivideSymbolic(const LinearForm& a, const LinearForm& divisor, DataType type) {
  Quotient split;
  const std::optional<Product> by = ToProduct(FormToExpr(divisor, type));
  split.rest.constant = a.constant;
  for (const Term& term : a.terms) {
    std::optional<Product> product = by && term.is_whole() ? ToProduct(term.source) : std::nullopt;
    if (product && __builtin_mul_overflow(product->constant, term.scale, &product->constant)) product.reset();
    if (product) product = DivideExactly(*std::move(product), *by);
    if (!product) {
      split.rest.terms.push_back(term);
      continue;
    }
    const int64_t scale = std::exchange(product->constant, 1);
    AddForm(split.quotient, Form(ProductToExpr(*product, type)), scale);
  }
  return split;
}

LinearForm Canonicalizer::FormOfFloorMod(const Expr& e, const Binary& op) {
  LinearForm a = Form(op.a), b = Form(op.b);
  if (b.is_const() && b.constant != 0 && b.constant != IntBound::kNegInf && FitsIn(a, e.dtype())) {
    if (b.constant > 0) return ModConst(std::move(a), b.constant, e.dtype());
    LinearForm opposite = a;
    if (!Negate(opposite, e.dtype())) return Rebuild(e, op, a, b, TypeBound(e.dtype()));
    LinearForm result = ModConst(std::move(opposite), -b.constant, e.dtype());  // x % -c == -(-x % c)
    result.Scale(-1);
    return result;
  }
  if (!FitsIn(a, e.dtype()) || !FitsIn(b, e.dtype()) || b.is_const()) return Rebuild(e, op, a, b, TypeBound(e.dtype()));
  const LinearForm rest = DivideSymbolic(a, b, e.dtype()).rest;
  LinearForm above = Combine(b, rest, -1);
  above.AddConstant(-1);
  if (rest.IsZero() || (IsNonNegative(rest) && IsNonNegative(above))) return rest;
  return Rebuild(e, op, rest, b, FloorModBounds(Bound(rest), Bound(b)));
}

namespace {

bool IsMultiple(const LinearForm& form, int64_t divisor) {
  return form.constant % divisor == 0 &&
         std::all_of(form.terms.begin(), form.terms.end(), [&](const Term& term) { return term.scale % divisor == 0; });
}

}  // namespace

// Truncating / and % agree with // and % where neither side is negative.
LinearForm Canonicalizer::FormOfTruncated(const Expr& e, const Binary& op) {
  const LinearForm a = Form(op.a), b = Form(op.b);
  const bool is_div = op.op == BinaryOp::kDiv;
  if (b.is_const() && b.constant > 0 && IsNonNegative(a) && FitsIn(a, e.dtype())) {
    return is_div ? DivConst(a, b.constant, e.dtype()) : ModConst(a, b.constant, e.dtype());
  }
  if (a.is_const() && b.is_const() && b.constant != 0 && b.constant != -1) {
    return Constant(is_div ? a.constant / b.constant : a.constant % b.constant);
  }
  if (a.IsZero() && Bound(b).min > 0) return a;
  if (b.is_const() && b.constant > 0 && IsMultiple(a, b.constant) && FitsIn(a, e.dtype()))
    return is_div ? DivConst(a, b.constant, e.dtype()) : Constant(0);  // Nothing is rounded.
  return Rebuild(e, op, a, b, is_div ? TruncDivBound(Bound(a), Bound(b)) : TruncModBound(Bound(a), Bound(b)));
}

// ---- Choices ------------------------------------------------------------------------------------------------------

LinearForm Canonicalizer::FormOfChoice(const Expr& e) {
  const Choice choice = *AsChoice(e);
  const Expr result = RewriteChoice(e, choice.condition, choice.true_value, choice.false_value);
  const std::optional<Choice> rest = AsChoice(result);
  if (!rest) return Form(result);
  return Opaque(result, UnionBound(BoundOf(Form(rest->true_value)), BoundOf(Form(rest->false_value))));
}

}  // namespace lathe
