#include "compiler/arith/region_bound.h"

namespace lathe {
namespace {

// From the first of the steps to the end of the last, where each begins before the one next to it ends.
std::optional<IntSet> CoveredBy(const IterSumExpr& first, const Expr& length, const Analyzer& analyzer) {
  Expr low = first.base, last = first.base;
  if (!first.args.empty()) {
    const IterSplitExpr& split = first.args[0];
    const bool rises = analyzer.CanProveGreaterEqual(split.scale, 1);
    if (!rises && !analyzer.CanProveLess(split.scale, 0)) return std::nullopt;
    if (!analyzer.CanProve(LessEqual(rises ? split.scale : split.scale * -1, length))) return std::nullopt;
    Expr& end = rises ? last : low;
    end = end + (split.extent - 1) * split.scale;
  }
  return IntSet::Interval(analyzer.Simplify(low), analyzer.Simplify(last + length - 1));
}

IntSet BoxOf(const Range& range, const DomMap& domains, const Analyzer& analyzer) {
  const IntSet first = EvalSet(range.min, domains, analyzer);
  const IntSet last = EvalSet(range.min + range.extent - 1, domains, analyzer);
  return IntSet::Interval(first.min(), last.max());
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
  for (const Range& range : region) {  // The predicate may say something of one dimension alone.
    const auto alone = EstimateRegionStrictBound({range}, loops, predicate, analyzer);
    sets.push_back(alone ? alone->front() : BoxOf(range, domains, analyzer));
  }
  return sets;
}

}  // namespace lathe
