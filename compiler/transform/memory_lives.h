// When memory is needed: what passes that use it again begin with.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

using DataVar = const ExprNode*;  // A buffer's variable.

// One place in the order in which statements run: a statement without children, or the begin or the end of one with.
struct LivePoint {
  const StmtNode* stmt = nullptr;
  int64_t to_pair = 0;              // From the begin to the end: positive; back: negative.
  std::vector<DataVar> touched;     // Of the end, memory that was allocated directly around the statement.
  std::vector<DataVar> born, dead;  // Of the begin: memory that is touched here first, and last.
};
struct LiveMemory {
  const Allocate* alloc;
  size_t level;  // How many statements with children are around it.
};
struct MemoryLives {
  std::vector<LivePoint> points;
  std::unordered_map<DataVar, LiveMemory> memories;
  std::unordered_set<const BufferNode*> accessed;
  std::unordered_map<DataVar, std::vector<Buffer>> views;  // That are declared, by their memory.
};

struct LifeOptions {
  const char* pass;                              // For errors.
  bool lets_hold = true;                         // Whether what a let has around it is one statement.
  bool (*is_wanted)(const Var& data) = nullptr;  // nullptr: all memory is.
};
// `body` outlives the result, and has its allocations split (SplitAllocBuffers). Of launches the outermost holds.
// InvalidArgument: memory has other dimensions where it is used than where it is allocated, or is used where no
// statement could hold it; virtual threads inside of threads.
StatusOr<MemoryLives> FindMemoryLives(const Stmt& body, const LifeOptions& options);

int64_t BitsOf(DataType type);
int64_t ConstantBits(const Allocate& alloc);  // 0: not known before the program runs.

}  // namespace lathe
