// Code of blocks and of the buffer views inside them. Private to this folder.
#pragma once

#include "compiler/interpreter/stmt_code.h"

namespace lathe {

struct IterCode {
  std::string name;
  int slot;
  bool is_reduction;
  ExprCodePtr value, min, extent;
};

// A matched region: a view of its source from the region's corner. Leading dimensions of the source that the view lacks
// have extent 1.
StmtCodePtr MakeMatchCode(BufferCode view, int source, std::vector<ExprCodePtr> mins, std::vector<ExprCodePtr> extents,
                          ParamCode bindings);

// Checks the iter vars against their domains, makes the allocations and views, runs `init` (or nullptr) where every
// reduction is at its minimum, then the body. `outer` and `inner` are the sites around and in the block.
StmtCodePtr MakeBlockCode(ExprCodePtr predicate, std::vector<IterCode> iters, std::vector<BufferCode> allocations,
                          std::vector<StmtCodePtr> matches, StmtCodePtr init, StmtCodePtr body, const Site* outer,
                          const Site* inner);

}  // namespace lathe
