// Affine maps of iterators: which indices are splits and fuses of loops, whether they reach every point, how to go
// back, and how to divide them into an outer and an inner part. The structure is TVM's.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "compiler/arith/analyzer.h"
#include "compiler/ir/stmt.h"
#include "compiler/ir/visitor.h"
#include "support/status.h"

namespace lathe {

// Loops and their ranges, outermost first.
using IterDomain = std::vector<std::pair<Var, Range>>;
bool UsesAny(const Expr& e, const IterDomain& loops);  // Of their variables.

struct IterMark;
using IterMarkPtr = std::shared_ptr<const IterMark>;

// (source % (lower_factor * extent)) // lower_factor * scale; takes the values 0, scale, 2*scale ... (extent -
// 1)*scale.
struct IterSplitExpr {
  IterMarkPtr source;
  Expr lower_factor, extent, scale;
};
// The sum of `args`, largest scale first, and `base`, which has no iterator in it.
struct IterSumExpr {
  std::vector<IterSplitExpr> args;
  Expr base = 0;

  DataType dtype() const { return base.dtype(); }
};
// An iterator over [0, extent): an input variable (less its minimum), or several fused ones. Two marks are one iterator
// if they are one object.
struct IterMark {
  std::variant<Expr, IterSumExpr> source;
  Expr extent;
};
IterSplitExpr WholeSplit(IterMarkPtr mark);  // All of it, in steps of 1.

// What is demanded of the map from the iterations that satisfy the predicate to the indices.
enum class IterMapLevel : uint8_t {
  kBijective,   // Every iteration has indices of its own, and all iterators are used; nothing is padded.
  kSurjective,  // Every point of the box of the extents is reached. Iterators may overlap (x * 7 + y, y < 8), be
                // padded, or stay unused.
  kNoCheck,     // The indices can be written as sums of splits; iterators may be padded. Nothing more.
};

struct IterMapResult {
  std::vector<IterSumExpr> indices;  // One per index; at most one arg each.
  // True of the points of the extents that no iteration reaches, since an iterator was padded to what divides it:
  // in terms of the input iterators.
  Expr padding_predicate = IntConst(DataType::Bool(), 0);
};

struct IterMapOptions {
  IterMapLevel level = IterMapLevel::kSurjective;
  bool simplify_trivial_iterators = true;  // Iterators of extent 1 count as their minimum.
};

// Recognises `indices` as quasi-affine in `input_iters`: sums, multiples, // and % by what is no iterator, constrained
// by a predicate that is a conjunction of bounds on iterators or on fused iterators (i_0*16 + i_1 < 100). Other
// variables are constants. FailedPrecondition says which index is not of the form, or which demand is not met;
// `analyzer` supplies facts about the other variables.
StatusOr<IterMapResult> DetectIterMap(const std::vector<Expr>& indices, const IterDomain& input_iters,
                                      const Expr& predicate, const IterMapOptions& options, const Analyzer& analyzer);

// Whether DetectIterMap finds one.
bool HasIterMap(const std::vector<Expr>& indices, const IterDomain& input_iters, const Expr& predicate,
                const IterMapOptions& options, const Analyzer& analyzer);

// `index` as a sum of splits, largest scale first, nothing fused; what has no such form stays in the base.
// InvalidArgument if an iterator's range depends on another.
StatusOr<IterSumExpr> NormalizeToIterSum(const Expr& index, const IterDomain& input_iters, const Analyzer& analyzer);

// The indices through their iter map and back, which undoes fuses of splits; unchanged where there is none.
std::vector<Expr> IterMapSimplify(const std::vector<Expr>& indices, const IterDomain& input_iters,
                                  const Expr& predicate, const IterMapOptions& options, const Analyzer& analyzer);

// Each iter var is a different loop variable, nothing else, and the predicate is true.
bool IsTrivialBinding(const BlockRealize& realize, const IterDomain& loops);
// The iter values are independent quasi-affine functions of the loops with step 1 (TVM's affine binding), no value is
// padded and no two iterators overlap.
bool IsAffineBinding(const BlockRealize& realize, const IterDomain& loops, const Analyzer& analyzer);

// Solves index_k == outputs[k] for the input iterators: variable -> expression of `outputs`. Iterators that no index
// uses are not in the result. FailedPrecondition where the parts of an index lie over each other or leave gaps.
StatusOr<VarMap> InverseAffineIterMap(const std::vector<IterSumExpr>& indices, const std::vector<Expr>& outputs,
                                      const Analyzer& analyzer);

// One binding in two spaces: outer * inner.extent + inner.
struct DividedIter {
  IterMark outer, inner;
};
struct SubspaceDivision {
  std::vector<DividedIter> bindings;
  Expr outer_predicate = True(), inner_predicate = True();
};
// Divides `bindings` into a part of the iterators outside and a part of `sub_iters`: i*16 + j under sub_iters {j} gives
// i and j. FailedPrecondition where they cannot be taken apart, the predicate included.
StatusOr<SubspaceDivision> SubspaceDivide(const std::vector<Expr>& bindings, const IterDomain& input_iters,
                                          const std::vector<Var>& sub_iters, const Expr& predicate,
                                          const IterMapOptions& options, const Analyzer& analyzer);

// The expression that a sum, a split or a mark stands for (TVM's normalize_iter_map_to_expr).
Expr ToExpr(const IterSumExpr& sum, const Analyzer& analyzer);
Expr ToExpr(const IterSplitExpr& split, const Analyzer& analyzer);
Expr ToExpr(const IterMark& mark, const Analyzer& analyzer);

}  // namespace lathe
