// lathe.topi: the operator library by TVM's names, argument order and defaults.
#include <fmt/format.h>

#include "compiler/topi/broadcast.h"
#include "compiler/topi/elementwise.h"
#include "compiler/topi/layout.h"
#include "compiler/topi/reduction.h"
#include "compiler/topi/transform.h"
#include "python/src/bind.h"
#include "python/src/cast.h"
#include "python/src/errors.h"
#include "python/src/te.h"
#include "python/src/topi_args.h"

namespace lathe::python {

using te::Tensor;

std::optional<topi::Operand> ToOperand(py::handle object) {
  if (py::isinstance<Tensor>(object)) return topi::Operand(py::cast<Tensor>(object));
  const std::optional<Expr> e = ToExpr(object);
  return e ? std::optional<topi::Operand>(*e) : std::nullopt;
}

topi::Operand OperandOf(const char* op, py::handle object) {
  const std::optional<topi::Operand> operand = ToOperand(object);
  if (!operand) throw Failure(ErrorKind::kType, fmt::format("topi.{}: expected a tensor or a number", op));
  return *operand;
}

std::vector<int64_t> IntsOf(const py::object& value) {
  if (value.is_none()) return {};
  if (PyIndex_Check(value.ptr())) return {py::cast<int64_t>(py::int_(value))};
  std::vector<int64_t> numbers;
  for (const py::handle item : value)
    numbers.push_back(py::cast<int64_t>(py::int_(py::reinterpret_borrow<py::object>(item))));
  return numbers;
}

std::optional<DataType> TypeOrNone(const py::object& value) {
  if (value.is_none()) return std::nullopt;
  return py::cast<DataType>(value);
}

topi::Shape ShapeOf(const py::object& value) {
  topi::Shape shape;
  if (const std::optional<Expr> one = ToExpr(value))
    shape.push_back(*one);
  else
    for (const py::handle item : value) shape.push_back(py::cast<Expr>(item));
  return CheckedShape("topi", shape);
}

namespace {

py::object OperandToPython(const topi::Operand& operand) {
  if (const Tensor* tensor = std::get_if<Tensor>(&operand)) return py::cast(*tensor);
  return py::cast(std::get<Expr>(operand));
}

void BindElementwise(py::module_& m) {
  for (const std::string_view name : topi::UnaryNames())
    m.def(std::string(name).c_str(), [name](const Tensor& x) { return Value(topi::Unary(name, x)); }, py::arg("x"));
  for (const std::string_view name : topi::BinaryNames())
    m.def(
        std::string(name).c_str(),
        [name](const py::object& a, const py::object& b) {
          const std::string op(name);
          return OperandToPython(Value(topi::Binary(name, OperandOf(op.c_str(), a), OperandOf(op.c_str(), b))));
        },
        py::arg("lhs"), py::arg("rhs"));
  m.def(
      "cast", [](const Tensor& x, DataType dtype, const py::object&) { return Value(topi::Cast(x, dtype)); },
      py::arg("x"), py::arg("dtype"), py::arg("span") = py::none());
  m.def(
      "clip", [](const Tensor& x, const Expr& low, const Expr& high) { return Value(topi::Clip(x, low, high)); },
      py::arg("x"), py::arg("a_min"), py::arg("a_max"));
  m.def(
      "full",
      [](const py::object& shape, DataType dtype, const Expr& value) {
        return Value(topi::Full(ShapeOf(shape), dtype, value));
      },
      py::arg("shape"), py::arg("dtype"), py::arg("fill_value"));
  m.def(
      "full_like",
      [](const Tensor& x, const Expr& value) { return Value(topi::Full(x.shape(), x.dtype(), value, "T_full_like")); },
      py::arg("x"), py::arg("fill_value"));
  m.def("elemwise_sum", [](const std::vector<Tensor>& xs) { return Value(topi::ElementwiseSum(xs)); }, py::arg("xs"));
  m.def(
      "broadcast_to",
      [](const Tensor& data, const py::object& shape) { return Value(topi::BroadcastTo(data, ShapeOf(shape))); },
      py::arg("data"), py::arg("shape"));
  m.def(
      "where",
      [](const Tensor& condition, const py::object& x, const py::object& y) {
        return Value(topi::Where(condition, OperandOf("where", x), OperandOf("where", y)));
      },
      py::arg("condition"), py::arg("x"), py::arg("y"));
}

std::vector<int64_t> ReducedAxes(const Tensor& data, const py::object& axis) {
  return axis.is_none() ? topi::AllAxes(data) : IntsOf(axis);
}

void BindReductions(py::module_& m) {
  using te::Combiner;
  constexpr std::pair<const char*, Combiner> kRows[] = {{"sum", Combiner::kSum}, {"prod", Combiner::kProd},
                                                        {"max", Combiner::kMax}, {"min", Combiner::kMin},
                                                        {"all", Combiner::kAll}, {"any", Combiner::kAny}};
  for (const auto& [name, combiner] : kRows)
    m.def(
        name,
        [name = name, combiner = combiner](const Tensor& data, const py::object& axis, bool keepdims) {
          return Value(topi::ReduceAlong(name, combiner, data, ReducedAxes(data, axis), keepdims));
        },
        py::arg("data"), py::arg("axis") = py::none(), py::arg("keepdims") = false);
  for (const bool is_max : {true, false}) {
    const char* name = is_max ? "argmax" : "argmin";
    m.def(
        name,
        [name, is_max](const Tensor& data, const py::object& axis, bool keepdims, bool select_last_index) {
          return Value(topi::ArgReduce(name, is_max, data, ReducedAxes(data, axis), keepdims, select_last_index));
        },
        py::arg("data"), py::arg("axis") = py::none(), py::arg("keepdims") = false,
        py::arg("select_last_index") = false);
  }
}

void BindShapes(py::module_& m) {
  m.def(
      "layout_transform",
      [](const Tensor& array, const std::string& from, const std::string& to, const std::string& rule) {
        return Value(topi::LayoutTransform(array, from, to, rule));
      },
      py::arg("array"), py::arg("src_layout"), py::arg("dst_layout"), py::arg("schedule_rule") = "None");
  m.def(
      "reshape", [](const Tensor& a, const py::object& shape) { return Value(topi::Reshape(a, ShapeOf(shape))); },
      py::arg("a"), py::arg("newshape"));
  m.def(
      "transpose", [](const Tensor& a, const py::object& axes) { return Value(topi::Transpose(a, IntsOf(axes))); },
      py::arg("a"), py::arg("axes") = py::none());
  m.def(
      "expand_dims", [](const Tensor& a, int64_t axis, int64_t n) { return Value(topi::ExpandDims(a, axis, n)); },
      py::arg("a"), py::arg("axis"), py::arg("num_newaxis") = 1);
  m.def(
      "squeeze", [](const Tensor& a, const py::object& axis) { return Value(topi::Squeeze(a, IntsOf(axis))); },
      py::arg("a"), py::arg("axis") = py::none());
  m.def(
      "concatenate", [](const std::vector<Tensor>& xs, int64_t axis) { return Value(topi::Concatenate(xs, axis)); },
      py::arg("a_tuple"), py::arg("axis") = 0);
  m.def(
      "stack", [](const std::vector<Tensor>& xs, int64_t axis) { return Value(topi::Stack(xs, axis)); },
      py::arg("tensors"), py::arg("axis"));
  m.def(
      "split",
      [](const Tensor& x, const py::object& places, int64_t axis) {
        return PyIndex_Check(places.ptr()) ? Value(topi::SplitSections(x, IntsOf(places)[0], axis))
                                           : Value(topi::Split(x, IntsOf(places), axis));
      },
      py::arg("ary"), py::arg("indices_or_sections"), py::arg("axis") = 0);
  m.def(
      "strided_slice",
      [](const Tensor& a, const py::object& begin, const py::object& end, const py::object& strides,
         const py::object& axes, const std::string& mode, bool) {
        return Value(topi::StridedSlice(a, IntsOf(begin), IntsOf(end), IntsOf(strides), IntsOf(axes), mode == "size"));
      },
      py::arg("a"), py::arg("begin"), py::arg("end"), py::arg("strides") = py::none(), py::arg("axes") = py::none(),
      py::arg("slice_mode") = "end", py::arg("assume_inbound") = true);
}

void BindCopies(py::module_& m) {
  m.def(
      "tile", [](const Tensor& a, const py::object& reps) { return Value(topi::Tile(a, IntsOf(reps))); }, py::arg("a"),
      py::arg("reps"));
  m.def(
      "repeat", [](const Tensor& a, int64_t n, int64_t axis) { return Value(topi::Repeat(a, n, axis)); }, py::arg("a"),
      py::arg("repeats"), py::arg("axis"));
  m.def(
      "flip", [](const Tensor& a, int64_t axis) { return Value(topi::Flip(a, axis)); }, py::arg("a"),
      py::arg("axis") = 0);
  m.def(
      "take",
      [](const Tensor& a, const Tensor& indices, std::optional<int64_t> axis, int64_t batch_dims,
         const std::string& mode) { return Value(topi::Take(a, indices, axis, mode, batch_dims)); },
      py::arg("a"), py::arg("indices"), py::arg("axis") = py::none(), py::arg("batch_dims") = 0,
      py::arg("mode") = "clip");
  m.def(
      "gather", [](const Tensor& x, int64_t axis, const Tensor& i) { return Value(topi::Gather(x, axis, i)); },
      py::arg("data"), py::arg("axis"), py::arg("indices"));
  m.def(
      "gather_nd", [](const Tensor& x, const Tensor& i, int64_t batch) { return Value(topi::GatherNd(x, i, batch)); },
      py::arg("a"), py::arg("indices"), py::arg("batch_dims") = 0);
  m.def(
      "one_hot",
      [](const Tensor& indices, const Expr& on, const Expr& off, int64_t depth, int64_t axis, DataType dtype) {
        return Value(topi::OneHot(indices, on, off, depth, axis, dtype));
      },
      py::arg("indices"), py::arg("on_value"), py::arg("off_value"), py::arg("depth"), py::arg("axis"),
      py::arg("dtype"));
  m.def(
      "arange",
      [](const Expr& start, const std::optional<Expr>& stop, const Expr& step, DataType dtype) {
        return stop ? Value(topi::Arange(start, *stop, step, dtype)) : Value(topi::Arange(0, start, step, dtype));
      },
      py::arg("start"), py::arg("stop") = py::none(), py::arg("step") = 1, py::arg("dtype") = "float32");
  m.def(
      "trilu", [](const Tensor& x, const Expr& k, bool upper) { return Value(topi::Trilu(x, k, upper)); },
      py::arg("data"), py::arg("k"), py::arg("upper"));
  m.def(
      "meshgrid", [](const std::vector<Tensor>& xs, const std::string& how) { return Value(topi::Meshgrid(xs, how)); },
      py::arg("a_tuple"), py::arg("indexing"));
}

}  // namespace

void BindTopi(py::module_& parent) {
  py::module_ module = parent.def_submodule("topi");
  BindElementwise(module);
  BindReductions(module);
  BindShapes(module);
  BindCopies(module);
  BindTopiNn(module);
}

}  // namespace lathe::python
