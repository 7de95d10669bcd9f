// Constructors of expressions, and operators on them with TVM's type rules.
#include "compiler/ir/expr.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "compiler/ir/op_table.h"
#include "compiler/script/checked_expr.h"
#include "compiler/script/dialect.h"
#include "compiler/script/operator_rules.h"
#include "compiler/script/printer.h"
#include "compiler/te/reduction.h"
#include "python/src/bind.h"
#include "python/src/cast.h"
#include "python/src/errors.h"

namespace lathe::python {
namespace {

BinaryOp OpOfName(const std::string& name) {
  for (const BinarySpelling& row : BinarySpellings()) {
    if (row.exact == name) return row.op;
  }
  throw Failure(ErrorKind::kValue, fmt::format("no binary operation is named \"{}\"", name));
}

Expr Named(std::string_view what, StatusOr<Expr> result, ErrorKind kind = ErrorKind::kTvm) {
  if (!result.ok()) throw Failure(kind, result.status().WithContext(what));
  return *std::move(result);
}

// tir.Add(a, b): the node itself, nothing converted or folded.
Expr MakeExact(const std::string& name, const Expr& a, const Expr& b) {
  if (a.dtype() != b.dtype())
    throw Failure(ErrorKind::kMismatch, fmt::format("{}: mismatched types. {} vs. {}; cast one of them", name,
                                                    a.dtype().ToString(), b.dtype().ToString()));
  return Named(name, CombineExprs(OpOfName(name), a, b, false));
}

// a + b and the like.
Expr MakeFolded(const std::string& name, const Expr& a, const Expr& b) {
  return Named(name, FoldOperator(OpOfName(name), a, b));
}

Expr Negate(const Expr& a) {
  if (a.dtype().is_bool()) throw Failure(ErrorKind::kLiteral, "neg: expected a number, got a boolean");
  return MakeFolded("Mul", a, Named("neg", ConvertExpr(a.dtype(), Expr(-1))));
}

// a / b: signed integers have several quotients, so the program must say which.
Expr Divide(const Expr& a, const Expr& b) {
  if (a.dtype().is_signed_int() && b.dtype().is_signed_int())
    throw Failure(ErrorKind::kTvm, "divide: expected floats around \"/\"; write //, tir.truncdiv or tir.indexdiv");
  return MakeFolded("Div", a, b);
}

const Op& OpNamed(const std::string& name) {
  const Op* op = FindOpOfTvm(name.starts_with("tir.") ? name.substr(4) : name);
  if (op == nullptr) throw Failure(ErrorKind::kOperation, fmt::format("Op.get: no operation is named \"{}\"", name));
  return *op;
}
const Op& OpOf(const py::object& op) {
  const Op* const* node = UnwrapAs<const Op*>(op);
  return node != nullptr ? **node : OpNamed(py::cast<std::string>(py::str(op)));
}

Expr CallTyped(DataType type, const py::object& op, const std::vector<Expr>& args) {
  const Op& called = OpOf(op);
  if (called.num_args >= 0 && args.size() != static_cast<size_t>(called.num_args))
    throw Failure(ErrorKind::kTvm, fmt::format("Call: expected {} arguments of tir.{}, got {}", called.num_args,
                                               called.name, args.size()));
  return Expr::Make(type, Call{&called, args});
}
Expr CallNamed(const std::string& name, const py::sequence& args) {
  const Op& op = OpNamed(name);
  if (!TakesTypeFirst(op)) return Named(name, FoldCall(op, py::cast<std::vector<Expr>>(args)));
  const bool is_last = name == "tvm_struct_get";  // (array, index, field, dtype)
  if (args.size() == 0)
    throw Failure(ErrorKind::kTvm,
                  fmt::format("{}: expected a dtype as {} argument", name, is_last ? "last" : "first"));
  const size_t type_at = is_last ? args.size() - 1 : 0;
  const DataType type = py::cast<DataType>(args[type_at]);
  std::vector<Expr> rest;
  for (size_t i = 0; i < args.size(); ++i)
    if (i != type_at) rest.push_back(py::cast<Expr>(args[i]));
  return Named(name, IsLimit(op) ? LimitOf(op, type) : FoldTypedCall(op, type, rest));
}

Expr MakeInt(DataType type, const Expr& value) {
  const IntImm* number = value.As<IntImm>();
  if (number == nullptr) throw Failure(ErrorKind::kType, "IntImm: expected an integer, got " + Print(value));
  if (!(type.is_int() || type.is_bool()))
    throw Failure(ErrorKind::kLiteral, fmt::format("IntImm: expected a type of integers, got {}", type.ToString()));
  if (type.is_bool() && (number->value < 0 || number->value > 1))
    throw Failure(ErrorKind::kLiteral, fmt::format("IntImm: expected 0 or 1 of bool, got {}", number->value));
  return Named("IntImm", ConvertExpr(type, value), ErrorKind::kLiteral);
}

void CheckFloat(const char* what, const Expr& number) {
  const FloatImm* imm = number.As<FloatImm>();
  if (imm == nullptr || !std::isfinite(imm->value)) return;
  if (std::abs(imm->value) > te::MaxValue(number.dtype()).As<FloatImm>()->value)
    throw Failure(ErrorKind::kLiteral, fmt::format("{}: {} leaves {}", what, imm->value, number.dtype().ToString()));
}

Expr MakeFloat(DataType type, const Expr& value) {
  if (!type.is_float()) throw Failure(ErrorKind::kLiteral, "FloatImm: expected a float type, got " + type.ToString());
  Expr number = Named("FloatImm", ConvertExpr(type, value), ErrorKind::kLiteral);
  CheckFloat("FloatImm", number);
  return number;
}

// An integer of Python beyond int64.
Expr LargeConst(const py::handle& value, std::optional<DataType> type) {
  const DataType element = type.value_or(DataType::Int(64)).element();
  if (element.is_float()) return FloatConst(element, PyLong_AsDouble(value.ptr()));
  const unsigned long long bits = PyLong_AsUnsignedLongLong(value.ptr());
  const bool fits = PyErr_Occurred() == nullptr && element == DataType::UInt(64);
  PyErr_Clear();
  if (!fits)
    throw Failure(ErrorKind::kLiteral,
                  fmt::format("const: {} leaves {}", py::cast<std::string>(py::str(value)), element.ToString()));
  return IntConst(element, static_cast<int64_t>(bits));
}

bool IsLarge(const py::handle& value) {
  int overflow = 0;
  if (PyLong_Check(value.ptr())) PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  return overflow != 0;
}

// A float without a type is one of 32 bits where it fits.
Expr WideFloat(const Expr& number) {
  const double value = std::abs(number.As<FloatImm>()->value);
  return value <= std::numeric_limits<float>::max() ? number
                                                    : FloatConst(DataType::Float(64), number.As<FloatImm>()->value);
}

Expr MakeConst(py::object value, std::optional<DataType> type) {
  const bool is_of_numpy = Unwrap(value) == nullptr && py::hasattr(value, "dtype") && py::hasattr(value, "item");
  if (!type && is_of_numpy) type = ToDataType(value);
  if (is_of_numpy) value = value.attr("item")();
  if (IsLarge(value)) {
    const Expr number = LargeConst(value, type);
    return type ? Named("const", FoldCast(*type, number), ErrorKind::kLiteral) : number;
  }
  const std::optional<Expr> given = ToExpr(value);
  if (!given || given->As<StringImm>() != nullptr)
    throw Failure(ErrorKind::kType, fmt::format("const: expected a number, got {}",
                                                py::cast<std::string>(py::type::of(value).attr("__name__"))));
  const Expr number = *given;
  if (!type) return PyFloat_Check(value.ptr()) ? WideFloat(number) : number;
  if (type->is_int() && !type->is_signed_int() && AsIntConst(number) != nullptr && *AsIntConst(number) < 0)
    throw Failure(ErrorKind::kLiteral,
                  fmt::format("const: expected a value of {}, got {}", type->ToString(), *AsIntConst(number)));
  const Expr made = Named("const", FoldCast(*type, number), ErrorKind::kLiteral);
  const Broadcast* broadcast = made.As<Broadcast>();
  CheckFloat("const", broadcast == nullptr ? made : broadcast->value);
  return made;
}

DataType VectorOf(std::string_view what, DataType element, const Expr& lanes) {
  const std::optional<DataType> type = TypeOfLanes(element, lanes);
  if (!type || !element.is_scalar())
    throw Failure(
        ErrorKind::kTvm,
        fmt::format("{}: expected scalars and 1 to {} lanes, or T.vscale() times as many, got {} and {} lanes", what,
                    kMaxLanes, element.ToString(), Print(lanes)));
  return *type;
}
Expr MakeRamp(const Expr& base, const Expr& stride, const Expr& lanes) {
  const DataType type = VectorOf("Ramp", base.dtype(), lanes);
  return Expr::Make(type, Ramp{base, Named("Ramp", ConvertExpr(base.dtype(), stride)), type.lanes});
}
Expr MakeBroadcast(const Expr& value, const Expr& lanes) {
  const DataType type = VectorOf("Broadcast", value.dtype(), lanes);
  return Expr::Make(type, Broadcast{value, type.lanes});
}

Expr MakeSelectNode(const Expr& condition, const Expr& a, const Expr& b) {
  if (!condition.dtype().is_bool() || a.dtype() != b.dtype())
    throw Failure(a.dtype() != b.dtype() ? ErrorKind::kMismatch : ErrorKind::kTvm,
                  fmt::format("Select: expected a boolean and two values of one type, got {}, {} and {}",
                              condition.dtype().ToString(), a.dtype().ToString(), b.dtype().ToString()));
  return Expr::Make(a.dtype(), Select{condition, a, b});
}

Expr MakeShuffle(const std::vector<Expr>& vectors, const std::vector<Expr>& indices) {
  if (vectors.empty() || indices.empty())
    throw Failure(ErrorKind::kTvm, "Shuffle: expected vectors and the lanes to take, got none");
  int64_t lanes = 0;
  for (const Expr& vector : vectors) {
    lanes += vector.dtype().lanes;
    if (vector.dtype().element() != vectors[0].dtype().element())
      throw Failure(ErrorKind::kTvm, fmt::format("Shuffle: expected vectors of one type, got {} and {}",
                                                 vectors[0].dtype().ToString(), vector.dtype().ToString()));
  }
  for (const Expr& index : indices) {
    if (AsIntConst(index) == nullptr || *AsIntConst(index) < 0 || *AsIntConst(index) >= lanes)
      throw Failure(ErrorKind::kTvm, fmt::format("Shuffle: expected constant lanes below {}", lanes));
  }
  return Expr::Make(vectors[0].dtype().with_lanes(static_cast<int>(indices.size())), Shuffle{vectors, indices});
}

Expr MakeReduceNode(const CommReducer& combiner, const std::vector<Expr>& source, const std::vector<IterVar>& axis,
                    const Expr& condition, int64_t index, const std::vector<Expr>& init) {
  if (index < 0 || index >= static_cast<int64_t>(source.size()) || source.size() != combiner.lhs.size())
    throw Failure(ErrorKind::kTvm, fmt::format("Reduce: expected {} sources and the number of one, got {} and {}",
                                               combiner.lhs.size(), source.size(), index));
  return Expr::Make(source[index].dtype(), Reduce{combiner, axis, source, init, condition, index});
}

Expr MakeNotNode(const Expr& a) {
  if (!a.dtype().is_bool())
    throw Failure(ErrorKind::kTvm, fmt::format("Not: expected a boolean, got {}", a.dtype().ToString()));
  return Expr::Make(a.dtype(), Not{a});
}

void BindConstructors(py::module_& module) {
  module.def("IntImm", [](DataType type, const py::object& value) {
    return IsLarge(value) && type.is_int() ? LargeConst(value, type) : MakeInt(type, py::cast<Expr>(value));
  });
  module.def("FloatImm", &MakeFloat);
  module.def("StringImm", [](const std::string& text) { return Expr::Make(DataType::Handle(), StringImm{text}); });
  module.def("Var", [](const std::string& name, DataType type) { return Var(name, type); });
  module.def("SizeVar", [](const std::string& name, DataType type) { return Var::Size(name, type); });
  module.def("pointer_var", [](const std::string& name, DataType element, const std::string& scope) {
    return Var(name, MakePointerType(element, scope));
  });
  module.def("Let", [](const Var& var, const Expr& value, const Expr& body) {
    if (value.dtype() != var.dtype())
      throw Failure(ErrorKind::kTvm, fmt::format("Let: expected a value of {}, got {}", var.dtype().ToString(),
                                                 value.dtype().ToString()));
    return Expr::Make(body.dtype(), Let{value, var, body});
  });
  module.def("Shuffle", &MakeShuffle);
  module.def("Cast", [](DataType type, const Expr& value) {
    Named("Cast", ConvertExpr(type, value));  // For what it refuses.
    return Expr::Make(type, Cast{value});
  });
  module.def("Not", &MakeNotNode);
  module.def("Reduce", &MakeReduceNode);
  module.def("Select", &MakeSelectNode);
  module.def("Ramp", &MakeRamp);
  module.def("Broadcast", &MakeBroadcast);
  module.def("Call", &CallTyped);
  module.def("FuncCall", [](DataType type, const std::string& callee, const std::vector<Expr>& args) {
    return Expr::Make(type, FuncCall{callee, args});
  });
  module.def("const", &MakeConst);
  module.def("to_expr", [](const Expr& e) { return e; });
}

}  // namespace

void BindExpr(py::module_& module) {
  BindConstructors(module);
  module.def("dtype_name", [](DataType type) { return type; });
  module.def("dtype_parts",
             [](DataType type) { return py::make_tuple(static_cast<int>(type.code), type.bits, type.lanes); });
  module.def("make_binary", &MakeExact, py::arg("operation"), py::arg("a"), py::arg("b"));
  module.def("fold_binary", &MakeFolded, py::arg("operation"), py::arg("a"), py::arg("b"));
  module.def("divide", &Divide);
  module.def("negate", &Negate);
  module.def("cast", [](DataType type, const Expr& value) { return Named("cast", FoldCast(type, value)); });
  module.def("logical_not", [](const Expr& a) { return MakeNotNode(a).As<Not>() != nullptr ? MakeNot(a) : a; });
  module.def("call_op", &CallNamed, py::arg("operation"), py::arg("args"));
  module.def("op_get", [](const std::string& name) { return Wrap(&OpNamed(name)); });
  module.def("op_names", [] {
    std::vector<std::string_view> names;
    for (const Op& op : AllOps()) names.push_back(op.name);
    return names;
  });
  module.def("op_params", [](const std::string& name) {
    const std::span<const std::string_view> params = ParamsOf(OpNamed(name));
    return std::vector<std::string_view>(params.begin(), params.end());
  });
  module.def("is_pure_op", [](py::handle op) { return std::get<const Op*>(*Unwrap(op))->is_pure; });
  module.def("ceildiv", [](const Expr& a, const Expr& b) { return Value(FoldCeilDiv(a, b), ErrorKind::kMismatch); });
}

}  // namespace lathe::python
