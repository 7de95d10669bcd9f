#include "compiler/arith/index_map.h"

#include <fmt/format.h>

#include "compiler/arith/int_set.h"
#include "compiler/arith/linear.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

Status CheckRank(const IndexMap& map, size_t given) {
  if (given == map.initial_indices.size()) return OkStatus();
  return InvalidArgument(fmt::format("index map: {} indices given, the map takes {}; give one per index", given,
                                     map.initial_indices.size()));
}

IterDomain DomainOf(const IndexMap& map, const std::vector<Range>& ranges) {
  IterDomain domain;
  for (size_t i = 0; i < ranges.size(); ++i) domain.emplace_back(map.initial_indices[i], ranges[i]);
  return domain;
}

// The names of final indices that are variables carry over.
std::vector<Var> OutputVars(const IndexMap& map) {
  std::vector<Var> outputs;
  for (size_t i = 0; i < map.final_indices.size(); ++i) {
    const Expr& index = map.final_indices[i];
    outputs.emplace_back(IsVar(index) ? Var(index).name() : fmt::format("axis{}", i), index.dtype());
  }
  return outputs;
}

// Of an index whose splits all run upwards; others are left to interval arithmetic.
std::optional<Range> RangeOf(const IterSumExpr& sum, const Analyzer& analyzer) {
  if (sum.args.empty()) return Range{analyzer.Simplify(sum.base), IntConst(sum.dtype(), 1)};
  const IterSplitExpr& split = sum.args[0];
  if (!analyzer.CanProveGreaterEqual(split.scale, 1)) return std::nullopt;
  return Range{analyzer.Simplify(sum.base), analyzer.Simplify(split.extent * split.scale)};
}

// What is missing of `a` to a multiple of `factor`, less than 0 where there is some: a % -factor, as TVM writes it.
Expr Missing(const Expr& a, int64_t factor) { return MakeBinary(BinaryOp::kFloorMod, a, IntConst(a.dtype(), -factor)); }

// (n + 15) // 16 as (n - n % -16) // 16.
Expr PaddedInTvmForm(const Expr& e) {
  const Binary* quotient = e.As<Binary>();
  if (quotient == nullptr || quotient->op != BinaryOp::kFloorDiv) return e;
  const int64_t* factor = AsIntConst(quotient->b);
  const Binary* sum = quotient->a.As<Binary>();
  const bool rounds_up = factor != nullptr && *factor > 1 && sum != nullptr && sum->op == BinaryOp::kAdd &&
                         IsConstInt(sum->b, *factor - 1);
  return rounds_up ? FloorDiv(sum->a - Missing(sum->a, *factor), quotient->b) : e;
}

// n % 16 != 0 as n % -16 < 0, wherever it is a part of the condition.
Expr ConditionInTvmForm(const Expr& e) {
  const Binary* op = e.As<Binary>();
  if (op == nullptr) return e;
  if (op->op == BinaryOp::kAnd) return And(ConditionInTvmForm(op->a), ConditionInTvmForm(op->b));
  if (op->op == BinaryOp::kOr) return FoldBinary(BinaryOp::kOr, ConditionInTvmForm(op->a), ConditionInTvmForm(op->b));
  const Binary* rest = op->op == BinaryOp::kNE && IsConstInt(op->b, 0) ? op->a.As<Binary>() : nullptr;
  const int64_t* factor = rest != nullptr && rest->op == BinaryOp::kFloorMod ? AsIntConst(rest->b) : nullptr;
  if (factor == nullptr || *factor < 2) return e;
  return Less(Missing(rest->a, *factor), IntConst(rest->a.dtype(), 0));
}

// Between the steps of an index there is nothing to go back to.
Status CheckSteps(const std::vector<IterSumExpr>& indices) {
  for (size_t i = 0; i < indices.size(); ++i)
    for (const IterSplitExpr& part : indices[i].args)
      if (!IsConstInt(part.scale, 1) && !IsConstInt(part.scale, -1))
        return FailedPrecondition(fmt::format("index map: no inverse: index {} goes in steps that leave gaps", i));
  return OkStatus();
}

StatusOr<PaddedIndexMap> Invert(const IndexMap& map, const std::vector<Range>& ranges, IterMapLevel level,
                                const Analyzer& analyzer) {
  RETURN_IF_ERROR(CheckRank(map, ranges.size()));
  const Expr never = IntConst(DataType::Bool(), 0);
  if (map.inverse_index_map != nullptr) return PaddedIndexMap{*map.inverse_index_map, never};
  StatusOr<IterMapResult> iters = DetectIterMap(map.final_indices, DomainOf(map, ranges), True(),
                                                {.level = level, .simplify_trivial_iterators = false}, analyzer);
  if (!iters.ok()) return iters.status().WithContext("index map: no inverse");
  RETURN_IF_ERROR(CheckSteps(iters->indices));
  const std::vector<Var> outputs = OutputVars(map);
  ASSIGN_OR_RETURN(const std::vector<Range> output_ranges, map.MapRanges(ranges, analyzer));
  Analyzer known = Analyzer::Under(analyzer);
  for (size_t i = 0; i < outputs.size(); ++i) known.Bind(outputs[i], output_ranges[i]);
  StatusOr<VarMap> solved = InverseAffineIterMap(iters->indices, {outputs.begin(), outputs.end()}, analyzer);
  if (!solved.ok()) return solved.status().WithContext("index map: no inverse");
  PaddedIndexMap inverse{{outputs, {}, nullptr}, never};
  for (size_t i = 0; i < ranges.size(); ++i) {
    const Var& var = map.initial_indices[i];
    const Expr& value = solved->emplace(var.get(), ranges[i].min).first->second;  // What no index uses is one value.
    inverse.map.final_indices.push_back(analyzer.Simplify(value));
  }
  inverse.padding_predicate = known.Simplify(Substitute(iters->padding_predicate, *solved));
  return inverse;
}

}  // namespace

IndexMap IndexMap::Identity(size_t ndim, DataType type) {
  IndexMap map;
  for (size_t i = 0; i < ndim; ++i) map.initial_indices.emplace_back(fmt::format("i{}", i), type);
  map.final_indices = {map.initial_indices.begin(), map.initial_indices.end()};
  return map;
}

StatusOr<std::vector<Expr>> IndexMap::ValuesAt(const std::vector<Expr>& indices) const {
  RETURN_IF_ERROR(CheckRank(*this, indices.size()));
  VarMap values;
  for (size_t i = 0; i < indices.size(); ++i) {
    const DataType type = initial_indices[i].dtype();
    values.insert_or_assign(initial_indices[i].get(), CastIndex(type, indices[i]));
  }
  std::vector<Expr> mapped;
  for (const Expr& index : final_indices) mapped.push_back(Substitute(index, values));
  return mapped;
}

StatusOr<std::vector<Expr>> IndexMap::MapIndices(const std::vector<Expr>& indices, const Analyzer& analyzer) const {
  ASSIGN_OR_RETURN(std::vector<Expr> mapped, ValuesAt(indices));
  for (Expr& index : mapped) index = analyzer.Simplify(index);
  return mapped;
}

StatusOr<std::vector<Range>> IndexMap::MapRanges(const std::vector<Range>& ranges, const Analyzer& analyzer) const {
  RETURN_IF_ERROR(CheckRank(*this, ranges.size()));
  const IterDomain domain = DomainOf(*this, ranges);
  const StatusOr<IterMapResult> iters = DetectIterMap(
      final_indices, domain, True(), {.level = IterMapLevel::kNoCheck, .simplify_trivial_iterators = false}, analyzer);
  DomMap box;
  for (const auto& [var, range] : domain) box.Add(var, range);
  std::vector<Range> mapped;
  for (size_t i = 0; i < final_indices.size(); ++i) {
    std::optional<Range> range = iters.ok() ? RangeOf(iters->indices[i], analyzer) : std::nullopt;
    if (!range) range = EvalSet(final_indices[i], box, analyzer).ToRange(analyzer);
    if (!range) return FailedPrecondition(fmt::format("index map: index {} has no bounds", i));
    mapped.push_back(*std::move(range));
  }
  return mapped;
}

StatusOr<std::vector<Expr>> IndexMap::MapShape(const std::vector<Expr>& shape, const Analyzer& analyzer) const {
  std::vector<Range> ranges;
  for (const Expr& extent : shape) ranges.push_back({IntConst(extent.dtype(), 0), extent});
  ASSIGN_OR_RETURN(const std::vector<Range> mapped, MapRanges(ranges, analyzer));
  std::vector<Expr> result;
  for (size_t i = 0; i < mapped.size(); ++i) {
    if (!IsConstInt(mapped[i].min, 0))
      return FailedPrecondition(fmt::format("index map: index {} does not begin at 0; take the offset out", i));
    result.push_back(PaddedInTvmForm(mapped[i].extent));
  }
  return result;
}

StatusOr<IndexMap> IndexMap::Inverse(const std::vector<Range>& initial_ranges, const Analyzer& analyzer) const {
  ASSIGN_OR_RETURN(PaddedIndexMap inverse, Invert(*this, initial_ranges, IterMapLevel::kBijective, analyzer));
  return std::move(inverse.map);
}

StatusOr<PaddedIndexMap> IndexMap::NonSurjectiveInverse(const std::vector<Range>& initial_ranges,
                                                        const Analyzer& analyzer) const {
  ASSIGN_OR_RETURN(PaddedIndexMap inverse, Invert(*this, initial_ranges, IterMapLevel::kNoCheck, analyzer));
  inverse.padding_predicate = ConditionInTvmForm(inverse.padding_predicate);
  return inverse;
}

bool IndexMap::IsEquivalentTo(const IndexMap& other) const {
  if (initial_indices.size() != other.initial_indices.size() || final_indices.size() != other.final_indices.size())
    return false;
  const StatusOr<std::vector<Expr>> theirs =
      other.MapIndices({initial_indices.begin(), initial_indices.end()}, Analyzer());
  for (size_t i = 0; i < final_indices.size(); ++i) {
    const Expr mine = Analyzer().Simplify(final_indices[i]);
    if (mine.dtype() != (*theirs)[i].dtype() || !SameExpr(mine, (*theirs)[i])) return false;
  }
  return true;
}

}  // namespace lathe
