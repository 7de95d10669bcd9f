// arith: systems of linear equations and inequalities.
#include "compiler/arith/int_constraints.h"

#include "python/src/bind.h"
#include "python/src/cast.h"
#include "python/src/errors.h"

namespace lathe::python {
namespace {

template <typename T>
using OrNone = std::optional<T>;

template <typename T>
std::vector<std::pair<Var, T>> PairsOf(const OrNone<py::dict>& items) {
  std::vector<std::pair<Var, T>> pairs;
  for (const auto& [key, value] : items.value_or(py::dict()))
    pairs.emplace_back(py::cast<Var>(key), py::cast<T>(value));
  return pairs;
}

template <typename T>
py::object MapOf(const std::vector<std::pair<Var, T>>& pairs) {
  py::dict items;
  for (const auto& [var, value] : pairs) items[Wrap(Expr(var))] = Wrap(value);
  return MakeMap(items);
}

template <typename T>
auto ArrayOf(std::vector<T> IntConstraints::* list) {
  return [list](const IntConstraints& constraints) { return MakeArray(py::cast(constraints.*list)); };
}
auto ArrayOf(std::vector<Expr> IntGroupBounds::* list) {
  return [list](const IntGroupBounds& bounds) { return MakeArray(py::cast(bounds.*list)); };
}

IntConstraints MakeConstraints(const OrNone<std::vector<Var>>& variables, const OrNone<py::dict>& ranges,
                               const OrNone<std::vector<Expr>>& relations) {
  return {variables.value_or(std::vector<Var>()), PairsOf<Range>(ranges), relations.value_or(std::vector<Expr>())};
}

py::object Inequalities(const IntConstraints& problem, bool deskew_range) {
  if (deskew_range) return py::cast(Value(SolveInequalitiesDeskewRange(problem)));
  return py::cast(Value(SolveInequalitiesToRange(problem)));
}

void BindSolvers(py::module_& module) {
  const py::arg_v variables = py::arg("variables") = py::none(), ranges = py::arg("ranges") = py::none();
  module.def(
      "solve_linear_equations", [](const IntConstraints& problem) { return Value(SolveLinearEquations(problem)); },
      py::arg("equations"));
  module.def(
      "solve_linear_equations",
      [](const std::vector<Expr>& equations, const OrNone<std::vector<Var>>& of, const OrNone<py::dict>& in) {
        return Value(SolveLinearEquations(MakeConstraints(of, in, equations)));
      },
      py::arg("equations"), variables, ranges);
  module.def("solve_linear_inequalities", &Inequalities, py::arg("equations"), py::arg("deskew_range") = false);
  module.def(
      "solve_linear_inequalities",
      [](const std::vector<Expr>& equations, const OrNone<std::vector<Var>>& of, const OrNone<py::dict>& in,
         bool deskew_range) { return Inequalities(MakeConstraints(of, in, equations), deskew_range); },
      py::arg("equations"), variables, ranges, py::arg("deskew_range") = false);
}

}  // namespace

void BindIntConstraints(py::module_& module) {
  py::class_<IntGroupBounds>(module, "IntGroupBounds")
      .def(py::init([](const Expr& coef, const std::vector<Expr>& lower, const std::vector<Expr>& equal,
                       const std::vector<Expr>& upper) { return IntGroupBounds{coef, lower, equal, upper}; }),
           py::arg("coef"), py::arg("lower"), py::arg("equal"), py::arg("upper"))
      .def_readonly("coef", &IntGroupBounds::coef)
      .def_property_readonly("lower", ArrayOf(&IntGroupBounds::lower))
      .def_property_readonly("equal", ArrayOf(&IntGroupBounds::equal))
      .def_property_readonly("upper", ArrayOf(&IntGroupBounds::upper))
      .def_static("from_range", &IntGroupBounds::FromRange, py::arg("rng"))
      .def(
          "find_best_range",
          [](const IntGroupBounds& bounds, const OrNone<py::dict>& ranges) {
            return bounds.FindBestRange(PairsOf<Range>(ranges));
          },
          py::arg("ranges") = py::none());
  py::class_<IntConstraints>(module, "IntConstraints")
      .def(py::init(&MakeConstraints), py::arg("variables"), py::arg("ranges"), py::arg("relations"))
      .def_property_readonly("variables", ArrayOf(&IntConstraints::variables))
      .def_property_readonly("ranges", [](const IntConstraints& constraints) { return MapOf(constraints.ranges); })
      .def_property_readonly("relations", ArrayOf(&IntConstraints::relations))
      .def("__repr__", [](const py::object& c) {
        return py::str("IntConstraints({}, {}, {})").format(c.attr("variables"), c.attr("ranges"), c.attr("relations"));
      });
  py::class_<IntConstraintsTransform>(module, "IntConstraintsTransform")
      .def(py::init([](const IntConstraints& src, const IntConstraints& dst, const py::dict& src_to_dst,
                       const py::dict& dst_to_src) {
             return IntConstraintsTransform{src, dst, PairsOf<Expr>(src_to_dst), PairsOf<Expr>(dst_to_src)};
           }),
           py::arg("src"), py::arg("dst"), py::arg("src_to_dst"), py::arg("dst_to_src"))
      .def_readonly("src", &IntConstraintsTransform::src)
      .def_readonly("dst", &IntConstraintsTransform::dst)
      .def_property_readonly("src_to_dst", [](const IntConstraintsTransform& t) { return MapOf(t.src_to_dst); })
      .def_property_readonly("dst_to_src", [](const IntConstraintsTransform& t) { return MapOf(t.dst_to_src); })
      .def("__repr__", [](const py::object& t) {
        return py::str("IntConstraintsTransform(\n\t{}\n\t{}\n\t{}\n\t{}\n)")
            .format(t.attr("src"), t.attr("dst"), t.attr("src_to_dst"), t.attr("dst_to_src"));
      });
  BindSolvers(module);
}

}  // namespace lathe::python
