// Annotations of loops and blocks, attributes of functions: a small closed set of values, kept in key order.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "compiler/ir/expr.h"

namespace lathe {

struct Attr;
struct IndexMap;
using AttrMap = std::map<std::string, Attr>;

// std::monostate is None. An index map is of an instruction of a trace; it equals itself only.
using AttrVariant = std::variant<int64_t, double, bool, std::string, std::vector<Attr>, AttrMap, Expr, std::monostate,
                                 std::shared_ptr<const IndexMap>>;
struct Attr : AttrVariant {
  using variant::variant;
  Attr(int value) : variant(int64_t{value}) {}            // NOLINT: implicit on purpose
  Attr(const char* text) : variant(std::string(text)) {}  // NOLINT: implicit on purpose
  bool operator==(const Attr& other) const;               // Expressions structurally.
};

}  // namespace lathe
