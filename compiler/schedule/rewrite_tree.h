// Surgery on the loops and blocks of one scope, without entering the blocks.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compiler/arith/iter_map.h"
#include "compiler/ir/stmt.h"
#include "compiler/ir/visitor.h"

namespace lathe {

// What to put in place of a statement: nothing decided (look below it), or these (none: it vanishes).
using Replacement = std::optional<std::vector<Stmt>>;

// Asks `f` about each statement, top down. Loops and sequences left empty vanish; nullopt if all does.
std::optional<Stmt> RewriteTree(const Stmt& stmt, const std::function<Replacement(const Stmt&)>& f);
// The same where `f` replaces something in no other children of `body` than those at `places`.
std::optional<Stmt> RewriteTreeAt(const Stmt& body, const std::vector<size_t>& places,
                                  const std::function<Replacement(const Stmt&)>& f);

struct Rebinding {
  IterDomain loops;                 // Those around, up to the scope, the new ones included.
  bool preserve_unit_iters = true;  // Loops of one iteration stay in the bindings.
  std::optional<Expr> guard;        // Joins the predicate of every block directly below.
  bool enters_blocks = false;       // Some use loop variables directly.
};
// Replaces loop variables in the bindings, predicates and loop bounds below `stmt`, and in blocks that use them.
// Bindings that changed go through their iter map, as in TVM, so that they look as they do there. `scope` is the block
// around.
Stmt RebindLoops(const Stmt& stmt, const VarMap& vars, const BlockNode& scope, Rebinding how);

// `scope` with another body, and the buffers added to and removed from its allocations.
Stmt WithBody(const BlockRealize& scope, Stmt body, const std::vector<Buffer>& add = {},
              const std::vector<Buffer>& remove = {});

}  // namespace lathe
