// Whether the iterations of a loop, or of several, may run at once or in another order, and blocks elsewhere.
#pragma once

#include "compiler/schedule/analysis.h"

namespace lathe {

// Why iterations of `loop` may not run at once in the way of `kind`; empty if they may. All blocks below are complete
// or reductions and use the loop for data-parallel iter vars only (`allow_reduce`: for reductions, too: threads of one
// group). What an iteration writes is its own: no other iteration writes it, or each writes it before it reads it and
// nobody else does (then lowering gives each its own copy; lanes of a vector must write the same values).
WhyNot WhyNotConcurrent(const Schedule& schedule, int loop, ForKind kind, bool allow_reduce = false);

// Whether no two iterations of `loop` write one element of what block `block` declares as `write`.
bool WritesApart(const Schedule& schedule, int loop, int block, const BufferRegion& write);

// Whether each run of `block` below loop `top` has iter vars of its own: a reduction may then take its steps in any
// order.
bool TakesEachStepOnce(const Schedule& schedule, int top, int block);

// Replaces as Schedule::Replace does, unless one of `loops` is parallel, vectorized or bound and its iterations, or
// those of a new loop, could then not run at once: FailedPrecondition at row `place`.
Status ReplaceUnderMarks(Schedule& schedule, int row, Stmt replacement, const std::vector<int>& loops,
                         std::string_view primitive, int place, const std::vector<BlockReuse>& reuse = {});
// The same for any change; loops that it takes away are asked nothing.
Status ChangeUnderMarks(Schedule& schedule, const std::vector<int>& loops, std::string_view primitive, int place,
                        const std::function<void(Schedule&)>& change);

// Why an iteration of what is around `blocks`, in order of the text, may use what one of them makes in another; empty
// if what one makes for another stays within an iteration.
WhyNot WhyNotOrdered(const Schedule& schedule, const std::vector<int>& blocks);

// Why loops from `top` down, a chain, may not be put in another order; empty if they may.
WhyNot WhyNotPermutable(const Schedule& schedule, int top);

// Why `a` and `b`, blocks of one scope, may not change places; empty if neither writes what the other touches.
WhyNot WhyNotSwappable(const Schedule& schedule, int a, int b);
// Why `first` and `second`, which ran one after the other and now take turns in a loop around both, may not; empty if
// what the first makes for the second is made before, in the same iteration and for good, and nothing else is shared.
WhyNot WhyNotInTurns(const Schedule& schedule, int first, int second);

// Which way a block goes in the text: producers to their consumers, consumers to their producers.
enum class Way : uint8_t { kDown, kUp };
// Why `block` may not move next to or into `target`, a loop or block of the same scope; empty if it may. What lies
// between, and shares a loop with either end, writes nothing that the block reads and reads nothing that it writes, but
// for the block's producers before it, which write each element once and for all, and consumers: on the way down all
// are the caller's to provide for, on the way up they stay behind.
WhyNot WhyNotMovable(const Schedule& schedule, int block, int target, Way way);

}  // namespace lathe
