// Writes into each PrimFunc's attribute "op_pattern" how it may fuse, by what its blocks do, so that it holds for
// PrimFuncs of any origin. After LegalizeOps, before FuseOps; FuseTIR takes the attribute away.
#pragma once

#include <vector>

#include "compiler/relax/module.h"
#include "compiler/relax/op.h"

namespace lathe::relax {

inline constexpr const char* kOpPatternAttr = "op_pattern";

IRModule AnnotateTIROpPattern(IRModule module);
OpPatternKind AnalyzeOpPattern(const PrimFunc& func);
// The annotated pattern; kOpaque where there is none.
OpPatternKind OpPatternOf(const PrimFunc& func);

// The function's blocks in the order of its text, but for its root; they live as long as it does.
std::vector<const BlockNode*> LeafBlocks(const PrimFunc& func);

}  // namespace lathe::relax
