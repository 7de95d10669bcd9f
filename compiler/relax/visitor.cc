#include "compiler/relax/visitor.h"

#include "support/status_macros.h"

namespace lathe::relax {
namespace {

// Calls f with each expression directly inside, by its fields.
template <typename F>
void ForEachChild(const Expr& e, F&& f) {
  std::visit(
      [&](const auto& node) {
        ForEachField(node, [&](const auto&, const auto& member) {
          using Member = std::decay_t<decltype(member)>;
          if constexpr (std::is_same_v<Member, Expr>) {
            f(member);
          } else if constexpr (std::is_same_v<Member, std::vector<Expr>>) {
            for (const Expr& child : member) f(child);
          }
        });
      },
      e.node().value);
}

StructInfo InfoOf(const Expr& old, const ExprVariant& value) {
  if (const TupleExpr* tuple = std::get_if<TupleExpr>(&value)) return MakeTuple(tuple->fields).struct_info();
  return old.struct_info();
}

}  // namespace

bool IsAtom(const Expr& e) { return e.As<Call>() == nullptr && e.As<TupleGetItem>() == nullptr; }

void PostOrderVisit(const Expr& e, const std::function<void(const Expr&)>& f) {
  ForEachChild(e, [&](const Expr& child) { PostOrderVisit(child, f); });
  f(e);
}

void VisitVars(const Expr& e, const std::function<void(const Var&)>& f) {
  PostOrderVisit(e, [&](const Expr& child) {
    if (IsVar(child)) f(Var(child));
  });
}

void VisitBindings(const Function& func, const std::function<void(const Binding&)>& f) {
  for (const BindingBlock& block : func.body.blocks) {
    for (const Binding& binding : block.bindings) f(binding);
  }
}

std::unordered_map<const ExprNode*, int> CountUses(const Function& func) {
  std::unordered_map<const ExprNode*, int> uses;
  const auto count = [&](const Var& var) { ++uses[var.get()]; };
  VisitBindings(func, [&](const Binding& binding) { VisitVars(binding.value, count); });
  VisitVars(func.body.body, count);
  return uses;
}

Expr Substitute(const Expr& e, const ExprMap& vars) {
  if (IsVar(e)) {
    const auto found = vars.find(e.get());
    return found == vars.end() ? e : found->second;
  }
  bool changed = false;
  ForEachChild(e, [&](const Expr& child) { changed = changed || !Substitute(child, vars).same_as(child); });
  if (!changed) return e;
  ExprVariant value = e.node().value;
  std::visit(
      [&](auto& node) {
        ForEachField(node, [&](const auto&, auto& member) {
          using Member = std::decay_t<decltype(member)>;
          if constexpr (std::is_same_v<Member, Expr>) {
            member = Substitute(member, vars);
          } else if constexpr (std::is_same_v<Member, std::vector<Expr>>) {
            for (Expr& child : member) child = Substitute(child, vars);
          }
        });
      },
      value);
  if (const TupleGetItem* item = std::get_if<TupleGetItem>(&value)) {
    if (const TupleExpr* tuple = item->tuple.As<TupleExpr>()) return tuple->fields[static_cast<size_t>(item->index)];
  }
  StructInfo info = InfoOf(e, value);
  return std::visit([&](auto& node) { return Expr::Make(std::move(info), std::move(node)); }, value);
}

StatusOr<Function> RewriteBindings(const Function& func, const BindingRewriter& rewrite) {
  BlockBuilder builder;
  for (const Var& param : func.params) builder.AddParam(param);
  ExprMap replaced;
  for (const BindingBlock& block : func.body.blocks) {
    for (const Binding& binding : block.bindings) {
      ASSIGN_OR_RETURN(const Expr value, rewrite(binding, Substitute(binding.value, replaced), builder));
      if (IsAtom(value)) {
        replaced.insert_or_assign(binding.var.get(), value);
      } else if (Equal(value.struct_info(), binding.var.struct_info())) {
        builder.EmitBinding({binding.var, value});
      } else {
        replaced.insert_or_assign(binding.var.get(), builder.Emit(value, binding.var.name()));
      }
    }
  }
  return builder.Finish(func.name, Substitute(func.body.body, replaced), func.attrs);
}

}  // namespace lathe::relax
