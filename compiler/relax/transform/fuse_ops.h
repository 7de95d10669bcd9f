// Groups call_tir bindings into Relax functions with the attribute "Primitive", each of which FuseTIR makes one
// PrimFunc of.
//
// A contraction (conv2d, dense, matmul) takes in what follows element by element as long as each step has no other
// consumer and the result keeps its shape: bias, residual add, relu, clip. An add of two such chains goes to the deeper
// one, so in a residual block to the last convolution of the main branch. What is left of elementwise, broadcast and
// injective operators is grouped along single-consumer edges; not so a concatenation that its producers can write into
// (slices.h). A reduction along the last dimension that keeps it as 1 takes in what is computed element by element
// before and behind it, with other reductions of the same rows: a norm written as six operators is one kernel. A
// product whose rows are reduced, and multiplied again, is one kernel with both (attention: products, scale and mask,
// softmax, products), where its rows are whole vectors of float32 and 16 of them, not all, lie in half of the target's
// cache; a transpose of what it multiplies by, too. After AnnotateTIROpPattern.
#pragma once

#include "compiler/relax/module.h"
#include "compiler/relax/transform/alter_op_layout.h"
#include "support/status.h"

namespace lathe::relax {

inline constexpr const char* kPrimitiveAttr = "Primitive";

StatusOr<IRModule> FuseOps(IRModule module, const LayoutTarget& target);

// "conv2d" for "conv2d_12": a PrimFunc's name without the number that made it unique.
std::string BaseName(std::string_view name);

}  // namespace lathe::relax
