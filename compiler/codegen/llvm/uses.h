// What a statement needs from outside: found once, before it is moved into a function of its own.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "compiler/ir/stmt.h"

namespace lathe {

struct Uses {
  std::unordered_set<const ExprNode*> vars;               // Also those defined inside.
  std::unordered_map<const BufferNode*, Buffer> buffers;  // Likewise.
  std::vector<Buffer> allocations;                        // Buffers that are defined inside.
  bool has_vectors = false;                               // Loads or stores of more than one lane.
  bool has_guarded_division = false;                      // By a variable, under a condition.

  // Whether a loop over it is left to LLVM's vectorizer. LLVM 19 may run a guarded division lane by lane and take an
  // address from the lane that was masked off.
  bool may_be_vectorized() const { return !has_vectors && !has_guarded_division; }
};
Uses CollectUses(const Stmt& stmt);

}  // namespace lathe
