// Tensors and their operations: lathe.te.
#include "python/src/te.h"

#include <fmt/format.h>

#include "compiler/te/create_prim_func.h"
#include "compiler/te/operation.h"
#include "compiler/te/reduction.h"
#include "compiler/transform/narrow_data_type.h"
#include "compiler/transform/widen_index_to_int64.h"
#include "python/src/bind.h"
#include "python/src/cast.h"
#include "python/src/errors.h"

namespace lathe::python {
namespace {

// An operation as Python holds it, of the class of its kind.
struct OperationHandle {
  te::Operation op;
};
struct PlaceholderHandle : OperationHandle {};
struct ComputeHandle : OperationHandle {};
struct ScanHandle : OperationHandle {};
struct ExternHandle : OperationHandle {};

}  // namespace

const std::vector<Expr>& CheckedShape(const char* what, const std::vector<Expr>& shape) {
  for (const Expr& extent : shape)
    if (!extent.dtype().is_int() || !extent.dtype().is_scalar())
      throw Failure(ErrorKind::kTvm,
                    fmt::format("{}: an extent is of {}, an integer is required", what, extent.dtype().ToString()));
  return shape;
}

py::object ToPython(const te::Operation& op) {
  if (op->As<te::ComputeOp>() != nullptr) return py::cast(ComputeHandle{{op}});
  if (op->As<te::ScanOp>() != nullptr) return py::cast(ScanHandle{{op}});
  if (op->As<te::ExternOp>() != nullptr) return py::cast(ExternHandle{{op}});
  return py::cast(PlaceholderHandle{{op}});
}

te::Operation ToOperation(py::handle object) {
  if (py::isinstance<te::Tensor>(object)) return py::cast<te::Tensor>(object).op();
  if (!py::isinstance<OperationHandle>(object))
    throw Failure(ErrorKind::kValue,
                  "Schedule: expected a Tensor or an Operation, got " + py::cast<std::string>(py::repr(object)));
  return py::cast<const OperationHandle&>(object).op;
}

namespace {

py::object ArrayOf(const std::vector<te::Tensor>& tensors) {
  py::list items;
  for (const te::Tensor& tensor : tensors) items.append(tensor);
  return MakeArray(items);
}
template <typename T>
py::object ArrayOf(const std::vector<T>& nodes) {
  py::list items;
  for (const T& node : nodes) items.append(py::cast(node));
  return MakeArray(items);
}

AttrMap ToAttrs(const py::object& items) {
  AttrMap attrs;
  if (items.is_none()) return attrs;
  for (const auto& [key, value] : py::cast<py::dict>(items)) {
    const std::string name = py::cast<std::string>(py::str(key));
    const std::optional<Attr> attr = ToAttr(value, NumberTypes::kKept);
    if (!attr) throw Failure(ErrorKind::kType, fmt::format("attribute \"{}\": expected numbers, strings, lists", name));
    attrs.insert_or_assign(name, *attr);
  }
  return attrs;
}

// The one attribute that names tensors.
std::vector<te::Tensor> TakeLayoutFree(py::object& attrs) {
  constexpr const char* kKey = "layout_free_placeholders";
  if (attrs.is_none() || !py::cast<py::dict>(attrs).contains(kKey)) return {};
  py::dict rest = py::cast<py::dict>(attrs.attr("copy")());
  std::vector<te::Tensor> tensors;
  for (const py::handle item : py::cast<py::sequence>(rest.attr("pop")(kKey)))
    tensors.push_back(py::cast<te::Tensor>(item));
  attrs = std::move(rest);
  return tensors;
}

Expr ElementOf(const te::Tensor& tensor, const py::args& indices) {
  if (indices.size() != tensor.ndim())
    throw Failure(ErrorKind::kValue, fmt::format("tensor {} has {} dimensions, got {} indices", tensor.name(),
                                                 tensor.ndim(), indices.size()));
  std::vector<Expr> point;
  for (const py::handle index : indices) {
    const std::optional<Expr> e = ToExpr(index);
    if (!e) throw Failure(ErrorKind::kType, fmt::format("tensor {}: an index is no expression", tensor.name()));
    if (!e->dtype().is_int())
      throw Failure(ErrorKind::kTvm, fmt::format("tensor {}: an index is of {}, an integer is required", tensor.name(),
                                                 e->dtype().ToString()));
    point.push_back(*e);
  }
  return tensor(std::move(point));
}

std::vector<te::Tensor> ComputeOf(const std::vector<IterVar>& axis, const std::vector<Expr>& body,
                                  const std::string& name, const std::string& tag, py::object attrs) {
  te::ComputeOptions options{.name = name, .tag = tag, .attrs = {}, .axis_names = {}, .layout_free = {}};
  options.layout_free = TakeLayoutFree(attrs);
  options.attrs = ToAttrs(attrs);
  return Value(te::MakeCompute(axis, body, std::move(options)))->outputs();
}

std::vector<IterVar> AxesOf(const std::vector<Expr>& shape, const std::vector<std::string>& names) {
  te::ComputeOptions options;
  options.axis_names = names;
  return te::MakeAxes(CheckedShape("compute", shape), options);
}

// One component is passed as itself, several as a list.
py::object Operands(const std::vector<Expr>& values) {
  return values.size() == 1 ? py::cast(values[0]) : py::object(py::cast(values));
}
std::vector<Expr> Components(const py::object& value) {
  if (py::isinstance<py::tuple>(value) || py::isinstance<py::list>(value)) return py::cast<std::vector<Expr>>(value);
  return {py::cast<Expr>(value)};
}

// A reduction whose combiner Python describes. Gives the expressions of its components.
std::vector<Expr> ReduceBy(const py::object& combine, const py::object& identity, const std::string& name,
                           const std::vector<Expr>& source, const std::vector<IterVar>& axis,
                           const std::optional<Expr>& where, const std::vector<Expr>& init) {
  std::vector<DataType> types;
  for (const Expr& e : source) types.push_back(e.dtype());
  const auto combination = [&](const std::vector<Expr>& x, const std::vector<Expr>& y) {
    return Components(combine(Operands(x), Operands(y)));
  };
  const auto start = [&](const std::vector<DataType>& all) {
    py::list names;
    for (const DataType type : all) names.append(py::cast(type));
    return Components(identity(*py::tuple(names)));
  };
  const CommReducer reducer = Value(te::MakeReducer(types, combination, start, name));
  return Value(te::MakeReduce(reducer, source, axis, init, where, name));
}

Expr ReduceNamed(const std::string& name, const Expr& source, const std::vector<IterVar>& axis,
                 const std::optional<Expr>& where, const std::vector<Expr>& init) {
  const te::Combiner combiner = name == "sum"   ? te::Combiner::kSum
                                : name == "max" ? te::Combiner::kMax
                                                : te::Combiner::kMin;
  if (!source.dtype().is_int() && !source.dtype().is_float())
    throw Failure(ErrorKind::kTvm, fmt::format("te.{}: expected numbers, got {}", name, source.dtype().ToString()));
  return Value(te::MakeReduce(te::NamedReducer(combiner, source.dtype()), {source}, axis, init, where, name)).front();
}

FuncPtr FuncOf(const py::sequence& args, const std::optional<DataType>& index_type) {
  std::vector<te::Argument> arguments;
  for (const py::handle arg : args) {
    if (py::isinstance<te::Tensor>(arg)) {
      arguments.emplace_back(py::cast<te::Tensor>(arg));
    } else {
      arguments.emplace_back(py::cast<Var>(arg));
    }
  }
  PrimFunc func = Value(te::CreatePrimFunc(arguments));
  if (index_type == DataType::Int(64)) {
    func = WidenIndexToInt64(std::move(func));
  } else if (index_type == DataType::Int(32)) {
    func = Value(ForceNarrowIndexToInt32(std::move(func)));
  } else if (index_type) {
    throw Failure(ErrorKind::kTvm, "create_prim_func: indices are int32 or int64, not " + index_type->ToString());
  }
  return std::make_shared<PrimFunc>(std::move(func));
}

Expr LimitOf(DataType type, bool is_max) {
  if (!type.is_int() && !type.is_float() && !type.is_bool())
    throw Failure(ErrorKind::kTvm, "no least or greatest value of " + type.ToString());
  return is_max ? te::MaxValue(type) : te::MinValue(type);
}

void BindTensor(py::module_& module) {
  py::class_<te::Tensor>(module, "Tensor", py::dynamic_attr())
      .def("__call__", &ElementOf)
      .def("__hash__", [](const te::Tensor& t) { return std::hash<const void*>()(t.buffer().get()); })
      .def("same_as", [](const te::Tensor& a, const te::Tensor& b) { return a.same_as(b); })
      .def_property_readonly("name",
                             [](const te::Tensor& t) {
                               return t.op()->num_outputs() == 1
                                          ? t.op()->name()
                                          : t.op()->name() + ".v" + std::to_string(t.value_index());
                             })
      .def_property_readonly("shape", [](const te::Tensor& t) { return ArrayOf(t.shape()); })
      .def_property_readonly("ndim", &te::Tensor::ndim)
      .def_property_readonly("dtype", &te::Tensor::dtype)
      .def_property_readonly("op", [](const te::Tensor& t) { return ToPython(t.op()); })
      .def_property_readonly("value_index", &te::Tensor::value_index)
      .def_property_readonly("buffer", &te::Tensor::buffer)
      .def("__repr__", [](const te::Tensor& t) {
        return fmt::format("Tensor(shape={}, op.name={})", py::cast<std::string>(py::str(ArrayOf(t.shape()))),
                           t.op()->name());
      });
}

void BindOperations(py::module_& module) {
  py::class_<OperationHandle>(module, "Operation")
      .def(
          "__eq__", [](const OperationHandle& a, const OperationHandle& b) { return a.op == b.op; }, py::is_operator())
      .def("__hash__", [](const OperationHandle& h) { return std::hash<const void*>()(h.op.get()); })
      .def("same_as", [](const OperationHandle& a, const OperationHandle& b) { return a.op == b.op; })
      .def_property_readonly("name", [](const OperationHandle& h) { return h.op->name(); })
      .def_property_readonly("tag", [](const OperationHandle& h) { return h.op->tag(); })
      .def_property_readonly("attrs", [](const OperationHandle& h) { return python::ToPython(h.op->attrs()); })
      .def_property_readonly("num_outputs", [](const OperationHandle& h) { return h.op->num_outputs(); })
      .def_property_readonly("input_tensors", [](const OperationHandle& h) { return ArrayOf(h.op->InputTensors()); })
      .def("output", [](const OperationHandle& h, size_t i) {
        if (i >= h.op->num_outputs()) throw py::index_error("the operation has no result " + std::to_string(i));
        return h.op->output(i);
      });
  py::class_<PlaceholderHandle, OperationHandle>(module, "PlaceholderOp")
      .def_property_readonly("shape", [](const PlaceholderHandle& h) { return ArrayOf(h.op->output(0).shape()); })
      .def_property_readonly("dtype", [](const PlaceholderHandle& h) { return h.op->output(0).dtype(); });
  const auto compute = [](const OperationHandle& h) { return h.op->As<te::ComputeOp>(); };
  py::class_<ComputeHandle, OperationHandle>(module, "ComputeOp")
      .def_property_readonly("axis", [=](const ComputeHandle& h) { return ArrayOf(compute(h)->axis); })
      .def_property_readonly("reduce_axis", [=](const ComputeHandle& h) { return ArrayOf(compute(h)->reduce_axis); })
      .def_property_readonly("layout_free", [=](const ComputeHandle& h) { return ArrayOf(compute(h)->layout_free); })
      .def_property_readonly("body", [=](const ComputeHandle& h) { return ArrayOf(compute(h)->body); });
  const auto scan = [](const ScanHandle& h) { return h.op->As<te::ScanOp>(); };
  py::class_<ScanHandle, OperationHandle>(module, "ScanOp")
      .def_property_readonly("init", [=](const ScanHandle& h) { return ArrayOf(scan(h)->init); })
      .def_property_readonly("update", [=](const ScanHandle& h) { return ArrayOf(scan(h)->update); })
      .def_property_readonly("state_placeholder", [=](const ScanHandle& h) { return ArrayOf(scan(h)->state); })
      .def_property_readonly("inputs", [=](const ScanHandle& h) { return ArrayOf(scan(h)->inputs); })
      .def_property_readonly("spatial_axis_",
                             [=](const ScanHandle& h) { return MakeArray(py::cast(scan(h)->spatial_axis)); })
      .def_property_readonly("scan_axis", [=](const ScanHandle& h) { return scan(h)->scan_axis; });
  const auto external = [](const ExternHandle& h) { return h.op->As<te::ExternOp>(); };
  py::class_<ExternHandle, OperationHandle>(module, "ExternOp")
      .def_property_readonly("inputs", [=](const ExternHandle& h) { return ArrayOf(external(h)->inputs); })
      .def_property_readonly("input_placeholders",
                             [=](const ExternHandle& h) { return ArrayOf(external(h)->input_buffers); })
      .def_property_readonly("output_placeholders",
                             [=](const ExternHandle& h) { return ArrayOf(external(h)->output_buffers); })
      .def_property_readonly("body", [=](const ExternHandle& h) { return external(h)->body; });
}

}  // namespace

void BindTe(py::module_& parent) {
  py::module_ module = parent.def_submodule("te");
  BindTensor(module);
  BindOperations(module);
  module.def("placeholder", [](const std::vector<Expr>& shape, DataType type, const std::string& name) {
    return te::Placeholder(CheckedShape("placeholder", shape), type, name);
  });
  module.def("axes", &AxesOf);
  module.def("compute", &ComputeOf);
  module.def("reduce_axis", &te::ReduceAxis);
  module.def("thread_axis", &te::ThreadAxis);
  module.def("reduce_by", &ReduceBy);
  module.def("reduce_named", &ReduceNamed);
  module.def("create_prim_func", &FuncOf);
  module.def("min_value", [](DataType type) { return LimitOf(type, false); });
  module.def("max_value", [](DataType type) { return LimitOf(type, true); });
  module.def("scan", [](const std::vector<te::Tensor>& init, const std::vector<te::Tensor>& update,
                        const std::vector<te::Tensor>& state, const std::vector<te::Tensor>& inputs,
                        const std::string& name, const std::string& tag, const py::object& attrs) {
    return Value(te::MakeScan(init, update, state, inputs, name, tag, ToAttrs(attrs)))->outputs();
  });
  module.def("extern",
             [](const std::vector<te::Tensor>& inputs, const std::vector<Buffer>& in, const std::vector<Buffer>& out,
                const Stmt& body, const std::string& name, const std::string& tag, const py::object& attrs) {
               return Value(te::MakeExtern(inputs, in, out, body, name, tag, ToAttrs(attrs)))->outputs();
             });
}

}  // namespace lathe::python
