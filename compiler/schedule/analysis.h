// What blocks are to each other inside one scope: TVM's notions, computed on demand from the regions that blocks
// declare.
#pragma once

#include <string>
#include <vector>

#include "compiler/arith/analyzer.h"
#include "compiler/schedule/schedule.h"

namespace lathe {

// Why a block is not what is asked; empty if it is.
using WhyNot = std::string;

// All iters data-parallel, sole writer of its outputs in its scope, reads nothing that it writes.
WhyNot WhyNotComplete(const Schedule& schedule, int block);
// Has init, iters data-parallel or reduce, sole writer, outputs indexed by data-parallel iters only.
WhyNot WhyNotReduction(const Schedule& schedule, int block);
// Complete or reduction, with a quasi-affine binding.
WhyNot WhyNotSchedulable(const Schedule& schedule, int block);
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

// Binds the loops around `row` (up to its scope) to their ranges; `itself` includes row's own loop.
void BindOuterLoops(const Schedule& schedule, int row, bool itself, Analyzer& analyzer);

// The child of `loop`'s body, on the way down to `row`: the index in its sequence (0 if the body is no sequence).
size_t ChildIndexTowards(const Schedule& schedule, int loop, int row);

// Computes reads and writes anew from the body (script/complete.h).
void RecomputeRegions(BlockNode& block);

}  // namespace lathe
