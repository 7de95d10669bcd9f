#include "compiler/arith/int_constraints.h"

#include "compiler/arith/int_set.h"

namespace lathe {
namespace {

constexpr int kBoundSteps = 3;

// The greatest value of `e` while the variables run over `ranges`; nullopt: it has none that is known.
std::optional<Expr> GreatestOf(const Expr& e, const VarRanges& ranges) {
  DomMap domains;
  for (const auto& [var, range] : ranges) domains.Add(var, range);
  const std::optional<Expr> max = EvalSet(e, domains).max();
  return max ? std::optional(Simplifier().Simplify(*max)) : std::nullopt;
}

// The least value of var, and how far the greatest lies above it at most.
struct VarSpan {
  Expr least;
  std::optional<Expr> most;
};
VarSpan VarSpanOf(Simplifier& simplifier, const VarRanges& ranges, const Expr& coef, const Expr& low,
                  const Expr& high) {
  const Expr least = simplifier.Simplify(FloorDiv(low + coef - 1, coef), kBoundSteps);
  std::optional<Expr> best;
  for (const Expr& span : {FloorDiv(high - low, coef), FloorDiv(high, coef) - least}) {
    const std::optional<Expr> most = GreatestOf(simplifier.Simplify(span, kBoundSteps), ranges);
    if (most && (!best || simplifier.CanProve(Less(*most, *best)))) best = most;
  }
  return {least, best};
}

std::vector<Expr> JoinedBounds(const std::vector<Expr>& first, const std::vector<Expr>& second) {
  std::vector<Expr> all = first;
  all.insert(all.end(), second.begin(), second.end());
  return all;
}

}  // namespace

const Range* FindRange(const VarRanges& ranges, const Var& var) {
  for (const auto& [known, range] : ranges)
    if (known.same_as(var)) return &range;
  return nullptr;
}

VarMap ToVarMap(const VarValues& values) {
  VarMap map;
  for (const auto& [var, value] : values) map.insert_or_assign(var.get(), value);
  return map;
}

Simplifier SimplifierOf(const VarRanges& ranges) {
  Simplifier simplifier;
  for (const auto& [var, range] : ranges) simplifier.Bind(var, range);
  return simplifier;
}

IntGroupBounds IntGroupBounds::FromRange(const Range& range) {
  const Expr one = IntConst(range.min.dtype(), 1);
  if (IsConstInt(range.extent, 1)) return {one, {}, {range.min}, {}};
  return {one, {range.min}, {}, {Simplifier().Simplify(range.min + range.extent - 1)}};
}

std::optional<Range> IntGroupBounds::FindBestRange(const VarRanges& ranges) const {
  Simplifier simplifier = SimplifierOf(ranges);
  const std::vector<Expr> lowers = JoinedBounds(equal, lower), uppers = JoinedBounds(equal, upper);
  if (lowers.size() == 1 && uppers.size() == 1 && IsConstInt(coef, 1)) {
    const Expr min = simplifier.Simplify(lowers[0]);
    return Range{min, simplifier.Simplify(uppers[0] + 1) - min};
  }
  std::optional<VarSpan> best;
  for (const Expr& low : lowers) {
    for (const Expr& high : uppers) {
      const VarSpan span = VarSpanOf(simplifier, ranges, coef, low, high);
      if (span.most && (!best || simplifier.CanProve(Less(*span.most, *best->most)))) best = span;
    }
  }
  if (!best) return std::nullopt;
  return Range{best->least, simplifier.Simplify(*best->most + 1)};
}

IntConstraints IntConstraints::Unsolvable() { return {{}, {}, {IntConst(DataType::Bool(), 0)}}; }

}  // namespace lathe
