// The statements directly below a statement, whatever its kind. Driven by Fields(), so a new kind of statement is
// walked without a line here. The children of a block realize are its block's init and body.
#pragma once

#include <algorithm>
#include <optional>
#include <type_traits>

#include "compiler/ir/stmt.h"

namespace lathe {

namespace internal {

// Walks the fields of `node`, constant or not, until f(statement) says true. A block that is to be changed becomes a
// copy if others hold it.
template <typename Node, typename F>
bool AnyChildIn(Node& node, F& f) {
  const auto walk = [&f](auto& value) {
    using T = std::remove_const_t<std::remove_reference_t<decltype(value)>>;
    constexpr bool kConst = std::is_const_v<std::remove_reference_t<decltype(value)>>;
    if constexpr (std::is_same_v<T, Stmt>) {
      return f(value);
    } else if constexpr (std::is_same_v<T, std::optional<Stmt>>) {
      return value && f(*value);
    } else if constexpr (std::is_same_v<T, std::vector<Stmt>>) {
      return std::any_of(value.begin(), value.end(), f);
    } else if constexpr (std::is_same_v<T, Block>) {
      if constexpr (kConst)
        return AnyChildIn(*value, f);
      else
        return AnyChildIn(value.Mutable(), f);
    } else {
      return false;
    }
  };
  return std::apply([&](const auto&... field) { return (walk(node.*(field.member)) || ...); },
                    std::remove_const_t<Node>::Fields());
}

}  // namespace internal

// Asks `f` about each child in the order of the program, until it says true; whether it did.
template <typename F>
bool AnyChildStmt(const Stmt& stmt, F f) {
  return std::visit([&](const auto& node) { return internal::AnyChildIn(node, f); }, stmt.node().value);
}

// Calls f(const Stmt&) for each child in the order of the program.
template <typename F>
void ForEachChildStmt(const Stmt& stmt, F f) {
  AnyChildStmt(stmt, [&f](const Stmt& child) {
    f(child);
    return false;
  });
}

// Calls f(Stmt&) for each child. `stmt` becomes a copy if others hold its node.
template <typename F>
void ForEachMutableChildStmt(Stmt& stmt, F f) {
  auto change = [&f](Stmt& child) {
    f(child);
    return false;
  };
  std::visit([&](auto& node) { internal::AnyChildIn(node, change); }, stmt.MutableNode().value);
}

// The child at `index`, counted as ForEachChildStmt comes by; there is one.
inline Stmt& MutableChildStmt(Stmt& stmt, size_t index) {
  if (stmt.As<For>() != nullptr && index == 0) return std::get<For>(stmt.MutableNode().value).body;
  Stmt* found = nullptr;
  size_t at = 0;
  auto take = [&](Stmt& child) {
    if (at++ != index) return false;
    found = &child;
    return true;
  };
  std::visit([&](auto& node) { internal::AnyChildIn(node, take); }, stmt.MutableNode().value);
  CHECK(found != nullptr) << "statement has no child " << index;
  return *found;
}

}  // namespace lathe
