// arith: the Analyzer, bounds, remainders, interval sets, iter maps.
#include <fmt/format.h>

#include "compiler/arith/deduce_bound.h"
#include "compiler/arith/int_set_by_sign.h"
#include "compiler/arith/linear_equation.h"
#include "compiler/arith/scalable.h"
#include "compiler/arith/simplifier.h"
#include "compiler/transform/target_attr.h"
#include "python/src/bind.h"
#include "python/src/cast.h"
#include "python/src/errors.h"

namespace lathe::python {
namespace {

// A scope in which a condition holds; scopes end in the reverse order of their beginning.
class ConstraintScope {
 public:
  ConstraintScope(std::shared_ptr<Simplifier> analyzer, Expr condition)
      : analyzer_(std::move(analyzer)), condition_(std::move(condition)) {}
  void Enter() { guard_.emplace(*analyzer_, condition_); }
  void Exit() { guard_.reset(); }

 private:
  std::shared_ptr<Simplifier> analyzer_;
  Expr condition_;
  std::optional<Simplifier::Scope> guard_;
};

DomMap ToDomMap(const py::dict& items) {
  DomMap domains;
  for (const auto& [key, value] : items) {
    if (py::isinstance<IntSet>(value))
      domains.Add(py::cast<Var>(key), py::cast<IntSet>(value));
    else
      domains.Add(py::cast<Var>(key), py::cast<Range>(value));
  }
  return domains;
}

// The ends of what is unbounded, as TVM has them: two variables that stand for no number.
const Expr& PosInf() {
  static const Expr* end = new Expr(Var("pos_inf", DataType::Handle()));
  return *end;
}
const Expr& NegInf() {
  static const Expr* end = new Expr(Var("neg_inf", DataType::Handle()));
  return *end;
}
// A set that holds nothing lies from pos_inf to neg_inf.
py::object MinOf(const IntSet& set) { return Wrap(set.min().value_or(set.is_nothing() ? PosInf() : NegInf())); }
py::object MaxOf(const IntSet& set) { return Wrap(set.max().value_or(set.is_nothing() ? NegInf() : PosInf())); }
IntSet IntervalOf(const Expr& min, const Expr& max) {
  if (min.same_as(PosInf()) || max.same_as(NegInf())) return IntSet::Nothing();
  return IntSet::Interval(min.same_as(NegInf()) ? std::nullopt : std::optional(min),
                          max.same_as(PosInf()) ? std::nullopt : std::optional(max));
}
py::object EndOrNone(const std::optional<Expr>& end) { return end ? Wrap(*end) : py::none(); }

// TVM's lower infinity is the negative of the upper one.
constexpr int64_t kNegInf = -IntBound::kPosInf;
int64_t LeastOf(const IntBound& bound) { return std::max(bound.min, kNegInf); }
int64_t MostOf(const IntBound& bound) { return std::max(bound.max, kNegInf); }
std::string ToText(int64_t end) {
  if (end == IntBound::kPosInf) return "pos_inf";
  return end == kNegInf ? "neg_inf" : std::to_string(end);
}
IntBound BoundOf(int64_t min, int64_t max) { return {min <= kNegInf ? IntBound::kNegInf : min, max}; }

// A vector at a lane; nullopt: of others than ramps, broadcasts and what is computed of them.
std::optional<Expr> AtLane(const Expr& e, const Var& lane) {
  if (e.dtype().is_scalar()) return e;
  if (const Ramp* ramp = e.As<Ramp>()) return ramp->base + lane * ramp->stride;
  if (const Broadcast* broadcast = e.As<Broadcast>()) return broadcast->value;
  const Binary* op = e.As<Binary>();
  if (op == nullptr) return std::nullopt;
  const std::optional<Expr> a = AtLane(op->a, lane), b = AtLane(op->b, lane);
  return a && b ? std::optional(MakeBinary(op->op, *a, *b)) : std::nullopt;
}
IntSet SetOfLanes(const Expr& e) {
  const DataType type = e.dtype();
  const Var lane("lane", type.element());
  DomMap lanes;
  lanes.Add(lane, Range{IntConst(type.element(), 0), IntConst(type.element(), type.lanes)});
  const std::optional<Expr> at_lane = type.is_scalable ? std::nullopt : AtLane(e, lane);
  return EvalSet(at_lane.value_or(e), lanes);
}

void BindFacts(py::module_& module) {
  py::class_<IntBound> bound(module, "ConstIntBound");
  bound.def(py::init(&BoundOf), py::arg("min_value"), py::arg("max_value"))
      .def_property_readonly("min_value", [](const IntBound& b) { return LeastOf(b); })
      .def_property_readonly("max_value", [](const IntBound& b) { return MostOf(b); })
      .def("__eq__", [](const IntBound& a, const IntBound& b) { return a == b; })
      .def("__hash__", [](const IntBound& a) { return std::hash<int64_t>()(a.min ^ (a.max << 1)); })
      .def("__repr__", [](const IntBound& b) {
        return fmt::format("ConstIntBound[{},{}]", ToText(LeastOf(b)), ToText(MostOf(b)));
      });
  bound.attr("NEG_INF") = kNegInf;
  bound.attr("POS_INF") = IntBound::kPosInf;
  py::class_<ModularSet>(module, "ModularSet")
      .def(py::init([](int64_t coeff, int64_t base) { return ModularSet{coeff, base}; }), py::arg("coeff"),
           py::arg("base"))
      .def_readonly("coeff", &ModularSet::coeff)
      .def_readonly("base", &ModularSet::base)
      .def("__repr__",
           [](const ModularSet& m) { return fmt::format("ModularSet(coeff={}, base={})", m.coeff, m.base); });
  py::class_<IntSet>(module, "IntervalSet")
      .def(py::init(&IntervalOf), py::arg("min_value"), py::arg("max_value"))
      .def_property_readonly("min_value", &MinOf)
      .def_property_readonly("max_value", &MaxOf)
      .def("is_nothing", [](const IntSet& set) { return set.is_nothing(); })
      .def("is_everything", [](const IntSet& set) { return set.is_everything(); })
      .def("__repr__",
           [](const IntSet& set) {
             return fmt::format("IntervalSet[{}, {}]", py::cast<std::string>(py::str(MinOf(set))),
                                py::cast<std::string>(py::str(MaxOf(set))));
           })
      .def_static("everything", &IntSet::Everything)
      .def_static("nothing", &IntSet::Nothing)
      .def_static("single_point", &IntSet::Point)
      .def_static("vector", &SetOfLanes);
}

// What conditions say of variables.
void BindDeduction(py::module_& module) {
  module.def("pos_inf", [] { return PosInf(); });
  module.def("neg_inf", [] { return NegInf(); });
  module.def("deduce_bound", [](const Var& var, const Expr& condition, const py::dict& hints, const py::dict& relax) {
    return DeduceBound(var, condition, ToDomMap(hints), ToDomMap(relax));
  });
  module.def("detect_linear_equation", [](const Expr& e, const std::vector<Var>& vars) {
    return MakeArray(py::cast(DetectLinearEquation(e, vars)));
  });
  module.def("detect_clip_bound", [](const Expr& condition, const std::vector<Var>& vars) {
    py::list ends;
    for (const ClipBound& bound : DetectClipBound(condition, vars)) {
      ends.append(EndOrNone(bound.min));
      ends.append(EndOrNone(bound.max));
    }
    return MakeArray(ends);
  });
}

// Whether the current target has vectors of T.vscale() lanes.
bool HasScalableTarget() {
  const py::object target = py::module_::import("lathe.target").attr("Target").attr("current")(true);
  if (target.is_none()) return false;
  const std::optional<Attr> said = ToAttr(target.attr("as_attr")());
  const auto described = Value(DescriptionOf(said ? AttrMap{{"target", *said}} : AttrMap{}));
  return described && HasScalableVectors(*described);
}

// As TVM numbers extensions.
int BitsOf(const Simplifier& analyzer) {
  const SimplifyExtensions& on = analyzer.extensions();
  return on.transitively_prove_inequalities + on.convert_boolean_to_and_of_ors * 2 +
         on.apply_constraints_to_boolean_branches * 4;
}
void SetBits(Simplifier& analyzer, int bits) {
  analyzer.set_extensions({(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0});
}

}  // namespace

void BindArith(py::module_& module) {
  BindFacts(module);
  BindDeduction(module);
  py::class_<ConstraintScope, std::shared_ptr<ConstraintScope>>(module, "ConstraintScope")
      .def("__enter__", &ConstraintScope::Enter)
      .def("__exit__", [](ConstraintScope& scope, const py::args&) { scope.Exit(); });
  py::class_<Simplifier, std::shared_ptr<Simplifier>>(module, "Analyzer", py::dynamic_attr())
      .def(py::init<>())
      .def("simplify", &Simplifier::Simplify, py::arg("expr"), py::arg("steps") = 2)
      .def("rewrite_simplify", &Simplifier::RewriteSimplify, py::arg("expr"))
      .def("canonical_simplify", &Simplifier::CanonicalSimplify, py::arg("expr"))
      .def(
          "const_int_bound", [](Simplifier& a, const Expr& e) { return a.analyzer().ConstIntBound(e); },
          py::arg("expr"))
      .def(
          "modular_set", [](Simplifier& a, const Expr& e) { return a.analyzer().Modular(e); }, py::arg("expr"))
      .def(
          "int_set",
          [](Simplifier& a, const Expr& e, const py::dict& domains) {
            return EvalSetBySign(e, ToDomMap(domains), a.analyzer());
          },
          py::arg("expr"), py::arg("dom_map") = py::dict())
      .def(
          "can_prove",
          [](Simplifier& a, const Expr& e, const py::object&) {
            return a.CanProve(e) || (HasScalableTarget() && CanProveForEachVscale(a.analyzer(), e));
          },
          py::arg("expr"), py::arg("strength") = 0)
      .def("can_prove_equal", &Simplifier::CanProveEqual)
      .def_property("extension_bits", &BitsOf, &SetBits)
      .def("const_int_bound_is_bound", [](Simplifier& a, const Var& var) { return a.analyzer().Knows(var); })
      .def("can_prove_less",
           [](Simplifier& a, const Expr& e, int64_t bound) { return a.analyzer().CanProveLess(e, bound); })
      .def("can_prove_greater_equal",
           [](Simplifier& a, const Expr& e, int64_t bound) { return a.analyzer().CanProveGreaterEqual(e, bound); })
      .def("bind", [](Simplifier& a, const Var& var, const Range& range) { a.Bind(var, range); })
      .def("bind", [](Simplifier& a, const Var& var, const Expr& value) { a.Bind(var, value); })
      .def("update", [](Simplifier& a, const Var& var, const IntBound& bound) { a.analyzer().Update(var, bound); })
      .def("update",
           [](Simplifier& a, const Var& var, const ModularSet& modular) { a.analyzer().Update(var, modular); })
      .def("constraint_scope", [](const std::shared_ptr<Simplifier>& a, const Expr& condition) {
        return std::make_shared<ConstraintScope>(a, condition);
      });
  module.def("can_prove_equal", [](const Expr& a, const Expr& b) { return Simplifier().CanProveEqual(a, b); });
}

}  // namespace lathe::python
