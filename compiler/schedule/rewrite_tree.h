// Surgery on the loops and blocks of one scope, without entering the blocks.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compiler/arith/analyzer.h"
#include "compiler/ir/stmt.h"
#include "compiler/ir/visitor.h"

namespace lathe {

// What to put in place of a statement: nothing decided (look below it), or these (none: it vanishes).
using Replacement = std::optional<std::vector<Stmt>>;

// Asks `f` about each statement, top down. Loops and sequences left empty vanish; nullopt if all does.
std::optional<Stmt> RewriteTree(const Stmt& stmt, const std::function<Replacement(const Stmt&)>& f);

// Replaces loop variables in the bindings, predicates and loop bounds below `stmt`; simplifies the bindings that
// changed under the ranges that `analyzer` knows and those of loops met on the way. `guard`, if any, joins the
// predicate of every block directly below.
Stmt RebindLoops(const Stmt& stmt, const VarMap& vars, Analyzer& analyzer,
                 const std::optional<Expr>& guard = std::nullopt);

// `scope` with another body, and the buffers added to and removed from its allocations.
Stmt WithBody(const BlockRealize& scope, Stmt body, const std::vector<Buffer>& add = {},
              const std::vector<Buffer>& remove = {});

}  // namespace lathe
