// Affine maps of iterators: which indices are splits and fuses of loops, whether they reach every point once, and how
// to go back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
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

inline constexpr int64_t kSymbolicExtent = -1;  // The extent is no constant; see IterMark::symbolic_extent.

struct IterMark;
// (source % (lower_factor * extent)) // lower_factor * scale; takes the values 0, scale, 2*scale ... (extent -
// 1)*scale.
struct IterSplitExpr {
  std::shared_ptr<const IterMark> source;
  int64_t lower_factor = 1;
  int64_t extent = 1;  // Or kSymbolicExtent: everything above lower_factor.
  int64_t scale = 1;
};
// The sum of `args`, largest scale first, and `base`, which has no iterator in it.
struct IterSumExpr {
  std::vector<IterSplitExpr> args;
  Expr base = 0;
};
// An iterator over [0, extent): an input variable less its minimum, or several fused ones.
struct IterMark {
  std::variant<Var, IterSumExpr> source;
  int64_t extent = 1;
  std::optional<Expr> symbolic_extent;
  Expr min = 0;  // Of a variable: source = min + mark.
};

// What is demanded of the map from the iterations that satisfy the predicate to x = (x_1 ... x_n), index_k = base_k +
// scale_k * x_k.
enum class IterMapLevel : uint8_t {
  kBijective,   // Both of the next two.
  kSurjective,  // Every x in the box of the extents is reached: the indices are independent of each other.
  kInjective,   // Two iterations never reach the same x.
  kNoCheck,     // The indices can be written as sums of splits; nothing more.
};

struct IterMapResult {
  std::vector<IterSumExpr> indices;  // One per index. At most one arg each, except under kInjective and kNoCheck.
};

// Recognises `indices` as quasi-affine in `input_iters`: sums, constant multiples, // and % by constants, constrained
// by a predicate that is a conjunction of bounds on iterators or on fused iterators (i_0*16 + i_1 < 100). Other
// variables are constants. Iterators of extent 1 count as their minimum. FailedPrecondition says which index is not of
// the form, or which demand is not met; `analyzer` supplies facts about the other variables.
StatusOr<IterMapResult> DetectIterMap(const std::vector<Expr>& indices, const IterDomain& input_iters,
                                      const Expr& predicate, IterMapLevel level, const Analyzer& analyzer);

// Each iter var is a different loop variable, nothing else, and the predicate is true.
bool IsTrivialBinding(const BlockRealize& realize, const IterDomain& loops);
// The iter values are independent quasi-affine functions of the loops with step 1 (TVM's affine binding).
bool IsAffineBinding(const BlockRealize& realize, const IterDomain& loops, const Analyzer& analyzer);

// Solves index_k == outputs[k] for the input iterators of a bijective map: variable -> expression of `outputs`.
// Iterators that can take one value only, by their extent or by the predicate, are not in the result.
// FailedPrecondition where an iterator cannot be recovered.
StatusOr<VarMap> InverseAffineMap(const IterMapResult& map, const std::vector<Expr>& outputs, const Analyzer& analyzer);

// The expression that a sum or a split stands for.
Expr ToExpr(const IterSumExpr& sum, DataType dtype = kIndexType);
Expr ToExpr(const IterSplitExpr& split, DataType dtype = kIndexType);

}  // namespace lathe
