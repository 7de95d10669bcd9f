// How much a program computes, and which of its blocks computes most.
#pragma once

#include <optional>

#include "compiler/ir/module.h"
#include "support/status.h"

namespace lathe {

// Arithmetic operations, of numbers of any kind, that a statement does: an upper bound, as TVM counts. Of branches the
// one with more, of loops of unknown length the longest that bounds allow. What conditions, indices, inits and calls do
// is not counted, but what calls are given is. InvalidArgument: vectors, which are to be loops.
StatusOr<double> EstimateFlops(const Stmt& stmt);
// Of all functions. The attribute "estimated_flops" of a function says it instead.
StatusOr<double> EstimateFlops(const IRModule& module);

// The block with an init that computes most; nullopt: no block has one.
StatusOr<std::optional<Block>> FindAnchorBlock(const IRModule& module);

}  // namespace lathe
