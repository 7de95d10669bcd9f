// The canonicalizer's other half: conditions, choices, and everything that only has integers inside.
#include <algorithm>
#include <numeric>

#include "compiler/arith/canonicalizer.h"
#include "compiler/ir/integer.h"
#include "compiler/ir/may_trap.h"
#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

const Op* IfThenElseOp() {
  static const Op* const op = FindOp("if_then_else");
  return op;
}

bool HoldsOpposites(const std::vector<Expr>& parts) {
  for (size_t i = 0; i < parts.size() && parts.size() <= 16; ++i) {
    const Not* opposite = parts[i].As<Not>();
    for (size_t k = 0; opposite != nullptr && k < parts.size(); ++k) {
      if (SameExpr(opposite->a, parts[k])) return true;
    }
  }
  return false;
}

void Flatten(const Expr& e, BinaryOp op, std::vector<Expr>& parts) {
  const Binary* binary = e.As<Binary>();
  if (binary == nullptr || binary->op != op) {
    parts.push_back(e);
    return;
  }
  Flatten(binary->a, op, parts);
  Flatten(binary->b, op, parts);
}

bool IsComparison(BinaryOp op) { return op >= BinaryOp::kEQ && op <= BinaryOp::kGE; }

LinearForm Negative(LinearForm form) {
  form.Scale(-1);
  return form;
}

bool HasBothSigns(const LinearForm& form) {
  const auto is_positive = [](const Term& term) { return term.scale > 0; };
  return std::any_of(form.terms.begin(), form.terms.end(), is_positive) &&
         !std::all_of(form.terms.begin(), form.terms.end(), is_positive);
}

// positive terms (op) negative terms; the constant, made positive, on the side that needs it.
Expr BuildComparison(BinaryOp op, const LinearForm& difference, DataType type) {
  LinearForm left, right;
  for (const Term& term : difference.terms) {
    LinearForm& side = term.scale > 0 ? left : right;
    side.terms.push_back(term);
    if (term.scale < 0) side.terms.back().scale = -term.scale;
  }
  const bool has_order = op == BinaryOp::kLT || op == BinaryOp::kLE;
  if (left.terms.empty() && has_order)
    left.constant = difference.constant;
  else if (left.terms.empty() &&
           std::any_of(right.terms.begin(), right.terms.end(), [](const Term& t) { return t.scale > 0; }))
    return BuildComparison(op, Negative(difference), type);
  else if (!right.terms.empty() && difference.constant > 0)
    left.constant = difference.constant;
  else
    right.constant = -difference.constant;
  return MakeBinary(op, FormToExpr(left, type), FormToExpr(right, type));
}

}  // namespace

const Op* LikelyOp() {
  static const Op* const op = FindOp("likely");
  return op;
}

Expr Negated(const Expr& e) {
  if (const Not* inner = e.As<Not>()) return inner->a;
  const Binary* op = e.As<Binary>();
  if (op == nullptr || (op->a.dtype().is_float() && op->op != BinaryOp::kAnd && op->op != BinaryOp::kOr))
    return MakeNot(e);  // NaN.
  switch (op->op) {
    case BinaryOp::kLT:
      return MakeBinary(BinaryOp::kLE, op->b, op->a);
    case BinaryOp::kLE:
      return MakeBinary(BinaryOp::kLT, op->b, op->a);
    case BinaryOp::kGT:
      return MakeBinary(BinaryOp::kLE, op->a, op->b);
    case BinaryOp::kGE:
      return MakeBinary(BinaryOp::kLT, op->a, op->b);
    case BinaryOp::kEQ:
      return MakeBinary(BinaryOp::kNE, op->a, op->b);
    case BinaryOp::kNE:
      return MakeBinary(BinaryOp::kEQ, op->a, op->b);
    case BinaryOp::kAnd:
      return MakeBinary(BinaryOp::kOr, Negated(op->a), Negated(op->b));
    case BinaryOp::kOr:
      return MakeBinary(BinaryOp::kAnd, Negated(op->a), Negated(op->b));
    default:
      return MakeNot(e);
  }
}

std::optional<Choice> AsChoice(const Expr& e) {
  if (const Select* select = e.As<Select>()) return Choice{select->condition, select->true_value, select->false_value};
  const Call* call = e.As<Call>();
  if (call == nullptr || call->op != IfThenElseOp() || call->args.size() != 3) return std::nullopt;
  return Choice{call->args[0], call->args[1], call->args[2]};
}

Expr Canonicalizer::Rewrite(const Expr& e) {
  if (e.As<IntImm>() != nullptr || e.As<FloatImm>() != nullptr) return e;
  if (--budget_ <= 0) return e;
  if (IsIndexType(e.dtype())) {
    const LinearForm form = Form(e);
    if (!FitsIn(form, e.dtype())) return VisitChildren(e);
    Expr result = FormToExpr(form, e.dtype());
    return SameExpr(result, e) ? e : result;
  }
  if (IsVar(e)) return e;
  if (!e.dtype().is_scalar() && !e.dtype().is_float() && !AsChoice(e)) return RewriteVector(e);
  if (const Binary* op = e.As<Binary>()) return RewriteBinary(e, *op);
  if (const Not* op = e.As<Not>()) return RewriteNot(e, *op);
  if (const auto choice = AsChoice(e))
    return RewriteChoice(e, choice->condition, choice->true_value, choice->false_value);
  if (const Cast* cast = e.As<Cast>();
      cast != nullptr && e.dtype().is_scalar() && (e.dtype().is_int() || e.dtype().is_bool())) {
    const Expr value = Rewrite(cast->value);
    const int64_t* constant = AsIntConst(value);
    if (constant != nullptr && e.dtype().is_bool()) return IntConst(e.dtype(), *constant != 0);
    if (constant != nullptr)
      return IntConst(e.dtype(), WrapToWidth(*constant, e.dtype().bits, e.dtype().is_signed_int()));
    return value.same_as(cast->value) ? e : MakeCast(e.dtype(), value);
  }
  const Expr visited = VisitChildren(e);
  const Call* call = visited.As<Call>();
  if (call != nullptr && call->op == LikelyOp() && AsIntConst(call->args[0]) != nullptr) return call->args[0];
  return call != nullptr ? FoldBits(*call, e.dtype()).value_or(visited) : visited;
}

Expr Canonicalizer::RewriteBinary(const Expr& e, const Binary& op) {
  if (IsComparison(op.op) && IsIndexType(op.a.dtype())) return RewriteComparison(e, op);
  if ((op.op == BinaryOp::kAnd || op.op == BinaryOp::kOr) && e.dtype().is_scalar()) return RewriteConnective(e, op.op);
  Expr a = Rewrite(op.a), b = Rewrite(op.b);
  const DataType type = op.a.dtype();
  const bool may_fold = !type.is_float() && !(type.code == DataType::Code::kUInt && type.bits == 64);
  if (may_fold) {
    Expr folded = FoldBinary(op.op, a, b);
    return SameExpr(folded, e) ? e : folded;
  }
  if (a.same_as(op.a) && b.same_as(op.b)) return e;
  return MakeBinary(op.op, std::move(a), std::move(b));
}

// ---- Comparisons ------------------------------------------------------------------------------------------------

// difference op 0, for kLT, kEQ, kNE.
std::optional<bool> Canonicalizer::Decide(BinaryOp op, const LinearForm& difference) {
  LinearForm below = difference;  // -difference - 1
  below.Scale(-1);
  below.AddConstant(-1);
  const bool is_negative = IsNonNegative(below);
  if (op == BinaryOp::kLT) {
    if (is_negative) return true;
    if (IsNonNegative(difference)) return false;
    return std::nullopt;
  }
  LinearForm above = difference;
  above.AddConstant(-1);
  if (is_negative || IsNonNegative(above)) return op == BinaryOp::kNE;
  if (difference.IsZero()) return op == BinaryOp::kEQ;
  const ModularSet modular = Modular(difference);
  if (modular.base != 0) return op == BinaryOp::kNE;  // Never a multiple of coeff, so never 0.
  below.AddConstant(1);
  if (IsNonNegative(difference) && IsNonNegative(below)) return op == BinaryOp::kEQ;
  return std::nullopt;
}

Expr Canonicalizer::RewriteComparison(const Expr& e, const Binary& original) {
  BinaryOp op = original.op;
  LinearForm a = Form(original.a), b = Form(original.b);
  if (op == BinaryOp::kGT || op == BinaryOp::kGE) {
    std::swap(a, b);
    op = op == BinaryOp::kGT ? BinaryOp::kLT : BinaryOp::kLE;
  }
  const DataType type = original.a.dtype();
  LinearForm difference = std::move(a);
  AddForm(difference, b, -1);
  const bool is_strict = op != BinaryOp::kLE;
  if (!is_strict) {
    difference.AddConstant(-1);
    op = BinaryOp::kLT;
  }
  if (!FitsIn(difference, type)) return VisitChildren(e);
  DistributeMinMax(difference, type);
  if (const auto known = Decide(op, difference)) return IntConst(DataType::Bool(), *known);
  if (op == BinaryOp::kLT) {
    DropLimit(difference);
    TightenBelowZero(difference);
    DropLimit(difference);  // 2 * min(x, 3) > 0 is min(x, 3) > 0 by now.
  } else if (const int64_t gcd = GcdOfScales(difference); gcd > 1 && difference.constant % gcd == 0) {
    for (Term& term : difference.terms) term.scale /= gcd;
    difference.constant /= gcd;
  }
  const bool has_two_sides = HasBothSigns(difference);
  const bool is_near = op == BinaryOp::kLT && has_two_sides && difference.constant == -1;  // x < y + 1: x <= y
  const bool is_below = !is_strict && has_two_sides && difference.constant == 0;           // x + 1 <= y: x < y
  if (is_near || (!is_strict && !is_below)) {
    difference.AddConstant(1);
    op = Bound(difference).min == 0 ? BinaryOp::kEQ : BinaryOp::kLE;  // At most what it is at least.
  }
  if (!FitsIn(difference, type) || std::abs(difference.constant) >= TypeBound(type).max - 1) return VisitChildren(e);
  Expr result = BuildComparison(op, difference, type);
  return SameExpr(result, e) ? e : result;
}

// min(x, c) + k < 0 is x + k < 0, unless c decides it; likewise max, and k less either.
void Canonicalizer::DropLimit(LinearForm& form) {
  if (form.terms.size() != 1 || !form.terms[0].is_whole() || std::abs(form.terms[0].scale) != 1) return;
  const int64_t scale = form.terms[0].scale;
  const Expr source = form.terms[0].source;
  const Binary* op = source.As<Binary>();
  if (op == nullptr || (op->op != BinaryOp::kMin && op->op != BinaryOp::kMax)) return;
  const bool is_first = AsIntConst(op->a) != nullptr;
  const int64_t* limit = AsIntConst(is_first ? op->a : op->b);
  if (limit == nullptr) return;
  const bool is_below = static_cast<__int128>(scale) * *limit + form.constant < 0;
  if (is_below == ((op->op == BinaryOp::kMin) == (scale == 1))) return;  // The limit alone decides.
  form.terms.clear();
  AddForm(form, Form(is_first ? op->b : op->a), scale);
  is_settled_ = false;
}

// form < 0 with smaller numbers, equivalent.
void Canonicalizer::TightenBelowZero(LinearForm& form) {
  boost::container::small_vector<int64_t, 8> steps;  // g*x + r < 0 with 0 <= r < g  ->  x < 0
  for (const Term& term : form.terms) steps.push_back(std::abs(term.scale));
  std::sort(steps.begin(), steps.end(), std::greater<>());
  for (const int64_t step : steps) {
    if (step == 1) break;
    if (auto high = DropBelow(form, step, nullptr)) {
      form = std::move(*high);
      break;
    }
  }
  if (form.terms.size() != 1 || form.terms[0].lower == 1 || form.terms[0].upper != kNoUpper) return;
  const Term term = form.terms[0];
  if (term.scale != 1 && term.scale != -1) return;
  // x // c + k < 0  ->  x + k*c < 0;  k < x // c  ->  (k + 1)*c - 1 < x
  LinearForm whole;
  whole.constant = term.scale > 0 ? form.constant : form.constant + 1;
  whole.has_overflowed = form.constant == IntBound::kPosInf;
  whole.Scale(term.lower);
  if (term.scale < 0) whole.AddConstant(-1);
  AddForm(whole, Form(term.source), term.scale);
  if (whole.has_overflowed) return;
  form = std::move(whole);
  TightenBelowZero(form);
}

// ---- And, or, not, choices --------------------------------------------------------------------------------------

// Each part is simplified knowing that the parts before it hold (for or: do not hold); then those that follow from
// later ones go.
Expr Canonicalizer::RewriteConnective(const Expr& e, BinaryOp op) {
  std::vector<Expr> before, parts;
  Flatten(e, op, before);
  const bool is_and = op == BinaryOp::kAnd;
  // What might divide by 0 where another part says otherwise is simplified by itself.
  for (Expr& part : before)
    if (DividesByParts(part)) part = Rewrite(part);
  {
    const Facts::Scope scope(facts_);
    for (const Expr& part : before) {
      const Expr simple = DividesByParts(part) ? part : Rewrite(part);
      if (const int64_t* value = AsIntConst(simple)) {
        if ((*value != 0) == is_and) continue;
        return simple;
      }
      Learn(is_and ? simple : Negated(simple), facts_);
      Flatten(simple, op, parts);
    }
  }
  if (parts.empty()) return IntConst(DataType::Bool(), is_and);
  if (HoldsOpposites(parts)) return IntConst(DataType::Bool(), !is_and);
  if (parts.size() > 1) {
    const Facts::Scope scope(facts_);
    for (size_t i = parts.size(); i-- > 0;) {
      const Expr simple = Rewrite(parts[i]);
      if (const int64_t* value = AsIntConst(simple)) {
        if ((*value != 0) != is_and) return simple;
        parts.erase(parts.begin() + i);
        continue;
      }
      Learn(is_and ? parts[i] : Negated(parts[i]), facts_);
    }
  }
  Expr result = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) result = MakeBinary(op, std::move(result), parts[i]);
  return SameExpr(result, e) ? e : result;
}

Expr Canonicalizer::RewriteNot(const Expr& e, const Not& op) {
  const Expr inner = Rewrite(op.a);
  if (!e.dtype().is_scalar()) return inner.same_as(op.a) ? e : MakeNot(inner);
  if (const int64_t* value = AsIntConst(inner)) return IntConst(e.dtype(), *value == 0);
  const Expr negated = Negated(inner);
  if (negated.As<Not>() != nullptr) return inner.same_as(op.a) ? e : negated;
  return Rewrite(negated);
}

Expr Canonicalizer::RewriteChoice(const Expr& e, const Expr& condition, const Expr& true_value,
                                  const Expr& false_value) {
  const Expr simple = Rewrite(condition);
  if (const int64_t* known = AsIntConst(simple)) return Rewrite(*known != 0 ? true_value : false_value);
  const bool evaluates_both = e.As<Select>() != nullptr;
  const auto under = [&](const Expr& assumed, const Expr& value) {
    const bool is_constant = value.As<IntImm>() != nullptr || value.As<FloatImm>() != nullptr;
    // A Select's load happens where the condition fails, too, and has to stay inside its buffer there.
    const bool is_exposed = evaluates_both && (HasLoad(value) || DividesByParts(value));
    if (is_constant || !assumed.dtype().is_scalar() || is_exposed) return Rewrite(value);
    const Facts::Scope scope(facts_);
    Learn(assumed, facts_);
    return Rewrite(value);
  };
  const Expr yes = under(simple, true_value), no = under(Negated(simple), false_value);
  if (SameExpr(yes, no) && !e.dtype().is_float()) return yes;
  if (simple.same_as(condition) && yes.same_as(true_value) && no.same_as(false_value)) return e;
  if (e.As<Select>() != nullptr) return Expr::Make(e.dtype(), Select{simple, yes, no});
  return Expr::Make(e.dtype(), Call{IfThenElseOp(), {simple, yes, no}});
}

}  // namespace lathe
