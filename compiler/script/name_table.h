// What names mean while a function is read.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/script/evaluator.h"

namespace lathe {

using NamedValue = ScriptValue;

// Names in nested scopes. An inner scope may not hide a name of an outer one: variables are defined once (SSA).
// Constants may be hidden.
class NameTable {
 public:
  explicit NameTable(const ConstantTable& constants) : constants_(&constants) {}

  const NamedValue* Find(std::string_view name) const {
    const auto local = values_.find(name);
    if (local != values_.end()) return &local->second;
    const auto constant = constants_->find(name);
    return constant == constants_->end() ? nullptr : &constant->second;
  }
  bool IsConstant(std::string_view name) const { return !values_.contains(name) && constants_->contains(name); }
  bool Define(std::string_view name, NamedValue value) {  // False if it is defined already.
    if (!values_.emplace(name, std::move(value)).second) return false;
    defined_.push_back(name);
    return true;
  }
  size_t Open() const { return defined_.size(); }
  // While a macro's body is read: a hygienic one sees the constants only, those of its own text if it stands elsewhere;
  // another one hides what it defines.
  struct Hidden {
    std::unordered_map<std::string_view, NamedValue> values;
    std::vector<std::string_view> defined;
    const ConstantTable* constants;
  };
  Hidden BeginMacro(bool is_hygienic, const ConstantTable* constants = nullptr) {
    Hidden hidden{values_, std::exchange(defined_, {}), constants_};
    if (is_hygienic) values_.clear();
    if (is_hygienic && constants != nullptr) constants_ = constants;
    return hidden;
  }
  void EndMacro(Hidden hidden) {
    values_ = std::move(hidden.values);
    defined_ = std::move(hidden.defined);
    constants_ = hidden.constants;
  }
  void Redefine(std::string_view name, NamedValue value) { values_.insert_or_assign(name, std::move(value)); }
  void Close(size_t mark) {  // Forgets what was defined since Open() gave `mark`.
    for (; defined_.size() > mark; defined_.pop_back()) values_.erase(defined_.back());
  }

 private:
  const ConstantTable* constants_;
  std::unordered_map<std::string_view, NamedValue> values_;
  std::vector<std::string_view> defined_;
};

}  // namespace lathe
