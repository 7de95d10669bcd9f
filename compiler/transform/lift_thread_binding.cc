#include "compiler/transform/lift_thread_binding.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "compiler/arith/analyzer.h"
#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

using LoopPath = std::vector<const For*>;  // Outermost first.

bool BindsThread(const For& loop) {
  return loop.kind == ForKind::kThreadBinding && !loop.thread.starts_with("vthread");
}

// One thread axis: the loops over it, and those around all of them.
struct BoundAxis {
  std::string thread;
  std::vector<const For*> bindings;
  LoopPath around;
};

class AxisFinder : public StmtExprVisitor {
 public:
  std::vector<BoundAxis> axes;  // In order of appearance.

 protected:
  void VisitFor(const Stmt& self, const For& loop) override {
    if (BindsThread(loop)) Add(loop);
    loops_.push_back(&loop);
    StmtExprVisitor::VisitFor(self, loop);
    loops_.pop_back();
  }
  void VisitBlock(const Block& block) override {
    // What is below reaches the loops through the iter vars, so that a new loop around has to stay inside.
    const bool hides = !block->iter_vars.empty();
    if (hides) num_hidden_.push_back(loops_.size());
    StmtExprVisitor::VisitBlock(block);
    if (hides) num_hidden_.pop_back();
  }

 private:
  void Add(const For& loop) {
    const auto is_same = [&](const BoundAxis& axis) { return axis.thread == loop.thread; };
    auto axis = std::find_if(axes.begin(), axes.end(), is_same);
    if (axis == axes.end()) axis = axes.insert(axis, BoundAxis{loop.thread, {}, loops_});
    const auto end = std::mismatch(axis->around.begin(), axis->around.end(), loops_.begin(), loops_.end()).first;
    axis->around.erase(end, axis->around.end());
    if (!num_hidden_.empty() && axis->around.size() <= num_hidden_.back()) axis->around.clear();
    axis->bindings.push_back(&loop);
  }
  LoopPath loops_;
  std::vector<size_t> num_hidden_;
};

class BindingLifter : public StmtExprMutator {
 public:
  // `lifted`: the loops that a loop gets inside, innermost first.
  using Lifted = std::map<const ExprNode*, std::vector<For>>;  // By the variable of the loop around.
  BindingLifter(const Lifted& lifted, const VarMap& merged) : lifted_(lifted), merged_(merged) {}

 protected:
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    if (merged_.contains(loop.loop_var.get())) return VisitStmt(loop.body);
    const auto found = lifted_.find(loop.loop_var.get());
    if (found == lifted_.end()) return StmtExprMutator::VisitFor(self, loop);
    For copy = loop;
    copy.body = VisitStmt(loop.body);
    for (For thread : found->second) {
      thread.body = std::move(copy.body);
      copy.body = std::move(thread);
    }
    return copy;
  }
  Expr VisitVar(const Var& var) override {
    const auto found = merged_.find(var.get());
    return found == merged_.end() ? Expr(var) : found->second;
  }

 private:
  const Lifted& lifted_;
  const VarMap& merged_;
};

bool RunsAs(const For& a, const For& b) {
  const Analyzer analyzer;
  return analyzer.CanProveEqual(a.min, b.min) && analyzer.CanProveEqual(a.extent, b.extent);
}

}  // namespace

StatusOr<PrimFunc> LiftThreadBinding(PrimFunc func) {
  AxisFinder finder;
  finder(func.body);
  BindingLifter::Lifted lifted;
  VarMap merged;
  for (const BoundAxis& axis : finder.axes) {
    const auto is_thread = [](const For* loop) { return BindsThread(*loop); };
    if (axis.bindings.size() < 2 || std::none_of(axis.around.begin(), axis.around.end(), is_thread)) continue;
    For whole = *axis.bindings[0];
    whole.loop_var = whole.loop_var.CopyWithName(whole.loop_var.name());
    for (const For* loop : axis.bindings) {
      if (!RunsAs(whole, *loop))
        return InvalidArgument(
            fmt::format("LiftThreadBinding @{}: loops over \"{}\" run over different ranges; give "
                        "the shorter one a condition",
                        func.name, axis.thread));
      merged.insert_or_assign(loop->loop_var.get(), whole.loop_var);
    }
    lifted[axis.around.back()->loop_var.get()].push_back(std::move(whole));
  }
  if (!merged.empty()) func.body = BindingLifter(lifted, merged)(func.body);
  return func;
}

}  // namespace lathe
