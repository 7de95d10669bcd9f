#include "compiler/arith/iter_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "compiler/arith/iter_rewriter.h"
#include "compiler/arith/linear.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

Status NotAffine(std::string what) { return FailedPrecondition("iter map: " + std::move(what)); }

std::optional<size_t> IndexOf(const IterDomain& iters, const ExprNode* var) {
  for (size_t i = 0; i < iters.size(); ++i) {
    if (iters[i].first.get() == var) return i;
  }
  return std::nullopt;
}

}  // namespace

bool UsesAny(const Expr& e, const IterDomain& loops) {
  return UsesVar(e, [&](const ExprNode* var) { return IndexOf(loops, var).has_value(); });
}

namespace {

Status CheckIters(const IterDomain& iters) {
  for (const auto& [var, range] : iters) {
    if (!IsIndexType(var.dtype()))
      return NotAffine(fmt::format("iterator \"{}\" is {}", var.name(), var.dtype().ToString()));
    if (UsesAny(range.min, iters) || UsesAny(range.extent, iters))
      return NotAffine(fmt::format("the range of iterator \"{}\" depends on another iterator", var.name()));
  }
  return OkStatus();
}

Status CheckIndices(std::span<const Expr> indices) {
  for (const Expr& index : indices)
    if (!index.dtype().is_int()) return NotAffine(fmt::format("an index is {}", index.dtype().ToString()));
  return OkStatus();
}

// ---- The predicate ----------------------------------------------------------------------------------------------

void Flatten(const Expr& condition, std::vector<Expr>& parts) {
  const Binary* op = condition.As<Binary>();
  if (op == nullptr || op->op != BinaryOp::kAnd) {
    if (!IsConstInt(condition, 1)) parts.push_back(condition);
    return;
  }
  Flatten(op->a, parts);
  Flatten(op->b, parts);
}

// a < b as bounds of what has iterators in it.
IterConstraint Separate(const Expr& a, const Expr& b, int64_t gap, const IterDomain& iters, const Analyzer& analyzer) {
  if (!UsesAny(b, iters)) return {a, std::nullopt, b + (1 - gap)};  // a + gap <= b
  if (!UsesAny(a, iters)) return {b, a + gap, std::nullopt};
  Expr iter = IntConst(a.dtype(), 0), rest = iter;
  const std::function<void(const Expr&, bool)> add = [&](const Expr& part, bool is_minus) {
    const Binary* op = part.As<Binary>();
    if (op != nullptr && (op->op == BinaryOp::kAdd || op->op == BinaryOp::kSub)) {
      add(op->a, is_minus);
      return add(op->b, is_minus != (op->op == BinaryOp::kSub));
    }
    if (UsesAny(part, iters))
      iter = is_minus ? iter - part : iter + part;
    else
      rest = is_minus ? rest + part : rest - part;
  };
  add(a, false);
  add(b, true);
  return {analyzer.Simplify(iter), std::nullopt, analyzer.Simplify(rest + (1 - gap))};
}

// x // 3 < 5 is x < 15.
void DropQuotient(IterConstraint& constraint) {
  const Binary* op = constraint.iter.As<Binary>();
  const int64_t* divisor = op == nullptr || op->op != BinaryOp::kFloorDiv ? nullptr : AsIntConst(op->b);
  if (divisor == nullptr || *divisor <= 0) return;
  const Expr factor = op->b;
  constraint.iter = Expr(op->a);
  if (constraint.low) constraint.low = *constraint.low * factor;
  if (constraint.high) constraint.high = *constraint.high * factor;
}

void Narrow(Range& range, const IterConstraint& constraint, const Analyzer& analyzer) {
  Expr low = range.min, high = range.min + range.extent;
  if (constraint.low) low = Max(low, *constraint.low);
  if (constraint.high) high = Min(high, *constraint.high);
  range = {analyzer.Simplify(low), analyzer.Simplify(high - low)};
}

// i * 64 + j < 35 bounds j alone where i is 0.
void DropTrivialIters(IterConstraint& constraint, const IterDomain& iters, const Analyzer& analyzer) {
  VarMap trivial;
  for (const auto& [var, range] : iters)
    if (IsConstInt(range.extent, 1) && UsesVar(constraint.iter, var.get())) trivial.emplace(var.get(), range.min);
  if (trivial.empty() || IndexOf(iters, constraint.iter.get())) return;
  const Expr rest = analyzer.Simplify(Substitute(constraint.iter, trivial));
  if (IndexOf(iters, rest.get())) constraint.iter = rest;
}

// Bounds of single iterators narrow `iters`.
StatusOr<std::vector<IterConstraint>> ParsePredicate(const Expr& predicate, IterDomain& iters,
                                                     const IterMapOptions& options, const Analyzer& analyzer) {
  std::vector<Expr> parts;
  Flatten(predicate, parts);
  std::vector<IterConstraint> constraints;
  for (const Expr& part : parts) {
    const Binary* op = part.As<Binary>();
    const bool is_bound =
        op != nullptr && ((op->op >= BinaryOp::kLT && op->op <= BinaryOp::kGE) || op->op == BinaryOp::kEQ);
    if (!is_bound || !IsIndexType(op->a.dtype()))
      return NotAffine("the predicate is no conjunction of bounds on iterators");
    if (!UsesAny(part, iters)) continue;
    const bool is_less = op->op == BinaryOp::kLT || op->op == BinaryOp::kLE;
    const int64_t gap = op->op == BinaryOp::kLT || op->op == BinaryOp::kGT ? 1 : 0;
    IterConstraint constraint = Separate(is_less ? op->a : op->b, is_less ? op->b : op->a, gap, iters, analyzer);
    if (op->op == BinaryOp::kEQ) {
      if (constraint.high)
        constraint.low = *constraint.high - 1;
      else
        constraint.high = *constraint.low + 1;
    }
    DropQuotient(constraint);
    if (options.simplify_trivial_iterators) DropTrivialIters(constraint, iters, analyzer);
    const std::optional<size_t> single = IndexOf(iters, constraint.iter.get());
    if (!single) {
      constraints.push_back(std::move(constraint));
      continue;
    }
    Range& range = iters[*single].second;
    Narrow(range, constraint, analyzer);
    if (const int64_t* extent = AsIntConst(range.extent); extent != nullptr && *extent <= 0)
      return NotAffine("the predicate is never true");
  }
  const auto size = [](const Expr& e) {
    int64_t count = 0;
    PostOrderVisit(e, [&](const Expr&) { ++count; });
    return count;
  };
  std::stable_sort(constraints.begin(), constraints.end(),
                   [&](const IterConstraint& a, const IterConstraint& b) { return size(a.iter) < size(b.iter); });
  return constraints;
}

StatusOr<IterMapResult> RewriteAll(const std::vector<Expr>& indices, IterRewriter& rewriter, bool may_pad) {
  const auto rewrite = [&](bool notes_padding) -> StatusOr<std::vector<IterSumExpr>> {
    std::vector<IterSumExpr> sums;
    for (size_t i = 0; i < indices.size(); ++i) {
      StatusOr<IterSumExpr> sum =
          notes_padding ? rewriter.RewriteAndNotePadding(indices[i]) : rewriter.Rewrite(indices[i]);
      if (!sum.ok()) return sum.status().WithContext(fmt::format("index {}", i));
      sums.push_back(*std::move(sum));
    }
    return sums;
  };
  IterMapResult result;
  if (may_pad) {
    ASSIGN_OR_RETURN(result.indices, rewrite(true));
  }
  if (!may_pad || rewriter.needs_padding()) {
    ASSIGN_OR_RETURN(result.indices, rewrite(false));
  }
  result.padding_predicate = rewriter.padding_predicate();
  RETURN_IF_ERROR(rewriter.CheckMapping(result.indices));
  return result;
}

StatusOr<IterMapResult> Detect(const std::vector<Expr>& indices, const IterDomain& input_iters, const Expr& predicate,
                               const IterMapOptions& options, bool may_pad, const Analyzer& analyzer) {
  if (IsConstInt(predicate, 1))
    if (std::optional<IterMapResult> tiles = DetectTiles(indices, input_iters, options)) return *std::move(tiles);
  RETURN_IF_ERROR(CheckIters(input_iters));
  RETURN_IF_ERROR(CheckIndices(indices));
  IterDomain iters = input_iters;
  ASSIGN_OR_RETURN(const std::vector<IterConstraint> constraints, ParsePredicate(predicate, iters, options, analyzer));
  IterRewriter rewriter(iters, options, analyzer);
  for (const IterConstraint& constraint : constraints) RETURN_IF_ERROR(rewriter.AddConstraint(constraint));
  RETURN_IF_ERROR(rewriter.CheckConstraints());
  return RewriteAll(indices, rewriter, may_pad);
}

}  // namespace

StatusOr<IterMapResult> DetectIterMap(const std::vector<Expr>& indices, const IterDomain& input_iters,
                                      const Expr& predicate, const IterMapOptions& options, const Analyzer& analyzer) {
  return Detect(indices, input_iters, predicate, options, options.level != IterMapLevel::kBijective, analyzer);
}

bool HasIterMap(const std::vector<Expr>& indices, const IterDomain& input_iters, const Expr& predicate,
                const IterMapOptions& options, const Analyzer& analyzer) {
  return AreTiles(indices, input_iters, predicate, options) ||
         DetectIterMap(indices, input_iters, predicate, options, analyzer).ok();
}

StatusOr<IterSumExpr> NormalizeToIterSum(const Expr& index, const IterDomain& input_iters, const Analyzer& analyzer) {
  RETURN_IF_ERROR(CheckIters(input_iters));
  RETURN_IF_ERROR(CheckIndices({&index, 1}));
  IterRewriter rewriter(input_iters, {.level = IterMapLevel::kNoCheck}, analyzer);
  return rewriter.RewriteToSum(index);
}

std::vector<Expr> IterMapSimplify(const std::vector<Expr>& indices, const IterDomain& input_iters,
                                  const Expr& predicate, const IterMapOptions& options, const Analyzer& analyzer) {
  if (std::optional<std::vector<Expr>> tiles = SimplifyTiles(indices, input_iters, predicate, options))
    return *std::move(tiles);
  StatusOr<IterMapResult> map = DetectIterMap(indices, input_iters, predicate, options, analyzer);
  // What holds without the predicate holds under it.
  if (!map.ok() && options.level != IterMapLevel::kBijective)
    map = DetectIterMap(indices, input_iters, True(), options, analyzer);
  if (!map.ok()) return indices;
  std::vector<Expr> simplified;
  for (const IterSumExpr& sum : map->indices) simplified.push_back(ToExpr(sum, analyzer));
  return simplified;
}

// ---- Bindings ---------------------------------------------------------------------------------------------------

bool IsTrivialBinding(const BlockRealize& realize, const IterDomain& loops) {
  if (!IsConstInt(realize.predicate, 1)) return false;
  std::vector<bool> seen(loops.size(), false);
  for (const Expr& value : realize.iter_values) {
    const std::optional<size_t> i = IndexOf(loops, value.get());
    if (!i || seen[*i]) return false;
    seen[*i] = true;
  }
  return true;
}

namespace {

// No two iterators lie over each other: the extent of a sum is the product of those of its parts, unless a predicate
// has narrowed it.
bool HasOverlap(const std::vector<IterSumExpr>& indices, const Analyzer& analyzer) {
  for (const MarkUse& use : CollectMarkUses(indices)) {
    const IterSumExpr* sum = std::get_if<IterSumExpr>(&use.mark->source);
    if (sum == nullptr) continue;
    for (size_t i = 0; i + 1 < sum->args.size(); ++i) {
      const IterSplitExpr& below = sum->args[i + 1];
      if (!analyzer.CanProve(LessEqual(below.scale * below.extent, sum->args[i].scale))) return true;
    }
  }
  return false;
}

}  // namespace

bool IsAffineBinding(const BlockRealize& realize, const IterDomain& loops, const Analyzer& analyzer) {
  if (IsTrivialBinding(realize, loops)) return true;
  const StatusOr<IterMapResult> map =
      Detect(realize.iter_values, loops, realize.predicate, {}, /*may_pad=*/false, analyzer);
  if (!map.ok() || HasOverlap(map->indices, analyzer)) return false;
  return std::all_of(map->indices.begin(), map->indices.end(),
                     [](const IterSumExpr& sum) { return sum.args.empty() || IsConstInt(sum.args[0].scale, 1); });
}

// ---- Back to expressions ----------------------------------------------------------------------------------------

Expr ToExpr(const IterMark& mark, const Analyzer& analyzer) {
  if (const IterSumExpr* sum = std::get_if<IterSumExpr>(&mark.source)) return ToExpr(*sum, analyzer);
  return std::get<Expr>(mark.source);
}

Expr ToExpr(const IterSplitExpr& split, const Analyzer& analyzer) {
  const Expr source = ToExpr(*split.source, analyzer);
  if (IsConstInt(split.lower_factor, 1) && analyzer.CanProveEqual(split.extent, split.source->extent))
    return source * split.scale;
  const Expr end = analyzer.Simplify(split.lower_factor * split.extent);
  if (!analyzer.CanProve(LessEqual(split.source->extent, end)))
    return FloorDiv(FloorMod(source, end), split.lower_factor) * split.scale;
  // A part of extent 1 that reaches the top is always 0; an iterator of extent 1 stays, for those who look for it.
  if (IsConstInt(split.extent, 1)) return IntConst(split.extent.dtype(), 0);
  return FloorDiv(source, split.lower_factor) * split.scale;
}

Expr ToExpr(const IterSumExpr& sum, const Analyzer& analyzer) {
  Expr total = IntConst(sum.dtype(), 0);
  for (const IterSplitExpr& arg : sum.args) total = total + ToExpr(arg, analyzer);
  return total + (IsVar(sum.base) ? sum.base : analyzer.Simplify(sum.base));
}

}  // namespace lathe
