#include "compiler/arith/region_bound.h"

namespace lathe {
namespace {

// [base, base + (extent - 1) * scale + length): each step begins before the last one ends.
std::optional<IntSet> CoveredBy(const IterSumExpr& first, const Expr& length, const Analyzer& analyzer) {
  Expr last = first.base + length - 1;
  if (!first.args.empty()) {
    const IterSplitExpr& split = first.args[0];
    const bool has_no_gaps =
        analyzer.CanProveGreaterEqual(split.scale, 1) && analyzer.CanProve(LessEqual(split.scale, length));
    if (!has_no_gaps) return std::nullopt;
    last = last + (split.extent - 1) * split.scale;
  }
  return IntSet::Interval(analyzer.Simplify(first.base), analyzer.Simplify(last));
}

}  // namespace

std::optional<std::vector<IntSet>> EstimateRegionStrictBound(const std::vector<Range>& region, const IterDomain& loops,
                                                             const Expr& predicate, const Analyzer& analyzer) {
  std::vector<Expr> firsts;
  for (const Range& range : region) firsts.push_back(range.min);
  const StatusOr<IterMapResult> map =
      DetectIterMap(firsts, loops, predicate, {.level = IterMapLevel::kSurjective}, analyzer);
  if (!map.ok()) return std::nullopt;
  std::vector<IntSet> sets;
  for (size_t i = 0; i < region.size(); ++i) {
    std::optional<IntSet> set = CoveredBy(map->indices[i], region[i].extent, analyzer);
    if (!set) return std::nullopt;
    sets.push_back(*std::move(set));
  }
  return sets;
}

std::vector<IntSet> EstimateRegionUpperBound(const std::vector<Range>& region, const IterDomain& loops,
                                             const Expr& predicate, const Analyzer& analyzer) {
  if (auto strict = EstimateRegionStrictBound(region, loops, predicate, analyzer)) return *std::move(strict);
  DomMap domains;
  for (const auto& [var, range] : loops) domains.Add(var, range);
  std::vector<IntSet> sets;
  for (const Range& range : region) {
    const IntSet first = EvalSet(range.min, domains, analyzer);
    const IntSet last = EvalSet(range.min + range.extent - 1, domains, analyzer);
    sets.push_back(IntSet::Interval(first.min(), last.max()));
  }
  return sets;
}

}  // namespace lathe
