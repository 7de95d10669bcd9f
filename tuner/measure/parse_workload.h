// A stored workload as a function. Pure.
#pragma once

#include <string>

#include "compiler/ir/stmt.h"
#include "support/digest.h"
#include "support/status.h"

namespace lathe {

// The text as a function. DataLoss if it computes something else than `digest` says: it was changed since.
StatusOr<PrimFunc> ParseWorkload(const Digest& digest, const std::string& name, const std::string& text);

}  // namespace lathe
