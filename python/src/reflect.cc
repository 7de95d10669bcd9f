#include "python/src/reflect.h"

#include <type_traits>

#include "compiler/ir/fields.h"
#include "compiler/script/dialect.h"
#include "python/src/cast.h"

namespace lathe::python {
namespace {

// Where the compiler calls a field something else than TVM does. An empty name hides it.
struct Renamed {
  std::string_view type, ours, tvms;
};
constexpr Renamed kRenamed[] = {
    {"tir.SeqStmt", "stmts", "seq"},      {"tir.Block", "name", "name_hint"}, {"tir.IterVar", "domain", "dom"},
    {"tir.IterVar", "kind", "iter_type"}, {"tir.For", "thread", ""},       // thread_binding, an IterVar.
    {"tir.Buffer", "scope", ""},                                           // A method.
    {"tir.Var", "is_size", ""},           {"tir.SizeVar", "is_size", ""},  // The class says it.
    {"tir.PrimFunc", "name", ""},         {"tir.PrimFunc", "attrs", ""},   // With the global symbol in it (module.cc).
};

std::string_view TvmName(std::string_view type, std::string_view field) {
  for (const Renamed& row : kRenamed) {
    if (row.ours == field && row.type == type) return row.tvms;
  }
  return field;
}

py::object Convert(int64_t value) { return py::int_(value); }
[[maybe_unused]] py::object Convert(bool value) { return py::bool_(value); }
py::object Convert(double value) { return py::float_(value); }
py::object Convert(const std::string& value) { return py::str(value); }
py::object Convert(DataType value) { return py::str(value.ToString()); }
py::object Convert(const AttrMap& value) { return ToPython(value); }
py::object Convert(ForKind value) { return MakeEnum("lathe.tir.stmt", "ForKind", static_cast<int>(value)); }
py::object Convert(const Var& value) { return Wrap(Expr(value)); }
py::object Convert(const Op* op) { return Wrap(op); }
// None where the variable's dtype says all: FieldOf puts that in its place.
py::object Convert(const PointerType* pointer) {
  if (pointer == nullptr) return py::none();
  const py::module_ types = py::module_::import("lathe.ir.type");
  return types.attr("PointerType")(types.attr("PrimType")(Convert(pointer->element)), pointer->scope);
}
py::object Convert(BufferType type) { return py::int_(type == BufferType::kAutoBroadcast ? 2 : 1); }  // TVM's numbers.
// TVM's numbers: data parallel 0, thread index 1, reduction 2, ordered 3, opaque 4, then what schedules do.
py::object Convert(IterKind kind) {
  constexpr int kNumbers[] = {0, 2, 3, 4, 1, 1, 5, 6, 7, 8};
  return py::int_(kNumbers[static_cast<size_t>(kind)]);
}
template <typename T>
  requires std::is_constructible_v<Node, T> && (!std::is_arithmetic_v<T>)
py::object Convert(const T& value) {
  return Wrap(Node(value));
}
py::object Convert(const AttrTarget& target) {
  if (const Attr* value = std::get_if<Attr>(&target)) return ToPython(*value);
  if (const Buffer* buffer = std::get_if<Buffer>(&target)) return Wrap(Node(*buffer));
  return Wrap(Node(std::get<IterVar>(target)));
}
py::object Convert(const std::vector<ParamBuffer>& entries) {
  py::dict buffers;
  for (const ParamBuffer& entry : entries) buffers[Convert(entry.param)] = Convert(entry.buffer);
  return MakeMap(buffers);
}
template <typename T>
py::object Convert(const std::optional<T>& value) {
  return value ? Convert(*value) : py::none();
}
template <typename T>
py::object Convert(const std::vector<T>& values) {
  py::list items;
  for (const T& value : values) items.append(Convert(value));
  return MakeArray(items);
}

template <typename T>
// An operator is its node's class.
constexpr bool kIsShown = !std::is_same_v<T, BinaryOp>;

// Calls f(field description, value) for each field of whatever the node is.
template <typename F>
void VisitFields(const Node& node, F&& f) {
  const auto fields = [&](const auto& value) { ForEachField(value, f); };
  std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, Expr>)
          VisitNode(value, fields);
        else if constexpr (std::is_same_v<T, Stmt>)
          std::visit(fields, value.node().value);
        else if constexpr (std::is_same_v<T, Block> || std::is_same_v<T, Buffer> || std::is_same_v<T, FuncPtr>)
          fields(*value);
        else if constexpr (requires { T::Fields(); })
          fields(value);
      },
      node);
}

// The axis that TVM keeps with a loop over threads; None for others.
py::object ThreadBinding(const For& loop) {
  if (loop.thread.empty()) return py::none();
  return Wrap(
      Node(IterVar{{loop.min, loop.extent}, Var("", loop.loop_var.dtype()), IterKind::kThreadIndex, loop.thread}));
}

bool HasDomain(const IterVar& axis) { return !IsConstInt(axis.domain.min, 0) || !IsConstInt(axis.domain.extent, 0); }

}  // namespace

py::object FieldOf(const Node& node, std::string_view name) {
  if (const Expr* e = std::get_if<Expr>(&node); e != nullptr && name == "dtype") return Convert(e->dtype());
  if (const Op* const* op = std::get_if<const Op*>(&node); op != nullptr && name == "name")
    return py::str("tir." + std::string(TvmNameOf(**op)));
  if (name == "span") return py::none();
  const IterVar* axis = std::get_if<IterVar>(&node);
  if (axis != nullptr && name == "dom" && !HasDomain(*axis)) return py::none();
  if (const Expr* e = std::get_if<Expr>(&node);
      e != nullptr && name == "lanes" && (e->As<Ramp>() != nullptr || e->As<Broadcast>() != nullptr))
    return Wrap(LanesOf(e->dtype()));
  if (const Expr* e = std::get_if<Expr>(&node); e != nullptr && name == "op" && e->As<FuncCall>() != nullptr)
    return py::module_::import("lathe.ir.module").attr("GlobalVar")(e->As<FuncCall>()->callee);
  const Stmt* stmt = std::get_if<Stmt>(&node);
  if (stmt != nullptr && name == "message" && stmt->As<AssertStmt>() != nullptr)
    return Wrap(Expr::Make(DataType::Handle(), StringImm{stmt->As<AssertStmt>()->message}));
  if (name == "thread_binding") {
    if (const For* loop = stmt == nullptr ? nullptr : stmt->As<For>()) return ThreadBinding(*loop);
  }
  if (const Expr* e = std::get_if<Expr>(&node);
      e != nullptr && name == "type_annotation" && IsVar(*e) && Var(*e).pointer() == nullptr)
    return py::module_::import("lathe.ir.type").attr("PrimType")(Convert(e->dtype()));
  const std::string_view type = TypeKey(node);
  py::object found;
  VisitFields(node, [&](const auto& field, const auto& value) {
    if constexpr (kIsShown<std::decay_t<decltype(value)>>) {
      if (!found && TvmName(type, field.name) == name) found = Convert(value);
    }
  });
  return found;
}

std::vector<std::string> FieldNames(const Node& node) {
  std::vector<std::string> names;
  if (std::holds_alternative<Expr>(node)) names.emplace_back("dtype");
  const std::string_view type = TypeKey(node);
  VisitFields(node, [&](const auto& field, const auto& value) {
    if constexpr (kIsShown<std::decay_t<decltype(value)>>) {
      if (const std::string_view name = TvmName(type, field.name); !name.empty()) names.emplace_back(name);
    }
  });
  return names;
}

}  // namespace lathe::python
