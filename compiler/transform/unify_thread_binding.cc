#include "compiler/transform/unify_thread_binding.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/arith/analyzer.h"
#include "compiler/ir/visitor.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

struct Launch {
  std::string axis;
  Range domain;
  Var var;
};

class ThreadUnifier : public StmtExprMutator {
 public:
  explicit ThreadUnifier(const std::string& func) : func_(func) {}
  Status status;

 protected:
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    if (loop.kind != ForKind::kThreadBinding) return StmtExprMutator::VisitFor(self, loop);
    Stmt result = Unify(loop.loop_var, loop.thread, {loop.min, loop.extent}, loop.body);
    if (loop.annotations.empty()) return result;
    if (result.As<For>() == nullptr) result = MakeFor(Var("var", loop.loop_var.dtype()), 1, std::move(result));
    result.Mutable<For>().annotations = loop.annotations;
    return result;
  }
  Stmt VisitStmt(const Stmt& stmt) override {
    const AttrStmt* attr = stmt.As<AttrStmt>();
    const IterVar* axis = attr == nullptr ? nullptr : std::get_if<IterVar>(&attr->node);
    if (axis == nullptr || (attr->attr_key != "thread_extent" && attr->attr_key != "virtual_thread"))
      return StmtExprMutator::VisitStmt(stmt);
    return Unify(axis->var, axis->thread_tag, {IntConst(axis->var.dtype(), 0), attr->value}, attr->body);
  }
  Expr VisitVar(const Expr& var) override {
    const auto found = vars_.find(var.get());
    return found == vars_.end() ? var : found->second;
  }

 private:
  Stmt Unify(const Var& var, const std::string& axis, const Range& of, const Stmt& body) {
    const Range domain{VisitExpr(of.min), VisitExpr(of.extent)};
    const bool is_outermost = launched_.empty();
    vars_.insert_or_assign(var.get(), MakeCast(var.dtype(), Launched(axis, domain)));
    Stmt result = VisitStmt(body);
    if (!is_outermost) return result;
    for (; !launched_.empty(); launched_.pop_back()) {
      const Launch& launch = launched_.back();
      result = For{launch.var, launch.domain.min, launch.domain.extent, ForKind::kThreadBinding, launch.axis,
                   {},         std::move(result)};
    }
    return result;
  }
  Var Launched(const std::string& axis, const Range& domain) {
    for (const Launch& launch : launched_) {
      if (launch.axis != axis) continue;
      if (!analyzer_.CanProveEqual(launch.domain.min, domain.min) ||
          !analyzer_.CanProveEqual(launch.domain.extent, domain.extent)) {
        status = InvalidArgument(fmt::format(
            "unify_thread_binding @{}: all loops bound to {} should have the same extent and begin, some differ", func_,
            axis));
      }
      return launch.var;
    }
    std::string name = axis;
    std::replace(name.begin(), name.end(), '.', '_');
    launched_.push_back({axis, domain, Var(name, domain.extent.dtype())});
    return launched_.back().var;
  }

  const std::string& func_;
  Analyzer analyzer_;
  VarMap vars_;
  std::vector<Launch> launched_;
};

}  // namespace

StatusOr<PrimFunc> UnifyThreadBinding(PrimFunc func) {
  ThreadUnifier unifier(func.name);
  func.body = unifier(func.body);
  RETURN_IF_ERROR(unifier.status);
  return func;
}

}  // namespace lathe
