#include "python/src/sampled.h"

#include <fmt/format.h>

#include "compiler/arith/simplifier.h"
#include "compiler/ir/visitor.h"
#include "compiler/transform/func_analysis.h"
#include "python/src/errors.h"
#include "python/src/primitive_call.h"

namespace lathe::python {
namespace {

// Kept as long as the interpreter lives: a handle of one schedule may be given to another.
struct SampledVars {
  std::unordered_map<int, Var> vars;
  std::unordered_map<const ExprNode*, int> ids;
};
SampledVars& Known() {
  static auto& known = *new SampledVars();
  return known;
}

int Remember(const Var& var, int id) {
  Known().vars.emplace(id, var);
  Known().ids.emplace(var.get(), id);
  return id;
}

const Expr* AsVar(py::handle object) {
  const Expr* e = UnwrapAs<Expr>(object);
  return e != nullptr && IsVar(*e) ? e : nullptr;
}

bool IsOfSampled(py::handle object) {
  const Expr* e = UnwrapAs<Expr>(object);
  if (e == nullptr) return false;
  const std::vector<Var> vars = UndefinedVars(*e);
  return std::any_of(vars.begin(), vars.end(), [](const Var& var) { return Known().ids.contains(var.get()); });
}

}  // namespace

int FreshHandleId() {
  static int last = 1 << 24;
  return ++last;
}

py::object VarOfSampled(int id) {
  if (!Known().vars.contains(id)) Remember(Var(fmt::format("v{}", id), kIndexType), id);
  return Wrap(Expr(Known().vars.at(id)));
}

std::optional<VarRV> KnownSampled(py::handle object) {
  const Expr* var = AsVar(object);
  const auto found = var == nullptr ? Known().ids.end() : Known().ids.find(var->get());
  return found == Known().ids.end() ? std::nullopt : std::optional(VarRV{found->second});
}

std::optional<VarRV> SampledOf(py::handle object) {
  if (const std::optional<VarRV> known = KnownSampled(object)) return known;
  const Expr* var = AsVar(object);
  return var == nullptr ? std::nullopt : std::optional(VarRV{Remember(Var(*var), FreshHandleId())});
}

int64_t ValueOfSampled(const Schedule& schedule, const Expr& value) {
  VarMap numbers;
  for (const Var& var : UndefinedVars(value))
    numbers.emplace(var.get(), IntConst(var.dtype(), Held(schedule.Get(ExprRV(*SampledOf(Wrap(Expr(var))))))));
  const Expr worth = Simplifier().Simplify(Substitute(value, numbers));
  if (const int64_t* number = AsIntConst(worth)) return *number;
  throw Failure(ErrorKind::kType, "get: the expression is no number");
}

py::object WithNumbers(const Schedule& schedule, py::handle object) {
  if (IsOfSampled(object)) return py::int_(ValueOfSampled(schedule, *UnwrapAs<Expr>(object)));
  if (!PyList_Check(object.ptr()) && !PyTuple_Check(object.ptr())) return py::reinterpret_borrow<py::object>(object);
  py::list items;
  for (const py::handle item : object) items.append(WithNumbers(schedule, item));
  return items;
}

}  // namespace lathe::python
