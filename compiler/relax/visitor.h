// Walking and rewriting Relax functions. A-normal form makes both flat: bindings in order, atoms as arguments.
#pragma once

#include <functional>
#include <unordered_map>

#include "compiler/relax/block_builder.h"

namespace lathe::relax {

using ExprMap = std::unordered_map<const ExprNode*, Expr>;  // Keyed by Var::get().

// Every use of a variable in `e`, in order, as often as it is used.
void VisitVars(const Expr& e, const std::function<void(const Var&)>& f);
// `e` itself and what it holds, children first.
void PostOrderVisit(const Expr& e, const std::function<void(const Expr&)>& f);
// Every binding of the function in order.
void VisitBindings(const Function& func, const std::function<void(const Binding&)>& f);
// How often each variable is used by bindings and by the result.
std::unordered_map<const ExprNode*, int> CountUses(const Function& func);

// Replaces uses of variables; where a tuple takes the place of one, fields of it are taken at once. `e` itself where
// nothing changes.
Expr Substitute(const Expr& e, const ExprMap& vars);

// Makes the function anew, binding by binding. `rewrite` sees each binding with its value's arguments already replaced
// and may emit what it needs before; what it returns takes the place of the value. An atom (variable, constant, shape,
// tuple) takes the place of the variable everywhere, and no binding remains.
using BindingRewriter =
    std::function<StatusOr<Expr>(const Binding& original, const Expr& value, BlockBuilder& builder)>;
StatusOr<Function> RewriteBindings(const Function& func, const BindingRewriter& rewrite);

bool IsAtom(const Expr& e);

}  // namespace lathe::relax
