// Scans as loops: each step computes the slice of its update from the states before.
#pragma once

#include <vector>

#include "compiler/te/nest.h"

namespace lathe::te {

// What the steps compute: the operations between the states and the updates, each after what it reads. The last ones
// are those of the updates.
std::vector<Operation> ScanBody(const OperationNode& scan);

// Of each spatial axis, whether every step reads the states just where it writes along it: then a part of the axis can
// be computed without the rest.
std::vector<bool> ScanFixPoints(const OperationNode& scan);

// Results of the body that are of one step alone: of `operations`, no other reads them, and nothing in the body what
// was at another step.
std::vector<Buffer> BuffersOfSteps(const OperationNode& scan, const std::vector<Operation>& operations);

// First the copies of init, then for each step a block that holds `own`, memory of a step, a nest for each operation of
// the body, for the slice of that step alone, and the copies of the updates. Results are the scan's buffers.
// Unimplemented: a body that is no compute over the steps, as an extern or another scan.
StatusOr<std::vector<Stmt>> MakeScanNests(const OperationNode& scan, const ExprRewrite& rewrite,
                                          std::vector<Buffer> own);

}  // namespace lathe::te
