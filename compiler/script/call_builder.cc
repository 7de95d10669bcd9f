// ExprBuilder: calls of T's functions.
#include <fmt/core.h>

#include <bit>
#include <charconv>
#include <limits>

#include "compiler/ir/integer.h"
#include "compiler/script/dialect.h"
#include "compiler/script/expr_builder.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

// "inf", "-nan", "nan(0x7ff8000000000001)" (all bits), or digits.
std::optional<double> ParseFloatText(std::string_view text) {
  const bool negative = text.starts_with("-");
  if (negative) text.remove_prefix(1);
  double value = 0;
  if (text.starts_with("nan(0x") && text.ends_with(")")) {
    uint64_t bits = 0;
    const std::string_view digits = text.substr(6, text.size() - 7);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16);
    value = std::bit_cast<double>(bits);
    if (error != std::errc() || end != digits.data() + digits.size() || value == value) return std::nullopt;
  } else if (text == "nan") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  }
  return negative ? -value : value;
}

}  // namespace

StatusOr<Expr> ExprBuilder::BuildCall(const PyExpr& e) const {
  const PyExpr& callee = *e.items[0];
  if (callee.kind == PyExprKind::kName && callee.text == "float") return BuildTyped(e, DataType::Float(32));
  const std::string name = TirName(callee);
  if (name.empty()) return Error(e, fmt::format("expected a function of T, got \"{}\"", callee.text));
  return BuildNamedCall(e, name);
}

StatusOr<Expr> ExprBuilder::BuildNamedCall(const PyExpr& e, const std::string& name) const {
  for (const BinarySpelling& row : BinarySpellings()) {
    if (row.exact == name) return BuildBinaryCall(e, row.op, false);
    if (!row.folding.empty() && row.folding == name) return BuildBinaryCall(e, row.op, true);
  }
  if (const Op* op = FindOp(name == "power" ? "pow" : name)) return BuildOp(e, *op);
  if (const StatusOr<DataType> type = DataType::Parse(name); type.ok()) return BuildTyped(e, *type);
  if (name == "Select") return BuildSelect(e);
  if (name == "Cast" || name == "cast") return BuildCast(e, name == "Cast");
  if (name == "Ramp" || name == "ramp") return BuildRamp(e);
  if (name == "Broadcast" || name == "broadcast") return BuildBroadcast(e);
  if (name == "call_intrin" || name == "call_pure_intrin") return BuildCallIntrin(e);
  if (name == "indexdiv") return BuildBinaryCall(e, BinaryOp::kFloorDiv, true);
  if (name == "indexmod") return BuildBinaryCall(e, BinaryOp::kFloorMod, true);
  if (name == "Not") {
    ASSIGN_OR_RETURN(const BoundArgs args, Bind(e, {"a"}, 1));
    return BuildNot(e, *args[0], false);
  }
  if (name == "ceildiv") {
    ASSIGN_OR_RETURN(const BoundArgs args, Bind(e, {"a", "b"}, 2));
    ASSIGN_OR_RETURN(const Expr a, Build(*args[0]));
    ASSIGN_OR_RETURN(const Expr b, Build(*args[1]));
    ASSIGN_OR_RETURN(const Expr sum, Combine(e, BinaryOp::kAdd, a, b));
    ASSIGN_OR_RETURN(const Expr rounded, Combine(e, BinaryOp::kSub, sum, Expr(1)));
    return Combine(e, BinaryOp::kFloorDiv, rounded, b);
  }
  return Error(e, fmt::format("expected an operation of TensorIR, got \"T.{}\"", name));
}

StatusOr<Expr> ExprBuilder::BuildBinaryCall(const PyExpr& e, BinaryOp op, bool fold) const {
  ASSIGN_OR_RETURN(const BoundArgs args, Bind(e, {"a", "b"}, 2));
  ASSIGN_OR_RETURN(Expr a, Build(*args[0]));
  ASSIGN_OR_RETURN(Expr b, Build(*args[1]));
  return Combine(e, op, std::move(a), std::move(b), fold);
}

// T.float32(1), T.int64(n): a constant of the type, or a cast to it.
StatusOr<Expr> ExprBuilder::BuildTyped(const PyExpr& e, DataType type) const {
  ASSIGN_OR_RETURN(const BoundArgs args, Bind(e, {"expr"}, 0));
  if (args[0] == nullptr)
    return Error(e, fmt::format("expected a value of {}; a variable is declared by a line of its own: n = T.{}()",
                                type.ToString(), type.ToString()));
  const PyExpr* literal = args[0];
  const bool negative = literal->kind == PyExprKind::kUnary && literal->text == "-";
  if (negative) literal = literal->items[0];
  const bool is_number = literal->kind == PyExprKind::kInt || literal->kind == PyExprKind::kFloat;
  if (is_number || (!negative && (literal->kind == PyExprKind::kString || literal->kind == PyExprKind::kTrue ||
                                  literal->kind == PyExprKind::kFalse))) {
    ASSIGN_OR_RETURN(const Expr scalar, BuildTypedLiteral(e, *literal, type.element(), negative));
    return type.is_scalar() ? scalar : Expr::Make(type, Broadcast{scalar, type.lanes});
  }
  ASSIGN_OR_RETURN(const Expr value, Build(*args[0]));
  return Convert(e, type, value);
}

StatusOr<Expr> ExprBuilder::BuildTypedLiteral(const PyExpr& at, const PyExpr& literal, DataType type,
                                              bool negative) const {
  const auto mismatch = [&] { return Error(literal, fmt::format("expected a value of {}", type.ToString())); };
  if (type.is_float()) {
    double value = literal.float_value;
    if (literal.kind == PyExprKind::kString) {
      const std::optional<double> parsed = ParseFloatText(literal.string_value);
      if (!parsed) return mismatch();
      value = *parsed;
    } else if (literal.kind == PyExprKind::kInt) {
      value = static_cast<double>(literal.int_value);
    } else if (literal.kind != PyExprKind::kFloat) {
      value = literal.kind == PyExprKind::kTrue ? 1 : 0;
    }
    return FloatConst(type, negative ? -value : value);
  }
  if (literal.kind == PyExprKind::kTrue || literal.kind == PyExprKind::kFalse)
    return IntConst(type, literal.kind == PyExprKind::kTrue);
  if (literal.kind != PyExprKind::kInt) return mismatch();
  const uint64_t magnitude = literal.int_value;
  if (type.is_bool()) return IntConst(type, magnitude != 0);
  if (type.is_signed_int() ? magnitude > (uint64_t{1} << 63) - (negative ? 0 : 1) : negative && magnitude != 0)
    return mismatch();
  const int64_t value = static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
  if (WrapToWidth(value, type.bits, type.is_signed_int()) != value) return mismatch();
  return IntConst(type, value);
}

StatusOr<Expr> ExprBuilder::BuildSelect(const PyExpr& e) const {
  ASSIGN_OR_RETURN(const BoundArgs args, Bind(e, {"condition", "true_value", "false_value"}, 3));
  ASSIGN_OR_RETURN(const Expr condition, Build(*args[0]));
  ASSIGN_OR_RETURN(Expr a, Build(*args[1]));
  ASSIGN_OR_RETURN(Expr b, Build(*args[2]));
  if (!condition.dtype().is_bool())
    return Error(*args[0], fmt::format("expected a boolean, got {}", condition.dtype().ToString()));
  ASSIGN_OR_RETURN(const Expr checked, Combine(e, BinaryOp::kEQ, a, b));
  MatchTypes(a, b);
  return Expr::Make(a.dtype(), Select{condition, a, b});
}

StatusOr<Expr> ExprBuilder::BuildCast(const PyExpr& e,
                                      bool exact) const {  // T.Cast("float32", x) is exact, T.cast(x, "float32") folds.
  ASSIGN_OR_RETURN(const BoundArgs args, exact ? Bind(e, {"dtype", "value"}, 2) : Bind(e, {"value", "dtype"}, 2));
  ASSIGN_OR_RETURN(const DataType type, BuildType(*args[exact ? 0 : 1]));
  ASSIGN_OR_RETURN(const Expr value, Build(*args[exact ? 1 : 0]));
  if (!exact) return Convert(e, type, value);
  if (value.dtype().lanes != type.lanes)
    return Error(e, fmt::format("expected {} lanes, got {}", type.lanes, value.dtype().ToString()));
  return Expr::Make(type, Cast{value});
}

StatusOr<Expr> ExprBuilder::BuildRamp(const PyExpr& e) const {
  ASSIGN_OR_RETURN(const BoundArgs args, Bind(e, {"base", "stride", "lanes"}, 3));
  ASSIGN_OR_RETURN(Expr base, Build(*args[0]));
  ASSIGN_OR_RETURN(Expr stride, Build(*args[1]));
  ASSIGN_OR_RETURN(const int64_t lanes, BuildInt(*args[2]));
  RETURN_IF_ERROR(CheckIndex(*args[0], base, false));
  RETURN_IF_ERROR(CheckIndex(*args[1], stride, false));
  if (lanes < 1 || lanes > kMaxLanes)
    return Error(*args[2], fmt::format("expected 1 to {} lanes, got {}", kMaxLanes, lanes));
  MatchTypes(base, stride);
  return Expr::Make(base.dtype().with_lanes(int(lanes)), Ramp{base, stride, lanes});
}

StatusOr<Expr> ExprBuilder::BuildBroadcast(const PyExpr& e) const {
  ASSIGN_OR_RETURN(const BoundArgs args, Bind(e, {"value", "lanes"}, 2));
  ASSIGN_OR_RETURN(const Expr value, Build(*args[0]));
  ASSIGN_OR_RETURN(const int64_t lanes, BuildInt(*args[1]));
  if (!value.dtype().is_scalar())
    return Error(*args[0], fmt::format("expected a scalar, got {}", value.dtype().ToString()));
  if (lanes < 1 || lanes > kMaxLanes)
    return Error(*args[1], fmt::format("expected 1 to {} lanes, got {}", kMaxLanes, lanes));
  return Expr::Make(value.dtype().with_lanes(int(lanes)), Broadcast{value, lanes});
}

StatusOr<std::vector<Expr>> ExprBuilder::BuildOpArgs(const PyExpr& e, const Op& op, size_t first) const {
  if (!e.keywords.empty())
    return Error(e, fmt::format("expected no keyword for T.{}, got \"{}\"", op.name, e.keywords[0]));
  const size_t count = e.items.size() - std::min(first, e.items.size());
  if (op.num_args >= 0 && count != size_t(op.num_args))
    return Error(e, fmt::format("expected {} arguments of T.{}, got {}", op.num_args, op.name, count));
  std::vector<Expr> args;
  for (size_t i = first; i < e.items.size(); ++i) {
    ASSIGN_OR_RETURN(Expr arg, Build(*e.items[i]));
    args.push_back(std::move(arg));
  }
  return args;
}

// T.call_intrin("float32", "tir.exp", x): any operation with its type, nothing converted.
StatusOr<Expr> ExprBuilder::BuildCallIntrin(const PyExpr& e) const {
  if (e.items.size() < 3) return Error(e, "expected dtype and operation");
  ASSIGN_OR_RETURN(const DataType type, BuildType(*e.items[1]));
  ASSIGN_OR_RETURN(const std::string name, BuildString(*e.items[2]));
  const Op* op = FindOp(name.starts_with("tir.") ? std::string_view(name).substr(4) : name);
  if (op == nullptr) return Error(*e.items[2], fmt::format("expected an operation of TensorIR, got \"{}\"", name));
  ASSIGN_OR_RETURN(std::vector<Expr> args, BuildOpArgs(e, *op, 3));
  return Expr::Make(type, Call{op, std::move(args)});
}

StatusOr<Expr> ExprBuilder::BuildOp(const PyExpr& e, const Op& op) const {
  if (TakesTypeFirst(op)) {
    if (e.items.size() < 2) return Error(e, fmt::format("expected a dtype as first argument of T.{}", op.name));
    ASSIGN_OR_RETURN(const DataType type, BuildType(*e.items[1]));
    ASSIGN_OR_RETURN(std::vector<Expr> args, BuildOpArgs(e, op, 2));
    return Expr::Make(type, Call{&op, std::move(args)});
  }
  ASSIGN_OR_RETURN(std::vector<Expr> args, BuildOpArgs(e, op, 1));
  const size_t first = FirstMatchedArg(op);
  if (op.name != "ldexp") {
    for (size_t round = 0; round < 2; ++round) {  // The second round brings all to the widest of the first.
      for (size_t i = first + 1; i < args.size(); ++i) {
        ASSIGN_OR_RETURN(const Expr checked, Combine(e, BinaryOp::kEQ, args[first], args[i]));
        MatchTypes(args[first], args[i]);
      }
    }
  }
  const std::optional<DataType> type = InferCallType(op, args);
  if (!type) {
    const bool is_condition = first == 1 && !args.empty() && !args[0].dtype().is_bool();
    return Error(
        e, fmt::format("expected {} of T.{}, got {}", is_condition ? "a boolean as condition" : "a float as argument",
                       op.name, args.empty() ? "nothing" : args[0].dtype().ToString()));
  }
  return Expr::Make(*type, Call{&op, std::move(args)});
}

}  // namespace lathe
