#include "compiler/schedule/schedule.h"

#include <fmt/core.h>

#include "compiler/ir/visitor.h"
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

// Finds a block whose body uses a loop variable from outside, which a schedule could not move.
class IsolationChecker : public StmtExprVisitor {
 public:
  std::string problem;

 protected:
  void VisitFor(const Stmt& self, const For& loop) override {
    open_loops_.push_back(loop.loop_var.get());
    VisitChildren(self);
    open_loops_.pop_back();
  }
  void VisitBlock(const Block& block) override {
    std::vector<const ExprNode*> outer = std::move(open_loops_);
    hidden_.push_back(outer);
    open_loops_.clear();
    block_name_ = block->name;
    StmtExprVisitor::VisitBlock(block);
    hidden_.pop_back();
    open_loops_ = std::move(outer);
  }
  void VisitVar(const Var& var) override {
    for (const auto& level : hidden_) {
      for (const ExprNode* loop_var : level) {
        if (loop_var == var.get())
          problem = fmt::format("block \"{}\" uses loop variable \"{}\" directly; bind it to an iter var", block_name_,
                                var.name());
      }
    }
  }

 private:
  std::vector<const ExprNode*> open_loops_;
  std::vector<std::vector<const ExprNode*>> hidden_;
  std::string block_name_;
};

}  // namespace

StatusOr<Schedule> Schedule::Create(PrimFunc func, uint64_t seed) {
  const BlockRealize* root = func.body.As<BlockRealize>();
  if (root == nullptr)
    return InvalidArgument(
        fmt::format("schedule @{}: body has no root block; a lowered function cannot be scheduled", func.name));
  IsolationChecker isolation;
  isolation(func.body);
  if (!isolation.problem.empty()) return InvalidArgument(fmt::format("schedule @{}: {}", func.name, isolation.problem));
  std::vector<std::string> names;
  PostOrderVisit(func.body, [&](const Stmt& s) {
    if (const auto* realize = s.As<BlockRealize>()) names.push_back(realize->block->name);
  });
  std::sort(names.begin(), names.end());
  const auto twin = std::adjacent_find(names.begin(), names.end());
  if (twin != names.end())
    return InvalidArgument(
        fmt::format("schedule @{}: two blocks are named \"{}\"; names must be unique", func.name, *twin));
  Schedule schedule(std::move(func), seed);
  schedule.Refresh();
  return schedule;
}

// ---- The side table ---------------------------------------------------------------------------------------------

void Schedule::Refresh() {
  for (Row& row : rows_) row.stmt = nullptr;
  int cursor = 0;
  RefreshBelow(func_.body, -1, cursor);
  root_row_ = FindBlock(func_.body.As<BlockRealize>()->block->name);
  for (Row& row : rows_) {  // Forget keys of what is gone: a new variable may get an old one's address.
    if (row.stmt == nullptr) row = Row{};
  }
}

// Rows come up in nearly the order of the last time, so the search goes on from where it ended.
int Schedule::RowForLoop(const ExprNode* loop_var, int& cursor) {
  const int count = static_cast<int>(rows_.size());
  for (int step = 0; step < count; ++step) {
    const int row = cursor + step < count ? cursor + step : cursor + step - count;
    if (rows_[row].loop_var == loop_var) {
      cursor = row + 1 < count ? row + 1 : 0;
      return row;
    }
  }
  rows_.push_back(Row{nullptr, -1, loop_var, ""});
  return count;
}

int Schedule::RowForBlock(const std::string& name) {
  for (size_t row = 0; row < rows_.size(); ++row) {
    if (rows_[row].loop_var == nullptr && rows_[row].block_name == name) return static_cast<int>(row);
  }
  rows_.push_back(Row{nullptr, -1, nullptr, name});
  return static_cast<int>(rows_.size()) - 1;
}

void Schedule::RefreshBelow(const Stmt& stmt, int parent, int& cursor) {
  if (const For* loop = stmt.As<For>()) {
    const int row = RowForLoop(loop->loop_var.get(), cursor);
    rows_[row].stmt = &stmt;
    rows_[row].parent = parent;
    return RefreshBelow(loop->body, row, cursor);
  }
  if (const BlockRealize* realize = stmt.As<BlockRealize>()) {
    const int row = RowForBlock(realize->block->name);
    rows_[row].stmt = &stmt;
    rows_[row].parent = parent;
    if (realize->block->init) RefreshBelow(*realize->block->init, row, cursor);
    return RefreshBelow(realize->block->body, row, cursor);
  }
  if (const Seq* seq = stmt.As<Seq>()) {
    for (const Stmt& child : seq->stmts) RefreshBelow(child, parent, cursor);
  } else if (const IfThenElse* branch = stmt.As<IfThenElse>()) {
    RefreshBelow(branch->then_case, parent, cursor);
    if (branch->else_case) RefreshBelow(*branch->else_case, parent, cursor);
  } else if (const LetStmt* let = stmt.As<LetStmt>()) {
    RefreshBelow(let->body, parent, cursor);
  } else if (const Allocate* allocate = stmt.As<Allocate>()) {
    RefreshBelow(allocate->body, parent, cursor);
  } else if (const While* loop = stmt.As<While>()) {
    RefreshBelow(loop->body, parent, cursor);
  }
}

namespace {

// Replaces the statement at `target` (an address inside the tree) and rebuilds only the path to it. `path` holds the
// addresses of the loops and blocks above, innermost first.
class PathReplacer {
 public:
  PathReplacer(const Stmt* target, std::vector<const Stmt*> path, Stmt replacement)
      : target_(target), path_(std::move(path)), replacement_(std::move(replacement)) {}

  bool Apply(Stmt& stmt) {
    if (&stmt == target_ || stmt.get() == target_->get()) {
      stmt = std::move(replacement_);
      return true;
    }
    if (!path_.empty() && stmt.get() == path_.back()->get()) {
      path_.pop_back();
      return Descend(stmt);
    }
    if (stmt.As<For>() != nullptr || stmt.As<BlockRealize>() != nullptr) return false;
    return Descend(stmt);
  }

 private:
  // Looks before it leaps: nothing is copied on the way to where the target is not.
  bool Descend(Stmt& stmt) {
    if (stmt.As<For>() != nullptr)
      return Into(stmt, [](Stmt& s) { return std::vector<Stmt*>{&s.Mutable<For>().body}; });
    if (stmt.As<BlockRealize>() != nullptr) {
      return Into(stmt, [](Stmt& s) {
        BlockNode& block = s.Mutable<BlockRealize>().block.Mutable();
        std::vector<Stmt*> children;
        if (block.init) children.push_back(&*block.init);
        children.push_back(&block.body);
        return children;
      });
    }
    if (stmt.As<Seq>() != nullptr) {
      const bool found = Into(stmt, [](Stmt& s) {
        std::vector<Stmt*> children;
        for (Stmt& child : s.Mutable<Seq>().stmts) children.push_back(&child);
        return children;
      });
      if (found) stmt = MakeSeq(stmt.As<Seq>()->stmts);  // The replacement may be a sequence itself.
      return found;
    }
    if (stmt.As<IfThenElse>() != nullptr) {
      return Into(stmt, [](Stmt& s) {
        IfThenElse& branch = s.Mutable<IfThenElse>();
        std::vector<Stmt*> children{&branch.then_case};
        if (branch.else_case) children.push_back(&*branch.else_case);
        return children;
      });
    }
    if (stmt.As<LetStmt>() != nullptr)
      return Into(stmt, [](Stmt& s) { return std::vector<Stmt*>{&s.Mutable<LetStmt>().body}; });
    if (stmt.As<Allocate>() != nullptr)
      return Into(stmt, [](Stmt& s) { return std::vector<Stmt*>{&s.Mutable<Allocate>().body}; });
    if (stmt.As<While>() != nullptr)
      return Into(stmt, [](Stmt& s) { return std::vector<Stmt*>{&s.Mutable<While>().body}; });
    return false;
  }
  template <typename Children>
  bool Into(Stmt& stmt, Children children) {
    for (Stmt* child : children(stmt)) {
      if (Apply(*child)) return true;
    }
    return false;
  }

  const Stmt* target_;
  std::vector<const Stmt*> path_;
  Stmt replacement_;
};

}  // namespace

void Schedule::Replace(int row, Stmt replacement) {
  const Stmt target = StmtOf(row);  // Holds the old tree alive while addresses are compared.
  std::vector<const Stmt*> path;
  std::vector<Stmt> held;
  for (int above = ParentOf(row); above >= 0; above = ParentOf(above)) held.push_back(StmtOf(above));
  for (const Stmt& stmt : held) path.push_back(&stmt);
  PathReplacer replacer(&target, std::move(path), std::move(replacement));
  CHECK(replacer.Apply(func_.body)) << "row " << row << " is not in the function";
  Refresh();
}

// ---- Questions --------------------------------------------------------------------------------------------------

StatusOr<int> Schedule::LiveRow(int id, RVKind kind) const {
  static constexpr const char* kNames[] = {"block", "loop", "variable"};
  const char* name = kNames[static_cast<int>(kind)];
  if (id < 0 || id >= static_cast<int>(rvs_.size()) || rvs_[id].kind != kind) {
    return InvalidArgument(
        fmt::format("use {} handle {} of @{}: no such handle in this schedule", name, id, func_.name));
  }
  const int row = static_cast<int>(rvs_[id].value);
  if (rows_[row].stmt == nullptr) {
    return FailedPrecondition(
        fmt::format("use {} handle {} of @{}: the {} no longer exists", name, id, func_.name, name));
  }
  return row;
}

StatusOr<int> Schedule::RowOf(LoopRV loop) const { return LiveRow(loop.id, RVKind::kLoop); }
StatusOr<int> Schedule::RowOf(BlockRV block) const { return LiveRow(block.id, RVKind::kBlock); }

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
  const int id = std::get<VarRV>(value).id;
  if (id < 0 || id >= static_cast<int>(rvs_.size()) || rvs_[id].kind != RVKind::kVar) {
    return InvalidArgument(
        fmt::format("use variable handle {} of @{}: no such handle in this schedule", id, func_.name));
  }
  return rvs_[id].value;
}

int Schedule::ScopeOf(int row) const {
  int above = ParentOf(row);
  while (above >= 0 && IsLoop(above)) above = ParentOf(above);
  return above;
}

std::vector<int> Schedule::LoopsOf(int row) const {
  std::vector<int> loops;
  for (int above = ParentOf(row); above >= 0 && IsLoop(above); above = ParentOf(above)) loops.push_back(above);
  std::reverse(loops.begin(), loops.end());
  return loops;
}

std::vector<int> Schedule::ChildBlocksOf(int row) const {
  std::vector<int> blocks;
  const std::function<void(const Stmt&)> collect = [&](const Stmt& stmt) {
    if (const BlockRealize* realize = stmt.As<BlockRealize>()) return blocks.push_back(FindBlock(realize->block->name));
    if (const For* loop = stmt.As<For>()) return collect(loop->body);
    if (const Seq* seq = stmt.As<Seq>())
      for (const Stmt& child : seq->stmts) collect(child);
    if (const LetStmt* let = stmt.As<LetStmt>()) collect(let->body);
    if (const Allocate* allocate = stmt.As<Allocate>()) collect(allocate->body);
    if (const While* loop = stmt.As<While>()) collect(loop->body);
    if (const IfThenElse* branch = stmt.As<IfThenElse>()) {
      collect(branch->then_case);
      if (branch->else_case) collect(*branch->else_case);
    }
  };
  if (IsLoop(row)) {
    collect(LoopOf(row).body);
  } else {
    if (BlockOf(row).init) collect(*BlockOf(row).init);
    collect(BlockOf(row).body);
  }
  return blocks;
}

int Schedule::FindBlock(std::string_view name) const {
  for (size_t row = 0; row < rows_.size(); ++row) {
    if (rows_[row].stmt != nullptr && rows_[row].loop_var == nullptr && rows_[row].block_name == name)
      return static_cast<int>(row);
  }
  return -1;
}

bool Schedule::IsAncestor(int ancestor, int row) const {
  for (int above = ParentOf(row); above >= 0; above = ParentOf(above)) {
    if (above == ancestor) return true;
  }
  return false;
}

std::string Schedule::FreshBlockName(const std::string& wish) const {
  std::string name = wish;
  for (int i = 1; FindBlock(name) >= 0; ++i) name = fmt::format("{}_{}", wish, i);
  return name;
}

LoopRV Schedule::NewLoopRV(const Var& loop_var) {
  int cursor = 0;
  const int row = RowForLoop(loop_var.get(), cursor);
  CHECK(rows_[row].stmt != nullptr) << "no loop over " << loop_var.name();
  return NewLoopRV(row);
}

void Schedule::FollowBlock(int old_row, int new_row) {
  for (RV& rv : rvs_) {
    if (rv.kind == RVKind::kBlock && rv.value == old_row) rv.value = new_row;
  }
}

void Schedule::Record(std::string_view kind, std::vector<TraceInput> inputs, std::vector<Attr> attrs,
                      std::vector<int> outputs, std::optional<Decision> decision) {
  const InstructionKind* row = FindInstructionKind(kind);
  CHECK(row != nullptr) << "no instruction kind " << kind;
  trace_.Append(Instruction{row, std::move(inputs), std::move(attrs), std::move(outputs)}, std::move(decision));
}

Status Schedule::Error(std::string_view primitive, int row, std::string why) const {
  std::string place;
  if (row >= 0 && rows_[row].stmt != nullptr) {
    place = IsLoop(row) ? fmt::format(" loop \"{}\"", LoopOf(row).loop_var.name())
                        : fmt::format(" block \"{}\"", BlockOf(row).name);
  }
  return Status(StatusCode::kFailedPrecondition, fmt::format("{} @{}{}: {}", primitive, func_.name, place, why),
                std::make_shared<FunctionExcerpt>(func_));
}

}  // namespace lathe
