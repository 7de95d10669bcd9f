// tir.layout, tir.bijective_layout.
#include "compiler/arith/data_layout.h"
#include "python/src/bind.h"
#include "python/src/cast.h"
#include "python/src/errors.h"

namespace lathe::python {
namespace {

std::string NameOf(const DataLayout::Axis& axis) {
  return (axis.factor ? std::to_string(*axis.factor) : "") + axis.letter;
}

// The axes as iter vars: those of whole dimensions reach as far as a variable of their name.
py::object AxesOfLayout(const DataLayout& layout, DataType type) {
  py::list axes;
  for (const DataLayout::Axis& axis : layout.axes()) {
    const Expr extent = axis.factor ? IntConst(type, *axis.factor) : Expr(Var(std::string(1, axis.letter), type));
    axes.append(py::cast(IterVar{{IntConst(type, 0), extent}, Var(NameOf(axis), type), IterKind::kSpatial, ""}));
  }
  return MakeArray(axes);
}

char LetterOf(const std::string& name) {
  if (name.size() != 1)
    throw Failure(ErrorKind::kValue, "layout: expected the letter of an axis, got \"" + name + "\"");
  return name[0];
}

py::object ArrayOfExprs(const std::vector<Expr>& exprs) {
  py::list items;
  for (const Expr& e : exprs) items.append(py::cast(e));
  return MakeArray(items);
}

}  // namespace

void BindLayout(py::module_& module) {
  py::class_<DataLayout>(module, "DataLayout")
      .def_property_readonly("name", &DataLayout::name)
      .def("letters",
           [](const DataLayout& layout) {
             std::string letters;
             for (const DataLayout::Axis& axis : layout.axes()) letters += axis.letter;
             return letters;
           })
      .def("index_of", [](const DataLayout& l, const std::string& axis) { return l.IndexOf(LetterOf(axis)); })
      .def("factor_of", [](const DataLayout& l, const std::string& axis) { return l.FactorOf(LetterOf(axis)); })
      .def("axes_of", &AxesOfLayout);
  module.def("parse_layout", [](const std::string& name) { return Value(DataLayout::Parse(name)); });
  py::class_<LayoutMap>(module, "LayoutMap")
      .def("index", [](const LayoutMap& m, const std::vector<Expr>& at) { return ArrayOfExprs(Value(m.Index(at))); })
      .def("shape", [](const LayoutMap& m, const std::vector<Expr>& of) { return ArrayOfExprs(Value(m.Shape(of))); })
      .def("inverse", &LayoutMap::Inverse);
  module.def("layout_map", &LayoutMap::Make);
}

}  // namespace lathe::python
