// A module under transformation: its functions, a table of their loops and blocks, handles into that table, and the
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

#include "compiler/ir/module.h"
#include "compiler/ir/stmt.h"
#include "compiler/schedule/block_scope.h"
#include "compiler/schedule/fact_cache.h"
#include "compiler/schedule/row_table.h"
#include "compiler/schedule/trace.h"
#include "support/random.h"
#include "support/status.h"

namespace lathe {

enum class LoopMark : uint8_t { kRoot, kInline };

class Schedule {
 public:
  // Functions whose body is a root block can be scheduled, unless they return before their end. A block that uses
  // variables of loops around it directly, not through iter vars, stays where it is (UsesLoopsDirectly). Block names
  // need not be unique. Works on the function marked "tir.is_entry_func", else on "main", else on the only one, else on
  // none until WorkOn.
  static StatusOr<Schedule> Create(IRModule mod, uint64_t seed = 0);
  // One function, which can be called by any name (in TVM it is "main", in a trace whatever its workload was called).
  static StatusOr<Schedule> Create(PrimFunc func, uint64_t seed = 0);

  const IRModule& mod() const { return mod_->module; }
  const PrimFunc& func() const { return FuncAt(working_on_); }  // The one worked on; CHECKs that there is one.
  bool IsWorkingOnAny() const { return working_on_ >= 0; }
  Status WorkOn(std::string_view func_name);
  const ScheduleTrace& trace() const { return trace_; }
  Random& random() { return random_; }
  void Seed(uint64_t seed) { random_ = Random(seed); }

  // ---- Handles. Fail with FailedPrecondition when the loop or block has since vanished.
  StatusOr<const For*> Get(LoopRV loop) const;
  StatusOr<const BlockRealize*> Get(BlockRV block) const;
  StatusOr<int64_t> Get(const ExprRV& value) const;

  // ---- For primitives. A row stands for one loop or block and keeps its number while that lives (row_table.h).
  StatusOr<int> RowOf(LoopRV loop) const;
  StatusOr<int> RowOf(BlockRV block) const;
  int RowOf(const Block& block) const;         // Of the block with this very node; CHECKs that there is one.
  int RowOf(const Stmt& loop_or_block) const;  // The same for a loop or a block realize of the tree.
  Stmt StmtOf(int row) const { return Stmt::Of(*rows_[row].node); }
  const For& LoopOf(int row) const { return std::get<For>(rows_[row].node->value); }
  const BlockRealize& RealizeOf(int row) const { return std::get<BlockRealize>(rows_[row].node->value); }
  const BlockNode& BlockOf(int row) const { return *RealizeOf(row).block; }
  bool IsLoop(int row) const { return rows_[row].is_loop; }
  int ParentOf(int row) const { return rows_[row].parent; }  // -1 for a root block.
  // Whether nothing but a sequence stands between `row` and its parent: no if, while, let or init.
  bool IsDirect(int row) const { return rows_[row].is_direct; }
  int ScopeOf(int row) const;                          // The row of the nearest block around; -1 for a root block.
  int RootRow() const { return roots_[working_on_]; }  // Of the function worked on.
  // Of the function `func_name`; "" is the one worked on.
  StatusOr<int> RootRowOf(std::string_view func_name) const;
  const PrimFunc* OnlyFunction() const;  // That can be scheduled; nullptr where there are several.
  const PrimFunc& FuncOf(int row) const { return FuncAt(FuncIndexOf(row)); }
  // Loop rows between the scope and this row, outermost first, itself excluded.
  std::vector<int> LoopsOf(int row) const;
  // Blocks directly below (not inside other blocks), in order of the text.
  std::vector<int> ChildBlocksOf(int row) const;
  std::vector<int> ChildRowsOf(int row) const;  // Loops and blocks directly below, in order of the text.
  // The blocks at or below `root` that have this name, in order of the text.
  std::vector<int> BlocksNamed(int root, std::string_view name) const;
  // In the function worked on; -1 if there is none or there are several.
  int FindBlock(std::string_view name) const;
  bool IsAncestor(int ancestor, int row) const;  // Strictly above.
  // `wish`, or wish_1, wish_2 ... if a block of row's function is called that.
  std::string FreshBlockName(int row, const std::string& wish) const;

  // ---- Facts, computed when asked for and kept while no Replace touches what they rest on (fact_cache.h). Not to be
  // asked by two threads at once, as little as anything else here.
  //
  // What the statements directly below block `scope_row` do to each other. Lives until the next Replace.
  const BlockScope& Scope(int scope_row) const { return facts_.Scope(*this, scope_row); }
  // The bindings of a block as numbers; nullptr where its loops are no chain of constants. Lives until the next
  // Replace.
  const NestNumbers* Numbers(int block_row) const { return facts_.Numbers(*this, block_row); }
  // How all at or below `row` uses memory. Lives until the next Replace.
  const MemoryUses& Uses(int row) const { return facts_.Uses(rows_, row, StmtOf(row)); }
  // The bindings are independent quasi-affine functions of the loops of its scope; true for a root block.
  bool IsAffineBinding(int block_row) const;
  // What it reads and its scope writes before has been written for certain (region_cover.h); true for a root block.
  bool IsRegionCover(int block_row) const;
  // All children are region-covered, and nothing is overwritten that was read before, nor opaque.
  bool IsStagePipeline(int scope_row) const;
  uint32_t NumReplacements() const { return rows_.num_replacements(); }
  uint32_t ChangedAt(int row) const { return rows_[row].changed_at; }  // The last that touched what is at or below it.
  const StmtNode* NodeOf(int row) const { return rows_[row].node; }
  // Whether block `row` uses variables of loops around it other than in its bindings and its predicate: it makes no
  // sense elsewhere.
  bool UsesLoopsDirectly(int row) const;
  bool AnyUsesLoopsDirectly() const { return any_uses_loops_directly_; }  // False: no block does.
  void MarkUsesLoopsDirectly() { any_uses_loops_directly_ = true; }
  // For primitives that leave a block which touches more than it declares, as TVM's do: a Scope looks into its body
  // from now on, nothing that depends on it moves, and if it hides stores, too, its loops keep their order. No root.
  void MarkHiding(int block_row, bool also_stores);
  bool IsHiding(int block_row) const { return HidingOf(block_row) != nullptr; }
  bool HidesAny() const { return !hiding_.empty(); }  // False: no block does.
  bool IsHidingStores(int block_row) const {
    const Hiding* hiding = HidingOf(block_row);
    return hiding != nullptr && hiding->also_stores;
  }

  // Puts `replacement` where row's statement is. Loops are followed by their variable. Blocks are followed by their
  // node; a block that is rebuilt by `reuse`, or, where it says nothing, by its name if one block of that name goes and
  // one comes. What is gone is gone: its handles are errors from now on.
  void Replace(int row, Stmt replacement, const std::vector<BlockReuse>& reuse = {});
  // Changes the statement of `row` in what no row and no fact rests on: the kind of a loop, annotations.
  template <typename F>
  void Edit(int row, F edit) {
    rows_.Edit(mod_.Mutable().module.prim_funcs[FuncIndexOf(row)].body, row, std::move(edit));
  }
  // Lets row's function take `to` where it took buffer `from`. Its body is the caller's to replace, right after.
  void ReplaceParam(int row, const Buffer& from, const Buffer& to);
  // Handles that are made from now on say where (BlockRV::origin): they are none of another schedule's, nor of a copy's
  // that has diverged, too. The copy keeps those that were there before.
  void Diverge();
  uint32_t OriginOf(int id) const;  // What a handle has to say; 0: nothing.
  // Makes a handle; blocks and loops by row.
  BlockRV NewBlockRV(int row) { return {NewRV({RVKind::kBlock, rows_[row].generation, row})}; }
  BlockRV NewBlockRV(const Block& block) { return NewBlockRV(RowOf(block)); }
  LoopRV NewLoopRV(int row) { return {NewRV({RVKind::kLoop, rows_[row].generation, row})}; }
  LoopRV NewLoopRV(const Var& loop_var);  // Of the loop with this variable.
  // A loop handle that names no loop: to leave a block where it is, or to inline it (sample_compute_location).
  LoopRV NewMarkRV(LoopMark mark) { return {NewRV({RVKind::kLoop, 0, -1 - static_cast<int64_t>(mark)})}; }
  std::optional<LoopMark> MarkOf(LoopRV loop) const;  // nullopt: it names a loop, or did.
  // The handle means nothing any more. InvalidArgument where it did not before.
  Status RemoveRV(LoopRV loop) { return RemoveRV(loop.id, loop.origin, RVKind::kLoop); }
  Status RemoveRV(BlockRV block) { return RemoveRV(block.id, block.origin, RVKind::kBlock); }
  Status RemoveRV(VarRV var) { return RemoveRV(var.id, 0, RVKind::kVar); }
  VarRV NewVarRV(int64_t value) { return {NewRV({RVKind::kVar, 0, value})}; }
  void Record(std::string_view kind, std::vector<TraceInput> inputs, std::vector<Attr> attrs, std::vector<int> outputs,
              std::optional<Decision> decision = std::nullopt);

  // `what, place: why` with the function as detail. place names the function and, if row >= 0, the block or loop.
  Status Error(std::string_view primitive, int row, std::string why) const;

  size_t NumRows() const { return rows_.size(); }  // That the table holds, in use or not.
  // What the table of rows says wrongly about the functions; empty if nothing. For tests.
  std::string Inconsistency() const;

 private:
  struct SharedModule : Counted {
    explicit SharedModule(IRModule m) : module(std::move(m)) {}
    IRModule module;
  };
  enum class RVKind : uint8_t { kBlock, kLoop, kVar, kRemoved };
  struct RV {
    RVKind kind;
    uint32_t generation;  // Of the row when the handle was made.
    int64_t value;        // A row, or the sampled value.
  };
  struct Hiding {
    int row;
    uint32_t generation;  // Of the row when it was marked.
    bool also_stores;
  };
  const Hiding* HidingOf(int block_row) const;
  Schedule(IRModule mod, uint64_t seed) : mod_(new SharedModule(std::move(mod))), random_(seed) {}
  Status AddRows();
  int NewRV(RV rv) {
    rvs_.push_back(rv);
    return static_cast<int>(rvs_.size()) - 1;
  }
  bool IsHandle(int id, uint32_t origin, RVKind kind) const;
  StatusOr<int> LiveRow(int id, uint32_t origin, RVKind kind) const;
  Status RemoveRV(int id, uint32_t origin, RVKind kind);
  const PrimFunc& FuncAt(int index) const;
  int FuncIndexOf(int row) const;
  StatusOr<int> FuncNamed(std::string_view func_name) const;
  std::string HandlePlace() const;  // The function that messages about handles name.

  Ref<SharedModule> mod_;   // Changed in place unless a copy of the schedule shares it.
  bool is_single_ = false;  // Made from one function.
  int working_on_ = -1;     // Index of a function.
  RowTable rows_;
  std::vector<int> roots_;  // Row of the root block by function; -1: it has none.
  std::vector<Hiding> hiding_;
  bool any_uses_loops_directly_ = false;
  mutable FactCache facts_;
  std::vector<RV> rvs_;
  std::vector<std::pair<int, uint32_t>> origins_;  // From which handle on they have which.
  ScheduleTrace trace_;
  Random random_;
};

}  // namespace lathe
