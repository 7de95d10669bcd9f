// Annotations of loops and blocks, attributes of functions: a small closed set of values, kept in key order.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace lathe {

struct Attr : std::variant<int64_t, double, bool, std::string, std::vector<Attr>> {
  using variant::variant;
  Attr(int value) : variant(int64_t{value}) {}            // NOLINT: implicit on purpose
  Attr(const char* text) : variant(std::string(text)) {}  // NOLINT: implicit on purpose
  bool operator==(const Attr& other) const {
    return static_cast<const variant&>(*this) == static_cast<const variant&>(other);
  }
};
using AttrMap = std::map<std::string, Attr>;

}  // namespace lathe
