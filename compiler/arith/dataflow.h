// Whether what is read has been written before, instance by instance: exact where loops, conditions and indices are
// affine with constant coefficients, quotients and remainders by constants included.
#pragma once

#include <unordered_set>
#include <utility>
#include <vector>

#include "compiler/arith/analyzer.h"

namespace lathe {

// A loop around an access, its range in terms of loops around it.
struct DataflowLoop {
  Var var;
  Range range;
  bool is_in_order = true;  // Its iterations follow each other; else they run beside each other.
};

// A branch or block predicate around an access, inside its `num_loops` outermost loops.
struct DataflowCondition {
  int id = -1;  // Of this branch alone.
  Expr says;
  size_t num_loops = 0;
};

// All instances of one use of a buffer: `region`'s elements under the conditions, everything in terms of loop variables
// and of others, which are the same throughout.
struct DataflowAccess {
  std::vector<Range> region;
  std::vector<DataflowLoop> loops;  // All, outermost first.
  std::vector<DataflowCondition> conditions;
};

// A write that may have made what a read finds.
struct DataflowSource {
  DataflowAccess write;
  size_t num_same;    // Outermost loops of which write and read are in one iteration.
  size_t num_common;  // Outermost loops that are around both, those included.
  bool is_before;     // In the text: within one iteration of all common loops, it comes first.
};

// Memory, by data variable, that may change while accesses run.
using ChangingMemory = std::unordered_set<const ExprNode*>;

// Whether every instance of `read` inside the buffer finds its element written by an instance of `sources` that has run
// before. What is not affine makes a read larger and a write useless, but for products of variables that are the same
// for both, what memory that is not `changing` holds there, and a condition that both go by in one evaluation. Loops
// that are not common run whole where they stand. `full`: the buffer's shape as ranges. `analyzer` knows what is no
// loop. False also where the sets take more than a bounded number of steps. No error, any thread.
bool IsAlwaysWritten(const DataflowAccess& read, const std::vector<DataflowSource>& sources,
                     const std::vector<Range>& full, const Analyzer& analyzer, const ChangingMemory& changing = {});

}  // namespace lathe
