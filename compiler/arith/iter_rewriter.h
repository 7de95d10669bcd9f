// Rewrites index expressions to sums of splits of iterators. Lives for one call of DetectIterMap.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/arith/iter_map.h"

namespace lathe {

// Whether `a` is a multiple of `b`, as far as can be proved.
bool IsDivisible(const Analyzer& analyzer, const Expr& a, const Expr& b);
// The same piece of the same mark, whatever its scale.
bool IsSamePiece(const IterSplitExpr& a, const IterSplitExpr& b);

// Whether the product of two constants leaves their type.
bool ProductOverflows(const Expr& a, const Expr& b);

// low <= iter < high.
struct IterConstraint {
  Expr iter;
  std::optional<Expr> low, high;
};

// The splits of each mark that the indices use, directly or through fused marks; marks in order of appearance.
struct MarkUse {
  IterMarkPtr mark;
  std::vector<IterSplitExpr> splits;
};
std::vector<MarkUse> CollectMarkUses(const std::vector<IterSumExpr>& indices);

// The iter map of what splits and fuses of loops with constant bounds make, where no predicate is: sums of constant
// multiples of iterators and of their pieces, each used once. What the rewriter would say, without its proofs; nullopt:
// ask the rewriter. Most maps that schedules ask for are of this kind.
std::optional<IterMapResult> DetectTiles(const std::vector<Expr>& indices, const IterDomain& iters,
                                         const IterMapOptions& options);
// Whether there is one; and what its indices are as expressions, the same as ToExpr of each. The predicate may keep
// whole indices below constants, as uneven splits do.
bool AreTiles(const std::vector<Expr>& indices, const IterDomain& iters, const Expr& predicate,
              const IterMapOptions& options);
std::optional<std::vector<Expr>> SimplifyTiles(const std::vector<Expr>& indices, const IterDomain& iters,
                                               const Expr& predicate, const IterMapOptions& options);

class IterRewriter {
 public:
  // `iters` and `analyzer` outlive it.
  IterRewriter(const IterDomain& iters, const IterMapOptions& options, const Analyzer& analyzer)
      : iters_(iters), options_(options), analyzer_(analyzer), input_marks_(iters.size()) {}

  // From the shortest to the longest: later ones may contain earlier ones.
  Status AddConstraint(const IterConstraint& constraint);
  Status CheckConstraints() const;  // Any two are nested or apart.

  // At most one split and a base.
  StatusOr<IterSumExpr> Rewrite(const Expr& index);
  // Likewise, and notes how far iterators have to be padded so that divisors divide them. If needs_padding()
  // afterwards, all indices are rewritten again, on padded iterators.
  StatusOr<IterSumExpr> RewriteAndNotePadding(const Expr& index);
  bool needs_padding() const { return needs_padding_; }
  const Expr& padding_predicate() const { return padding_predicate_; }
  // Unfused; what is not understood stays in the base.
  IterSumExpr RewriteToSum(const Expr& index);

  Status CheckMapping(const std::vector<IterSumExpr>& indices) const;

 private:
  // A value on the way: an iterator expression, or (no args, !is_iter) any other.
  struct Value {
    IterSumExpr sum;
    bool is_iter = false;
  };
  // The sum of splits that `flattened` is, as one mark: value = mark + offset. A constraint narrows the mark.
  struct FusedMark {
    std::vector<IterSplitExpr> flattened;  // Largest scale first.
    IterMarkPtr mark;
    Expr offset;
  };
  struct Padding {
    Expr factor = 1;  // What the padded extent is a multiple of.
    Expr left = 0;
    std::vector<std::pair<Expr, Expr>> offsets;  // Lower factor of a quotient -> what was added to the mark before.
    IterMarkPtr padded;
  };
  // On the way to a fused mark.
  struct Fusing;

  // iter_rewriter.cc
  Value Visit(const Expr& e);
  Value VisitSum(const Expr& e, const Binary& op);
  Value VisitMul(const Expr& e, const Binary& op);
  Value VisitDivision(const Expr& e, const Binary& op);
  Value Unresolved(const Expr& e, std::string why);
  bool UsesIters(const Expr& e) const;
  bool IsTrivial(const Range& range) const {  // Counts as its minimum.
    return options_.simplify_trivial_iterators && IsConstInt(range.extent, 1);
  }
  IterSumExpr SumOfInput(size_t i);
  // One split and a base, from what a division divides; nullopt: unresolved.
  std::optional<IterSumExpr> Dividend(const Value& value);
  std::optional<Value> DivideSplit(IterSplitExpr split, Expr base, Expr divisor);
  std::optional<Value> ModuloSplit(IterSplitExpr split, Expr base, Expr divisor);
  // Takes a common factor of scale, base and divisor out; false: they have none.
  bool TakeOutScale(IterSplitExpr& split, Expr& base, Expr& divisor, const char* what);
  StatusOr<IterSumExpr> Finish(Value value);

  // iter_padding.cc
  // `split` so widened that divisor divides it, and what was added on its lower side; nullopt: paddings do not agree.
  struct Padded {
    IterSplitExpr split;
    Expr left;
  };
  std::optional<Padded> Pad(IterSplitExpr split, const Expr& base, const Expr& divisor);
  Padded NotePadding(IterSplitExpr split, const Expr& left, bool fits, const Expr& divisor);
  Expr RoundUp(const Expr& edge, const Expr& factor) const;  // To a multiple of factor.
  bool IsTop(const IterSplitExpr& split) const;              // Nothing of its mark lies above it.
  void MakePadded(const IterMarkPtr& mark, Padding& padding);
  IterMarkPtr MarkOfPiece(const IterSplitExpr& piece);

  // iter_fuse.cc
  IterSumExpr JoinPieces(const IterSumExpr& sum);  // Neighbouring pieces of one mark become one.
  std::optional<IterSumExpr> Fuse(IterSumExpr sum, bool may_skip);
  bool FuseNext(const IterSumExpr& sum, Fusing& state);
  bool FuseConstrained(const IterSumExpr& sum, const FusedMark& constrained, Fusing& state);
  const FusedMark* LongestConstraintFrom(const IterSplitExpr& split) const;
  FusedMark* FindFused(const std::vector<IterSplitExpr>& flattened);
  std::optional<size_t> FindBase(const IterSumExpr& sum, const std::vector<bool>& used, const IterMark* source,
                                 size_t end) const;
  std::optional<size_t> FindScale(const IterSumExpr& sum, const std::vector<bool>& used, const Expr& scale,
                                  const IterMark* source, size_t end) const;
  std::optional<size_t> FindScaleBelow(const IterSumExpr& sum, const std::vector<bool>& used, const Expr& scale) const;
  Expr Times(const Expr& a, const Expr& b) const;

  // iter_check.cc
  Status CheckSplits(const MarkUse& use) const;
  Status CheckExtent(const MarkUse& use, const Expr& covered) const;

  const IterDomain& iters_;
  const IterMapOptions options_;
  const Analyzer& analyzer_;
  std::vector<IterMarkPtr> input_marks_;  // nullptr: not met yet, or trivial.
  std::vector<std::string> errors_;

  std::vector<std::unique_ptr<FusedMark>> fused_;
  std::vector<const FusedMark*> constrained_;

  bool notes_padding_ = false, needs_padding_ = false;
  Expr padding_predicate_ = IntConst(DataType::Bool(), 0);
  std::unordered_map<const IterMark*, Padding> paddings_;
  std::unordered_map<const IterMark*, IterMarkPtr> unpadded_;  // Padded mark -> what it was.
  std::vector<std::pair<IterSplitExpr, IterMarkPtr>> piece_marks_;
};

}  // namespace lathe
