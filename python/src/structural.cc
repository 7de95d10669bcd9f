// Structural equality and hash.
#include <fmt/format.h>

#include "compiler/ir/structural_difference.h"
#include "python/src/bind.h"
#include "python/src/cast.h"
#include "python/src/errors.h"

namespace lathe::python {
namespace {

template <typename T>
const T& Pointee(const T& node) {
  return node;
}
template <typename T>
const T& Pointee(const std::shared_ptr<T>& node) {
  return *node;
}

// A number or a text stands for its expression.
Node ToNode(const py::object& object) {
  if (const Node* node = Unwrap(object)) return *node;
  const std::optional<Expr> e = ToExpr(object);
  if (!e)
    throw Failure(ErrorKind::kType, "structural_equal: expected nodes, numbers, texts, None, lists or dicts, got " +
                                        py::cast<std::string>(py::repr(object)));
  return *e;
}

// Where two things differ first: the paths in both. They are the same but for what only one of them has.
struct Places {
  std::string left, right;
};
using Difference = std::optional<Places>;

Difference DifferenceOf(const Node& a, const Node& b, bool map_free_vars) {
  if (a.index() != b.index()) return Places{};
  const std::optional<std::string> path = std::visit(
      [&](const auto& x) -> std::optional<std::string> {
        using T = std::decay_t<decltype(x)>;
        const T& y = std::get<T>(b);
        if constexpr (std::is_same_v<T, const Op*>)
          return x == y ? std::nullopt : std::optional<std::string>("");
        else
          return FirstDifference(Pointee(x), Pointee(y), map_free_vars);
      },
      a);
  return path ? Difference(Places{*path, *path}) : std::nullopt;
}

bool IsList(const py::object& o) { return PyList_Check(o.ptr()) || PyTuple_Check(o.ptr()); }
bool IsDict(const py::object& o) { return PyDict_Check(o.ptr()); }

Difference Below(const std::string& step, Difference inner) {
  return inner ? Difference(Places{step + inner->left, step + inner->right}) : std::nullopt;
}

Difference DifferenceOf(const py::object& a, const py::object& b, bool map_free_vars);

Difference DifferenceOfLists(const py::object& a, const py::object& b, bool map_free_vars) {
  const size_t in_a = py::len(a), in_b = py::len(b);
  for (size_t i = 0; i < std::min(in_a, in_b); ++i) {
    const py::int_ at(i);
    if (Difference inner = DifferenceOf(a[at], b[at], map_free_vars)) return Below(fmt::format("[{}]", i), inner);
  }
  if (in_a == in_b) return std::nullopt;
  const size_t end = std::min(in_a, in_b);
  const std::string here = fmt::format("[{}]", end), missing = fmt::format("[<missing:{}>]", end);
  return in_a < in_b ? Places{missing, here} : Places{here, missing};
}

Difference DifferenceOfDicts(const py::dict& a, const py::dict& b, bool map_free_vars) {
  const auto text = [](const py::handle& key) { return fmt::format("\"{}\"", py::cast<std::string>(py::str(key))); };
  for (const auto& [key, value] : a) {
    const std::string here = fmt::format("[{}]", text(key));
    if (!b.contains(key)) return Places{here, fmt::format("[<missing:{}>]", text(key))};
    const py::object other = b[key];
    if (Difference inner = DifferenceOf(py::reinterpret_borrow<py::object>(value), other, map_free_vars))
      return Below(here, inner);
  }
  for (const auto& [key, value] : b) {
    if (!a.contains(key)) return Places{fmt::format("[<missing:{}>]", text(key)), fmt::format("[{}]", text(key))};
  }
  return std::nullopt;
}

// Of index maps and the like, which are no nodes, what stands for them.
bool IsStandIn(const py::object& o) { return Unwrap(o) == nullptr && py::hasattr(o, "comparable"); }
py::object Compared(const py::object& o) { return IsStandIn(o) ? py::object(o.attr("comparable")()) : o; }

// Lists and dicts are compared item by item.
Difference DifferenceOf(const py::object& a, const py::object& b, bool map_free_vars) {
  if (IsStandIn(a) || IsStandIn(b)) return DifferenceOf(Compared(a), Compared(b), map_free_vars);
  if (IsList(a) && IsList(b)) return DifferenceOfLists(a, b, map_free_vars);
  if (IsDict(a) && IsDict(b)) return DifferenceOfDicts(a, b, map_free_vars);
  if (a.is_none() && b.is_none()) return std::nullopt;
  const auto is_other = [](const py::object& o) { return IsList(o) || IsDict(o) || o.is_none(); };
  return is_other(a) || is_other(b) ? Places{} : DifferenceOf(ToNode(a), ToNode(b), map_free_vars);
}

std::string Text(const py::object& object) { return py::cast<std::string>(py::str(object)); }

void AssertEqual(const py::object& a, const py::object& b, bool map_free_vars) {
  if (const Difference places = DifferenceOf(a, b, map_free_vars))
    throw Failure(ErrorKind::kValue,
                  fmt::format("StructuralEqual check failed, caused by lhs at <root>{}:\n{}\nand rhs at <root>{}:\n{}",
                              places->left, Text(a), places->right, Text(b)));
}

uint64_t HashOf(const Node& node, bool map_free_vars) {
  return std::visit(
      [&](const auto& x) -> uint64_t {
        if constexpr (std::is_same_v<std::decay_t<decltype(x)>, const Op*>)
          return std::hash<std::string_view>()(x->name);
        else
          return StructuralHashOf(Pointee(x), map_free_vars);
      },
      node);
}

uint64_t HashOf(const py::object& object, bool map_free_vars) {
  constexpr uint64_t kPrime = 0x100000001b3;
  uint64_t hash = 0xcbf29ce484222325;
  if (IsStandIn(object)) return HashOf(Compared(object), map_free_vars);
  if (IsList(object)) {
    for (const py::handle item : object)
      hash = (hash ^ HashOf(py::reinterpret_borrow<py::object>(item), map_free_vars)) * kPrime;
    return hash;
  }
  if (!IsDict(object)) return object.is_none() ? hash : HashOf(ToNode(object), map_free_vars);
  for (const auto& [key, value] : py::reinterpret_borrow<py::dict>(object))  // In any order.
    hash += HashOf(ToNode(py::reinterpret_borrow<py::object>(key)), map_free_vars) * kPrime ^
            HashOf(py::reinterpret_borrow<py::object>(value), map_free_vars);
  return hash;
}

}  // namespace

void BindStructural(py::module_& module) {
  module.def("structural_equal", [](const py::object& a, const py::object& b, bool map_free_vars) {
    return !DifferenceOf(a, b, map_free_vars).has_value();
  });
  module.def("first_difference", [](const py::object& a, const py::object& b, bool map_free_vars) -> py::object {
    const Difference places = DifferenceOf(a, b, map_free_vars);
    return places ? py::object(py::make_tuple(places->left, places->right)) : py::none();
  });
  module.def("assert_structural_equal", &AssertEqual);
  module.def("structural_hash", [](const py::object& object, bool map_free_vars) {
    return static_cast<int64_t>(HashOf(object, map_free_vars));
  });
}

}  // namespace lathe::python
