// What blocks are to each other inside one scope: TVM's notions, computed on demand from the regions that blocks
// declare.
#pragma once

#include <string>
#include <vector>

#include "compiler/arith/analyzer.h"
#include "compiler/arith/guarded_region.h"
#include "compiler/arith/iter_map.h"
#include "compiler/ir/visitor.h"
#include "compiler/schedule/schedule.h"
#include "compiler/script/complete.h"

namespace lathe {

// Why a block is not what is asked; empty if it is.
using WhyNot = std::string;

// All iters data-parallel, sole writer of its outputs in its scope, reads nothing that it writes.
WhyNot WhyNotComplete(const Schedule& schedule, int block, int below = -1);
// Has init, iters data-parallel or reduce, sole writer, outputs indexed by data-parallel iters only.
WhyNot WhyNotReduction(const Schedule& schedule, int block, int below = -1);
WhyNot WhyNotCompleteOrReduction(const Schedule& schedule, int block);
// Complete or reduction, with a quasi-affine binding.
WhyNot WhyNotSchedulable(const Schedule& schedule, int block);
// An error of `primitive` if the block uses variables of loops around it directly: it cannot be taken from there.
Status CheckIsolated(const Schedule& schedule, int block, std::string_view primitive);
// Each iter is bound to exactly one loop variable, each to another.
bool IsTriviallyBound(const Schedule& schedule, int block);
bool IsSpatial(const BlockNode& block);  // All iters data-parallel.

// Blocks of the same scope that write (read) what `block` reads (writes), in order of the text, itself excluded.
std::vector<int> ProducersOf(const Schedule& schedule, int block);
std::vector<int> ConsumersOf(const Schedule& schedule, int block);
// Writes a buffer that its scope does not allocate.
bool IsOutputBlock(const Schedule& schedule, int block);
bool Writes(const BlockNode& block, const Buffer& buffer);
bool Reads(const BlockNode& block, const Buffer& buffer);
bool Allocates(const BlockNode& scope, const Buffer& buffer);

// A buffer that the block in row `allocated_in` allocates.
struct IntermediateBuffer {
  Buffer buffer;
  int allocated_in;
};
// What block `row` writes as its index-th buffer; an error of `primitive` if there is none or nobody around the block
// allocates it.
StatusOr<IntermediateBuffer> WrittenIntermediate(const Schedule& schedule, int row, int index, const char* primitive);

// The block's predicate as a condition on its iter vars, without what their domains say already; nullopt if it says
// more about the loops than they do.
std::optional<Expr> PredicateOnIterVars(const Schedule& schedule, int block);

// The realize of `block`; what lets around it, up to its scope, give a name to is put in. Valid until the schedule
// changes: where there are no lets it is the schedule's own.
class BoundRealize {
 public:
  BoundRealize(const Schedule& schedule, int block);
  const BlockRealize& operator*() const { return written_ ? *written_ : given_; }
  const BlockRealize* operator->() const { return &**this; }

 private:
  const BlockRealize& given_;
  std::optional<BlockRealize> written_;
};
// Why the loops around a reduction might leave out a step of it, take one twice, or not take the first one first; empty
// if they do not. Whoever makes its loops anew relies on that.
WhyNot WhyNotEachStepOnce(const Schedule& schedule, int block);
// Each loop of its scope around the block feeds one iter var as it is, and has that one's domain: which iterations of
// its domain the block runs for is then all in its predicate.
bool HasLoopsOfItsOwn(const Schedule& schedule, int block);
// Why one run of the scope around `block` might not start each reduction in it with its init; empty if it does. Whoever
// gives its results a place that lasts as long as the run relies on that.
WhyNot WhyNotBegunInside(const Schedule& schedule, int block);
// Why the loops around `block` might not run over all of its domain; empty if they do, but for its predicate.
WhyNot WhyNotWholeDomain(const Schedule& schedule, int block);

void BindIterVars(const BlockNode& block, Analyzer& analyzer);  // To their domains.
// Knows the domains of those that have several values; the others stay in an index by name, as in TVM.
Analyzer KnowingLongIters(const std::vector<IterVar>& iters);
std::vector<DataType> TypesOf(const std::vector<IterVar>& iters);
// Binds the iter vars of the scope around `row` to their domains and the loops between to their ranges; `itself`
// includes row's own loop.
void BindOuterLoops(const Schedule& schedule, int row, bool itself, Analyzer& analyzer);
// Knows what stays in one iteration of `above`, a loop or a block.
Analyzer KnowingLoops(const Schedule& schedule, int above);

// The regions with values put in for variables.
std::vector<Range> RegionWith(const std::vector<Range>& region, const VarMap& vars);
std::vector<BufferRegion> RegionsWith(std::vector<BufferRegion> regions, const VarMap& vars);

// What the lets around `row`, up to its scope, stand for.
VarMap LetsAround(const Schedule& schedule, int row);

// Whether all bounds are written alike.
bool IsSameBox(const std::vector<Range>& a, const std::vector<Range>& b);

// `region` in terms of loops, all of a dimension that memory decides: another look there may find something else.
std::vector<Range> BoundRegion(const BufferRegion& region, const BlockRealize& realize);

// The box of `region.buffer` that block `row` touches in one iteration of `above`, a loop or block around it: `region`
// with the bindings put in and the loops between relaxed, those with variable bounds before what they depend on.
// `analyzer` knows the loops that stay. A dimension that memory decides is covered whole.
std::vector<Range> RegionAt(const Schedule& schedule, int above, int row, const BufferRegion& region,
                            const Analyzer& analyzer);

// Whether an if, while, let or init between `above`, a loop or block, and `row` decides if and how `row` runs.
bool IsConditional(const Schedule& schedule, int above, int row);

// The loops around `loop` in its scope and itself, outermost first.
std::vector<int> LoopsDownTo(const Schedule& schedule, int loop);
// The loops between `above` and `row` with their ranges, outermost first.
IterDomain LoopsBetween(const Schedule& schedule, int above, int row);

// As RegionAt, cut by the block's predicate.
GuardedRegion TouchedAt(const Schedule& schedule, int above, int row, const BufferRegion& region,
                        const Analyzer& analyzer);
// What block `row` writes of `buffer` for certain in one iteration of `above`: a region for each store that nothing but
// predicates guards. Through views: what the block declares.
std::vector<GuardedRegion> WrittenForCertain(const Schedule& schedule, int above, int row, const Buffer& buffer,
                                             const Analyzer& analyzer);

// Whether all that `consumer` reads of `buffer`, or writes, in one iteration of `above` is what `producer` writes in it
// for certain. `analyzer` knows the loops that stay.
enum class Does : uint8_t { kRead, kWrite };
bool IsCoveredWithin(const Schedule& schedule, int above, int producer, int consumer, const Buffer& buffer,
                     const Analyzer& analyzer, Does does = Does::kRead);
// The same by numbers alone (nest_numbers.h); false: not known.
bool AreNumbersCovered(const Schedule& schedule, int above, int producer, int consumer, const Buffer& buffer,
                       Does does = Does::kRead);
// What a block writes of `buffer` for certain in one iteration of the loops around its `depth`-th, if it is one box of
// numbers.
std::optional<DigitBox> NumbersWritten(const Schedule& schedule, int producer, const Buffer& buffer, int depth);
// Whether every element of `buffer` that `consumer` reads has been written by `producer` before, in the same iteration
// of all loops around both (TVM's region cover).
bool IsCovered(const Schedule& schedule, int producer, int consumer, const Buffer& buffer);

// The loop at or above `above` that still reduces what `producer` writes; -1: an iteration of `above` finishes it.
int LoopThatReduces(const Schedule& schedule, int producer, int above);

// Whether the block is known to run for every value of `iters`, which are iter vars of its own.
bool RunsForAll(const Schedule& schedule, int block, const std::vector<IterVar>& iters);

// The innermost loop or block around both rows.
int CommonAncestor(const Schedule& schedule, int a, int b);
// Whether block `a` is before block `b` in the text; they are different blocks of one scope.
bool IsBefore(const Schedule& schedule, int a, int b);
// Whether `iter` is, as it is, an index of everything that the block writes.
bool IsIndexOfAllWrites(const BlockNode& block, const IterVar& iter);
// Whether other values of the spatial iter vars give other elements of everything that the block writes: then
// whoever writes an element again writes the same value.
bool WritesOneValuePerElement(const BlockNode& block);

// Whether `buffer` is read below `loop` outside of blocks: in conditions, bounds, lets, bindings and predicates.
bool IsReadOutsideBlocksBelow(const Schedule& schedule, int loop, const Buffer& buffer);

// The child of `loop`'s body in which `row` is: the index in its sequence (0 if the body is no sequence).
size_t ChildIndexTowards(const Schedule& schedule, int loop, int row);
// The blocks that are below the children `first` to `last` of the body of `above`, in order of the text.
std::vector<int> ChildBlocksBetween(const Schedule& schedule, int above, size_t first, size_t last);

// As RecomputeRegions of script/complete.h, for what the block of `row` became: what blocks below touch and do not
// declare is added as a whole.
void RecomputeRegions(const Schedule& schedule, int row, BlockNode& block);

}  // namespace lathe
