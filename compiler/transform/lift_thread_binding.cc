#include "compiler/transform/lift_thread_binding.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "compiler/arith/analyzer.h"
#include "compiler/ir/visitor.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

using LoopPath = std::vector<const For*>;  // Outermost first.

bool BindsThread(const For& loop) {
  return loop.kind == ForKind::kThreadBinding && !loop.thread.starts_with("vthread");
}

// One thread axis of a kernel: the loops over it, and the loops that all of them are in, or are themselves.
struct BoundAxis {
  std::vector<const For*> bindings;
  LoopPath path;
  size_t num_hidden = 0;  // So many of the path a block around one of the loops reaches through its iter vars only.
};

class AxisFinder : public StmtExprVisitor {
 public:
  std::map<std::string, BoundAxis> axes;

 protected:
  void VisitFor(const Stmt& self, const For& loop) override {
    loops_.push_back(&loop);
    if (BindsThread(loop)) Add(loop);
    StmtExprVisitor::VisitFor(self, loop);
    loops_.pop_back();
  }
  void VisitBlock(const Block& block) override {
    const size_t outside = num_hidden_;
    if (!block->iter_vars.empty()) num_hidden_ = loops_.size();
    StmtExprVisitor::VisitBlock(block);
    num_hidden_ = outside;
  }

 private:
  void Add(const For& loop) {
    BoundAxis& axis = axes[loop.thread];
    if (axis.bindings.empty()) axis.path = loops_;
    const auto end = std::mismatch(axis.path.begin(), axis.path.end(), loops_.begin(), loops_.end()).first;
    axis.path.erase(end, axis.path.end());
    axis.num_hidden = std::max(axis.num_hidden, num_hidden_);
    axis.bindings.push_back(&loop);
  }
  LoopPath loops_;
  size_t num_hidden_ = 0;
};

class BindingLifter : public StmtExprMutator {
 public:
  // `lifted`: the loops that a loop gets inside, innermost first.
  using Lifted = std::map<const ExprNode*, std::vector<For>>;  // By the variable of the loop around.
  BindingLifter(const Lifted& lifted, const VarMap& merged) : lifted_(lifted), merged_(merged) {}

 protected:
  // A loop that is merged may be the place for others, or for what it becomes itself.
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    const Stmt below = StmtExprMutator::VisitFor(self, loop);
    const bool is_merged = merged_.contains(loop.loop_var.get());
    const auto found = lifted_.find(loop.loop_var.get());
    if (!is_merged && found == lifted_.end()) return below;
    For copy = *below.As<For>();
    if (found != lifted_.end()) PutInside(copy, found->second);
    return is_merged ? copy.body : Stmt(std::move(copy));
  }
  Expr VisitVar(const Expr& var) override {
    const auto found = merged_.find(var.get());
    return found == merged_.end() ? var : found->second;
  }

 private:
  static void PutInside(For& loop, const std::vector<For>& threads) {
    for (For thread : threads) {
      thread.body = std::move(loop.body);
      loop.body = std::move(thread);
    }
  }
  const Lifted& lifted_;
  const VarMap& merged_;
};

bool RunsAs(const For& a, const For& b) {
  const Analyzer analyzer;
  return analyzer.CanProveEqual(a.min, b.min) && analyzer.CanProveEqual(a.extent, b.extent);
}

// The one loop that those of an axis become, with what all of them say.
StatusOr<For> Whole(const BoundAxis& axis) {
  For whole = *axis.bindings[0];
  whole.loop_var = whole.loop_var.CopyWithName(whole.loop_var.name());
  for (const For* loop : axis.bindings) {
    if (!RunsAs(whole, *loop))
      return InvalidArgument(
          fmt::format("loops over \"{}\" run over different ranges; give the shorter one a condition", loop->thread));
    for (const auto& [key, value] : loop->annotations) whole.annotations.insert_or_assign(key, value);
  }
  return whole;
}

// `kernel`: a loop over threads and all below it.
StatusOr<Stmt> LiftInKernel(const Stmt& kernel) {
  AxisFinder finder;
  finder(kernel);
  BindingLifter::Lifted lifted;
  VarMap merged;
  for (const char* prefix : {"threadIdx", "blockIdx"}) {  // Blocks of threads around the threads.
    for (const auto& [thread, axis] : finder.axes) {
      if (!thread.starts_with(prefix) || axis.bindings.size() < 2 || axis.path.size() <= axis.num_hidden) continue;
      ASSIGN_OR_RETURN(For whole, Whole(axis));
      for (const For* loop : axis.bindings) merged.insert_or_assign(loop->loop_var.get(), whole.loop_var);
      lifted[axis.path.back()->loop_var.get()].push_back(std::move(whole));
    }
  }
  return merged.empty() ? kernel : BindingLifter(lifted, merged)(kernel);
}

class KernelLifter : public StmtExprMutator {
 public:
  Status status = OkStatus();

 protected:
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    if (!BindsThread(loop)) return StmtExprMutator::VisitFor(self, loop);
    StatusOr<Stmt> lifted = LiftInKernel(self);
    if (lifted.ok()) return *lifted;
    status = lifted.status();
    return self;
  }
};

}  // namespace

StatusOr<PrimFunc> LiftThreadBinding(PrimFunc func) {
  KernelLifter lifter;
  func.body = lifter(func.body);
  if (!lifter.status.ok())
    return InvalidArgument(fmt::format("LiftThreadBinding @{}: {}", func.name, lifter.status.message()));
  return func;
}

}  // namespace lathe
