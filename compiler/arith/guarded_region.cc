#include "compiler/arith/guarded_region.h"

#include <algorithm>

#include "compiler/arith/canonicalizer.h"
#include "compiler/arith/int_set.h"
#include "compiler/arith/linear.h"
#include "compiler/arith/linear_equation.h"
#include "compiler/arith/simplifier.h"

namespace lathe {
namespace {

// a < b or a <= b as difference < 0; nullopt: no such condition of integers.
std::optional<Expr> NegativeDifference(const Expr& condition) {
  const Binary* op = condition.As<Binary>();
  if (op == nullptr || !op->a.dtype().is_int()) return std::nullopt;
  if (op->op == BinaryOp::kLT) return op->a - op->b;
  return op->op == BinaryOp::kLE ? std::optional(op->a - op->b - 1) : std::nullopt;
}

// How often the loop counts in `whole` for once in `part`; 0: not at all, or not known.
int64_t RatioOfSteps(const Expr& whole, const Expr& part, const Var& loop) {
  const std::vector<Expr> large = DetectLinearEquation(whole, {loop}), small = DetectLinearEquation(part, {loop});
  const int64_t* of_whole = large.empty() ? nullptr : AsIntConst(large[0]);
  const int64_t* of_part = small.empty() ? nullptr : AsIntConst(small[0]);
  return of_whole == nullptr || of_part == nullptr || *of_part == 0 ? 0 : *of_whole / *of_part;
}

}  // namespace

bool FollowsFrom(const Expr& goal, const Expr& fact, const IterDomain& loops, const Analyzer& around) {
  std::optional<Expr> wanted = NegativeDifference(goal), known = NegativeDifference(fact);
  if (!wanted || !known || wanted->dtype() != known->dtype()) return false;
  Analyzer analyzer = Analyzer::Under(around);
  wanted = analyzer.Simplify(*wanted);
  known = analyzer.Simplify(*known);
  int64_t factor = 0;
  for (const auto& [var, domain] : loops) {
    analyzer.Bind(var, domain);
    factor = std::max(factor, RatioOfSteps(*known, *wanted, var));
  }
  return factor > 0 && analyzer.CanProveGreaterEqual(*known - *wanted * IntConst(wanted->dtype(), factor), 0);
}

namespace {

// Another look at the same memory may give another answer.
bool MayChange(const Expr& e) {
  if (e.As<IntImm>() != nullptr || IsVar(e)) return false;
  if (const Binary* op = e.As<Binary>()) return MayChange(op->a) || MayChange(op->b);
  bool reads = false;
  PostOrderVisit(
      e, [&](const Expr& part) { reads = reads || part.As<BufferLoad>() != nullptr || part.As<Call>() != nullptr; });
  return reads;
}

class Guards {
 public:
  Guards(const GuardedAccess& access, const Analyzer& analyzer) : access_(access), inner_(Analyzer::Under(analyzer)) {
    for (const auto& [var, range] : access.loops) inner_.Bind(var, range);
  }

  // Sorts the conjuncts of the predicate into `region`; whether all found a place.
  bool Sort(GuardedRegion& region) {
    region.from.resize(access_.region.size());
    region.below.resize(access_.region.size());
    std::vector<Expr> sorted, left;
    for (const Expr& conjunct : ConjunctsOf(access_.predicate))
      (SortConjunct(conjunct, region) ? sorted : left).push_back(conjunct);
    return std::all_of(left.begin(), left.end(), [&](const Expr& goal) {
      return std::any_of(sorted.begin(), sorted.end(),
                         [&](const Expr& fact) { return FollowsFrom(goal, fact, access_.loops, inner_); });
    });
  }

  // Whether the condition is a bound on an index, which goes into `region`.
  bool SortIndexBound(const Expr& condition, GuardedRegion& region) {
    const std::optional<Expr> negative = NegativeDifference(condition);
    return negative && IsIndexType(negative->dtype()) && SortBound(*negative + 1, region);
  }

  // Loops that run once, or of which `condition` alone leaves one iteration, stand for nothing of their own.
  VarMap UnitLoops(const Expr& condition) const {
    VarMap only;
    for (const auto& [var, range] : access_.loops)
      if (IsConstInt(range.extent, 1) || LeavesOne(condition, var, range)) only.emplace(var.get(), range.min);
    return only;
  }
  bool IsFixed(const Expr& e) const { return !UsesAny(e, access_.loops); }
  const Analyzer& inner() const { return inner_; }

 private:
  bool LeavesOne(const Expr& condition, const Var& var, const Range& range) const {
    if (!UsesVar(condition, var.get())) return false;
    Analyzer under = Analyzer::Under(inner_);
    under.Assume(condition);
    return under.CanProve(LessEqual(var, range.min));
  }
  bool SortConjunct(const Expr& condition, GuardedRegion& region) {
    if (inner_.CanProve(condition)) return true;
    if (IsFixed(condition)) {
      region.conditions.push_back(condition);
      return !MayChange(condition);
    }
    return HoldsInAFirstStep(condition) || SortIndexBound(condition, region);
  }
  // It is about loops that reach no index, and lets their first iterations pass: each index has its turn then.
  bool HoldsInAFirstStep(const Expr& condition) const {
    VarMap first;
    for (const auto& [var, range] : access_.loops) {
      const auto is_var = [&, node = var.get()](const ExprNode* other) { return other == node; };
      const auto moves = [&](const Range& at) { return UsesVar(at.min, is_var) || UsesVar(at.extent, is_var); };
      if (UsesVar(condition, is_var) && std::any_of(access_.region.begin(), access_.region.end(), moves)) return false;
      first.emplace(var.get(), range.min);
    }
    return inner_.CanProve(Substitute(condition, first));
  }
  // difference <= 0 as a bound on an index.
  bool SortBound(const Expr& difference, GuardedRegion& region) {
    bool found = false;
    for (size_t d = 0; d < access_.region.size(); ++d) {
      const Range& range = access_.region[d];
      if (IsFixed(range.min) || range.min.dtype() != difference.dtype()) continue;
      const Expr last = inner_.Simplify(range.min - difference);   // min <= last
      const Expr first = inner_.Simplify(range.min + difference);  // min >= first
      if (IsFixed(last)) region.below[d].push_back(last + range.extent);
      if (IsFixed(first)) region.from[d].push_back(first);
      found = found || IsFixed(last) || IsFixed(first);
    }
    return found;
  }

  const GuardedAccess& access_;
  Analyzer inner_;
};

// Upwards or downwards.
bool StepsByOne(const IterSumExpr& sum) {
  return sum.args.empty() ||
         (sum.args.size() == 1 && (IsConstInt(sum.args[0].scale, 1) || IsConstInt(sum.args[0].scale, -1)));
}

// Whether an access touches every element of the box around it, were it not for its predicate.
class Density {
 public:
  Density(const GuardedAccess& access, const Guards& guards, const Analyzer& analyzer)
      : access_(access), guards_(guards), outer_(analyzer) {}

  bool IsDense() {
    for (const auto& [var, range] : access_.loops) {
      if (!guards_.IsFixed(range.min) || !guards_.IsFixed(range.extent)) return false;
    }
    for (const Range& range : access_.region) {
      const int64_t* extent = AsIntConst(range.extent);
      if (extent == nullptr || *extent < 1) return false;
      if (!IsDenseSum(range.min, *extent)) return IsSurjective();
    }
    return OtherLoopsRun();
  }

 private:
  struct Step {
    int64_t scale;
    std::optional<int64_t> count;  // nullopt: not known.
  };

  // A sum of loops, none used before, each step at most as long as what the smaller ones fill.
  bool IsDenseSum(const Expr& index, int64_t filled) {
    std::vector<Step> steps;
    for (const Term& term : Canonicalizer(guards_.inner()).Form(index).terms) {
      if (guards_.IsFixed(term.source)) continue;
      if (!term.is_whole() || !IsVar(term.source) || !Use(term.source.get())) return false;
      steps.push_back({std::abs(term.scale), CountOf(term.source.get())});
    }
    std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.scale < b.scale; });
    for (size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].scale > filled) return false;
      if (!steps[i].count) return i + 1 == steps.size();
      if (*steps[i].count < 1 || __builtin_add_overflow(filled, steps[i].scale * (*steps[i].count - 1), &filled))
        return false;
    }
    return true;
  }
  bool Use(const ExprNode* var) {
    if (std::find(used_.begin(), used_.end(), var) != used_.end()) return false;
    used_.push_back(var);
    return true;
  }
  std::optional<int64_t> CountOf(const ExprNode* var) const {
    for (const auto& [loop_var, range] : access_.loops) {
      if (loop_var.get() != var) continue;
      const int64_t* count = AsIntConst(range.extent);
      return count != nullptr ? std::optional(*count) : std::nullopt;
    }
    return std::nullopt;
  }
  // Loops that reach no index run at least once.
  bool OtherLoopsRun() const {
    return std::all_of(access_.loops.begin(), access_.loops.end(), [&](const auto& loop) {
      const bool is_used = std::find(used_.begin(), used_.end(), loop.first.get()) != used_.end();
      return is_used || outer_.CanProveGreaterEqual(loop.second.extent, 1);
    });
  }
  // Splits and fuses of loops.
  bool IsSurjective() const {
    std::vector<Expr> indices;
    for (const Range& range : access_.region) {
      if (!IsConstInt(range.extent, 1)) return false;
      indices.push_back(guards_.inner().Simplify(range.min));
    }
    const bool all_run = std::all_of(access_.loops.begin(), access_.loops.end(),
                                     [](const auto& loop) { return AsIntConst(loop.second.extent) != nullptr; });
    const StatusOr<IterMapResult> map = DetectIterMap(indices, access_.loops, True(), {}, guards_.inner());
    return all_run && map.ok() && IsConstInt(map->padding_predicate, 0) &&
           std::all_of(map->indices.begin(), map->indices.end(), StepsByOne);
  }

  const GuardedAccess& access_;
  const Guards& guards_;
  const Analyzer& outer_;  // Who is inside a loop knows that the loop runs.
  std::vector<const ExprNode*> used_;
};

// An index in int64, in which a conversion that keeps its number is the number.
Expr Widened(const Expr& e, const Analyzer& analyzer) {
  const DataType type = DataType::Int(64);
  if (!IsIndexType(e.dtype())) return e;
  if (const Binary* op = e.As<Binary>(); op != nullptr)
    return FoldBinary(op->op, Widened(op->a, analyzer), Widened(op->b, analyzer));
  const Cast* cast = e.As<Cast>();
  const bool is_kept = cast != nullptr && IsIndexType(cast->value.dtype()) &&
                       analyzer.ConstIntBound(cast->value).Within(TypeBound(e.dtype()).min, TypeBound(e.dtype()).max);
  return is_kept ? Widened(cast->value, analyzer) : CastIndex(type, e);
}

enum class Side { kFrom, kBelow };

bool StaysBy(Side side, const Expr& e, const Expr& limit, const Analyzer& analyzer) {
  return SameExpr(e, limit) || analyzer.CanProve(side == Side::kBelow ? LessEqual(e, limit) : LessEqual(limit, e));
}

// Whether `end`, that of `inner` on one side, does not reach beyond `limit`; each guard of the reader may show it, for
// each part of a maximum (minimum) another.
bool StaysBy(Side side, const Expr& end, const std::vector<Expr>& guards, const Expr& limit, const Analyzer& analyzer) {
  const auto stays_by_part = [&](const Expr& part) {
    const auto stays = [&](const Expr& e) {
      if (e.dtype() == part.dtype()) return StaysBy(side, e, part, analyzer);
      return StaysBy(side, Widened(e, analyzer), Widened(part, analyzer), analyzer);
    };
    return stays(end) || std::any_of(guards.begin(), guards.end(), stays);
  };
  if (stays_by_part(limit)) return true;
  const std::vector<Expr> parts = PartsOf(limit, side == Side::kBelow ? BinaryOp::kMin : BinaryOp::kMax);
  return parts.size() > 1 && !guards.empty() && std::all_of(parts.begin(), parts.end(), stays_by_part);
}

// A range that was declared may have an extent of another type than its min.
Expr EndOf(const Range& range) { return range.min + CastIndex(range.min.dtype(), range.extent); }

}  // namespace

GuardedRegion TouchedAtMost(const GuardedAccess& access, const std::vector<Range>& full, const Analyzer& analyzer) {
  GuardedRegion region;
  region.from.resize(access.region.size());
  region.below.resize(access.region.size());
  if (!IsConstInt(access.predicate, 1))
    Guards(access, analyzer).Sort(region);  // What it cannot sort restricts nothing.
  region.box = RelaxRegion(access.region, access.loops, analyzer, &full);
  return region;
}

namespace {

// The box of points whose indices are, under the predicate, independent parts of what the loops count: a fused nest cut
// off at its end, and at bounds of the indices.
std::optional<GuardedRegion> BoxOfFused(const GuardedAccess& access, const Analyzer& analyzer) {
  std::vector<Expr> indices;
  for (const Range& range : access.region) {
    if (!IsConstInt(range.extent, 1)) return std::nullopt;
    indices.push_back(range.min);
  }
  Guards guards(access, analyzer);
  GuardedRegion region{
      {}, std::vector<std::vector<Expr>>(indices.size()), std::vector<std::vector<Expr>>(indices.size()), {}};
  Expr of_loops = True();
  // One after the other: a condition that another was shortened by stays as long as that needs it.
  std::vector<Expr> conjuncts = ConjunctsOf(access.predicate);
  for (size_t i = 0; i < conjuncts.size(); ++i) {
    VarMap units = guards.UnitLoops(True());  // In which the others leave no choice.
    for (size_t k = 0; k < conjuncts.size(); ++k)
      if (k != i) units.merge(guards.UnitLoops(conjuncts[k]));
    const Expr condition = Substitute(conjuncts[i], units);
    if (guards.IsFixed(condition)) {
      if (!guards.inner().CanProve(condition)) region.conditions.push_back(condition);
    } else if (guards.SortIndexBound(conjuncts[i], region)) {
      continue;
    } else {
      of_loops = And(of_loops, condition);
    }
    conjuncts[i] = condition;
  }
  if (std::any_of(region.conditions.begin(), region.conditions.end(), MayChange)) return std::nullopt;
  const StatusOr<IterMapResult> map =
      DetectIterMap(indices, access.loops, of_loops, {IterMapLevel::kBijective}, analyzer);
  if (!map.ok()) return std::nullopt;
  for (size_t d = 0; d < indices.size(); ++d) {
    const IterSumExpr& sum = map->indices[d];
    if (!StepsByOne(sum)) return std::nullopt;
    const Expr extent = sum.args.empty() ? IntConst(indices[d].dtype(), 1) : sum.args[0].extent;
    const bool falls = !sum.args.empty() && IsConstInt(sum.args[0].scale, -1);
    region.box.push_back({falls ? sum.base - (extent - 1) : sum.base, extent});
  }
  return region;
}

// What `e` counts: of i * 32 + j * 4 + k, where j < 8 and k < 4, which of `loops` they are, outermost first; empty: no
// such number.
std::vector<size_t> DigitsOf(const Expr& e, const IterDomain& loops) {
  std::vector<Var> vars;
  for (const auto& [var, range] : loops) vars.push_back(var);
  const std::vector<Expr> scales = DetectLinearEquation(e, vars);
  if (scales.empty() || !IsConstInt(scales.back(), 0)) return {};
  std::vector<std::pair<int64_t, size_t>> digits;
  for (size_t i = 0; i < loops.size(); ++i) {
    const int64_t* scale = AsIntConst(scales[i]);
    if (scale == nullptr || *scale < 0) return {};
    if (*scale > 0) digits.emplace_back(*scale, i);
  }
  // Of two loops with one step, the one that runs once comes first.
  std::sort(digits.begin(), digits.end(), [&](const auto& a, const auto& b) {
    const auto is_one = [&](size_t i) { return IsConstInt(loops[i].second.extent, 1); };
    return a.first != b.first ? a.first < b.first : is_one(a.second) && !is_one(b.second);
  });
  std::vector<size_t> found;
  int64_t step = 1;
  for (const auto& [scale, i] : digits) {
    const int64_t* extent = AsIntConst(loops[i].second.extent);
    if (scale != step || extent == nullptr || *extent < 1 || !IsConstInt(loops[i].second.min, 0)) return {};
    if (__builtin_mul_overflow(step, *extent, &step) || step > INT32_MAX) return {};
    found.insert(found.begin(), i);
  }
  return found;
}

// The same access by a loop over x in the place of the loops `digits`, whose number is less than `count`: x // 12 in
// terms of x < 24 is what it was before the loop of x was split with a tail.
GuardedAccess WithOneLoop(const GuardedAccess& access, const std::vector<size_t>& digits, int64_t count,
                          const Expr& predicate, const Analyzer& analyzer) {
  const Var whole("x", access.loops[digits[0]].first.dtype());
  const Range range{IntConst(whole.dtype(), 0), IntConst(whole.dtype(), count)};
  Simplifier simplifier;
  simplifier.analyzer() = Analyzer::Under(analyzer);
  for (const auto& [var, domain] : access.loops) simplifier.analyzer().Bind(var, domain);
  simplifier.analyzer().Bind(whole, range);
  VarMap values;
  int64_t step = 1;
  for (size_t i = digits.size(); i-- > 0;) {
    const auto& [var, domain] = access.loops[digits[i]];
    const Expr above = FloorDiv(whole, IntConst(whole.dtype(), step));
    values.emplace(var.get(), i == 0 ? above : FloorMod(above, domain.extent));
    step *= *AsIntConst(domain.extent);
  }
  GuardedAccess merged;
  for (size_t i = 0; i < access.loops.size(); ++i) {
    if (i == digits[0]) merged.loops.emplace_back(whole, range);
    if (std::find(digits.begin(), digits.end(), i) == digits.end()) merged.loops.push_back(access.loops[i]);
  }
  for (const Range& part : access.region)
    merged.region.push_back({simplifier.Simplify(Substitute(part.min, values)), part.extent});
  merged.predicate = simplifier.Simplify(Substitute(predicate, values));
  return merged;
}

// Without a condition that cuts what some of the loops count, which were one loop before; nullopt: there is none.
std::optional<GuardedAccess> WithoutTail(const GuardedAccess& access, const Analyzer& analyzer) {
  const std::vector<Expr> conjuncts = ConjunctsOf(access.predicate);
  for (size_t i = 0; i < conjuncts.size(); ++i) {
    const Binary* less = conjuncts[i].As<Binary>();
    const int64_t* count = less != nullptr && less->op == BinaryOp::kLT ? AsIntConst(less->b) : nullptr;
    if (count == nullptr || *count < 1) continue;
    const std::vector<size_t> digits = DigitsOf(less->a, access.loops);
    if (digits.size() < 2) continue;
    const auto is_digit = [&](const ExprNode* var) {
      return std::any_of(digits.begin(), digits.end(), [&](size_t k) { return access.loops[k].first.get() == var; });
    };
    const bool is_fixed = std::none_of(access.loops.begin(), access.loops.end(), [&](const auto& loop) {
      return UsesVar(loop.second.min, is_digit) || UsesVar(loop.second.extent, is_digit);
    });
    const bool is_one_type = std::all_of(digits.begin(), digits.end(), [&](size_t k) {
      return access.loops[k].first.dtype() == access.loops[digits[0]].first.dtype();
    });
    if (!is_fixed || !is_one_type) continue;
    int64_t all = 1;
    for (size_t k : digits) all *= *AsIntConst(access.loops[k].second.extent);
    Expr rest = True();
    for (size_t k = 0; k < conjuncts.size(); ++k)
      if (k != i) rest = And(rest, conjuncts[k]);
    return WithOneLoop(access, digits, std::min(*count, all), rest, analyzer);
  }
  return std::nullopt;
}

std::optional<GuardedRegion> CertainAsItIs(const GuardedAccess& access, const Analyzer& analyzer) {
  GuardedRegion region;
  Guards guards(access, analyzer);
  if (!guards.Sort(region) || !Density(access, guards, analyzer).IsDense()) return BoxOfFused(access, analyzer);
  for (size_t d = 0; d < access.region.size(); ++d) {  // A guard would leave out whole steps.
    const bool is_cut = !region.from[d].empty() || !region.below[d].empty();
    if (is_cut && !IsConstInt(access.region[d].extent, 1)) return std::nullopt;
  }
  std::vector<Range> exact = access.region;  // What is dense in this form, in another one may have a wider box.
  for (Range& range : exact) range.min = guards.inner().Simplify(range.min);
  region.box = RelaxRegion(std::move(exact), access.loops, analyzer);
  const bool is_known = std::none_of(region.box.begin(), region.box.end(),
                                     [](const Range& range) { return IsConstInt(range.extent, 0); });
  return is_known ? std::optional(std::move(region)) : std::nullopt;
}

}  // namespace

std::optional<GuardedRegion> TouchedForCertain(const GuardedAccess& access, const Analyzer& analyzer) {
  if (std::optional<GuardedRegion> certain = CertainAsItIs(access, analyzer)) return certain;
  if (IsConstInt(access.predicate, 1)) return std::nullopt;
  const std::optional<GuardedAccess> whole = WithoutTail(access, analyzer);
  return whole ? TouchedForCertain(*whole, analyzer) : std::nullopt;
}

void AssumeShapes(const PrimFunc& func, Analyzer& analyzer) {
  for (const ParamBuffer& param : func.buffer_map)
    for (const Expr& extent : param.buffer->shape)
      if (IsVar(extent)) analyzer.Assume(LessEqual(IntConst(extent.dtype(), 1), extent));
}

GuardedRegion WholeBox(std::vector<Range> box) {
  const size_t dims = box.size();
  return {std::move(box), std::vector<std::vector<Expr>>(dims), std::vector<std::vector<Expr>>(dims), {}};
}

std::vector<Range> CutBox(const GuardedRegion& region, const Analyzer& analyzer) {
  std::vector<Range> box;
  for (size_t d = 0; d < region.box.size(); ++d) {
    const Range& whole = region.box[d];
    Expr start = whole.min, extent = whole.extent;
    for (const Expr& from : region.from[d]) start = Max(start, from);
    start = analyzer.Simplify(start);
    if (!region.from[d].empty()) extent = analyzer.Simplify(whole.min + whole.extent - start);
    for (const Expr& below : region.below[d]) extent = Min(analyzer.Simplify(below - start), extent);
    extent = analyzer.Simplify(extent);
    if (!region.below[d].empty()) extent = Simplifier().Simplify(extent);
    if (const int64_t* count = AsIntConst(extent); count != nullptr && *count < 0) extent = IntConst(extent.dtype(), 0);
    box.push_back({start, extent});
  }
  return box;
}

namespace {

// A box that begins at or beyond what cuts it has nothing in it.
void AssumeNotEmpty(const GuardedRegion& region, Analyzer& analyzer) {
  const auto assume_less = [&](const Expr& a, const Expr& b) {
    const bool is_same_type = a.dtype() == b.dtype();
    const Expr condition =
        MakeBinary(BinaryOp::kLT, is_same_type ? a : Widened(a, analyzer), is_same_type ? b : Widened(b, analyzer));
    if (!MayChange(condition)) analyzer.Assume(condition);
  };
  for (size_t d = 0; d < region.box.size(); ++d) {
    for (const Expr& below : region.below[d]) assume_less(region.box[d].min, below);
    for (const Expr& from : region.from[d]) assume_less(from, EndOf(region.box[d]));
  }
}

}  // namespace

bool Covers(const GuardedRegion& outer, const GuardedRegion& inner, const std::vector<Range>& full,
            const Analyzer& around) {
  Analyzer analyzer = Analyzer::Under(around);  // Where a condition of `inner` fails, there is nothing to be covered.
  for (const Expr& condition : inner.conditions)
    if (!MayChange(condition)) analyzer.Assume(condition);
  const auto holds = [&](const Expr& condition) {
    return analyzer.CanProve(condition) || std::any_of(inner.conditions.begin(), inner.conditions.end(),
                                                       [&](const Expr& same) { return SameExpr(same, condition); });
  };
  if (!std::all_of(outer.conditions.begin(), outer.conditions.end(), holds)) {
    AssumeNotEmpty(inner, analyzer);
    if (!std::all_of(outer.conditions.begin(), outer.conditions.end(), holds)) return false;
  }
  for (size_t d = 0; d < full.size(); ++d) {
    // No access leaves the buffer, whatever the box says.
    const Expr& start = inner.box[d].min;
    const Expr end = EndOf(inner.box[d]);
    const auto starts_after = [&](const Expr& limit) {
      return StaysBy(Side::kFrom, start, inner.from[d], limit, analyzer) ||
             StaysBy(Side::kFrom, full[d].min, {}, limit, analyzer);
    };
    const auto ends_before = [&](const Expr& limit) {
      return StaysBy(Side::kBelow, end, inner.below[d], limit, analyzer) ||
             StaysBy(Side::kBelow, full[d].extent, {}, limit, analyzer);
    };
    const bool is_inside =
        std::all_of(outer.from[d].begin(), outer.from[d].end(), starts_after) && starts_after(outer.box[d].min) &&
        std::all_of(outer.below[d].begin(), outer.below[d].end(), ends_before) && ends_before(EndOf(outer.box[d]));
    if (!is_inside) return false;
  }
  return true;
}

}  // namespace lathe
