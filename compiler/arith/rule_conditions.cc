// Simplification by rules: conditions, choices, calls.
#include <cmath>

#include "compiler/arith/canonicalizer.h"
#include "compiler/arith/inequality_chains.h"
#include "compiler/arith/linear.h"
#include "compiler/arith/rule_simplifier.h"
#include "compiler/ir/integer.h"

namespace lathe {
namespace {

const RuleSet& RulesNamed(std::string_view name) { return *FindRules(name); }

bool IsAnyComparison(const Expr& e) {
  const Binary* op = e.As<Binary>();
  return op != nullptr && op->op >= BinaryOp::kEQ && op->op <= BinaryOp::kGE;
}
// Of numbers that may be none: neither it nor its opposite may hold.
bool ComparesFloats(const Expr& e) { return IsAnyComparison(e) && e.As<Binary>()->a.dtype().is_float(); }

Expr PlainNot(const Expr& e) { return Expr::Make(e.dtype(), Not{e}); }

bool HasAnyLoad(const Expr& e) {
  bool reads = false;
  PostOrderVisit(e, [&](const Expr& part) { reads |= part.As<BufferLoad>() != nullptr; });
  return reads;
}

int64_t CommonFactorOf(ModularSet modular) { return GreatestCommonDivisor(modular.coeff, modular.base); }

Expr Joined(const std::vector<Expr>& parts, BinaryOp op) {
  Expr result = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) result = MakeBinary(op, result, parts[i]);
  return result;
}

constexpr size_t kMaxClauses = 32;
using Clauses = RuleSimplifier::Clauses;

// Places in `clause` of what `other` has not.
std::vector<size_t> PartsBeside(const std::vector<Expr>& clause, const std::vector<Expr>& other) {
  std::vector<size_t> places;
  for (size_t i = 0; i < clause.size(); ++i) {
    const auto is_same = [&](const Expr& part) { return SameExpr(part, clause[i]); };
    if (std::none_of(other.begin(), other.end(), is_same)) places.push_back(i);
  }
  return places;
}

// nullopt: too many.
std::optional<Clauses> ClausesOf(const Expr& e) {
  const Binary* op = e.As<Binary>();
  if (op == nullptr || (op->op != BinaryOp::kAnd && op->op != BinaryOp::kOr)) return Clauses{{e}};
  std::optional<Clauses> a = ClausesOf(op->a);
  const std::optional<Clauses> b = ClausesOf(op->b);
  if (!a || !b) return std::nullopt;
  if (op->op == BinaryOp::kAnd) {
    a->insert(a->end(), b->begin(), b->end());
    return a;
  }
  if (a->size() * b->size() > kMaxClauses) return std::nullopt;
  Clauses both;
  for (const std::vector<Expr>& x : *a) {
    for (const std::vector<Expr>& y : *b) {
      both.push_back(x);
      both.back().insert(both.back().end(), y.begin(), y.end());
    }
  }
  return both;
}

}  // namespace

Expr NormalizedCondition(const Expr& e) {
  if (const Not* outer = e.As<Not>()) {
    const Expr opposite = Negated(outer->a);
    return opposite.As<Not>() != nullptr ? opposite : NormalizedCondition(opposite);
  }
  const Binary* op = e.As<Binary>();
  if (op != nullptr && op->op == BinaryOp::kGE) return MakeBinary(BinaryOp::kLE, op->b, op->a);
  if (op != nullptr && op->op == BinaryOp::kGT) return MakeBinary(BinaryOp::kLT, op->b, op->a);
  return e;
}

std::optional<Expr> RuleSimplifier::ByLiterals(const Expr& e) const {
  if (owner_.literals().empty() || !UsesLiterals()) return std::nullopt;
  for (const Expr& known : owner_.literals()) {
    if (SameExpr(known, e)) return IntConst(e.dtype(), 1);
    if (const Not* negated = known.As<Not>(); negated != nullptr && SameExpr(negated->a, e))
      return IntConst(e.dtype(), 0);
  }
  return std::nullopt;
}

// ---- Comparisons ------------------------------------------------------------------------------------------------

Expr RuleSimplifier::RewriteComparison(const Expr& e) {
  const Binary* op = e.As<Binary>();
  if (op != nullptr && op->op == BinaryOp::kGT) return VisitExpr(FoldBinary(BinaryOp::kLT, op->b, op->a));
  if (op != nullptr && op->op == BinaryOp::kGE) return VisitExpr(FoldBinary(BinaryOp::kLE, op->b, op->a));
  const Expr visited = VisitChildren(e);
  if (const Not* negation = visited.As<Not>()) {
    if (const int64_t* value = AsIntConst(negation->a)) return IntConst(e.dtype(), *value == 0);
    if (const std::optional<Expr> known = ByLiterals(visited)) return *known;
    return RulesOfNot(visited);
  }
  op = visited.As<Binary>();
  const Expr folded = FoldBinary(op->op, op->a, op->b);
  if (folded.As<IntImm>() != nullptr) return folded;
  if (const std::optional<Expr> known = ByLiterals(visited)) return *known;
  if (op->op == BinaryOp::kEQ) return RulesOfEqual(visited);
  if (op->op == BinaryOp::kNE) return RulesOfNotEqual(visited, *op);
  return op->op == BinaryOp::kLE ? RulesOfLessEqual(visited, *op) : RulesOfLess(visited);
}

Expr RuleSimplifier::RulesOfNot(const Expr& e) {
  const Not* op = e.As<Not>();
  if (op == nullptr) return e;
  if (!e.dtype().is_scalar()) return Apply(RulesNamed("not vector"), e).value_or(e);
  if (!ComparesFloats(op->a)) {
    if (const std::optional<Expr> turned = Apply(RulesNamed("not order"), e)) return *turned;
  }
  return Apply(RulesNamed("not"), e).value_or(e);
}

Expr RuleSimplifier::RulesOfEqual(const Expr& e) {
  const Binary& op = *e.As<Binary>();
  if (!e.dtype().is_scalar()) return Apply(RulesNamed("eq vector"), e).value_or(e);
  if (!IsIndexType(op.a.dtype())) return !op.a.dtype().is_float() && SameExpr(op.a, op.b) ? IntConst(e.dtype(), 1) : e;
  const uint8_t order = Compare(op.a, op.b);
  if (order == kSame) return IntConst(e.dtype(), 1);
  if ((order & kSame) == 0) return IntConst(e.dtype(), 0);
  return Apply(RulesNamed("eq"), e).value_or(e);
}

Expr RuleSimplifier::RulesOfNotEqual(const Expr& e, const Binary& op) {
  if (IsIndexType(op.a.dtype())) {
    const uint8_t order = Compare(op.a, op.b);
    if (order == kSame) return IntConst(e.dtype(), 0);
    if ((order & kSame) == 0) return IntConst(e.dtype(), 1);
    if (order == (kSame | kGreater)) return RulesOfLess(MakeBinary(BinaryOp::kLT, op.b, op.a));
    if (order == (kSame | kLess)) return RulesOfLess(MakeBinary(BinaryOp::kLT, op.a, op.b));
  }
  const Expr equal = RulesOfEqual(MakeBinary(BinaryOp::kEQ, op.a, op.b));
  if (const int64_t* value = AsIntConst(equal)) return IntConst(e.dtype(), *value == 0);
  return RulesOfNot(PlainNot(equal));
}

// By the rules of its opposite, whose constants then stand where they do there.
Expr RuleSimplifier::RulesOfLessEqual(const Expr& e, const Binary& op) {
  if (op.a.dtype().is_float()) return e;
  const Expr opposite = RulesOfLess(MakeBinary(BinaryOp::kLT, op.b, op.a));
  if (const int64_t* value = AsIntConst(opposite); value != nullptr) return IntConst(e.dtype(), *value == 0);
  const Expr result = RulesOfNot(PlainNot(opposite));
  const Binary* order_op = result.As<Binary>();
  if (order_op == nullptr || order_op->op != BinaryOp::kLE || !IsIndexType(order_op->a.dtype())) return result;
  const uint8_t order = Compare(order_op->a, order_op->b);
  if ((order & kGreater) == 0) return IntConst(e.dtype(), 1);
  if (order == kGreater) return IntConst(e.dtype(), 0);
  if (order == (kLess | kGreater)) return RulesOfLess(MakeBinary(BinaryOp::kLT, order_op->a, order_op->b));
  if (order == (kSame | kGreater)) return RulesOfEqual(MakeBinary(BinaryOp::kEQ, order_op->a, order_op->b));
  return result;
}

Expr RuleSimplifier::RulesOfLess(const Expr& e) {
  const Binary& op = *e.As<Binary>();
  if (!e.dtype().is_scalar()) return Apply(RulesNamed("lt vector"), e).value_or(e);
  if (!IsIndexType(op.a.dtype())) return e;
  const uint8_t order = Compare(op.a, op.b);
  if (order == kLess) return IntConst(e.dtype(), 1);
  if ((order & kLess) == 0) return IntConst(e.dtype(), 0);
  if (const std::optional<Expr> result = Apply(RulesNamed("lt"), e)) return *result;
  if (const std::optional<Expr> result = JoinOffsets(op)) return Again(*result);
  if (const std::optional<Expr> result = WithoutCommonFactor(op)) return Again(*result);
  return e;
}

// x + 3 < y + 1 is x + 2 < y: one constant, on the side where it is positive.
std::optional<Expr> RuleSimplifier::JoinOffsets(const Binary& op) {
  const OffsetPart a = SplitOffset(op.a), b = SplitOffset(op.b);
  int64_t difference;
  if ((a.offset == 0 && b.offset == 0) || __builtin_sub_overflow(b.offset, a.offset, &difference)) return std::nullopt;
  const auto plus = [](const Expr& e, int64_t offset) { return e + IntConst(e.dtype(), offset); };
  const int64_t size = difference < 0 ? -difference : difference;
  if (difference == INT64_MIN || !TypeBound(op.a.dtype()).Contains(size)) return std::nullopt;
  if (difference == 0) return FoldBinary(BinaryOp::kLT, a.rest, b.rest);
  if (difference == 1) return FoldBinary(BinaryOp::kLE, a.rest, b.rest);
  if (difference < 0 && b.offset != 0) return FoldBinary(BinaryOp::kLT, plus(a.rest, size), b.rest);
  if (difference > 0 && a.offset != 0) return FoldBinary(BinaryOp::kLT, a.rest, plus(b.rest, size));
  return std::nullopt;
}

std::optional<Expr> RuleSimplifier::WithoutCommonFactor(const Binary& op) {
  Analyzer& facts = owner_.analyzer();
  const int64_t factor =
      GreatestCommonDivisor(CommonFactorOf(facts.Modular(op.a)), CommonFactorOf(facts.Modular(op.b)));
  if (factor <= 1 || !TypeBound(op.a.dtype()).Contains(factor)) return std::nullopt;
  const Expr by = IntConst(op.a.dtype(), factor);
  return FoldBinary(BinaryOp::kLT, FloorDiv(op.a, by), FloorDiv(op.b, by));
}

// ---- And, or ----------------------------------------------------------------------------------------------------

// Each side is simplified by what the other says, in turn, until nothing changes.
std::pair<Expr, Expr> RuleSimplifier::SidesByEachOther(const Binary& op) {
  Expr sides[] = {op.a, op.b};
  int num_unchanged = 0;
  for (int i = 0; i < 4 && num_unchanged < 2; ++i) {
    Expr& mine = sides[i % 2];
    const Expr& other = sides[1 - i % 2];
    const Simplifier::Scope scope(owner_, op.op == BinaryOp::kAnd ? other : NormalizedCondition(PlainNot(other)));
    const Expr simple = VisitExpr(mine);
    num_unchanged = simple.same_as(mine) ? num_unchanged + 1 : 0;
    mine = simple;
  }
  return {sides[0], sides[1]};
}

Expr RuleSimplifier::RewriteConnective(const Expr& e, const Binary& op) {
  // What divides by no constant might divide by 0 where the other side says otherwise.
  const bool is_mutual =
      owner_.extensions().apply_constraints_to_boolean_branches && e.dtype().is_scalar() && !DividesByParts(e);
  const auto [a, b] = is_mutual ? SidesByEachOther(op) : std::pair(VisitExpr(op.a), VisitExpr(op.b));
  const Expr visited = a.same_as(op.a) && b.same_as(op.b) ? e : MakeBinary(op.op, a, b);
  const Expr folded = FoldBinary(op.op, a, b);
  if (a.As<IntImm>() != nullptr || b.As<IntImm>() != nullptr) return folded;
  if (const std::optional<Expr> known = ByLiterals(visited)) return *known;
  if (owner_.extensions().convert_boolean_to_and_of_ors && !is_in_connective_) return AsAndOfOrs(visited);
  const bool is_and = op.op == BinaryOp::kAnd;
  if (!e.dtype().is_scalar()) return Apply(RulesNamed(is_and ? "and vector" : "or vector"), visited).value_or(visited);
  if (ComparesFloats(a) || ComparesFloats(b)) return visited;
  return Apply(RulesNamed(is_and ? "and" : "or"), visited).value_or(visited);
}

// A conjunction of disjunctions, each pair of whose parts is simplified together.
Expr RuleSimplifier::AsAndOfOrs(const Expr& e) {
  std::optional<Clauses> clauses = ClausesOf(e);
  if (!clauses) return e;
  is_in_connective_ = true;
  const auto join_pairs = [&](std::vector<Expr>& parts, BinaryOp op) {
    for (size_t i = 0; i < parts.size(); ++i) {
      for (size_t k = i + 1; k < parts.size(); ++k) {
        const Expr both = MakeBinary(op, parts[i], parts[k]);
        const Expr simple = SameExpr(parts[i], parts[k]) ? parts[i] : VisitExpr(both);
        const Binary* kept = simple.As<Binary>();
        if (kept != nullptr && kept->op == op) {
          parts[i] = kept->a;
          parts[k] = kept->b;
          continue;
        }
        parts[i] = simple;
        parts.erase(parts.begin() + k--);
      }
    }
  };
  for (std::vector<Expr>& clause : *clauses) join_pairs(clause, BinaryOp::kOr);
  JoinClauses(*clauses);
  std::vector<Expr> all;
  for (const std::vector<Expr>& clause : *clauses) all.push_back(Joined(clause, BinaryOp::kOr));
  join_pairs(all, BinaryOp::kAnd);
  is_in_connective_ = false;
  return Joined(all, BinaryOp::kAnd);
}

// What a clause says is not said again by a longer one, and (p or q) and (p or r) is p or (q and r) where that is
// simpler.
void RuleSimplifier::JoinClauses(Clauses& clauses) {
  for (size_t i = 0; i < clauses.size(); ++i) {
    for (size_t k = i + 1; k < clauses.size(); ++k) {
      const std::vector<size_t> mine = PartsBeside(clauses[i], clauses[k]),
                                theirs = PartsBeside(clauses[k], clauses[i]);
      bool is_joined = mine.empty();
      if (!mine.empty() && theirs.empty()) {
        clauses[i] = clauses[k];
        is_joined = true;
      } else if (mine.size() == 1 && theirs.size() == 1) {
        Expr& part = clauses[i][mine[0]];
        const Expr both = VisitExpr(MakeBinary(BinaryOp::kAnd, part, clauses[k][theirs[0]]));
        const Binary* kept = both.As<Binary>();
        is_joined = kept == nullptr || kept->op != BinaryOp::kAnd;
        if (is_joined) part = both;
      }
      if (is_joined) clauses.erase(clauses.begin() + static_cast<ptrdiff_t>(k--));
    }
  }
}

// ---- Choices, calls, lets ---------------------------------------------------------------------------------------

Expr RuleSimplifier::RewriteChoice(const Expr& e) {
  const Choice choice = *AsChoice(e);
  const Expr condition = VisitExpr(choice.condition);
  const bool evaluates_both = e.As<Select>() != nullptr;
  const auto under = [&](const Expr& assumed, const Expr& value) {
    // A Select's load happens where the condition fails, too, and has to stay inside its buffer there.
    if (!assumed.dtype().is_scalar() || (evaluates_both && (HasAnyLoad(value) || DividesByParts(value))))
      return VisitExpr(value);
    const Simplifier::Scope scope(owner_, assumed);
    return VisitExpr(value);
  };
  if (const int64_t* known = AsIntConst(condition))
    return VisitExpr(*known != 0 ? choice.true_value : choice.false_value);
  const Expr yes = under(condition, choice.true_value), no = under(Negated(condition), choice.false_value);
  if (evaluates_both && SameExpr(yes, no)) return yes;
  const bool is_same =
      condition.same_as(choice.condition) && yes.same_as(choice.true_value) && no.same_as(choice.false_value);
  if (evaluates_both) return is_same ? e : Expr::Make(e.dtype(), Select{condition, yes, no});
  const Call& call = *e.As<Call>();
  // One condition where both ends of the inner choice and of the outer one are the same constant.
  const std::optional<Choice> inner = AsChoice(yes);
  if (inner && yes.As<Call>() != nullptr && inner->condition.dtype() == condition.dtype()) {
    const bool is_constant = no.As<IntImm>() != nullptr || no.As<FloatImm>() != nullptr;
    if (is_constant && SameExpr(inner->false_value, no))
      return Expr::Make(e.dtype(), Call{call.op, {And(condition, inner->condition), inner->true_value, no}});
  }
  return is_same ? e : Expr::Make(e.dtype(), Call{call.op, {condition, yes, no}});
}

Expr RuleSimplifier::RewriteCall(const Expr& e) {
  const Expr visited = VisitChildren(e);
  const Call* call = visited.As<Call>();
  if (call == nullptr || call->args.empty()) return visited;
  if (call->op == LikelyOp()) {
    if (call->args[0].As<IntImm>() != nullptr) return call->args[0];
    return ByLiterals(call->args[0]).value_or(visited);
  }
  if (const std::optional<Expr> folded = FoldBits(*call, e.dtype())) return *folded;
  const int64_t* value = AsIntConst(call->args[0]);
  if (call->op->name == "clz" && value != nullptr) {
    const DataType type = call->args[0].dtype();
    int zeros = 0;
    while (zeros < type.bits && ((static_cast<uint64_t>(*value) >> (type.bits - 1 - zeros)) & 1) == 0) ++zeros;
    return IntConst(e.dtype(), zeros);
  }
  if (call->op->name != "ceil") return visited;
  if (const FloatImm* number = call->args[0].As<FloatImm>()) return FloatConst(e.dtype(), std::ceil(number->value));
  const Call* inner = call->args[0].As<Call>();
  if (inner == nullptr || inner->op->name != "log2") return visited;
  const FloatImm* number = inner->args[0].As<FloatImm>();
  return number != nullptr && number->value > 0 ? FloatConst(e.dtype(), std::ceil(std::log2(number->value))) : visited;
}

Expr RuleSimplifier::RewriteLet(const Expr& e, const Let& let) {
  const Expr value = VisitExpr(let.value);
  if (let.value.As<IntImm>() != nullptr || let.value.As<FloatImm>() != nullptr || IsVar(let.value))
    return VisitExpr(Substitute(let.body, {{let.var.get(), value}}));
  const Expr body = VisitExpr(let.body);
  return value.same_as(let.value) && body.same_as(let.body) ? e : Expr::Make(e.dtype(), Let{value, let.var, body});
}

Expr RuleSimplifier::RewriteReduce(const Expr& e, const Reduce& reduce) {
  const Simplifier::Scope scope(owner_);
  for (const IterVar& axis : reduce.axis) owner_.Bind(axis.var, axis.domain);
  return VisitChildren(e);
}

}  // namespace lathe
