#include "compiler/schedule/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <unordered_set>

#include "compiler/arith/iter_map.h"
#include "compiler/ir/visitor.h"
#include "compiler/schedule/region_cover.h"
#include "compiler/script/printer.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

class FunctionExcerpt : public StatusDetail {
 public:
  explicit FunctionExcerpt(PrimFunc func) : func_(std::move(func)) {}
  std::string Render() const override { return Print(func_); }

 private:
  PrimFunc func_;
};

bool IsReturn(const Expr& e) { return AsCall(e, "ret") != nullptr; }
// Whether the root block ends with a return.
bool EndsWithReturn(const Stmt& root) {
  const Stmt& body = root.As<BlockRealize>()->block->body;
  const Seq* seq = body.As<Seq>();
  const Evaluate* last = (seq == nullptr ? body : seq->stmts.back()).As<Evaluate>();
  return last != nullptr && IsReturn(last->value);
}

// Whether a block uses a variable of a loop around it other than in its bindings and its predicate; and how often the
// function returns.
class DirectUseFinder : public StmtExprVisitor {
 public:
  bool found = false;
  int num_returns = 0;

 protected:
  void VisitFor(const Stmt& self, const For& loop) override {
    open_loops_.push_back(loop.loop_var.get());
    VisitChildren(self);
    open_loops_.pop_back();
  }
  void VisitBlock(const Block& block) override {
    const size_t num_hidden = num_hidden_;
    num_hidden_ = open_loops_.size();
    StmtExprVisitor::VisitBlock(block);
    num_hidden_ = num_hidden;
  }
  void VisitExpr(const Expr& expr) override {
    if (expr.As<IntImm>() != nullptr) return;
    num_returns += IsReturn(expr);
    if (!IsVar(expr)) return StmtExprVisitor::VisitExpr(expr);
    for (size_t i = 0; i < num_hidden_; ++i) found = found || open_loops_[i] == expr.get();
  }

 private:
  std::vector<const ExprNode*> open_loops_;
  size_t num_hidden_ = 0;  // Those of them that a block is between.
};

// Gives the second of two loops with one variable a variable of its own, and the second of two places with one block a
// node of its own.
class SharingBreaker : public StmtExprMutator {
 protected:
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    if (seen_.insert(loop.loop_var.get()).second) return StmtExprMutator::VisitFor(self, loop);
    return VisitStmt(Clone(self));
  }
  Stmt VisitBlockRealize(const Stmt& self, const BlockRealize& realize) override {
    if (seen_.insert(realize.block.get()).second) return StmtExprMutator::VisitBlockRealize(self, realize);
    const Stmt clone = Clone(self);
    BlockRealize copy = *clone.As<BlockRealize>();
    copy.block = Block(BlockNode(*copy.block));
    held_.push_back(copy.block);
    seen_.insert(copy.block.get());
    const Stmt own = std::move(copy);
    return StmtExprMutator::VisitBlockRealize(own, *own.As<BlockRealize>());
  }

 private:
  std::unordered_set<const void*> seen_;
  std::vector<Block> held_;  // So that no address in `seen_` is given to another node.
};

// The index of the function that a schedule works on at first; -1 if it is for the user to say.
int EntryOf(const IRModule& mod) {
  const std::vector<PrimFunc>& funcs = mod.prim_funcs;
  for (size_t i = 0; i < funcs.size(); ++i) {
    const auto mark = funcs[i].attrs.find("tir.is_entry_func");
    if (mark != funcs[i].attrs.end() && (mark->second == Attr(true) || mark->second == Attr(1)))
      return static_cast<int>(i);
  }
  for (size_t i = 0; i < funcs.size(); ++i)
    if (funcs[i].name == "main") return static_cast<int>(i);
  return funcs.size() == 1 ? 0 : -1;
}

}  // namespace

StatusOr<Schedule> Schedule::Create(PrimFunc func, uint64_t seed) {
  if (func.body.As<BlockRealize>() == nullptr)
    return InvalidArgument(
        fmt::format("schedule @{}: its statements are in no block; put each into `with T.block(...)` (what is lowered "
                    "has none any more)",
                    func.name));
  IRModule mod;
  mod.prim_funcs.push_back(std::move(func));
  ASSIGN_OR_RETURN(Schedule schedule, Create(std::move(mod), seed));
  schedule.is_single_ = true;
  return schedule;
}

StatusOr<Schedule> Schedule::Create(IRModule mod, uint64_t seed) {
  Schedule schedule(std::move(mod), seed);
  RETURN_IF_ERROR(schedule.AddRows());
  schedule.working_on_ = EntryOf(schedule.mod());
  if (schedule.working_on_ >= 0 && schedule.RootRow() < 0) schedule.working_on_ = -1;
  return schedule;
}

Status Schedule::AddRows() {
  rvs_.reserve(64);
  for (const PrimFunc& func : mod().prim_funcs) {
    roots_.push_back(-1);
    if (func.body.As<BlockRealize>() == nullptr) continue;
    DirectUseFinder direct;
    direct(func.body);
    if (direct.num_returns > (EndsWithReturn(func.body) ? 1 : 0)) {  // What follows may not run.
      if (mod().prim_funcs.size() > 1) continue;
      return InvalidArgument(
          fmt::format("schedule @{}: it returns before its end; return once, as the last statement", func.name));
    }
    any_uses_loops_directly_ = any_uses_loops_directly_ || direct.found;
    roots_.back() = rows_.Add(func.body);
    if (roots_.back() >= 0) continue;
    SharingBreaker breaker;  // Functions may share statements, too.
    for (PrimFunc& each : mod_.Mutable().module.prim_funcs) each.body = breaker(each.body);
    rows_ = {};
    roots_.clear();
    return AddRows();
  }
  return OkStatus();
}

// ---- Functions --------------------------------------------------------------------------------------------------

const PrimFunc& Schedule::FuncAt(int index) const {
  CHECK(index >= 0) << "no function is worked on";
  return mod().prim_funcs[index];
}

int Schedule::FuncIndexOf(int row) const {
  while (ParentOf(row) >= 0) row = ParentOf(row);
  return static_cast<int>(std::find(roots_.begin(), roots_.end(), row) - roots_.begin());
}

StatusOr<int> Schedule::FuncNamed(std::string_view func_name) const {
  const std::vector<PrimFunc>& funcs = mod().prim_funcs;
  std::vector<std::string_view> names;
  for (size_t i = 0; i < funcs.size(); ++i) {
    if (roots_[i] < 0) continue;
    if (funcs[i].name == func_name) return static_cast<int>(i);
    names.push_back(funcs[i].name);
  }
  if (is_single_) return 0;
  return NotFound(
      fmt::format("no function named \"{}\" that can be scheduled; there are: {}", func_name, fmt::join(names, ", ")));
}

const PrimFunc* Schedule::OnlyFunction() const {
  const auto is_root = [](int row) { return row >= 0; };
  if (std::count_if(roots_.begin(), roots_.end(), is_root) != 1) return nullptr;
  return &mod().prim_funcs[std::find_if(roots_.begin(), roots_.end(), is_root) - roots_.begin()];
}

Status Schedule::WorkOn(std::string_view func_name) {
  StatusOr<int> index = FuncNamed(func_name);
  if (!index.ok()) return NotFound(fmt::format("work_on: {}", index.status().message()));
  working_on_ = *index;
  return OkStatus();
}

StatusOr<int> Schedule::RootRowOf(std::string_view func_name) const {
  if (!func_name.empty()) {
    ASSIGN_OR_RETURN(const int index, FuncNamed(func_name));
    return roots_[index];
  }
  if (working_on_ >= 0) return RootRow();
  return NotFound("the module has several functions and none is worked on; name one, or call work_on");
}

// ---- Rows -------------------------------------------------------------------------------------------------------

void Schedule::Replace(int row, Stmt replacement, const std::vector<BlockReuse>& reuse) {
  PrimFunc& func = mod_.Mutable().module.prim_funcs[FuncIndexOf(row)];
  const Stmt old = StmtOf(row);  // Lives on while what changed is looked at.
  const FactCache::Outline before = FactCache::OutlineOf(rows_, {&row, 1}, ScopeOf(row));
  const bool is_bare =
      facts_.KnowsScope(before.scope) && (TouchesMemoryOutsideBlocks(old) || TouchesMemoryOutsideBlocks(replacement));
  const RowTable::Changes changes = rows_.Replace(func.body, row, std::move(replacement), reuse);
  facts_.Forget(rows_, row, changes, before, is_bare);
  for (int block = before.scope; HidesAny() && block >= 0; block = ScopeOf(block))
    if (IsHiding(block)) facts_.ForgetScopeAndCovers(rows_, ScopeOf(block));
}

void Schedule::ReplaceParam(int row, const Buffer& from, const Buffer& to) {
  for (ParamBuffer& param : mod_.Mutable().module.prim_funcs[FuncIndexOf(row)].buffer_map)
    if (param.buffer.same_as(from)) param.buffer = to;
}

bool Schedule::IsRegionCover(int block_row) const {
  if (ParentOf(block_row) < 0) return true;
  return facts_.Get(FactCache::Fact::kRegionCover, block_row, [&] { return IsRegionCovered(*this, block_row); });
}

bool Schedule::IsStagePipeline(int scope_row) const {
  const BlockScope& scope = Scope(scope_row);
  if (scope.children().empty()) return true;
  return !scope.HasWarOrOpaque() &&
         std::all_of(scope.children().begin(), scope.children().end(), [&](int block) { return IsRegionCover(block); });
}

bool Schedule::IsAffineBinding(int block_row) const {
  if (ParentOf(block_row) < 0) return true;
  return facts_.Get(FactCache::Fact::kAffineBinding, block_row, [&] {
    if (const NestNumbers* nest = Numbers(block_row); nest != nullptr && nest->IsAffine()) return true;
    IterDomain loops;
    for (int row : LoopsOf(block_row))
      loops.emplace_back(LoopOf(row).loop_var, Range{LoopOf(row).min, LoopOf(row).extent});
    return lathe::IsAffineBinding(RealizeOf(block_row), loops, Analyzer());
  });
}

bool Schedule::UsesLoopsDirectly(int row) const {
  if (!any_uses_loops_directly_) return false;
  std::vector<const ExprNode*> loops;
  for (int above = ParentOf(row); above >= 0; above = ParentOf(above))
    if (IsLoop(above)) loops.push_back(LoopOf(above).loop_var.get());
  return UsesVar(Stmt(BlockRealize{{}, True(), RealizeOf(row).block}),
                 [&](const ExprNode* var) { return std::find(loops.begin(), loops.end(), var) != loops.end(); });
}

void Schedule::MarkHiding(int block_row, bool also_stores) {
  hiding_.push_back({block_row, rows_[block_row].generation, also_stores});
  facts_.ForgetScopeAndCovers(rows_, ScopeOf(block_row));
}

const Schedule::Hiding* Schedule::HidingOf(int block_row) const {
  const auto found = std::find_if(hiding_.begin(), hiding_.end(), [&](const Hiding& mark) {
    return mark.row == block_row && mark.generation == rows_[block_row].generation;
  });
  return found == hiding_.end() ? nullptr : &*found;
}

std::string Schedule::Inconsistency() const {
  for (size_t i = 0; i < roots_.size(); ++i) {
    if (roots_[i] < 0) continue;
    const std::string problem = rows_.Inconsistency(mod().prim_funcs[i].body, roots_[i]);
    if (!problem.empty()) return fmt::format("@{}: {}", mod().prim_funcs[i].name, problem);
  }
  if (const int scope = facts_.WrongScope(*this); scope >= 0)
    return fmt::format("what is kept of scope \"{}\" is no longer so", BlockOf(scope).name);
  return "";
}

// ---- Questions --------------------------------------------------------------------------------------------------

// Messages about handles name the function: a handle of a dead row is no longer of any.
std::string Schedule::HandlePlace() const { return working_on_ < 0 ? "the module" : fmt::format("@{}", func().name); }

void Schedule::Diverge() {
  static std::atomic<uint32_t> last = 0;
  origins_.emplace_back(static_cast<int>(rvs_.size()), ++last);
}

uint32_t Schedule::OriginOf(int id) const {
  uint32_t origin = 0;
  for (const auto& [first, made] : origins_)
    if (id >= first) origin = made;
  return origin;
}

bool Schedule::IsHandle(int id, uint32_t origin, RVKind kind) const {
  return id >= 0 && id < static_cast<int>(rvs_.size()) && rvs_[id].kind == kind &&
         (origin == 0 || origin == OriginOf(id));
}

StatusOr<int> Schedule::LiveRow(int id, uint32_t origin, RVKind kind) const {
  static constexpr const char* kNames[] = {"block", "loop", "variable"};
  const char* name = kNames[static_cast<int>(kind)];
  if (!IsHandle(id, origin, kind)) {
    return InvalidArgument(
        fmt::format("use {} handle {} of {}: no such handle in this schedule", name, id, HandlePlace()));
  }
  const int row = static_cast<int>(rvs_[id].value);
  if (!rows_.IsLive(row, rvs_[id].generation)) {
    return FailedPrecondition(
        fmt::format("use {} handle {} of {}: the {} no longer exists", name, id, HandlePlace(), name));
  }
  return row;
}

Status Schedule::RemoveRV(int id, uint32_t origin, RVKind kind) {
  if (!IsHandle(id, origin, kind))
    return InvalidArgument(fmt::format("remove_rv of {}: no such handle in this schedule", HandlePlace()));
  rvs_[id].kind = RVKind::kRemoved;
  return OkStatus();
}

StatusOr<int> Schedule::RowOf(LoopRV loop) const { return LiveRow(loop.id, loop.origin, RVKind::kLoop); }
StatusOr<int> Schedule::RowOf(BlockRV block) const { return LiveRow(block.id, block.origin, RVKind::kBlock); }

std::optional<LoopMark> Schedule::MarkOf(LoopRV loop) const {
  const bool is_mark = IsHandle(loop.id, loop.origin, RVKind::kLoop) && rvs_[loop.id].value < 0;
  return is_mark ? std::optional(static_cast<LoopMark>(-1 - rvs_[loop.id].value)) : std::nullopt;
}

StatusOr<const For*> Schedule::Get(LoopRV loop) const {
  ASSIGN_OR_RETURN(const int row, RowOf(loop));
  return &LoopOf(row);
}
StatusOr<const BlockRealize*> Schedule::Get(BlockRV block) const {
  ASSIGN_OR_RETURN(const int row, RowOf(block));
  return &RealizeOf(row);
}
StatusOr<int64_t> Schedule::Get(const ExprRV& value) const {
  if (const int64_t* literal = std::get_if<int64_t>(&value)) return *literal;
  if (const Expr* e = std::get_if<Expr>(&value))
    return InvalidArgument(fmt::format("use {} as a number: it is none; give a number", Print(*e)));
  const int id = std::get<VarRV>(value).id;
  if (!IsHandle(id, 0, RVKind::kVar)) {
    return InvalidArgument(
        fmt::format("use variable handle {} of {}: no such handle in this schedule", id, HandlePlace()));
  }
  return rvs_[id].value;
}

int Schedule::ScopeOf(int row) const {
  int above = ParentOf(row);
  while (above >= 0 && IsLoop(above)) above = ParentOf(above);
  return above;
}

std::vector<int> Schedule::LoopsOf(int row) const {
  size_t depth = 0;
  for (int above = ParentOf(row); above >= 0 && IsLoop(above); above = ParentOf(above)) ++depth;
  std::vector<int> loops(depth);
  for (int above = ParentOf(row); depth > 0; above = ParentOf(above)) loops[--depth] = above;
  return loops;
}

std::vector<int> Schedule::ChildBlocksOf(int row) const {
  std::vector<int> blocks;
  blocks.reserve(8);
  const auto collect = [&](const auto& self, int above) -> void {
    for (int child = rows_[above].first_child; child >= 0; child = rows_[child].next_sibling) {
      if (!IsLoop(child))
        blocks.push_back(child);
      else
        self(self, child);
    }
  };
  collect(collect, row);
  return blocks;
}

std::vector<int> Schedule::ChildRowsOf(int row) const {
  std::vector<int> rows;
  rows.reserve(8);
  for (int child = rows_[row].first_child; child >= 0; child = rows_[child].next_sibling) rows.push_back(child);
  return rows;
}

std::vector<int> Schedule::BlocksNamed(int root, std::string_view name) const {
  std::vector<int> found = rows_.BlocksNamed(name);
  std::erase_if(found, [&](int row) { return !rows_.IsAtOrBelow(row, root); });
  if (found.size() < 2) return found;
  found.clear();
  const auto collect = [&](const auto& self, int row) -> void {
    if (!IsLoop(row) && BlockOf(row).name == name) found.push_back(row);
    for (int child = rows_[row].first_child; child >= 0; child = rows_[child].next_sibling) self(self, child);
  };
  collect(collect, root);
  return found;
}

int Schedule::FindBlock(std::string_view name) const {
  const std::vector<int> found = BlocksNamed(RootRow(), name);
  return found.size() == 1 ? found[0] : -1;
}

int Schedule::RowOf(const Stmt& loop_or_block) const {
  const For* loop = loop_or_block.As<For>();
  if (loop == nullptr) return RowOf(loop_or_block.As<BlockRealize>()->block);
  const int row = rows_.Find(loop->loop_var.get());
  CHECK(row >= 0) << "no loop over " << loop->loop_var.name();
  return row;
}

int Schedule::RowOf(const Block& block) const {
  const int row = rows_.Find(block.get());
  CHECK(row >= 0) << "no block \"" << block->name << "\" with this node";
  return row;
}

bool Schedule::IsAncestor(int ancestor, int row) const {
  for (int above = ParentOf(row); above >= 0; above = ParentOf(above)) {
    if (above == ancestor) return true;
  }
  return false;
}

std::string Schedule::FreshBlockName(int row, const std::string& wish) const {
  const int root = roots_[FuncIndexOf(row)];
  std::string name = wish;
  for (int i = 1; !BlocksNamed(root, name).empty(); ++i) name = fmt::format("{}_{}", wish, i);
  return name;
}

LoopRV Schedule::NewLoopRV(const Var& loop_var) {
  const int row = rows_.Find(loop_var.get());
  CHECK(row >= 0) << "no loop over " << loop_var.name();
  return NewLoopRV(row);
}

void Schedule::Record(std::string_view kind, std::vector<TraceInput> inputs, std::vector<Attr> attrs,
                      std::vector<int> outputs, std::optional<Decision> decision) {
  const InstructionKind* row = FindInstructionKind(kind);
  CHECK(row != nullptr) << "no instruction kind " << kind;
  trace_.Append(Instruction{row, std::move(inputs), std::move(attrs), std::move(outputs)}, std::move(decision));
}

Status Schedule::Error(std::string_view primitive, int row, std::string why) const {
  const PrimFunc& where = row >= 0 ? FuncOf(row) : func();
  std::string place;
  if (row >= 0) {
    place = IsLoop(row) ? fmt::format(" loop \"{}\"", LoopOf(row).loop_var.name())
                        : fmt::format(" block \"{}\"", BlockOf(row).name);
  }
  return Status(StatusCode::kFailedPrecondition, fmt::format("{} @{}{}: {}", primitive, where.name, place, why),
                std::make_shared<FunctionExcerpt>(where));
}

}  // namespace lathe
