#include "brute_force.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/arith/canonicalizer.h"
#include "compiler/arith/linear.h"
#include "compiler/ir/integer.h"

namespace lathe {
namespace {

const char* OpText(BinaryOp op) {
  constexpr const char* kTexts[] = {"+",  "-",  "*", "/",  "//", "%",  "%%",  "min", "max",
                                    "==", "!=", "<", "<=", ">",  ">=", "and", "or"};
  return kTexts[static_cast<int>(op)];
}

// What `value` is in `type`; nullopt where index arithmetic must not go.
std::optional<int64_t> In(DataType type, __int128 value, Overflow overflow) {
  if (type.is_bool()) return value != 0;
  if (overflow == Overflow::kHasNoValue && IsIndexType(type.element())) {
    const IntBound bound = TypeBound(type.element());
    if (value < bound.min || value > bound.max) return std::nullopt;
    return static_cast<int64_t>(value);
  }
  return WrapToWidth(static_cast<int64_t>(value), type.bits, type.is_signed_int());
}

__int128 Wide(DataType type, int64_t value) {
  return type.is_signed_int() || type.is_bool() ? __int128(value) : __int128(static_cast<uint64_t>(value));
}

__int128 FloorQuotient(__int128 x, __int128 y) {
  const __int128 quotient = x / y;
  return x % y != 0 && (x < 0) != (y < 0) ? quotient - 1 : quotient;
}

std::optional<__int128> Arithmetic(BinaryOp op, __int128 x, __int128 y) {
  switch (op) {
    case BinaryOp::kAdd:
      return x + y;
    case BinaryOp::kSub:
      return x - y;
    case BinaryOp::kMul:
      return x * y;
    case BinaryOp::kMin:
      return std::min(x, y);
    case BinaryOp::kMax:
      return std::max(x, y);
    default:
      break;
  }
  if (y == 0) return std::nullopt;
  switch (op) {
    case BinaryOp::kDiv:
      return x / y;
    case BinaryOp::kTruncMod:
      return x % y;
    case BinaryOp::kFloorDiv:
      return FloorQuotient(x, y);
    default:
      return x - FloorQuotient(x, y) * y;
  }
}

std::optional<bool> Holds(BinaryOp op, __int128 x, __int128 y) {
  switch (op) {
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
    default:
      return std::nullopt;
  }
}

std::optional<int64_t> CallValue(const Call& call, DataType type, const std::vector<int64_t>& args, Overflow overflow) {
  const std::string_view name = call.op->name;
  const auto bits = [&](size_t i) { return static_cast<uint64_t>(args[i]); };
  if (name == "bitwise_and") return args[0] & args[1];
  if (name == "bitwise_or") return args[0] | args[1];
  if (name == "bitwise_xor") return args[0] ^ args[1];
  if (name == "bitwise_not") return WrapToWidth(~args[0], type.bits, type.is_signed_int());
  if (name == "likely") return args[0];
  if (args[1] < 0 || args[1] >= type.bits) return std::nullopt;
  if (name == "shift_left") return In(type, Wide(type, args[0]) << args[1], overflow);
  if (name == "shift_right")
    return type.is_signed_int() ? args[0] >> args[1] : static_cast<int64_t>(bits(0) >> args[1]);
  return std::nullopt;
}

}  // namespace

std::optional<int64_t> ValueAt(const Expr& e, const IterDomain& domain, const Point& point, int lane,
                               Overflow overflow) {
  const auto value_of = [&](const Expr& part) { return ValueAt(part, domain, point, lane, overflow); };
  if (const int64_t* value = AsIntConst(e)) return *value;
  if (IsVar(e)) {
    for (size_t i = 0; i < domain.size(); ++i) {
      if (domain[i].first.same_as(e)) return point[i];
    }
    return std::nullopt;
  }
  if (const Not* op = e.As<Not>()) {
    const auto value = value_of(op->a);
    return value ? std::optional<int64_t>(*value == 0) : std::nullopt;
  }
  if (const Cast* cast = e.As<Cast>()) {
    const auto value = value_of(cast->value);
    if (!value || e.dtype().is_bool()) return value ? std::optional<int64_t>(*value != 0) : value;
    return WrapToWidth(*value, e.dtype().bits, e.dtype().is_signed_int());
  }
  if (const auto choice = AsChoice(e)) {
    const auto condition = value_of(choice->condition);
    if (!condition) return std::nullopt;
    return value_of(*condition != 0 ? choice->true_value : choice->false_value);
  }
  if (const Broadcast* broadcast = e.As<Broadcast>()) return value_of(broadcast->value);
  if (const Ramp* ramp = e.As<Ramp>()) {
    const auto base = value_of(ramp->base), stride = value_of(ramp->stride);
    return base && stride ? In(e.dtype(), *base + __int128(*stride) * lane, overflow) : std::nullopt;
  }
  if (const Call* call = e.As<Call>()) {
    std::vector<int64_t> args;
    for (const Expr& arg : call->args) {
      const auto value = value_of(arg);
      if (!value) return std::nullopt;
      args.push_back(*value);
    }
    return CallValue(*call, e.dtype(), args, overflow);
  }
  const Binary* op = e.As<Binary>();
  if (op == nullptr) return std::nullopt;
  const auto a = value_of(op->a), b = value_of(op->b);
  if (!a || !b) return std::nullopt;
  const DataType type = op->a.dtype();
  const __int128 x = Wide(type, *a), y = Wide(type, *b);
  if (const auto holds = Holds(op->op, x, y)) return *holds;
  const auto value = Arithmetic(op->op, x, y);
  return value ? In(type, *value, overflow) : std::nullopt;
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

namespace {

class TypedGenerator {
 public:
  TypedGenerator(Random& random, const IterDomain& vars) : random_(random), vars_(vars) {}

  Expr Make(DataType type, int depth) {
    if (depth == 0 || Chance(8)) return Leaf(type);
    if (!type.is_scalar() && Chance(3)) return Vector(type, depth);
    if (Chance(10))
      return Expr::Make(
          type, Select{Make(DataType::Bool(type.lanes), depth - 1), Make(type, depth - 1), Make(type, depth - 1)});
    if (type.is_bool()) return Condition(type, depth);
    if (Chance(14) && type.is_scalar()) return MakeCast(type, Make(OtherType(type), depth - 1));
    if (Chance(16)) return Bits(type, depth);
    return Arithmetic(type, depth);
  }

 private:
  bool Chance(int one_in) { return random_.Below(one_in) == 0; }
  Expr Constant(DataType type) {
    constexpr int64_t kSmall[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 1, 2, 4, -1, -2, -3, -4, -8};
    if (type.is_bool()) return IntConst(type, random_.Below(2));
    const bool is_signed = type.is_signed_int();
    if (!IsIndexType(type.element()) && Chance(20))  // Near the ends of what wraps.
      return IntConst(
          type, WrapToWidth(int64_t(random_.Below(5)) - 2 + (int64_t{1} << (std::min(type.bits, uint8_t{63}) - 1)),
                            type.bits, is_signed));
    const int64_t value = kSmall[random_.Below(is_signed ? 19 : 14)];
    return IntConst(type, value);
  }
  Expr Leaf(DataType type) {
    std::vector<Expr> fitting;
    for (const auto& [var, range] : vars_) {
      if (var.dtype() == type.element()) fitting.push_back(var);
    }
    if (fitting.empty() || Chance(3)) return Constant(type);
    const Expr var = fitting[random_.Below(fitting.size())];
    return type.is_scalar() ? var : Expr::Make(type, Broadcast{var, type.lanes});
  }
  Expr Vector(DataType type, int depth) {
    if (type.is_bool() || Chance(2)) return Expr::Make(type, Broadcast{Make(type.element(), depth - 1), type.lanes});
    const Expr stride = Chance(3) ? Make(type.element(), depth - 1) : Constant(type.element());
    return Expr::Make(type, Ramp{Make(type.element(), depth - 1), stride, type.lanes});
  }
  DataType OtherType(DataType type) {
    constexpr DataType kTypes[] = {DataType::Int(32), DataType::Int(64),  DataType::Int(8),
                                   DataType::UInt(8), DataType::UInt(32), DataType::Bool()};
    const DataType other = kTypes[random_.Below(6)];
    return other == type ? DataType::Int(16) : other;
  }
  Expr Condition(DataType type, int depth) {
    if (Chance(6)) return Expr::Make(type, Not{Make(type, depth - 1)});
    if (Chance(2))
      return MakeBinary(Chance(2) ? BinaryOp::kAnd : BinaryOp::kOr, Make(type, depth - 1), Make(type, depth - 1));
    constexpr DataType kTypes[] = {DataType::Int(32), DataType::Int(32), DataType::Int(32), DataType::Int(64),
                                   DataType::UInt(8)};
    const DataType operands = kTypes[random_.Below(5)].with_lanes(type.lanes);
    const BinaryOp op = static_cast<BinaryOp>(static_cast<int>(BinaryOp::kEQ) + random_.Below(6));
    return MakeBinary(op, Make(operands, depth - 1), Make(operands, depth > 1 ? depth - 2 : 0));
  }
  Expr Bits(DataType type, int depth) {
    constexpr const char* kNames[] = {"bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right"};
    const size_t which = random_.Below(5);
    const Expr b = which < 3 ? Make(type, depth - 1) : IntConst(type, random_.Below(4));
    return MakeCall(type, kNames[which], {Make(type, depth - 1), b});
  }
  Expr Arithmetic(DataType type, int depth) {
    constexpr BinaryOp kOps[] = {BinaryOp::kAdd,      BinaryOp::kAdd,      BinaryOp::kAdd,      BinaryOp::kSub,
                                 BinaryOp::kSub,      BinaryOp::kMul,      BinaryOp::kMul,      BinaryOp::kFloorDiv,
                                 BinaryOp::kFloorDiv, BinaryOp::kFloorMod, BinaryOp::kFloorMod, BinaryOp::kDiv,
                                 BinaryOp::kTruncMod, BinaryOp::kMin,      BinaryOp::kMax};
    const BinaryOp op = kOps[random_.Below(15)];
    const bool prefers_constant = op == BinaryOp::kMul || (op >= BinaryOp::kDiv && op <= BinaryOp::kTruncMod);
    const Expr a = Make(type, depth - 1);
    return MakeBinary(op, a, prefers_constant && !Chance(4) ? Constant(type) : Make(type, depth - 1));
  }

  Random& random_;
  const IterDomain& vars_;
};

}  // namespace

Expr RandomTypedExpr(Random& random, const IterDomain& vars, DataType type, int depth) {
  return TypedGenerator(random, vars).Make(type, depth);
}

uint64_t Fingerprint(const Expr& e) {
  uint64_t hash = 17;
  PostOrderVisit(e, [&](const Expr& part) {
    uint64_t own = part.node().value.index() * 64 + part.dtype().bits;
    if (const VarName* var = part.As<VarName>()) own += std::hash<std::string>()(var->name);
    if (const int64_t* value = AsIntConst(part)) own += static_cast<uint64_t>(*value) * 977;
    if (const Binary* op = part.As<Binary>()) own += static_cast<uint64_t>(op->op) * 7919;
    if (const Call* call = part.As<Call>()) own += std::hash<std::string_view>()(call->op->name);
    hash = Random::Mix(hash ^ own);
  });
  return hash;
}

std::string ToText(const Expr& e) {
  if (const int64_t* value = AsIntConst(e))
    return e.dtype().is_bool() ? (*value ? "True" : "False") : fmt::format("{}", *value);
  if (const VarName* var = e.As<VarName>()) return var->name;
  if (const FloatImm* imm = e.As<FloatImm>()) return fmt::format("{}f", imm->value);
  if (const Not* op = e.As<Not>()) return fmt::format("not ({})", ToText(op->a));
  if (const Ramp* ramp = e.As<Ramp>())
    return fmt::format("ramp({}, {}, {})", ToText(ramp->base), ToText(ramp->stride), ramp->lanes);
  if (const Broadcast* broadcast = e.As<Broadcast>())
    return fmt::format("broadcast({}, {})", ToText(broadcast->value), broadcast->lanes);
  if (const Cast* cast = e.As<Cast>()) return fmt::format("{}({})", e.dtype().ToString(), ToText(cast->value));
  if (const auto choice = AsChoice(e)) {
    return fmt::format("select({}, {}, {})", ToText(choice->condition), ToText(choice->true_value),
                       ToText(choice->false_value));
  }
  if (const Call* call = e.As<Call>()) {
    std::string text;
    for (const Expr& arg : call->args) text += (text.empty() ? "" : ", ") + ToText(arg);
    return fmt::format("{}({})", call->op->name, text);
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
