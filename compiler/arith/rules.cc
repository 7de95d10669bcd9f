#include "compiler/arith/rules.h"

#include <cctype>

#include "compiler/arith/linear.h"
#include "compiler/ir/integer.h"
#include "support/check.h"

namespace lathe {
namespace {

// ---- Reading ----------------------------------------------------------------------------------------------------

struct RuleOperator {
  std::string_view text;
  int precedence;
  BinaryOp op;
};
constexpr RuleOperator kRuleOperators[] = {
    {"||", 1, BinaryOp::kOr},     {"&&", 2, BinaryOp::kAnd}, {"==", 3, BinaryOp::kEQ},       {"!=", 3, BinaryOp::kNE},
    {"<=", 3, BinaryOp::kLE},     {">=", 3, BinaryOp::kGE},  {"<", 3, BinaryOp::kLT},        {">", 3, BinaryOp::kGT},
    {"+", 4, BinaryOp::kAdd},     {"-", 4, BinaryOp::kSub},  {"//", 5, BinaryOp::kFloorDiv}, {"*", 5, BinaryOp::kMul},
    {"%", 5, BinaryOp::kFloorMod}};

RuleNode MakeOperation(BinaryOp op, RuleNode a, RuleNode b) {
  RuleNode node;
  node.kind = RuleNode::Kind::kBinary;
  node.op = op;
  node.operands = {std::move(a), std::move(b)};
  return node;
}

RuleNode MakeNumber(int64_t value) {
  RuleNode node;
  node.value = value;
  return node;
}

class RuleReader {
 public:
  explicit RuleReader(std::string_view text) : whole_(text), rest_(text) {}

  RuleNode Expression(int precedence = 1) {
    RuleNode left = Operand();
    while (const RuleOperator* op = NextOperator(precedence)) {
      rest_.remove_prefix(op->text.size());
      left = MakeOperation(op->op, std::move(left), Expression(op->precedence + 1));
    }
    return left;
  }

  bool Take(std::string_view token) {
    while (!rest_.empty() && rest_[0] == ' ') rest_.remove_prefix(1);
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  void Want(std::string_view token) {
    CHECK(Take(token)) << "rule \"" << whole_ << "\": no " << token << " at " << rest_;
  }
  bool IsAtEnd() { return Take("") && rest_.empty(); }

 private:
  const RuleOperator* NextOperator(int precedence) {
    Take("");
    for (const RuleOperator& op : kRuleOperators)
      if (rest_.starts_with(op.text)) return op.precedence >= precedence && !rest_.starts_with("=>") ? &op : nullptr;
    return nullptr;
  }

  RuleNode Operand() {
    if (Take("(")) return Closed();
    if (Take("!")) return Prefixed(RuleNode::Kind::kNot);
    if (Take("-")) return MakeOperation(BinaryOp::kSub, MakeNumber(0), Operand());
    CHECK(!rest_.empty()) << "rule \"" << whole_ << "\" ends early";
    if (std::isdigit(rest_[0]) != 0) return MakeNumber(Digits());
    std::string_view word = Word();
    if (Take("(")) return Application(word);
    return Named(word);
  }

  RuleNode Closed() {
    RuleNode node = Expression();
    Want(")");
    return node;
  }
  RuleNode Prefixed(RuleNode::Kind kind) {
    RuleNode node;
    node.kind = kind;
    node.operands.push_back(Operand());
    return node;
  }
  int64_t Digits() {
    int64_t value = 0;
    for (; !rest_.empty() && std::isdigit(rest_[0]) != 0; rest_.remove_prefix(1)) value = value * 10 + (rest_[0] - '0');
    return value;
  }
  std::string_view Word() {
    size_t length = 0;
    while (length < rest_.size() && std::isalnum(rest_[length]) != 0) ++length;
    CHECK(length != 0) << "rule \"" << whole_ << "\": cannot read " << rest_;
    const std::string_view word = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return word;
  }

  RuleNode Named(std::string_view word) {
    RuleNode node;
    if (word == "true" || word == "false") {
      node.is_boolean = true;
      node.value = word == "true" ? 1 : 0;
      return node;
    }
    const bool is_constant = word.size() == 2 && word[0] == 'c';
    CHECK(is_constant || word.size() == 1) << "rule \"" << whole_ << "\": " << word;
    node.kind = is_constant ? RuleNode::Kind::kConstant : RuleNode::Kind::kAny;
    node.slot = is_constant ? RuleBindings::kNumLetters + (word[1] - '0') : word[0] - 'a';
    return node;
  }

  RuleNode Application(std::string_view name) {
    struct Row {
      std::string_view name;
      RuleNode::Kind kind;
      BinaryOp op;
      size_t num_operands;
    };
    static constexpr Row kRows[] = {{"min", RuleNode::Kind::kBinary, BinaryOp::kMin, 2},
                                    {"max", RuleNode::Kind::kBinary, BinaryOp::kMax, 2},
                                    {"tdiv", RuleNode::Kind::kBinary, BinaryOp::kDiv, 2},
                                    {"tmod", RuleNode::Kind::kBinary, BinaryOp::kTruncMod, 2},
                                    {"select", RuleNode::Kind::kSelect, BinaryOp::kAdd, 3},
                                    {"ramp", RuleNode::Kind::kRamp, BinaryOp::kAdd, 3},
                                    {"bcast", RuleNode::Kind::kBroadcast, BinaryOp::kAdd, 2}};
    for (const Row& row : kRows) {
      if (row.name != name) continue;
      RuleNode node;
      node.kind = row.kind;
      node.op = row.op;
      do node.operands.push_back(Expression());
      while (Take(","));
      CHECK(node.operands.size() == row.num_operands) << "rule \"" << whole_ << "\": operands of " << name;
      Want(")");
      return node;
    }
    CHECK(false) << "rule \"" << whole_ << "\": " << name;
    return {};
  }

  const std::string_view whole_;
  std::string_view rest_;
};

std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

void AppendAlternatives(std::string_view text, std::vector<Rule>& rules) {
  RuleReader reader(text);
  std::vector<RuleNode> before;
  do before.push_back(reader.Expression());
  while (reader.Take("or "));
  Rule rule;
  rule.text = text;
  rule.is_recursive = reader.Take("~>");
  if (!rule.is_recursive) reader.Want("=>");
  rule.after = reader.Expression();
  if (reader.Take("if ")) {
    do {
      RuleNode condition = reader.Expression();
      CHECK(condition.operands.size() == 2) << "rule \"" << text << "\": a condition is no comparison";
      rule.conditions.push_back({condition.op, std::move(condition.operands[0]), std::move(condition.operands[1])});
    } while (reader.Take(","));
  }
  CHECK(reader.IsAtEnd()) << "rule \"" << text << "\": more than a rule";
  for (RuleNode& alternative : before) {
    rules.push_back(rule);
    rules.back().before = std::move(alternative);
  }
}

// ---- Matching and building --------------------------------------------------------------------------------------

bool MatchAll(const RuleNode& pattern, std::initializer_list<const Expr*> parts, RuleBindings& bindings) {
  size_t i = 0;
  for (const Expr* part : parts)
    if (!MatchRule(pattern.operands[i++], *part, bindings)) return false;
  return true;
}

bool MatchLanes(DataType type, RuleBindings& bindings) {
  const DataType lanes =
      type.is_scalable ? DataType::Bool().with_scalable_lanes(type.lanes) : DataType::Bool().with_lanes(type.lanes);
  if (!bindings.lanes) bindings.lanes = lanes;
  return *bindings.lanes == lanes;
}

DataType WithLanesOf(DataType type, DataType lanes) {
  return lanes.is_scalable ? type.with_scalable_lanes(lanes.lanes) : type.with_lanes(lanes.lanes);
}

// The number that a part made of constants is; nullopt: it has other parts, or leaves int64.
std::optional<int64_t> ValueOf(const RuleNode& node, const RuleBindings& bindings) {
  if (node.kind == RuleNode::Kind::kNumber) return node.value;
  if (node.kind == RuleNode::Kind::kConstant) return bindings.values[node.slot]->As<IntImm>()->value;
  if (node.kind != RuleNode::Kind::kBinary) return std::nullopt;
  const std::optional<int64_t> a = ValueOf(node.operands[0], bindings), b = ValueOf(node.operands[1], bindings);
  int64_t result;
  if (!a || !b) return std::nullopt;
  switch (node.op) {
    case BinaryOp::kAdd:
      return __builtin_add_overflow(*a, *b, &result) ? std::nullopt : std::optional(result);
    case BinaryOp::kSub:
      return __builtin_sub_overflow(*a, *b, &result) ? std::nullopt : std::optional(result);
    case BinaryOp::kMul:
      return __builtin_mul_overflow(*a, *b, &result) ? std::nullopt : std::optional(result);
    case BinaryOp::kMin:
      return std::min(*a, *b);
    case BinaryOp::kMax:
      return std::max(*a, *b);
    default:
      break;
  }
  if (*b == 0 || (*b == -1 && *a == INT64_MIN)) return std::nullopt;
  if (node.op == BinaryOp::kFloorDiv) return FloorDivide(*a, *b);
  if (node.op == BinaryOp::kFloorMod) return FloorModulo(*a, *b);
  if (node.op == BinaryOp::kDiv) return *a / *b;
  return std::nullopt;
}

bool IsOfConstants(const RuleNode& node) {
  if (node.kind == RuleNode::Kind::kBinary) return IsOfConstants(node.operands[0]) && IsOfConstants(node.operands[1]);
  return node.kind == RuleNode::Kind::kNumber || node.kind == RuleNode::Kind::kConstant;
}

bool Compares(BinaryOp comparison, int64_t a, int64_t b) {
  switch (comparison) {
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
    default:
      return a >= b;
  }
}

// The type of what a side stands for, where it says so; constants follow the other side.
std::optional<DataType> TypeOf(const RuleNode& node, const RuleBindings& bindings) {
  if (node.kind == RuleNode::Kind::kAny) return bindings.values[node.slot]->dtype();
  if (node.kind == RuleNode::Kind::kNumber) return std::nullopt;
  if (node.kind == RuleNode::Kind::kConstant) return bindings.values[node.slot]->dtype();
  if (node.kind == RuleNode::Kind::kSelect) return TypeOf(node.operands[1], bindings);
  if (node.kind != RuleNode::Kind::kBinary) return std::nullopt;
  const std::optional<DataType> type = TypeOf(node.operands[0], bindings);
  return type ? type : TypeOf(node.operands[1], bindings);
}

std::optional<Expr> BuildOperation(const RuleNode& node, const RuleBindings& bindings, DataType type) {
  const bool is_logical = node.op == BinaryOp::kAnd || node.op == BinaryOp::kOr;
  const bool compares = node.op >= BinaryOp::kEQ && node.op <= BinaryOp::kGE;
  DataType operand = type;
  if (compares || !is_logical) operand = TypeOf(node, bindings).value_or(type);
  const std::optional<Expr> a = BuildRule(node.operands[0], bindings, operand);
  const std::optional<Expr> b = BuildRule(node.operands[1], bindings, operand);
  if (!a || !b) return std::nullopt;
  return FoldBinary(node.op, *a, *b);
}

}  // namespace

std::vector<Rule> ParseRules(std::string_view text) {
  std::vector<Rule> rules;
  const std::string once(text);
  if (once.find("mn(") == std::string::npos && once.find("mx(") == std::string::npos) {
    AppendAlternatives(once, rules);
    return rules;
  }
  AppendAlternatives(Replaced(Replaced(once, "mn(", "min("), "mx(", "max("), rules);
  AppendAlternatives(Replaced(Replaced(once, "mn(", "max("), "mx(", "min("), rules);
  return rules;
}

bool MatchRule(const RuleNode& pattern, const Expr& e, RuleBindings& bindings) {
  const auto bind = [&] {
    const Expr*& bound = bindings.values[pattern.slot];
    if (bound == nullptr) bound = &e;
    return bound == &e || SameExpr(*bound, e);
  };
  switch (pattern.kind) {
    case RuleNode::Kind::kAny:
      return bind();
    case RuleNode::Kind::kConstant:
      return e.As<IntImm>() != nullptr && bind();
    case RuleNode::Kind::kNumber:
      return IsConstInt(e, pattern.value);
    case RuleNode::Kind::kBinary: {
      const Binary* op = e.As<Binary>();
      return op != nullptr && op->op == pattern.op && MatchAll(pattern, {&op->a, &op->b}, bindings);
    }
    case RuleNode::Kind::kNot: {
      const Not* op = e.As<Not>();
      return op != nullptr && MatchAll(pattern, {&op->a}, bindings);
    }
    case RuleNode::Kind::kSelect: {
      const Select* op = e.As<Select>();
      return op != nullptr && MatchAll(pattern, {&op->condition, &op->true_value, &op->false_value}, bindings);
    }
    case RuleNode::Kind::kRamp: {
      const Ramp* op = e.As<Ramp>();
      return op != nullptr && MatchLanes(e.dtype(), bindings) && MatchAll(pattern, {&op->base, &op->stride}, bindings);
    }
    case RuleNode::Kind::kBroadcast: {
      const Broadcast* op = e.As<Broadcast>();
      return op != nullptr && MatchLanes(e.dtype(), bindings) && MatchAll(pattern, {&op->value}, bindings);
    }
  }
  return false;
}

std::optional<Expr> BuildRule(const RuleNode& node, const RuleBindings& bindings, DataType type) {
  const auto part = [&](size_t i, DataType part_type) { return BuildRule(node.operands[i], bindings, part_type); };
  if (node.kind == RuleNode::Kind::kAny) return *bindings.values[node.slot];
  if (node.kind == RuleNode::Kind::kNumber && node.is_boolean) return IntConst(type, node.value);
  if (IsOfConstants(node) && (type.is_int() || type.is_bool())) {
    const std::optional<int64_t> value = ValueOf(node, bindings);
    if (value && TypeBound(type.element()).Contains(*value)) return IntConst(type, *value);
    const bool compares = node.kind == RuleNode::Kind::kBinary && node.op >= BinaryOp::kEQ && node.op <= BinaryOp::kGE;
    return compares ? BuildOperation(node, bindings, type) : std::nullopt;
  }
  if (node.kind == RuleNode::Kind::kNumber && type.is_float()) return FloatConst(type, static_cast<double>(node.value));
  switch (node.kind) {
    case RuleNode::Kind::kBinary:
      return BuildOperation(node, bindings, type);
    case RuleNode::Kind::kNot: {
      const std::optional<Expr> inner = part(0, type);
      return inner ? std::optional(MakeNot(*inner)) : std::nullopt;
    }
    case RuleNode::Kind::kSelect: {
      const std::optional<Expr> condition = part(0, type), yes = part(1, type), no = part(2, type);
      if (!condition || !yes || !no) return std::nullopt;
      return Expr::Make(yes->dtype(), Select{*condition, *yes, *no});
    }
    case RuleNode::Kind::kRamp: {
      const std::optional<Expr> base = part(0, type.element()), stride = part(1, type.element());
      if (!base || !stride) return std::nullopt;
      return Expr::Make(WithLanesOf(base->dtype(), *bindings.lanes), Ramp{*base, *stride, bindings.lanes->lanes});
    }
    case RuleNode::Kind::kBroadcast: {
      const std::optional<Expr> value = part(0, type.element());
      if (!value) return std::nullopt;
      return Expr::Make(WithLanesOf(value->dtype(), *bindings.lanes), Broadcast{*value, bindings.lanes->lanes});
    }
    default:
      return std::nullopt;
  }
}

bool HoldsRule(const Rule& rule, const RuleBindings& bindings, const RuleProver& prove) {
  for (const RuleCondition& condition : rule.conditions) {
    if (IsOfConstants(condition.left) && IsOfConstants(condition.right)) {
      const std::optional<int64_t> a = ValueOf(condition.left, bindings), b = ValueOf(condition.right, bindings);
      if (!a || !b || !Compares(condition.comparison, *a, *b)) return false;
      continue;
    }
    const DataType type =
        TypeOf(condition.left, bindings).value_or(TypeOf(condition.right, bindings).value_or(bindings.type));
    const std::optional<Expr> a = BuildRule(condition.left, bindings, type);
    const std::optional<Expr> b = BuildRule(condition.right, bindings, type);
    if (!a || !b || !prove(condition.comparison, *a, *b)) return false;
  }
  return true;
}

}  // namespace lathe
