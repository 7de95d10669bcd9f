// What names mean while a function is read.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/script/evaluator.h"

namespace lathe {

using NamedValue = ScriptValue;

// Names in nested scopes. A name is defined once in a scope; an inner one may hide it, and it means what it did before
// where that scope ends.
class NameTable {
  struct Definition {
    std::string_view name;
    std::optional<NamedValue> hidden;  // What the name meant outside.
  };

 public:
  explicit NameTable(const ConstantTable& constants) : constants_(&constants) {}

  const NamedValue* Find(std::string_view name) const {
    const auto local = values_.find(name);
    if (local != values_.end()) return &local->second;
    const auto constant = constants_->find(name);
    return constant == constants_->end() ? nullptr : &constant->second;
  }
  bool IsConstant(std::string_view name) const { return !values_.contains(name) && constants_->contains(name); }
  bool Define(std::string_view name, NamedValue value) {  // False if it is defined already in the innermost scope.
    const auto known = values_.find(name);
    if (known == values_.end()) {
      values_.emplace(name, std::move(value));
      defined_.push_back({name, std::nullopt});
      return true;
    }
    for (size_t i = scopes_.empty() ? 0 : scopes_.back(); i < defined_.size(); ++i)
      if (defined_[i].name == name) return false;
    defined_.push_back({name, std::exchange(known->second, std::move(value))});
    return true;
  }
  size_t Open() {
    scopes_.push_back(defined_.size());
    return defined_.size();
  }
  // While a macro's body is read: a hygienic one sees the constants only, those of its own text if it stands elsewhere;
  // another one hides what it defines.
  struct Hidden {
    std::unordered_map<std::string_view, NamedValue> values;
    std::vector<Definition> defined;
    std::vector<size_t> scopes;
    const ConstantTable* constants;
  };
  Hidden BeginMacro(bool is_hygienic, const ConstantTable* constants = nullptr) {
    Hidden hidden{values_, std::exchange(defined_, {}), std::exchange(scopes_, {}), constants_};
    if (is_hygienic) values_.clear();
    if (is_hygienic && constants != nullptr) constants_ = constants;
    return hidden;
  }
  void EndMacro(Hidden hidden) {
    values_ = std::move(hidden.values);
    defined_ = std::move(hidden.defined);
    scopes_ = std::move(hidden.scopes);
    constants_ = hidden.constants;
  }
  void Redefine(std::string_view name, NamedValue value) { values_.insert_or_assign(name, std::move(value)); }
  void Close(size_t mark) {  // Forgets what was defined since Open() gave `mark`.
    for (; defined_.size() > mark; defined_.pop_back()) {
      Definition& last = defined_.back();
      if (last.hidden)
        values_.insert_or_assign(last.name, *std::move(last.hidden));
      else
        values_.erase(last.name);
    }
    scopes_.pop_back();
  }

 private:
  const ConstantTable* constants_;
  std::unordered_map<std::string_view, NamedValue> values_;
  std::vector<Definition> defined_;
  std::vector<size_t> scopes_;  // What each scope that is open has of defined_ before it.
};

}  // namespace lathe
