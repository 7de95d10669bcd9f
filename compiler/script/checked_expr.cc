#include "compiler/script/checked_expr.h"

#include <fmt/core.h>

#include "compiler/ir/integer.h"
#include "compiler/script/dialect.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

std::string KindOf(const Expr& e) { return e.As<StringImm>() != nullptr ? "a string" : e.dtype().ToString(); }

bool IsPointer(const Expr& e) { return e.dtype() == DataType::Handle() && e.As<StringImm>() == nullptr; }

Status CheckOperands(BinaryOp op, const Expr& a, const Expr& b) {
  if ((op == BinaryOp::kEQ || op == BinaryOp::kNE) && IsPointer(a) && IsPointer(b)) return OkStatus();
  for (const Expr* side : {&a, &b}) {
    if (!IsNumber(side->dtype())) return InvalidArgument(fmt::format("expected numbers, got {}", KindOf(*side)));
  }
  const std::string types = fmt::format("{} and {}", a.dtype().ToString(), b.dtype().ToString());
  if (!a.dtype().has_shape_of(b.dtype()) && !a.dtype().is_scalar() && !b.dtype().is_scalar())
    return InvalidArgument(fmt::format("expected vectors of one length, got {}", types));
  if ((op == BinaryOp::kAnd || op == BinaryOp::kOr) && (!a.dtype().is_bool() || !b.dtype().is_bool()))
    return InvalidArgument(fmt::format("expected booleans, got {}", types));
  return OkStatus();
}

StatusOr<Expr> ConvertInt(DataType type, int64_t value) {
  if (type.is_float()) return FloatConst(type, static_cast<double>(value));
  if (type.is_bool()) return IntConst(type, value != 0);
  if (WrapToWidth(value, type.bits, type.is_signed_int()) != value)
    return InvalidArgument(fmt::format("expected a value of {}, got {}", type.ToString(), value));
  return IntConst(type, value);
}

}  // namespace

StatusOr<Expr> CombineExprs(BinaryOp op, Expr a, Expr b, bool fold) {
  RETURN_IF_ERROR(CheckOperands(op, a, b));
  if (fold) return FoldBinary(op, std::move(a), std::move(b));
  MatchTypes(a, b);
  return MakeBinary(op, std::move(a), std::move(b));
}

Expr TruthOf(const Expr& e) {
  const DataType type = e.dtype();
  return type.is_int() && type.is_scalar() ? FoldBinary(BinaryOp::kNE, e, IntConst(type, 0)) : e;
}

StatusOr<Expr> ConvertExpr(DataType type, const Expr& value) {
  if (value.dtype() == type) return value;
  if (!IsNumber(value.dtype()) || !IsNumber(type))
    return InvalidArgument(fmt::format("expected {}, got {}", type.ToString(), KindOf(value)));
  if (!value.dtype().has_shape_of(type)) {
    if (!value.dtype().is_scalar())
      return InvalidArgument(fmt::format("expected {}, got {}", type.ToString(), value.dtype().ToString()));
    ASSIGN_OR_RETURN(const Expr element, ConvertExpr(type.element(), value));
    return Expr::Make(type, Broadcast{element, type.lanes});
  }
  if (const Broadcast* broadcast = value.As<Broadcast>()) {
    ASSIGN_OR_RETURN(const Expr element, ConvertExpr(type.element(), broadcast->value));
    return Expr::Make(type, Broadcast{element, type.lanes});
  }
  if (const IntImm* integer = value.As<IntImm>()) return ConvertInt(type, integer->value);
  const FloatImm* number = value.As<FloatImm>();
  return number != nullptr && type.is_float() ? FloatConst(type, number->value) : MakeCast(type, value);
}

StatusOr<Expr> CallExpr(const Op& op, std::vector<Expr> args) {
  if (op.num_args >= 0 && args.size() != static_cast<size_t>(op.num_args))
    return InvalidArgument(fmt::format("expected {} arguments of T.{}, got {}", op.num_args, op.name, args.size()));
  const size_t first = FirstMatchedArg(op);
  if (op.name.starts_with("bitwise_") || op.name.starts_with("shift_")) {
    for (const Expr& arg : args) {
      if (arg.dtype().is_float())
        return InvalidArgument(fmt::format("expected integers of T.{}, got {}", op.name, arg.dtype().ToString()));
    }
  }
  for (int round = 0; round < 2 && op.name != "ldexp" && MatchesArgs(op);
       ++round) {  // The second brings all to the widest of the first.
    for (size_t i = first + 1; i < args.size(); ++i) {
      RETURN_IF_ERROR(CheckOperands(BinaryOp::kMin, args[first], args[i]));
      MatchTypes(args[first], args[i]);
    }
  }
  if (const std::optional<DataType> type = InferCallType(op, args))
    return Expr::Make(*type, Call{&op, std::move(args)});
  const bool is_condition = first == 1 && !args.empty() && !args[0].dtype().is_bool();
  return InvalidArgument(fmt::format("expected {} of T.{}, got {}",
                                     is_condition ? "a boolean as condition" : "a float as argument", op.name,
                                     args.empty() ? "nothing" : args[0].dtype().ToString()));
}

}  // namespace lathe
