// A PrimFunc under transformation: the function, a side table of its loops and blocks, handles into that table, and the
// trace.
//
// Primitives are free functions, one file each (split.h, fuse.h ...): they check, build what replaces a statement, and
// call Replace once. On error the schedule is as it was. Not thread-safe; copies are independent and cheap (nodes are
// shared).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/stmt.h"
#include "compiler/schedule/trace.h"
#include "support/random.h"
#include "support/status.h"

namespace lathe {

class Schedule {
 public:
  // `func` is complete: one root block, unique block names, bodies that reach outer variables only through iter vars.
  static StatusOr<Schedule> Create(PrimFunc func, uint64_t seed = 0);

  const PrimFunc& func() const { return func_; }
  const ScheduleTrace& trace() const { return trace_; }
  Random& random() { return random_; }
  void Seed(uint64_t seed) { random_ = Random(seed); }

  // ---- Handles. Fail with FailedPrecondition when the loop or block has since vanished.
  StatusOr<const For*> Get(LoopRV loop) const;
  StatusOr<const BlockRealize*> Get(BlockRV block) const;
  StatusOr<int64_t> Get(const ExprRV& value) const;

  // ---- For primitives. A row stands for one loop (by its variable) or block (by its name) and keeps its number while
  // that lives.
  StatusOr<int> RowOf(LoopRV loop) const;
  StatusOr<int> RowOf(BlockRV block) const;
  const Stmt& StmtOf(int row) const { return row == root_row_ ? func_.body : *rows_[row].stmt; }
  const For& LoopOf(int row) const { return *StmtOf(row).As<For>(); }
  const BlockRealize& RealizeOf(int row) const { return *StmtOf(row).As<BlockRealize>(); }
  const BlockNode& BlockOf(int row) const { return *RealizeOf(row).block; }
  bool IsLoop(int row) const { return rows_[row].loop_var != nullptr; }
  int ParentOf(int row) const { return rows_[row].parent; }  // -1 for the root block.
  int ScopeOf(int row) const;  // The row of the nearest block around; -1 for the root block.
  int RootRow() const { return root_row_; }
  std::vector<int> LoopsOf(
      int row) const;  // Loop rows between the scope and this row, outermost first, itself excluded.
  std::vector<int> ChildBlocksOf(
      int row) const;                          // Blocks directly below (not inside other blocks), in order of the text.
  int FindBlock(std::string_view name) const;  // -1 if there is none.
  bool IsAncestor(int ancestor, int row) const;               // Strictly above.
  std::string FreshBlockName(const std::string& wish) const;  // `wish`, or wish_1, wish_2 ... if it is taken.

  // Puts `replacement` where row's statement is. Loops are followed by their variable and blocks by their name; what is
  // gone is gone.
  void Replace(int row, Stmt replacement);
  // Makes a handle; blocks and loops by row.
  BlockRV NewBlockRV(int row) { return {NewRV({RVKind::kBlock, row})}; }
  LoopRV NewLoopRV(int row) { return {NewRV({RVKind::kLoop, row})}; }
  VarRV NewVarRV(int64_t value) { return {NewRV({RVKind::kVar, value})}; }
  LoopRV NewLoopRV(const Var& loop_var);  // Of the loop with this variable.
  void Record(std::string_view kind, std::vector<TraceInput> inputs, std::vector<Attr> attrs, std::vector<int> outputs,
              std::optional<Decision> decision = std::nullopt);
  // Handles of one block now mean another (decompose_reduction: they follow the update).
  void FollowBlock(int old_row, int new_row);

  // `what, place: why` with the function as detail. place names the function and, if row >= 0, the block or loop.
  Status Error(std::string_view primitive, int row, std::string why) const;

 private:
  enum class RVKind : uint8_t { kBlock, kLoop, kVar };
  struct RV {
    RVKind kind;
    int64_t value;
  };  // A row, or the sampled value.
  struct Row {
    const Stmt* stmt =
        nullptr;  // Inside func_.body; nullptr when gone, and then for ever. Not read for the root block.
    int parent = -1;
    const ExprNode* loop_var = nullptr;  // The key of a loop ...
    std::string block_name;              // ... or of a block. A row that is gone has neither.
  };
  explicit Schedule(PrimFunc func, uint64_t seed) : func_(std::move(func)), random_(seed) {}
  int NewRV(RV rv) {
    rvs_.push_back(rv);
    return static_cast<int>(rvs_.size()) - 1;
  }
  void Refresh();
  void RefreshBelow(const Stmt& stmt, int parent, int& cursor);
  int RowForLoop(const ExprNode* loop_var, int& cursor);
  int RowForBlock(const std::string& name);
  StatusOr<int> LiveRow(int id, RVKind kind) const;

  PrimFunc func_;
  std::vector<Row> rows_;
  int root_row_ = 0;
  std::vector<RV> rvs_;
  ScheduleTrace trace_;
  Random random_;
};

}  // namespace lathe
