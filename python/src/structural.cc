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
  return py::cast<Expr>(object);
}

std::optional<std::string> Difference(const Node& a, const Node& b, bool map_free_vars) {
  if (a.index() != b.index()) return "";
  return std::visit(
      [&](const auto& x) -> std::optional<std::string> {
        using T = std::decay_t<decltype(x)>;
        const T& y = std::get<T>(b);
        if constexpr (std::is_same_v<T, const Op*>)
          return x == y ? std::nullopt : std::optional<std::string>("");
        else
          return FirstDifference(Pointee(x), Pointee(y), map_free_vars);
      },
      a);
}

// Lists and maps are compared item by item.
std::optional<std::string> Difference(const py::object& a, const py::object& b, bool map_free_vars) {
  const auto is_list = [](const py::object& o) { return PyList_Check(o.ptr()) || PyTuple_Check(o.ptr()); };
  const bool lists = is_list(a) && is_list(b);
  if (!lists) return Difference(ToNode(a), ToNode(b), map_free_vars);
  if (py::len(a) != py::len(b)) return "";
  for (size_t i = 0; i < py::len(a); ++i) {
    const py::int_ at(i);
    if (const std::optional<std::string> inner = Difference(a[at], b[at], map_free_vars))
      return fmt::format("[{}]{}", i, *inner);
  }
  return std::nullopt;
}

std::string Text(const py::object& object) { return py::cast<std::string>(py::str(object)); }

void AssertEqual(const py::object& a, const py::object& b, bool map_free_vars) {
  const std::optional<std::string> place = Difference(a, b, map_free_vars);
  if (place)
    throw Failure(ErrorKind::kValue,
                  fmt::format("StructuralEqual check failed, first difference at <root>{}; lhs is:\n{}\nrhs is:\n{}",
                              *place, Text(a), Text(b)));
}

int64_t HashOf(const py::object& object, bool map_free_vars) {
  const uint64_t hash = std::visit(
      [&](const auto& x) -> uint64_t {
        if constexpr (std::is_same_v<std::decay_t<decltype(x)>, const Op*>)
          return std::hash<std::string_view>()(x->name);
        else
          return StructuralHashOf(Pointee(x), map_free_vars);
      },
      ToNode(object));
  return static_cast<int64_t>(hash);
}

}  // namespace

void BindStructural(py::module_& module) {
  module.def("structural_equal", [](const py::object& a, const py::object& b, bool map_free_vars) {
    return !Difference(a, b, map_free_vars).has_value();
  });
  module.def("first_difference", [](const py::object& a, const py::object& b, bool map_free_vars) {
    return Difference(a, b, map_free_vars);
  });
  module.def("assert_structural_equal", &AssertEqual);
  module.def("structural_hash", &HashOf);
}

}  // namespace lathe::python
