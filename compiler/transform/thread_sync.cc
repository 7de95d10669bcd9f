#include "compiler/transform/thread_sync.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "compiler/ir/storage_scope.h"
#include "compiler/ir/structural.h"
#include "compiler/ir/visitor.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

enum class AccessKind : uint8_t { kRead, kWrite, kSync };
struct SyncAccess {
  AccessKind kind;
  const ExprNode* data = nullptr;            // Of a barrier: none.
  std::optional<std::vector<Expr>> indices;  // Where it is one element (or vector); nullopt: anywhere.
  std::optional<Var> thread;                 // The innermost one.
  bool is_double_write = false;
};
struct SyncPoint {
  const StmtNode* stmt;
  std::vector<SyncAccess> accesses;
};

bool Uses(const Expr& e, const Var& var) {
  return UsesVar(e, [&](const ExprNode* used) { return used == var.get(); });
}

// Whether one thread after the other at these places would need a barrier between.
bool Conflict(const SyncAccess& before, const SyncAccess& after, bool is_next_turn) {
  if (before.data != after.data) return false;
  bool is_own = before.indices && after.indices && before.indices->size() == after.indices->size();
  for (size_t i = 0; is_own && i < after.indices->size(); ++i) {
    const Expr &a = (*before.indices)[i], &b = (*after.indices)[i];
    is_own = StructuralEqual(a, b) && (!after.thread || (Uses(a, *after.thread) && Uses(b, *after.thread)));
  }
  if (is_own) return false;
  return !(before.is_double_write && after.kind == AccessKind::kRead && !is_next_turn);
}

// Accesses since the last barrier.
struct Unsynced {
  std::vector<SyncAccess> reads, writes;
  void Clear() {
    reads.clear();
    writes.clear();
  }
  bool empty() const { return reads.empty() && writes.empty(); }
  void Add(const SyncAccess& access) {
    if (access.kind == AccessKind::kSync) return Clear();
    (access.kind == AccessKind::kRead ? reads : writes).push_back(access);
  }
  // Whether a point conflicts with them; its own barriers count.
  bool ConflictsWith(const SyncPoint& point, bool is_next_turn) {
    for (const SyncAccess& access : point.accesses) {
      if (access.kind == AccessKind::kSync) {
        Clear();
        continue;
      }
      const std::vector<SyncAccess>& others = access.kind == AccessKind::kRead ? writes : reads;
      if (std::any_of(others.begin(), others.end(),
                      [&](const SyncAccess& other) { return Conflict(other, access, is_next_turn); }))
        return true;
    }
    return false;
  }
};

class SyncPlanner : public StmtExprVisitor {
 public:
  explicit SyncPlanner(StorageScope scope) : scope_(std::move(scope)) {}
  std::unordered_set<const StmtNode*> syncs;  // Statements that need a barrier before them.
  Status status;

 protected:
  void VisitStmt(const Stmt& stmt) override {
    if (const AttrStmt* attr = stmt.As<AttrStmt>()) return VisitAttr(stmt, *attr);
    if (stmt.As<BufferStore>() != nullptr || stmt.As<Evaluate>() != nullptr) return VisitLeaf(stmt);
    if (const LetStmt* let = stmt.As<LetStmt>()) {
      AsPoint(stmt, [&] { VisitExpr(let->value); });
      return VisitStmt(let->body);
    }
    if (const IfThenElse* branch = stmt.As<IfThenElse>()) return VisitBranch(stmt, *branch);
    if (const While* loop = stmt.As<While>()) return VisitWhile(stmt, *loop);
    StmtExprVisitor::VisitStmt(stmt);
  }
  void VisitFor(const Stmt& self, const For& loop) override {
    std::vector<SyncAccess> accesses = Inside([&] { StmtExprVisitor::VisitFor(self, loop); }, true);
    for (SyncAccess& access : accesses) {
      const bool moves = access.indices && !IsConstInt(loop.extent, 1) &&
                         std::any_of(access.indices->begin(), access.indices->end(),
                                     [&](const Expr& index) { return Uses(index, loop.loop_var); });
      if (moves) access.indices = std::nullopt;
    }
    Add({self.get(), std::move(accesses)});
  }
  void VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    Access(AccessKind::kRead, load.buffer->data, load.indices);
    StmtExprVisitor::VisitBufferLoad(self, load);
  }
  void VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    Access(AccessKind::kWrite, store.buffer->data, store.indices);
    StmtExprVisitor::VisitBufferStore(self, store);
  }
  void VisitExpr(const Expr& expr) override {
    const Call* call = expr.As<Call>();
    const std::string_view name = call == nullptr ? "" : call->op->name;
    if (name == "tvm_access_ptr" && call->args.size() == 5 && IsVar(call->args[1])) {
      const int64_t* mask = AsIntConst(call->args[4]);
      if (mask == nullptr || (*mask & 1) != 0) Access(AccessKind::kRead, Var(call->args[1]), std::nullopt);
      if (mask == nullptr || (*mask & 2) != 0) Access(AccessKind::kWrite, Var(call->args[1]), std::nullopt);
    } else if (name == "tvm_storage_sync" && !call->args.empty()) {
      const StringImm* text = call->args[0].As<StringImm>();
      if (text != nullptr && text->value != "warp") current_.push_back({AccessKind::kSync});
    } else if (const BufferLoad* load = name == "address_of" ? call->args[0].As<BufferLoad>() : nullptr) {
      for (const Expr& index : load->indices) VisitExpr(index);
      return;
    }
    StmtExprVisitor::VisitExpr(expr);
  }

 private:
  void Access(AccessKind kind, const Var& data, std::optional<std::vector<Expr>> indices) {
    if (!in_device_ || !IsOurs(data)) return;
    const std::optional<Var> thread = threads_.empty() ? std::nullopt : std::optional(threads_.back());
    current_.push_back({kind, data.get(), std::move(indices), thread});
  }
  bool IsOurs(const Var& data) const {
    const StatusOr<StorageScope> scope = ParseStorageScope(ScopeOf(data));
    return scope.ok() && *scope == scope_;
  }
  void Add(SyncPoint point) {
    if (!point.accesses.empty() && !points_.empty()) points_.back().push_back(std::move(point));
  }
  template <typename F>
  void AsPoint(const Stmt& stmt, const F& visit) {
    visit();
    Add({stmt.get(), std::exchange(current_, {})});
  }
  void VisitLeaf(const Stmt& stmt) {
    AsPoint(stmt, [&] { StmtExprVisitor::VisitStmt(stmt); });
  }
  // What the statements that are visited show to others.
  template <typename F>
  std::vector<SyncAccess> Inside(const F& visit, bool is_loop) {
    points_.emplace_back();
    visit();
    const std::vector<SyncPoint> points = std::move(points_.back());
    points_.pop_back();
    return Summary(points, is_loop);
  }
  void VisitAttr(const Stmt& stmt, const AttrStmt& attr) {
    if (attr.attr_key == "double_buffer_write") return VisitDoubleWrite(stmt, attr);
    const IterVar* axis = attr.attr_key == "thread_extent" ? std::get_if<IterVar>(&attr.node) : nullptr;
    if (axis == nullptr) return VisitStmt(attr.body);
    threads_.push_back(axis->var);
    if (in_device_) {
      VisitStmt(attr.body);
    } else {
      in_device_ = true;
      Inside([&] { VisitStmt(attr.body); }, false);
      in_device_ = false;
    }
    threads_.pop_back();
  }
  void VisitDoubleWrite(const Stmt& stmt, const AttrStmt& attr) {
    const Attr* node = std::get_if<Attr>(&attr.node);
    const Expr* data = node == nullptr ? nullptr : std::get_if<Expr>(node);
    std::vector<SyncAccess> accesses = Inside([&] { VisitStmt(attr.body); }, false);
    for (SyncAccess& access : accesses)
      access.is_double_write |= data != nullptr && access.data == data->get() && access.kind == AccessKind::kWrite;
    Add({stmt.get(), std::move(accesses)});
  }
  void VisitBranch(const Stmt& stmt, const IfThenElse& branch) {
    ++num_conditions_;
    VisitExpr(branch.condition);
    std::vector<SyncAccess> accesses = std::exchange(current_, {});
    const auto add = [&](const Stmt& part) {
      const std::vector<SyncAccess> inner = Inside([&] { VisitStmt(part); }, false);
      accesses.insert(accesses.end(), inner.begin(), inner.end());
    };
    add(branch.then_case);
    if (branch.else_case) add(*branch.else_case);
    Add({stmt.get(), std::move(accesses)});
    --num_conditions_;
  }
  void VisitWhile(const Stmt& stmt, const While& loop) {
    ++num_conditions_;
    VisitExpr(loop.condition);
    std::vector<SyncAccess> accesses = std::exchange(current_, {});
    std::vector<SyncAccess> inner = Inside([&] { VisitStmt(loop.body); }, true);
    for (SyncAccess& access : inner) access.indices = std::nullopt;  // Of any turn.
    accesses.insert(accesses.end(), inner.begin(), inner.end());
    Add({stmt.get(), std::move(accesses)});
    --num_conditions_;
  }

  void NeedBarrier(const StmtNode* stmt) {
    if (num_conditions_ > 0)
      status = InvalidArgument("ThreadSync: Cannot insert syncs inside condition: not all threads would come to it");
    syncs.insert(stmt);
  }
  std::vector<SyncAccess> Summary(const std::vector<SyncPoint>& points, bool is_loop) {
    Unsynced open;
    for (const SyncPoint& point : points) {
      const bool has_barrier = syncs.contains(point.stmt);
      if (has_barrier) open.Clear();
      const bool needs_barrier = open.ConflictsWith(point, false);
      if (needs_barrier) open.Clear();
      for (const SyncAccess& access : point.accesses) open.Add(access);
      if (needs_barrier) NeedBarrier(point.stmt);
    }
    if (is_loop) CheckNextTurn(points, std::move(open));
    return Exposed(points, is_loop);
  }
  // What the end of a turn leaves open meets the begin of the next.
  void CheckNextTurn(const std::vector<SyncPoint>& points, Unsynced open) {
    for (const SyncPoint& point : points) {
      if (syncs.contains(point.stmt) || open.empty()) return;
      if (open.ConflictsWith(point, true)) return NeedBarrier(point.stmt);
    }
  }
  // Before the first barrier and after the last one.
  std::vector<SyncAccess> Exposed(const std::vector<SyncPoint>& points, bool is_loop) const {
    std::vector<SyncAccess> head, tail;
    bool is_synced = false;
    const auto sync = [&] {
      if (is_synced)
        tail.clear();
      else
        head.push_back({AccessKind::kSync});
      is_synced = true;
    };
    for (const SyncPoint& point : points) {
      if (syncs.contains(point.stmt)) sync();
      for (const SyncAccess& access : point.accesses) {
        if (access.kind == AccessKind::kSync)
          sync();
        else
          (is_synced ? tail : head).push_back(access);
      }
    }
    head.insert(head.end(), tail.begin(), tail.end());
    if (is_loop)
      for (SyncAccess& access : head) access.is_double_write = false;
    return head;
  }

  const StorageScope scope_;
  std::vector<std::vector<SyncPoint>> points_;
  std::vector<SyncAccess> current_;  // Of the statement that is visited.
  std::vector<Var> threads_;
  int num_conditions_ = 0;
  bool in_device_ = false;
};

Stmt Barrier(const std::string& scope) {
  const Expr text = Expr::Make(DataType::Handle(), StringImm{scope});
  return Evaluate{Expr::Make(DataType::Int(32), Call{FindOp("tvm_storage_sync"), {text}})};
}

class BarrierInserter : public StmtExprMutator {
 public:
  BarrierInserter(const std::unordered_set<const StmtNode*>& syncs, Stmt barrier)
      : syncs_(syncs), barrier_(std::move(barrier)) {}

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    const Stmt visited = StmtExprMutator::VisitStmt(stmt);
    return syncs_.contains(stmt.get()) ? MakeSeq({barrier_, visited}) : visited;
  }

 private:
  const std::unordered_set<const StmtNode*>& syncs_;
  const Stmt barrier_;
};

// What was copied asynchronously is there for this thread; the others wait as well.
class WaitSyncer : public StmtExprMutator {
 public:
  explicit WaitSyncer(Stmt barrier) : barrier_(std::move(barrier)) {}

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    const Stmt visited = StmtExprMutator::VisitStmt(stmt);
    const AttrStmt* attr = visited.As<AttrStmt>();
    const AttrStmt* inner =
        attr == nullptr || attr->attr_key != "async_wait_queue_scope" ? nullptr : attr->body.As<AttrStmt>();
    if (inner == nullptr || inner->attr_key != "async_wait_inflight_count") return visited;
    AttrStmt count = *inner, queue = *attr;
    count.body = MakeSeq({barrier_, count.body});
    queue.body = std::move(count);
    return queue;
  }

 private:
  const Stmt barrier_;
};

}  // namespace

StatusOr<PrimFunc> ThreadSync(PrimFunc func, const std::string& scope) {
  ASSIGN_OR_RETURN(const StorageScope parsed, ParseStorageScope(scope));
  if (parsed.rank != StorageRank::kShared && parsed.rank != StorageRank::kWarp)
    return InvalidArgument(fmt::format("ThreadSync: barriers of memory of \"{}\" are not supported", scope));
  if (scope == "shared") func.body = WaitSyncer(Barrier(scope))(func.body);
  SyncPlanner planner(parsed);
  planner(func.body);
  RETURN_IF_ERROR(planner.status);
  func.body = BarrierInserter(planner.syncs, Barrier(scope))(func.body);
  return func;
}

}  // namespace lathe
