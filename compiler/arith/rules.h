// Rewrite rules as text: "min(x, y - z) + z => min(x + z, y)", "x * c1 // c2 => x // (c2 // c1) if c1 > 0, c2 % c1 ==
// 0".
//
// A small letter is any expression, c1 to c9 integer constants, a number itself; n as the lanes of ramp and bcast is
// any number of lanes. A letter that comes twice stands for equal expressions. `//` and `%` round down; tdiv and tmod
// truncate. "A or B => C" is two rules. mn and mx stand for min and max, then for max and min: such a rule is two. What
// "~>" makes is simplified again. Conditions compare constants, or are to be proved: e >= 0, e == f.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/expr.h"

namespace lathe {

struct RuleNode {
  enum class Kind : uint8_t { kAny, kConstant, kNumber, kBinary, kNot, kSelect, kRamp, kBroadcast };
  Kind kind = Kind::kNumber;
  BinaryOp op = BinaryOp::kAdd;
  bool is_boolean = false;  // kNumber: true or false.
  int slot = 0;             // kAny, kConstant.
  int64_t value = 0;        // kNumber.
  std::vector<RuleNode> operands;
};

// What the letters of a rule stand for: parts of the expression that was matched, which outlives this.
struct RuleBindings {
  static constexpr int kNumLetters = 26, kNumConstants = 10;
  std::array<const Expr*, kNumLetters + kNumConstants> values{};
  DataType type;  // That of the whole expression.
  std::optional<DataType> lanes;
};

struct RuleCondition {
  BinaryOp comparison = BinaryOp::kEQ;
  RuleNode left, right;
};

struct Rule {
  std::string text;  // Of one alternative.
  RuleNode before, after;
  std::vector<RuleCondition> conditions;
  bool is_recursive = false;
};

// Answers what constants do not decide.
using RuleProver = std::function<bool(BinaryOp comparison, const Expr& left, const Expr& right)>;

// CHECKs that the text is a rule.
std::vector<Rule> ParseRules(std::string_view text);
bool MatchRule(const RuleNode& pattern, const Expr& e, RuleBindings& bindings);
// nullopt: a constant left its type.
std::optional<Expr> BuildRule(const RuleNode& node, const RuleBindings& bindings, DataType type);
// Whether the conditions are constants' and hold, or are proved.
bool HoldsRule(const Rule& rule, const RuleBindings& bindings, const RuleProver& prove);

// The rules for one operation, in the order in which they are tried.
using RuleSet = std::vector<Rule>;
// By name, as compiler/arith/rule_table.cc has them; nullptr: none. They live for ever.
const RuleSet* FindRules(std::string_view name);
std::vector<std::string_view> RuleSetNames();

}  // namespace lathe
