#include "compiler/transform/remap_thread_axis.h"

#include <fmt/format.h>

#include <unordered_set>

#include "compiler/ir/visitor.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

using AxisMap = std::map<std::string, IterVar>;

class AxisRemapper : public StmtExprMutator {
 public:
  explicit AxisRemapper(const AxisMap& axes) : axes_(axes) {}
  Status status;

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    const AttrStmt* attr = stmt.As<AttrStmt>();
    const IterVar* axis = attr == nullptr || attr->attr_key != "thread_extent" ? nullptr : AxisOf(*attr);
    const auto found = axis == nullptr ? axes_.end() : axes_.find(axis->thread_tag);
    return found == axes_.end() ? StmtExprMutator::VisitStmt(stmt) : Launch(*attr, *axis, found->second);
  }
  Expr VisitVar(const Expr& var) override {
    const auto found = vars_.find(var.get());
    return found == vars_.end() ? var : found->second;
  }

 private:
  static const IterVar* AxisOf(const AttrStmt& attr) { return std::get_if<IterVar>(&attr.node); }

  Stmt Launch(const AttrStmt& attr, const IterVar& old, const IterVar& axis) {
    const bool is_outermost = open_.insert(axis.var.get()).second;
    if (old.var.dtype() != axis.var.dtype() || !is_outermost)
      status = InvalidArgument(
          fmt::format("RemapThreadAxis \"{}\": the new axis \"{}\" has another type, or is launched around it already",
                      old.thread_tag, axis.var.name()));
    vars_.insert_or_assign(old.var.get(), axis.var);
    AttrStmt launch{attr.attr_key, VisitExpr(attr.value), axis, VisitStmt(attr.body)};
    if (is_outermost) open_.erase(axis.var.get());
    return launch;
  }

  const AxisMap& axes_;
  VarMap vars_;
  std::unordered_set<const ExprNode*> open_;
};

void RenameTags(AttrMap& attrs, const AxisMap& axes) {
  const auto params = attrs.find("tir.kernel_launch_params");
  auto* tags = params == attrs.end() ? nullptr : std::get_if<std::vector<Attr>>(&params->second);
  if (tags == nullptr) return;
  for (Attr& tag : *tags) {
    const std::string* name = std::get_if<std::string>(&tag);
    const auto found = name == nullptr ? axes.end() : axes.find(*name);
    if (found != axes.end()) tag = found->second.thread_tag;
  }
}

}  // namespace

StatusOr<PrimFunc> RemapThreadAxis(PrimFunc func, const AxisMap& axes) {
  AxisRemapper remapper(axes);
  Stmt body = remapper(func.body);
  RETURN_IF_ERROR(remapper.status);
  func.body = std::move(body);
  RenameTags(func.attrs, axes);
  return func;
}

}  // namespace lathe
