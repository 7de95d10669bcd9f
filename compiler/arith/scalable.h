// Proofs about T.vscale(), how many times longer than 128 bits the vectors of a machine are.
#pragma once

#include "compiler/arith/analyzer.h"

namespace lathe {

// Whether `condition` mentions T.vscale() and holds for each value that it has on AArch64 machines: 1 to 16.
bool CanProveForEachVscale(const Analyzer& analyzer, const Expr& condition);

}  // namespace lathe
