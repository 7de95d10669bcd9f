#include "compiler/transform/lower_warp_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "compiler/arith/linear_equation.h"
#include "compiler/ir/storage_scope.h"
#include "compiler/transform/fact_mutator.h"
#include "compiler/transform/target_attr.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

bool IsWarp(const Var& data) { return ScopeOf(data) == "warp"; }

Status WarpRefused(const Var& data, std::string_view reason) {
  return InvalidArgument(fmt::format("LowerWarpMemory \"{}\": {}", data.name(), reason));
}

// How elements are spread over the threads of a warp: element (row * num_threads + lane) * group + i is element row *
// group + i of thread `lane`.
struct WarpLayout {
  Var lane;
  int64_t num_threads = 1, group = 1;
  int64_t PerThread(int64_t size) const { return size / num_threads; }
};

// The axis whose threads make a warp, launched inside of the memory's life.
class LaneFinder : public StmtExprVisitor {
 public:
  std::optional<Var> lane;
  int64_t num_threads = 0;
  bool is_ambiguous = false;

 protected:
  void VisitStmt(const Stmt& stmt) override {
    const AttrStmt* attr = stmt.As<AttrStmt>();
    const IterVar* axis = attr == nullptr ? nullptr : std::get_if<IterVar>(&attr->node);
    if (axis != nullptr && axis->thread_tag == "threadIdx.x") {
      const int64_t* extent = AsIntConst(attr->value);
      is_ambiguous |= lane && !lane->same_as(axis->var);
      lane = axis->var;
      num_threads = extent == nullptr ? 0 : *extent;
    }
    StmtExprVisitor::VisitStmt(stmt);
  }
};

// The places where the memory is written; whether it is touched in any other way than by element.
class StoreFinder : public StmtExprVisitor {
 public:
  explicit StoreFinder(const Var& data) : data_(data) {}
  std::vector<Expr> places;
  bool has_address = false;

 protected:
  void VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    if (store.buffer->data.same_as(data_)) places.insert(places.end(), store.indices.begin(), store.indices.end());
    StmtExprVisitor::VisitBufferStore(self, store);
  }
  void VisitVar(const Expr& var) override { has_address |= var.same_as(data_); }

 private:
  const Var& data_;
};

Expr FirstOfLanes(const Expr& index) {
  const Ramp* ramp = index.As<Ramp>();
  return ramp == nullptr ? index : ramp->base;
}

// How many elements that a thread has lie side by side: the factor of the lane in each store's place.
StatusOr<int64_t> GroupOf(const Var& data, const Var& lane, const std::vector<Expr>& places) {
  std::optional<int64_t> group;
  for (const Expr& place : places) {
    const std::vector<Expr> parts = DetectLinearEquation(FirstOfLanes(place), {lane});
    const int64_t* factor = parts.empty() ? nullptr : AsIntConst(parts[0]);
    const bool fits = factor != nullptr && *factor > 0 && (!group || group == *factor);
    if (!fits) return WarpRefused(data, "its stores have not the thread times one number in their place");
    group = *factor;
  }
  if (!group) return WarpRefused(data, "nothing is stored in it");
  return *group;
}

StatusOr<WarpLayout> LayoutOf(const Buffer& buffer, const Stmt& body, int64_t warp_size) {
  LaneFinder finder;
  finder(body);
  const Var& data = buffer->data;
  if (!finder.lane) return WarpRefused(data, "no threadIdx.x is launched within its scope");
  if (finder.is_ambiguous) return WarpRefused(data, "threadIdx.x is launched several times within its scope");
  if (finder.num_threads <= 0 || finder.num_threads > warp_size || warp_size % finder.num_threads != 0)
    return WarpRefused(data, fmt::format("threadIdx.x has {} threads, which does not divide a warp of {}",
                                         finder.num_threads, warp_size));
  const int64_t* size = buffer->shape.size() == 1 ? AsIntConst(buffer->shape[0]) : nullptr;
  if (size == nullptr) return WarpRefused(data, "it has not one dimension of constant size; run FlattenBuffer before");
  StoreFinder stores(data);
  stores(body);
  if (stores.has_address) return WarpRefused(data, "its address is taken");
  ASSIGN_OR_RETURN(const int64_t group, GroupOf(data, *finder.lane, stores.places));
  const int64_t row = finder.num_threads * group;
  if (*size % row != 0)
    return WarpRefused(data, fmt::format("it has {} elements, which are no rows of {} threads with {} each", *size,
                                         finder.num_threads, group));
  return WarpLayout{*finder.lane, finder.num_threads, group};
}

// Accesses of one memory, below its allocation.
class AccessRewriter : public FactMutator {
 public:
  AccessRewriter(const Buffer& buffer, const Buffer& local, const WarpLayout& layout, int64_t warp_size,
                 const Simplifier& facts)
      : data_(buffer->data), local_(local), layout_(layout), warp_size_(warp_size) {
    facts_ = facts;
  }
  Status status;

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    const size_t num_conditions = conditions_.size();
    AddConditions(stmt);
    Stmt visited = FactMutator::VisitStmt(stmt);
    conditions_.erase(conditions_.begin() + static_cast<ptrdiff_t>(num_conditions), conditions_.end());
    return visited;
  }
  Stmt VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    const Stmt visited = FactMutator::VisitBufferStore(self, store);
    if (!store.buffer->data.same_as(data_)) return visited;
    BufferStore own = *visited.As<BufferStore>();
    const Place place = PlaceOf(own.indices[0]);
    if (!IsOwn(place.lane)) status = WarpRefused(data_, "a thread stores what another has");
    own.buffer = local_;
    own.indices = {place.index};
    return own;
  }
  Expr VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    const Expr visited = FactMutator::VisitBufferLoad(self, load);
    if (!load.buffer->data.same_as(data_)) return visited;
    const Place place = PlaceOf(visited.As<BufferLoad>()->indices[0]);
    const Expr own = Load(local_, {place.index});
    return IsOwn(place.lane) ? own : FromLane(own, place);
  }
  Expr VisitExpr(const Expr& e) override {
    const Call* call = e.As<Call>();
    if (call == nullptr || call->op->name != "if_then_else") return FactMutator::VisitExpr(e);
    Call copy = *call;
    copy.args[0] = VisitExpr(call->args[0]);
    conditions_.push_back(call->args[0]);
    for (size_t i = 1; i < copy.args.size(); ++i) copy.args[i] = VisitExpr(call->args[i]);
    conditions_.pop_back();
    return Expr::Make(e.dtype(), std::move(copy));
  }

 private:
  // What has to hold for what is below to run.
  void AddConditions(const Stmt& stmt) {
    if (const IfThenElse* branch = stmt.As<IfThenElse>()) {
      conditions_.push_back(branch->condition);
    } else if (const While* loop = stmt.As<While>()) {
      conditions_.push_back(loop->condition);
    } else if (const For* loop = stmt.As<For>()) {
      conditions_.push_back(LessEqual(loop->min, loop->loop_var));
      conditions_.push_back(Less(loop->loop_var, loop->min + loop->extent));
    } else if (const LetStmt* let = stmt.As<LetStmt>()) {
      if (DiffersByThread(let->value)) of_threads_.push_back(let->var.get());
    }
  }
  // Whether threads of a warp may have different values of it.
  bool DiffersByThread(const Expr& e) const {
    bool has_own_memory = false;
    PostOrderVisit(e, [&](const Expr& part) {
      const BufferLoad* load = part.As<BufferLoad>();
      has_own_memory |= load != nullptr && ScopeOf(load->buffer->data) != "global" &&
                        !ScopeOf(load->buffer->data).starts_with("shared");
    });
    return has_own_memory || UsesVar(e, [&](const ExprNode* var) {
             return var == layout_.lane.get() ||
                    std::find(of_threads_.begin(), of_threads_.end(), var) != of_threads_.end();
           });
  }

  struct Place {
    Expr index, lane;
  };
  Place PlaceOf(const Expr& whole) {
    const Ramp* ramp = whole.As<Ramp>();
    const Expr first = FirstOfLanes(whole);
    const int64_t row = layout_.num_threads * layout_.group;
    const Expr lane = FloorMod(FloorDiv(first, layout_.group), layout_.num_threads);
    const Expr index = facts_.Simplify(FloorDiv(first, row) * layout_.group + FloorMod(first, layout_.group));
    if (ramp == nullptr) return {index, facts_.Simplify(lane)};
    const bool is_in_group = IsConstInt(ramp->stride, 1) && ramp->lanes > 0 && layout_.group % ramp->lanes == 0 &&
                             facts_.CanProve(Equal(FloorMod(first, ramp->lanes), 0));
    if (!is_in_group) status = WarpRefused(data_, "a vector lies in more than one thread");
    return {Expr::Make(whole.dtype(), Ramp{index, ramp->stride, ramp->lanes}), facts_.Simplify(lane)};
  }
  bool IsOwn(const Expr& lane) { return facts_.CanProve(Equal(lane, layout_.lane)); }

  // What thread `place.lane` has there: all threads have to take part, with one place.
  Expr FromLane(const Expr& own, const Place& place) {
    if (UsesVar(place.index, layout_.lane.get()))
      status = WarpRefused(data_, "which of another thread's elements is read depends on the thread");
    for (const Expr& condition : conditions_) {
      const Expr of_other = Substitute(condition, {{layout_.lane.get(), place.lane}});
      if (DiffersByThread(condition) && !facts_.CanProve(of_other))
        status = WarpRefused(data_, "a thread that a condition leaves out is read from; move the load out of it");
    }
    const Expr mask = MakeCall(DataType::UInt(32), "tvm_warp_activemask", {});
    return MakeCall(own.dtype(), "tvm_warp_shuffle", {mask, own, place.lane, layout_.num_threads, warp_size_});
  }

  const Var data_;
  const Buffer local_;
  const WarpLayout layout_;
  const int64_t warp_size_;
  std::vector<Expr> conditions_;
  std::vector<const ExprNode*> of_threads_;  // Variables of lets that differ by thread.
};

class WarpMemoryLowerer : public FactMutator {
 public:
  explicit WarpMemoryLowerer(int64_t warp_size) : warp_size_(warp_size) {}
  Status status;

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    if (!status.ok()) return stmt;
    if (const AllocBuffer* alloc = stmt.As<AllocBuffer>(); alloc != nullptr && IsWarp(alloc->buffer->data)) {
      const std::optional<std::pair<Buffer, Stmt>> local = Lower(alloc->buffer, alloc->body);
      return local ? Stmt(AllocBuffer{local->first, VisitStmt(local->second)}) : stmt;
    }
    const Allocate* memory = stmt.As<Allocate>();
    if (memory == nullptr || !IsWarp(memory->buffer_var)) return FactMutator::VisitStmt(stmt);
    const DeclBuffer* view = memory->body.As<DeclBuffer>();
    if (view == nullptr || !view->buffer->data.same_as(memory->buffer_var)) {
      status = WarpRefused(memory->buffer_var, "its buffer is not declared where it is allocated");
      return stmt;
    }
    const std::optional<std::pair<Buffer, Stmt>> local = Lower(view->buffer, view->body);
    if (!local) return stmt;
    Allocate copy = *memory;
    copy.buffer_var = local->first->data;
    copy.extents = local->first->shape;
    copy.body = DeclBuffer{local->first, VisitStmt(local->second)};
    return copy;
  }

 private:
  // The thread's own part, and the body that uses it.
  std::optional<std::pair<Buffer, Stmt>> Lower(const Buffer& buffer, const Stmt& body) {
    const StatusOr<WarpLayout> layout = LayoutOf(buffer, body, warp_size_);
    if (!layout.ok()) {
      status = layout.status();
      return std::nullopt;
    }
    BufferNode node = *buffer;
    node.scope = "local";
    node.data = Var(buffer->data.name(), MakePointerType(buffer->dtype, "local"));
    node.shape = {IntConst(buffer->shape[0].dtype(), layout->PerThread(*AsIntConst(buffer->shape[0])))};
    const Buffer local(std::move(node));
    AccessRewriter rewriter(buffer, local, *layout, warp_size_, facts_);
    const Stmt rewritten = rewriter(body);
    status = rewriter.status;
    return std::pair(local, rewritten);
  }
  const int64_t warp_size_;
};

}  // namespace

StatusOr<PrimFunc> LowerWarpMemory(PrimFunc func) {
  ASSIGN_OR_RETURN(const std::optional<TargetDescription> target, DescriptionOf(func.attrs));
  if (!target)
    return InvalidArgument(
        fmt::format("LowerWarpMemory @{}: Require the target attribute; run BindTarget before", func.name));
  const auto found = target->attrs.find("thread_warp_size");
  const int64_t* warp_size = found == target->attrs.end() ? nullptr : std::get_if<int64_t>(&found->second);
  WarpMemoryLowerer lowerer(warp_size == nullptr ? 1 : *warp_size);
  Stmt body = lowerer(func.body);
  RETURN_IF_ERROR(lowerer.status);
  func.body = std::move(body);
  return func;
}

}  // namespace lathe
