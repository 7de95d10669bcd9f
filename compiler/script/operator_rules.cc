#include "compiler/script/operator_rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/ir/integer.h"
#include "compiler/ir/may_trap.h"
#include "compiler/script/checked_expr.h"
#include "compiler/script/dialect.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

std::optional<double> FloatOf(const Expr& e) {
  const FloatImm* imm = e.As<FloatImm>();
  return imm == nullptr ? std::nullopt : std::optional(imm->value);
}
std::optional<int64_t> IntOf(const Expr& e) {
  const int64_t* value = AsIntConst(e);
  return value == nullptr ? std::nullopt : std::optional(*value);
}
Expr Boolean(bool value) { return IntConst(DataType::Bool(), value ? 1 : 0); }

// The number as the type holds it; wider ones keep all of double's digits, as TVM does.
Expr FloatResult(DataType type, double value) {
  return FloatConst(type, type.bits == 32 ? static_cast<double>(static_cast<float>(value)) : value);
}

std::optional<Expr> FoldFloats(BinaryOp op, DataType type, double x, double y) {
  switch (op) {
    case BinaryOp::kAdd:
      return FloatResult(type, x + y);
    case BinaryOp::kSub:
      return FloatResult(type, x - y);
    case BinaryOp::kMul:
      return FloatResult(type, x * y);
    case BinaryOp::kDiv:
      return FloatResult(type, x / y);
    case BinaryOp::kMin:
      return FloatResult(type, std::min(x, y));
    case BinaryOp::kMax:
      return FloatResult(type, std::max(x, y));
    case BinaryOp::kEQ:
      return Boolean(x == y);
    case BinaryOp::kNE:
      return Boolean(x != y);
    case BinaryOp::kLT:
      return Boolean(x < y);
    case BinaryOp::kLE:
      return Boolean(x <= y);
    case BinaryOp::kGT:
      return Boolean(x > y);
    case BinaryOp::kGE:
      return Boolean(x >= y);
    default:
      return std::nullopt;
  }
}

// x + 0.0 and the like: TVM takes them for x, also where x may be NaN or -0.0.
std::optional<Expr> FoldFloatIdentity(BinaryOp op, const Expr& a, const Expr& b) {
  const std::optional<double> x = FloatOf(a), y = FloatOf(b);
  switch (op) {
    case BinaryOp::kAdd:
      if (x == 0.0) return b;
      return y == 0.0 ? std::optional(a) : std::nullopt;
    case BinaryOp::kSub:
      return y == 0.0 ? std::optional(a) : std::nullopt;
    case BinaryOp::kMul:
      if (x == 1.0 || y == 0.0) return b;
      return y == 1.0 || x == 0.0 ? std::optional(a) : std::nullopt;
    case BinaryOp::kDiv:
      return y == 1.0 || x == 0.0 ? std::optional(a) : std::nullopt;
    default:
      return std::nullopt;
  }
}

// Which side gives way when types differ: literals are as good as variables, as in TVM.
DataType CommonElement(DataType a, DataType b) {
  if (a.is_float() != b.is_float()) return a.is_float() ? a : b;
  if (a.is_bool() || b.is_bool()) return a.is_bool() ? b : a;
  if (a.bits != b.bits) return a.bits > b.bits ? a : b;
  return a.is_signed_int() ? b : a;
}
Expr WithType(DataType type, const Expr& e) {
  if (e.dtype() == type) return e;
  if (!e.dtype().has_shape_of(type) && e.dtype().is_scalar())
    return Expr::Make(type, Broadcast{WithType(type.element(), e), type.lanes});
  const StatusOr<Expr> converted = ConvertExpr(type, e);
  return converted.ok() ? *converted : MakeCast(type, e);
}

Status CheckDivision(BinaryOp op, const Expr& a, const Expr& b) {
  const bool is_floor = op == BinaryOp::kFloorDiv || op == BinaryOp::kFloorMod;
  if (is_floor && a.dtype().is_float())
    return InvalidArgument(fmt::format("expected integers, got {}", a.dtype().ToString()));
  if (IsDivision(op) && (IntOf(b) == 0 || FloatOf(b) == 0.0)) return InvalidArgument("divide by zero");
  return OkStatus();
}

int64_t BitsOf(std::string_view op, int64_t x, int64_t y) {
  if (op == "bitwise_and") return x & y;
  if (op == "bitwise_or") return x | y;
  if (op == "bitwise_xor") return x ^ y;
  return op == "shift_left" ? static_cast<int64_t>(static_cast<uint64_t>(x) << y) : x >> y;
}

StatusOr<Expr> FoldBits(const Op& op, const Expr& call) {
  const std::vector<Expr>& args = call.As<Call>()->args;
  const std::optional<int64_t> x = IntOf(args[0]), y = IntOf(args[1]);
  const DataType type = call.dtype();
  if (op.name.starts_with("shift_") && y) {
    if (*y < 0 || *y >= type.bits)
      return InvalidArgument(
          fmt::format("expected to shift {} by 0 to {}, got {}", type.ToString(), type.bits - 1, *y));
    if (*y == 0) return args[0];
  }
  if (!x || !y || (type.bits > 63 && !type.is_signed_int())) return call;
  return IntConst(type, WrapToWidth(BitsOf(op.name, *x, *y), type.bits, type.is_signed_int()));
}

double Round(std::string_view op, double value) {
  if (op == "floor") return std::floor(value);
  if (op == "ceil") return std::ceil(value);
  if (op == "trunc") return std::trunc(value);
  return std::nearbyint(value);
}
bool IsRounding(std::string_view op) {
  return op == "floor" || op == "ceil" || op == "trunc" || op == "round" || op == "nearbyint";
}

Expr FoldAbs(const Expr& x, const Expr& call) {
  if (const std::optional<double> value = FloatOf(x)) return FloatConst(x.dtype(), std::fabs(*value));
  if (!x.dtype().is_signed_int()) return x.dtype().is_float() ? call : x;
  if (const std::optional<int64_t> value = IntOf(x); value && *value != INT64_MIN)
    return IntConst(x.dtype(), std::abs(*value));
  const Expr zero = IntConst(x.dtype(), 0);
  return MakeSelect(FoldBinary(BinaryOp::kGE, x, zero), x, zero - x);
}

// T.isnan, T.isinf, T.isfinite.
Expr FoldPredicate(std::string_view op, const Expr& x, const Expr& call) {
  if (!x.dtype().is_float()) return IntConst(call.dtype(), op == "isfinite");
  const std::optional<double> value = FloatOf(x);
  if (!value) return call;
  if (op == "isnan") return Boolean(std::isnan(*value));
  return Boolean(op == "isinf" ? std::isinf(*value) : std::isfinite(*value));
}

// The largest finite number.
std::optional<double> LargestOf(DataType type) {
  if (type == DataType::Float(64)) return std::numeric_limits<double>::max();
  if (type == DataType::Float(32)) return std::numeric_limits<float>::max();
  if (type == DataType::Float(16)) return 65504.0;
  if (type.ToString() == "bfloat16") return std::numeric_limits<float>::max();
  if (type.ToString() == "float8_e4m3fn") return 448.0;
  if (type.ToString() == "float8_e5m2") return 57344.0;
  return std::nullopt;
}

std::optional<Expr> IntLimit(bool is_max, DataType type) {
  if (!type.is_int() && !type.is_bool()) return std::nullopt;
  if (!type.is_signed_int()) {
    if (!is_max) return IntConst(type, 0);
    const uint64_t all = type.bits >= 64 ? UINT64_MAX : (uint64_t{1} << type.bits) - 1;
    return IntConst(type, static_cast<int64_t>(type.is_bool() ? 1 : all));
  }
  const int64_t max = type.bits >= 64 ? INT64_MAX : (int64_t{1} << (type.bits - 1)) - 1;
  return IntConst(type, is_max ? max : -max - 1);
}

// Operands that go together are brought to one type; the second round brings all to the widest of the first.
std::vector<Expr> MatchedArgs(const Op& op, std::vector<Expr> args) {
  if (op.name == "ldexp" || !MatchesArgs(op)) return args;
  const size_t first = FirstMatchedArg(op);
  for (int round = 0; round < 2; ++round)
    for (size_t i = first + 1; i < args.size(); ++i) MatchAsTvm(args[first], args[i]);
  return args;
}

}  // namespace

void MatchAsTvm(Expr& a, Expr& b) {
  const DataType x = a.dtype(), y = b.dtype();
  if (x == y || !IsNumber(x) || !IsNumber(y) || (!x.has_shape_of(y) && !x.is_scalar() && !y.is_scalar())) return;
  const DataType type = CommonElement(x.element(), y.element()).shaped_as(x.is_scalar() ? y : x);
  a = WithType(type, a);
  b = WithType(type, b);
}

StatusOr<Expr> FoldOperator(BinaryOp op, const Expr& a, const Expr& b) {
  Expr left_side = a, right_side = b;
  MatchAsTvm(left_side, right_side);
  ASSIGN_OR_RETURN(const Expr plain, CombineExprs(op, left_side, right_side));
  const Binary* node = plain.As<Binary>();
  if (node == nullptr || node->op != op) return plain;  // It may be an operand: (0 - x) // 1 is 0 - x.
  const Expr &x = node->a, &y = node->b;
  RETURN_IF_ERROR(CheckDivision(op, x, y));
  if (const auto left = FloatOf(x), right = FloatOf(y); left && right) {
    if (std::optional<Expr> folded = FoldFloats(op, x.dtype(), *left, *right)) return *folded;
  }
  if (std::optional<Expr> folded = FoldFloatIdentity(op, x, y)) return *folded;
  if (IsDivision(op) && IntOf(x) == 0) return x;
  const bool is_choice = op == BinaryOp::kMin || op == BinaryOp::kMax;
  return is_choice && x.same_as(y) ? x : plain;
}

StatusOr<Expr> FoldCeilDiv(const Expr& a, const Expr& b) {
  ASSIGN_OR_RETURN(const Expr sum, FoldOperator(BinaryOp::kAdd, a, b));
  ASSIGN_OR_RETURN(const Expr one, ConvertExpr(sum.dtype().element(), Expr(1)));
  ASSIGN_OR_RETURN(const Expr rounded, FoldOperator(BinaryOp::kSub, sum, one));
  return FoldOperator(BinaryOp::kFloorDiv, rounded, b);
}

StatusOr<Expr> FoldCall(const Op& op, const std::vector<Expr>& args) {
  ASSIGN_OR_RETURN(Expr call, CallExpr(op, MatchedArgs(op, args)));
  const std::vector<Expr>& used = call.As<Call>()->args;
  if (op.num_args == 2 && (op.name.starts_with("bitwise_") || op.name.starts_with("shift_"))) return FoldBits(op, call);
  if (op.name == "abs") return FoldAbs(used[0], call);
  if (op.name == "isnan" || op.name == "isinf" || op.name == "isfinite") return FoldPredicate(op.name, used[0], call);
  if (op.name == "likely" && IntOf(used[0])) return used[0];
  if (op.name == "if_then_else" && IntOf(used[0])) return IntOf(used[0]) != 0 ? used[1] : used[2];
  if (!IsRounding(op.name)) return call;
  if (!used[0].dtype().is_float()) return used[0];
  const std::optional<double> value = FloatOf(used[0]);
  return value ? FloatConst(call.dtype(), Round(op.name, *value)) : call;
}

StatusOr<Expr> FoldTypedCall(const Op& op, DataType type, const std::vector<Expr>& args) {
  if (op.name == "reinterpret" && args.size() == 1 && IsNumber(type) && IsNumber(args[0].dtype())) {
    const DataType from = args[0].dtype();
    if (from == type) return args[0];
    if (!type.is_scalable && !from.is_scalable && from.bits * from.lanes != type.bits * type.lanes)
      return InvalidArgument(fmt::format("expected as many bits as {} has, got {}", type.ToString(), from.ToString()));
  }
  return Expr::Make(type, Call{&op, args});
}

bool StaysAsItIs(DataType type, const Binary& e) {
  if (e.a.dtype() != e.b.dtype() || type != MakeBinary(e.op, e.a, e.b).dtype()) return false;
  const StatusOr<Expr> read = FoldOperator(e.op, e.a, e.b);
  const Binary* same = read.ok() ? read->As<Binary>() : nullptr;
  return same != nullptr && same->op == e.op && same->a.same_as(e.a) && same->b.same_as(e.b);
}

bool StaysAsItIs(DataType type, const Call& e) {
  if (!TakesTypeFirst(*e.op) && InferCallType(*e.op, e.args) != type) return false;
  const StatusOr<Expr> read = TakesTypeFirst(*e.op) ? FoldTypedCall(*e.op, type, e.args) : FoldCall(*e.op, e.args);
  const Call* same = read.ok() && read->dtype() == type ? read->As<Call>() : nullptr;
  return same != nullptr && same->op == e.op &&
         std::equal(same->args.begin(), same->args.end(), e.args.begin(), e.args.end(),
                    [](const Expr& x, const Expr& y) { return x.same_as(y); });
}

StatusOr<Expr> FoldCast(DataType type, const Expr& value) {
  const std::optional<double> number = FloatOf(value);
  const bool is_cut = number && type.is_int() && type.is_scalar() && std::abs(*number) < 0x1.0p62;
  if (is_cut) return IntConst(type, WrapToWidth(static_cast<int64_t>(*number), type.bits, type.is_signed_int()));
  return ConvertExpr(type, value);
}

bool IsLimit(const Op& op) { return op.name == "min_value" || op.name == "max_value" || op.name == "infinity"; }

StatusOr<Expr> LimitOf(const Op& op, DataType type) {
  if (op.name != "infinity") {
    if (const std::optional<Expr> limit = IntLimit(op.name == "max_value", type)) return *limit;
  }
  const std::optional<double> largest = LargestOf(type);
  if (!largest || (op.name == "infinity" && type.bits < 16))
    return InvalidArgument(fmt::format("expected a type with a {}, got {}", op.name, type.ToString()));
  if (op.name == "infinity") return FloatConst(type, std::numeric_limits<double>::infinity());
  return FloatConst(type, op.name == "max_value" ? *largest : -*largest);
}

}  // namespace lathe
