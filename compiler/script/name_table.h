// What names mean while a function is read.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "compiler/ir/stmt.h"

namespace lathe {

struct HandleParam {
  size_t index;
};  // `a: T.handle`, until T.match_buffer says what it points to.
using NamedValue = std::variant<Expr, Buffer, HandleParam, std::string>;
using ConstantTable = std::unordered_map<std::string_view, NamedValue>;  // Module-level `M = 128`.

// Names in nested scopes. An inner scope may not hide a name of an outer one: variables are defined once (SSA).
// Constants may be hidden.
class NameTable {
 public:
  explicit NameTable(const ConstantTable& constants) : constants_(constants) {}

  const NamedValue* Find(std::string_view name) const {
    const auto local = values_.find(name);
    if (local != values_.end()) return &local->second;
    const auto constant = constants_.find(name);
    return constant == constants_.end() ? nullptr : &constant->second;
  }
  bool Define(std::string_view name, NamedValue value) {  // False if it is defined already.
    if (!values_.emplace(name, std::move(value)).second) return false;
    defined_.push_back(name);
    return true;
  }
  size_t Open() const { return defined_.size(); }
  void Close(size_t mark) {  // Forgets what was defined since Open() gave `mark`.
    for (; defined_.size() > mark; defined_.pop_back()) values_.erase(defined_.back());
  }

 private:
  const ConstantTable& constants_;
  std::unordered_map<std::string_view, NamedValue> values_;
  std::vector<std::string_view> defined_;
};

}  // namespace lathe
