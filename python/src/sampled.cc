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

// Array is a tuple.
bool IsList(py::handle object) { return PyList_Check(object.ptr()) || PyTuple_Check(object.ptr()); }

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

bool HoldsSampled(py::handle object) {
  if (!IsList(object)) return false;
  return std::any_of(object.begin(), object.end(),
                     [](py::handle item) { return KnownSampled(item).has_value() || HoldsSampled(item); });
}

TraceItems ItemsOf(py::handle list, const std::function<py::object(py::handle)>& change) {
  TraceItems items;
  for (const py::handle item : list) {
    if (const std::optional<VarRV> var = KnownSampled(item)) {
      items.push_back({*var});
    } else if (HoldsSampled(item)) {
      items.push_back({ItemsOf(item, change)});
    } else {
      std::optional<Attr> value = ToAttr(change(item));
      if (!value) throw Failure(ErrorKind::kType, "an item of a list is no value");
      items.push_back({*std::move(value)});
    }
  }
  return items;
}

py::object WithNumbers(const Schedule& schedule, py::handle object) {
  if (IsOfSampled(object)) return py::int_(ValueOfSampled(schedule, *UnwrapAs<Expr>(object)));
  if (PyDict_Check(object.ptr())) {
    py::dict map;
    for (const auto& [key, value] : py::reinterpret_borrow<py::dict>(object)) map[key] = WithNumbers(schedule, value);
    return py::object(std::move(map));
  }
  if (!IsList(object)) return py::reinterpret_borrow<py::object>(object);
  py::list items;
  for (const py::handle item : object) items.append(WithNumbers(schedule, item));
  return items;
}

}  // namespace lathe::python
