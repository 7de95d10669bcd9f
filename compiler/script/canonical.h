// The identity of a workload (docs/formats/workload.md).
#pragma once

#include <string>

#include "compiler/ir/stmt.h"
#include "support/digest.h"

namespace lathe {

// One text for all functions that compute the same in the same way: names of functions, variables, buffers and blocks
// do not count, everything else does. Its form is fixed: a change of it is a new "lathe.workload/N".
std::string CanonicalText(const PrimFunc& func);

// SHA-256 of "lathe.workload/1\n" and the canonical text.
Digest WorkloadDigest(const PrimFunc& func);

}  // namespace lathe
