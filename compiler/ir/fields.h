// One description of a node's fields drives visiting, equality, hashing, cloning, random generation and printing of
// attributes, so that they cannot disagree. A node says:
//   static constexpr auto Fields() { return std::tuple(Field("min", &For::min), DefField("loop_var", &For::loop_var),
//   ...); }
// Order is the order of evaluation and of definition before use.
#pragma once

#include <string_view>
#include <tuple>

namespace lathe {

enum class FieldRole {
  kUse,      // Whatever it holds is used.
  kDef,      // Variables and buffers directly in it are introduced here and visible in the fields that follow.
  kDeclare,  // As kDef, but the buffer's data is memory that is in scope already: a use.
};

template <typename Node, typename T>
struct FieldOf {
  std::string_view name;
  T Node::* member;
  FieldRole role;
};

template <typename Node, typename T>
constexpr FieldOf<Node, T> Field(std::string_view name, T Node::* member) {
  return {name, member, FieldRole::kUse};
}
template <typename Node, typename T>
constexpr FieldOf<Node, T> DefField(std::string_view name, T Node::* member) {
  return {name, member, FieldRole::kDef};
}
template <typename Node, typename T>
constexpr FieldOf<Node, T> DeclareField(std::string_view name, T Node::* member) {
  return {name, member, FieldRole::kDeclare};
}

// Calls f(field description, node.*member) for each field in order.
template <typename Node, typename F>
void ForEachField(Node& node, F&& f) {
  std::apply([&](const auto&... field) { (f(field, node.*(field.member)), ...); }, std::remove_const_t<Node>::Fields());
}

}  // namespace lathe
