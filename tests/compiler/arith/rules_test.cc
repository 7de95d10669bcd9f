// Every rule of the table against enumeration: both sides have one value wherever its conditions hold.
#include "compiler/arith/rules.h"

#include <gtest/gtest.h>

#include "brute_force.h"
#include "compiler/ir/integer.h"

namespace lathe {
namespace {

// Values of letters and constants, and the lane that is looked at.
struct RulePoint {
  std::array<int64_t, RuleBindings::kNumLetters + RuleBindings::kNumConstants> values{};
  int64_t lane = 0;
};

std::optional<int64_t> ValueOfOperation(BinaryOp op, int64_t a, int64_t b) {
  const bool divides =
      op == BinaryOp::kDiv || op == BinaryOp::kTruncMod || op == BinaryOp::kFloorDiv || op == BinaryOp::kFloorMod;
  if (divides && b == 0) return std::nullopt;
  switch (op) {
    case BinaryOp::kAdd:
      return a + b;
    case BinaryOp::kSub:
      return a - b;
    case BinaryOp::kMul:
      return a * b;
    case BinaryOp::kDiv:
      return a / b;
    case BinaryOp::kTruncMod:
      return a % b;
    case BinaryOp::kFloorDiv:
      return FloorDivide(a, b);
    case BinaryOp::kFloorMod:
      return FloorModulo(a, b);
    case BinaryOp::kMin:
      return std::min(a, b);
    case BinaryOp::kMax:
      return std::max(a, b);
    case BinaryOp::kEQ:
      return a == b;
    case BinaryOp::kNE:
      return a != b;
    case BinaryOp::kLT:
      return a < b;
    case BinaryOp::kLE:
      return a <= b;
    case BinaryOp::kGT:
      return a > b;
    case BinaryOp::kGE:
      return a >= b;
    case BinaryOp::kAnd:
      return a != 0 && b != 0;
    default:
      return a != 0 || b != 0;
  }
}

// nullopt: something is divided by 0.
std::optional<int64_t> ValueOf(const RuleNode& node, const RulePoint& point) {
  std::array<int64_t, 3> parts{};
  const bool is_vector = node.kind == RuleNode::Kind::kRamp || node.kind == RuleNode::Kind::kBroadcast;
  for (size_t i = 0; i + (is_vector ? 1 : 0) < node.operands.size(); ++i) {
    const std::optional<int64_t> part = ValueOf(node.operands[i], point);
    if (!part) return std::nullopt;
    parts[i] = *part;
  }
  switch (node.kind) {
    case RuleNode::Kind::kAny:
    case RuleNode::Kind::kConstant:
      return point.values[node.slot];
    case RuleNode::Kind::kNumber:
      return node.value;
    case RuleNode::Kind::kBinary:
      return ValueOfOperation(node.op, parts[0], parts[1]);
    case RuleNode::Kind::kNot:
      return parts[0] == 0;
    case RuleNode::Kind::kSelect:
      return parts[0] != 0 ? parts[1] : parts[2];
    case RuleNode::Kind::kRamp:
      return parts[0] + point.lane * parts[1];
    case RuleNode::Kind::kBroadcast:
      return parts[0];
  }
  return std::nullopt;
}

bool IsCondition(const RuleNode& node) {
  if (node.kind == RuleNode::Kind::kBinary) return node.op >= BinaryOp::kEQ;
  return node.kind == RuleNode::Kind::kNot || node.is_boolean;
}

std::string Shown(const Rule& rule, const RulePoint& point) {
  std::string text = rule.text + " at";
  for (int i = 0; i < RuleBindings::kNumLetters; ++i)
    text += " " + std::string(1, 'a' + i) + "=" + std::to_string(point.values[i]);
  for (int i = 1; i < RuleBindings::kNumConstants; ++i)
    text += " c" + std::to_string(i) + "=" + std::to_string(point.values[RuleBindings::kNumLetters + i]);
  return text;
}

struct Outcome {
  std::string wrong;   // Empty: nothing.
  int num_points = 0;  // At which the conditions hold and the expression has a value.
};

Outcome Check(const Rule& rule, uint64_t seed) {
  Outcome outcome;
  Random random(seed);
  for (int round = 0; round < 60'000 && outcome.num_points < 300; ++round) {
    RulePoint point;
    point.lane = int64_t(random.Below(4));
    for (int64_t& value : point.values) value = int64_t(random.Below(25)) - 12;
    const auto holds = [&](const RuleCondition& condition) {
      const auto a = ValueOf(condition.left, point), b = ValueOf(condition.right, point);
      return a && b && *ValueOfOperation(condition.comparison, *a, *b) != 0;
    };
    if (!std::all_of(rule.conditions.begin(), rule.conditions.end(), holds)) continue;
    const auto before = ValueOf(rule.before, point);
    if (!before) continue;
    ++outcome.num_points;
    const auto after = ValueOf(rule.after, point);
    const bool is_condition = IsCondition(rule.before);
    if (after && (is_condition ? (*before != 0) == (*after != 0) : *before == *after)) continue;
    outcome.wrong = Shown(rule, point);
    return outcome;
  }
  return outcome;
}

constexpr uint64_t kRuleSeed = 20261123;

TEST(Rules, HaveOneValueOnBothSidesWhereTheirConditionsHold) {
  int num_rules = 0;
  for (const std::string_view name : RuleSetNames()) {
    for (const Rule& rule : *FindRules(name)) {
      const Outcome outcome = Check(rule, kRuleSeed + ++num_rules);
      EXPECT_EQ(outcome.wrong, "") << name << ", seed " << kRuleSeed;
      EXPECT_GE(outcome.num_points, 5) << "never tried: " << rule.text;
    }
  }
  EXPECT_GT(num_rules, 450);
}

TEST(Rules, ThatAreWrongAreFound) {
  for (const char* text :
       {"(x + c1) // c2 => x // c2 + c1 // c2", "x // c1 // c2 => x // (c1 * c2)", "min(x, y) => x",
        "x < y || y < x => true", "(x - y) * c1 => (y - x) * c1", "x * c1 < c2 => x < c2 // c1 if c1 > 0"})
    EXPECT_NE(Check(ParseRules(text)[0], kRuleSeed).wrong, "") << text;
}

TEST(Rules, ReadAlternativesAndDuals) {
  const std::vector<Rule> rules = ParseRules("mn(x, y) - y or x - mx(y, x) => mn(x - y, 0)");
  ASSERT_EQ(rules.size(), 4u);
  EXPECT_EQ(rules[0].before.operands[0].op, BinaryOp::kMin);
  EXPECT_EQ(rules[3].before.operands[1].op, BinaryOp::kMin);
  EXPECT_EQ(rules[3].after.op, BinaryOp::kMax);
}

TEST(Rules, DoNotFireWhereAConstantWouldLeaveItsType) {
  const Rule rule = ParseRules("x - c1 < c2 => x < c1 + c2")[0];
  const Var x("x");
  const auto apply = [&](int64_t c1, int64_t c2) {
    const Expr e = MakeBinary(BinaryOp::kLT, MakeBinary(BinaryOp::kSub, x, Expr(c1)), Expr(c2));
    RuleBindings bindings;
    bindings.type = e.dtype();
    EXPECT_TRUE(MatchRule(rule.before, e, bindings));
    return BuildRule(rule.after, bindings, e.dtype());
  };
  EXPECT_TRUE(apply(3, 4).has_value());
  EXPECT_FALSE(apply(INT32_MAX, 4).has_value());
}

}  // namespace
}  // namespace lathe
