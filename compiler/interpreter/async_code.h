// Asynchronous copies as statements. Private to this folder.
#pragma once

#include <optional>

#include "compiler/interpreter/stmt_code.h"

namespace lathe {

// Starts a copy of `value`, the element at `from` where it is one, into `to`.
StmtCodePtr MakeStartCopyCode(AccessCode to, ExprCodePtr value, std::optional<AccessCode> from, int lanes);
StmtCodePtr MakeCommitCode(ExprCodePtr queue);
// Waits until at most `num_left` groups of `queue` are in flight.
StmtCodePtr MakeWaitCode(ExprCodePtr queue, ExprCodePtr num_left);

}  // namespace lathe
