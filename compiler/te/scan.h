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

// First the copies of init, then for each step a block that holds a nest for each operation of the body, for the slice
// of that step alone, and the copies of the updates. Results are the scan's buffers. Unimplemented: a body that is no
// compute over the steps, as an extern or another scan.
StatusOr<std::vector<Stmt>> MakeScanNests(const OperationNode& scan, const ExprRewrite& rewrite);

}  // namespace lathe::te
