// Bindings taken apart into what the loops outside give and what those inside give.
#include <algorithm>

#include "compiler/arith/iter_rewriter.h"
#include "compiler/arith/linear.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

Status NotDivisible(const char* why) { return FailedPrecondition(std::string("subspace divide: ") + why); }

// outer * inner.extent + inner.
struct Division {
  IterMark outer, inner;
  enum class Kind : uint8_t { kOuter, kInner, kMixed } kind = Kind::kMixed;

  static Division Inner(IterSumExpr sum, Expr extent) {
    return {Nothing(extent), {std::move(sum), extent}, Kind::kInner};
  }
  static Division Outer(IterSumExpr sum, Expr extent) {
    return {{std::move(sum), extent}, Nothing(extent), Kind::kOuter};
  }
  static IterMark Nothing(const Expr& like) {
    return {IterSumExpr{{}, IntConst(like.dtype(), 0)}, IntConst(like.dtype(), 1)};
  }
};

const IterSumExpr& SumOf(const IterMark& mark) { return std::get<IterSumExpr>(mark.source); }

// The mark as one split: a sum of one plain split is that split.
IterSplitExpr AsSplit(const IterMark& mark) {
  const IterSumExpr& sum = SumOf(mark);
  if (sum.args.size() == 1 && IsConstInt(sum.base, 0) && SameExpr(sum.args[0].extent, mark.extent)) return sum.args[0];
  return WholeSplit(std::make_shared<IterMark>(mark));
}

// `parts`, innermost first, one above the other.
IterMark Stack(std::vector<IterSplitExpr> parts, const Expr& base) {
  Expr extent = IntConst(base.dtype(), 1);
  for (IterSplitExpr& part : parts) {
    part.scale = extent;
    extent = extent * part.extent;
  }
  std::reverse(parts.begin(), parts.end());
  return {IterSumExpr{std::move(parts), base}, extent};
}

class Divider {
 public:
  Divider(std::vector<MarkUse> uses, const std::vector<Var>& sub_iters, const Analyzer& analyzer)
      : uses_(std::move(uses)), sub_iters_(sub_iters), analyzer_(analyzer) {}

  // `extent`: of the mark that the sum is; nullptr: the sum is a binding.
  StatusOr<Division> DivideSum(const IterSumExpr& sum, const Expr* extent);

  Expr outer_predicate = True(), inner_predicate = True();

 private:
  StatusOr<Division> DivideSplit(const IterSplitExpr& split);
  StatusOr<Division> DivideFused(const IterSplitExpr& split, const std::vector<IterSplitExpr>& splits);
  StatusOr<Division> DivideParts(const IterSumExpr& sum, const Expr* extent);
  bool IsInner(const Expr& source) const {
    return UsesVar(source, [&](const ExprNode* var) {
      return std::any_of(sub_iters_.begin(), sub_iters_.end(), [&](const Var& sub) { return sub.get() == var; });
    });
  }
  const Division* Known(const IterSplitExpr& split) const {
    for (const auto& [known, division] : divisions_) {
      if (IsSamePiece(known, split) && SameExpr(known.scale, split.scale)) return &division;
    }
    return nullptr;
  }
  static void Note(std::vector<std::pair<IterSplitExpr, Division>>& divisions, const IterSplitExpr& split,
                   IterSplitExpr part, bool is_inner) {
    const IterSumExpr sum{{std::move(part)}, IntConst(split.extent.dtype(), 0)};
    divisions.emplace_back(split, is_inner ? Division::Inner(sum, split.extent) : Division::Outer(sum, split.extent));
  }

  const std::vector<MarkUse> uses_;
  const std::vector<Var>& sub_iters_;
  const Analyzer& analyzer_;
  std::vector<std::pair<IterSplitExpr, Division>> divisions_;
};

StatusOr<Division> Divider::DivideSum(const IterSumExpr& sum, const Expr* extent) {
  if (sum.args.empty()) {
    const Expr one = IntConst(sum.dtype(), 1);
    return Division{Division::Nothing(one), {sum, one}};
  }
  if (sum.args.size() > 1) return DivideParts(sum, extent);
  if (!IsConstInt(sum.args[0].scale, 1)) return NotDivisible("a binding is a multiple of an iterator");
  ASSIGN_OR_RETURN(Division division, DivideSplit(sum.args[0]));
  if (IsConstInt(sum.base, 0)) return division;
  // The offset of a binding belongs inside; that of a fused iterator stays where the iterator is.
  const bool stays_outside = extent != nullptr && division.kind == Division::Kind::kOuter;
  IterMark& side = stays_outside ? division.outer : division.inner;
  IterSumExpr shifted = SumOf(side);
  shifted.base = shifted.base + sum.base;
  side.source = std::move(shifted);
  return division;
}

// Parts outside lie above parts inside, or it is not outer * extent + inner.
StatusOr<Division> Divider::DivideParts(const IterSumExpr& sum, const Expr* extent) {
  std::vector<IterSplitExpr> outer, inner;  // Innermost first.
  Expr below = IntConst(sum.dtype(), 1);
  for (size_t i = sum.args.size(); i-- > 0;) {
    if (!analyzer_.CanProveEqual(sum.args[i].scale, below))
      return NotDivisible("the parts of a sum overlap or leave gaps");
    below = below * sum.args[i].extent;
    ASSIGN_OR_RETURN(const Division part, DivideSplit(sum.args[i]));
    if (part.kind == Division::Kind::kMixed) return NotDivisible("a part of a sum is neither outside nor inside");
    if (part.kind == Division::Kind::kInner && !outer.empty())
      return NotDivisible("an iterator inside lies above one outside");
    (part.kind == Division::Kind::kInner ? inner : outer)
        .push_back(AsSplit(part.kind == Division::Kind::kInner ? part.inner : part.outer));
  }
  const bool is_outer = inner.empty(), is_inner = outer.empty();
  const IterMark high = Stack(std::move(outer), IntConst(sum.dtype(), 0)), low = Stack(std::move(inner), sum.base);
  if (extent != nullptr && analyzer_.CanProveEqual(high.extent * low.extent, *extent)) return Division{high, low};
  if (extent == nullptr) return NotDivisible("a binding is no single fused iterator");
  // A bound on the sum: all of it has to be on one side.
  if (is_outer) {
    outer_predicate = And(outer_predicate, Less(ToExpr(high, analyzer_), *extent));
    return Division::Outer(SumOf(high), *extent);
  }
  if (is_inner) {
    inner_predicate = And(inner_predicate, Less(ToExpr(low, analyzer_), *extent));
    return Division::Inner(SumOf(low), *extent);
  }
  return NotDivisible("a bound of the predicate concerns iterators outside and inside");
}

StatusOr<Division> Divider::DivideSplit(const IterSplitExpr& split) {
  if (const Division* known = Known(split)) return *known;
  const auto use = std::find_if(uses_.begin(), uses_.end(), [&](const MarkUse& u) { return u.mark == split.source; });
  if (std::holds_alternative<IterSumExpr>(split.source->source)) return DivideFused(split, use->splits);
  const bool is_inner = IsInner(std::get<Expr>(split.source->source));
  Note(divisions_, split, split, is_inner);
  return divisions_.back().second;
}

// source = Y * E + X: where the innermost pieces together make E, they are pieces of X, and the others are of Y.
StatusOr<Division> Divider::DivideFused(const IterSplitExpr& split, const std::vector<IterSplitExpr>& splits) {
  ASSIGN_OR_RETURN(const Division whole, DivideSum(SumOf(*split.source), &split.source->extent));
  const bool is_whole =
      IsConstInt(split.lower_factor, 1) && analyzer_.CanProveEqual(split.extent, split.source->extent);
  if (splits.size() == 1 && is_whole) return whole;
  const auto outer = std::make_shared<IterMark>(whole.outer), inner = std::make_shared<IterMark>(whole.inner);
  std::vector<const IterSplitExpr*> open;
  for (const IterSplitExpr& piece : splits) open.push_back(&piece);
  bool is_inner = whole.kind != Division::Kind::kOuter && !IsConstInt(whole.inner.extent, 1);
  Expr covered = IntConst(split.extent.dtype(), 1), boundary = covered;
  while (!open.empty()) {
    const auto next = std::find_if(open.begin(), open.end(), [&](const IterSplitExpr* piece) {
      return analyzer_.CanProveEqual(piece->lower_factor, covered);
    });
    if (next == open.end()) return NotDivisible("pieces of a fused iterator are left out");
    IterSplitExpr piece = **next;
    if (!is_inner) piece.lower_factor = analyzer_.Simplify(FloorDiv(piece.lower_factor, boundary));
    piece.source = is_inner ? inner : outer;
    Note(divisions_, **next, piece, is_inner);
    covered = covered * (*next)->extent;
    open.erase(next);
    if (is_inner && analyzer_.CanProveEqual(covered, whole.inner.extent)) {
      is_inner = false;
      boundary = covered;
    }
  }
  if (is_inner) return NotDivisible("a piece of a fused iterator is partly outside and partly inside");
  return *Known(split);
}

}  // namespace

StatusOr<SubspaceDivision> SubspaceDivide(const std::vector<Expr>& bindings, const IterDomain& input_iters,
                                          const std::vector<Var>& sub_iters, const Expr& predicate,
                                          const IterMapOptions& options, const Analyzer& analyzer) {
  ASSIGN_OR_RETURN(const IterMapResult map, DetectIterMap(bindings, input_iters, predicate, options, analyzer));
  Divider divider(CollectMarkUses(map.indices), sub_iters, analyzer);
  SubspaceDivision result;
  for (const IterSumExpr& sum : map.indices) {
    ASSIGN_OR_RETURN(const Division division, divider.DivideSum(sum, nullptr));
    result.bindings.push_back({division.outer, division.inner});
  }
  result.outer_predicate = divider.outer_predicate;
  result.inner_predicate = divider.inner_predicate;
  return result;
}

}  // namespace lathe
