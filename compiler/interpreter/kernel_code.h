// Kernels: launching their threads, and the statements where threads meet. Private to this folder.
#pragma once

#include "compiler/interpreter/stmt_code.h"

namespace lathe {

// What is known of a kernel once all of it has been compiled.
struct LaunchPlan {
  std::array<ExprCodePtr, kNumAxes> extents;  // nullptr: 1.
  std::vector<ScopedView> scoped;             // Memory allocated around the kernel.
};

// Runs `body` for all threads of all blocks, one block after the other.
StmtCodePtr MakeLaunchCode(LaunchPlan plan, StmtCodePtr body, const FuncCode& func, const Site* site);
// A loop bound to axis `axis`: each thread runs the iteration that is its own.
StmtCodePtr MakeAxisCode(int axis, int slot, ExprCodePtr min, ExprCodePtr extent, StmtCodePtr body, const Site* site);
// Says that thread `missing` is not where those of `here` meet, which is called `where`.
void FailOfDivergence(Machine& machine, const Site& site, const char* where, const Threads& here, int missing);
// T.tvm_storage_sync of "shared" or "warp".
StmtCodePtr MakeBarrierCode(bool is_warp, const Site* site);
// `body`, before which threads of a warp exchange values.
StmtCodePtr MakeExchangeCode(std::vector<WarpExchange> exchanges, StmtCodePtr body);

// Memory that lives as long as this object does.
class OwnedMemory {
 public:
  explicit OwnedMemory(Machine& machine) : machine_(machine) {}
  OwnedMemory(const OwnedMemory&) = delete;
  OwnedMemory& operator=(const OwnedMemory&) = delete;
  ~OwnedMemory();

  // For what runs alone, or for `threads`. False after a fault. `buffer` outlives this.
  bool Add(const BufferCode& buffer);
  bool Add(const BufferCode& buffer, const Threads& threads);

 private:
  Machine& machine_;
  std::vector<std::pair<std::unique_ptr<Storage>, const BufferCode*>> owned_;
};

}  // namespace lathe
