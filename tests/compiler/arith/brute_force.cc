#include "brute_force.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/arith/canonicalizer.h"
#include "compiler/ir/integer.h"

namespace lathe {
namespace {

const char* OpText(BinaryOp op) {
  constexpr const char* kTexts[] = {"+",  "-",  "*", "/",  "//", "%",  "%%",  "min", "max",
                                    "==", "!=", "<", "<=", ">",  ">=", "and", "or"};
  return kTexts[static_cast<int>(op)];
}

std::optional<int64_t> Apply(BinaryOp op, int64_t x, int64_t y) {
  switch (op) {
    case BinaryOp::kAdd:
      return x + y;
    case BinaryOp::kSub:
      return x - y;
    case BinaryOp::kMul:
      return x * y;
    case BinaryOp::kDiv:
      return y == 0 ? std::nullopt : std::optional(x / y);
    case BinaryOp::kTruncMod:
      return y == 0 ? std::nullopt : std::optional(x % y);
    case BinaryOp::kFloorDiv:
      return y == 0 ? std::nullopt : std::optional(FloorDivide(x, y));
    case BinaryOp::kFloorMod:
      return y == 0 ? std::nullopt : std::optional(FloorModulo(x, y));
    case BinaryOp::kMin:
      return std::min(x, y);
    case BinaryOp::kMax:
      return std::max(x, y);
    case BinaryOp::kEQ:
      return x == y;
    case BinaryOp::kNE:
      return x != y;
    case BinaryOp::kLT:
      return x < y;
    case BinaryOp::kLE:
      return x <= y;
    case BinaryOp::kGT:
      return x > y;
    case BinaryOp::kGE:
      return x >= y;
    case BinaryOp::kAnd:
      return x != 0 && y != 0;
    case BinaryOp::kOr:
      return x != 0 || y != 0;
  }
  return std::nullopt;
}

}  // namespace

std::optional<int64_t> ValueAt(const Expr& e, const IterDomain& domain, const Point& point) {
  if (const int64_t* value = AsIntConst(e)) return *value;
  if (IsVar(e)) {
    for (size_t i = 0; i < domain.size(); ++i) {
      if (domain[i].first.same_as(e)) return point[i];
    }
    return std::nullopt;
  }
  if (const Not* op = e.As<Not>()) {
    const auto value = ValueAt(op->a, domain, point);
    return value ? std::optional<int64_t>(*value == 0) : std::nullopt;
  }
  if (const Cast* cast = e.As<Cast>()) return ValueAt(cast->value, domain, point);
  if (const auto choice = AsChoice(e)) {
    const auto condition = ValueAt(choice->condition, domain, point);
    if (!condition) return std::nullopt;
    return ValueAt(*condition != 0 ? choice->true_value : choice->false_value, domain, point);
  }
  const Binary* op = e.As<Binary>();
  if (op == nullptr) return std::nullopt;
  const auto x = ValueAt(op->a, domain, point), y = ValueAt(op->b, domain, point);
  return x && y ? Apply(op->op, *x, *y) : std::nullopt;
}

void ForEachPoint(const IterDomain& domain, const std::function<void(const Point&)>& f) {
  Point point;
  const std::function<void()> visit = [&] {
    if (point.size() == domain.size()) return f(point);
    const Range& range = domain[point.size()].second;
    const int64_t min = *AsIntConst(range.min), extent = *AsIntConst(range.extent);
    for (int64_t value = min; value < min + extent; ++value) {
      point.push_back(value);
      visit();
      point.pop_back();
    }
  };
  visit();
}

Expr RandomExpr(Random& random, const IterDomain& vars, int depth) {
  if (depth == 0 || random.Below(8) == 0) {
    if (random.Below(3) == 0) return Expr(int64_t(random.Below(12)) - 4);
    return vars[random.Below(vars.size())].first;
  }
  const Expr a = RandomExpr(random, vars, depth - 1);
  const auto constant = [&] {
    constexpr int64_t kConstants[] = {2, 3, 4, 6, 8, 12, 16, 1, -2, -3, 4, 8};
    return Expr(kConstants[random.Below(12)]);
  };
  const auto b = [&] { return RandomExpr(random, vars, depth - 1); };
  switch (random.Below(14)) {
    case 0:
    case 1:
    case 2:
      return MakeBinary(BinaryOp::kAdd, a, b());
    case 3:
      return MakeBinary(BinaryOp::kSub, a, b());
    case 4:
    case 5:
      return MakeBinary(BinaryOp::kMul, a, constant());
    case 6:
    case 7:
      return MakeBinary(BinaryOp::kFloorDiv, a, constant());
    case 8:
    case 9:
      return MakeBinary(BinaryOp::kFloorMod, a, constant());
    case 10:
      return MakeBinary(random.Below(2) ? BinaryOp::kMin : BinaryOp::kMax, a, b());
    case 11:
      return Expr::Make(a.dtype(), Select{RandomCondition(random, vars, depth - 1), a, b()});
    case 12:
      return MakeBinary(random.Below(2) ? BinaryOp::kDiv : BinaryOp::kTruncMod, a, constant());
    default:
      return MakeBinary(random.Below(2)   ? BinaryOp::kMul
                        : random.Below(2) ? BinaryOp::kFloorDiv
                                          : BinaryOp::kFloorMod,
                        a, b());
  }
}

Expr RandomCondition(Random& random, const IterDomain& vars, int depth) {
  if (depth > 0 && random.Below(3) == 0) {
    const Expr a = RandomCondition(random, vars, depth - 1);
    if (random.Below(4) == 0) return Expr::Make(DataType::Bool(), Not{a});
    return MakeBinary(random.Below(2) ? BinaryOp::kAnd : BinaryOp::kOr, a, RandomCondition(random, vars, depth - 1));
  }
  constexpr BinaryOp kOps[] = {BinaryOp::kEQ, BinaryOp::kNE, BinaryOp::kLT, BinaryOp::kLE,
                               BinaryOp::kGT, BinaryOp::kGE, BinaryOp::kLT};
  return MakeBinary(kOps[random.Below(7)], RandomExpr(random, vars, depth),
                    RandomExpr(random, vars, depth > 0 ? depth - 1 : 0));
}

std::string ToText(const Expr& e) {
  if (const int64_t* value = AsIntConst(e))
    return e.dtype().is_bool() ? (*value ? "True" : "False") : fmt::format("{}", *value);
  if (const VarName* var = e.As<VarName>()) return var->name;
  if (const FloatImm* imm = e.As<FloatImm>()) return fmt::format("{}f", imm->value);
  if (const Not* op = e.As<Not>()) return fmt::format("not ({})", ToText(op->a));
  if (const Cast* cast = e.As<Cast>()) return fmt::format("{}({})", e.dtype().ToString(), ToText(cast->value));
  if (const auto choice = AsChoice(e)) {
    return fmt::format("select({}, {}, {})", ToText(choice->condition), ToText(choice->true_value),
                       ToText(choice->false_value));
  }
  const Binary* op = e.As<Binary>();
  if (op == nullptr) return "?";
  if (op->op == BinaryOp::kMin || op->op == BinaryOp::kMax)
    return fmt::format("{}({}, {})", OpText(op->op), ToText(op->a), ToText(op->b));
  const auto precedence = [](const Expr& x) {
    const Binary* binary = x.As<Binary>();
    if (binary == nullptr) return 9;
    switch (binary->op) {
      case BinaryOp::kOr:
        return 1;
      case BinaryOp::kAnd:
        return 2;
      case BinaryOp::kAdd:
      case BinaryOp::kSub:
        return 5;
      case BinaryOp::kMin:
      case BinaryOp::kMax:
        return 9;
      case BinaryOp::kMul:
      case BinaryOp::kDiv:
      case BinaryOp::kFloorDiv:
      case BinaryOp::kFloorMod:
      case BinaryOp::kTruncMod:
        return 6;
      default:
        return 4;
    }
  };
  const auto side = [&](const Expr& x, int limit) { return precedence(x) < limit ? "(" + ToText(x) + ")" : ToText(x); };
  return fmt::format("{} {} {}", side(op->a, precedence(e)), OpText(op->op), side(op->b, precedence(e) + 1));
}

}  // namespace lathe
