#include "compiler/transform/float_conversion.h"

#include <fmt/format.h>

#include "support/status_macros.h"

namespace lathe {
namespace {

struct FloatFormat {
  int exponent, mantissa, bias;
};
StatusOr<FloatFormat> FormatOf(DataType type) {
  if (type.code == DataType::Code::kBFloat) return FloatFormat{8, 7, 127};
  if (type.code == DataType::Code::kFloat8E4M3FN) return FloatFormat{4, 3, 7};
  if (type.code == DataType::Code::kFloat8E5M2) return FloatFormat{5, 2, 15};
  if (type.code == DataType::Code::kFloat) {
    if (type.bits == 16) return FloatFormat{5, 10, 15};
    if (type.bits == 32) return FloatFormat{8, 23, 127};
    if (type.bits == 64) return FloatFormat{11, 52, 1023};
  }
  return InvalidArgument(
      fmt::format("convert {}: its bits are not known; known: bfloat16, float16, float32, float64, "
                  "float8_e4m3fn, float8_e5m2",
                  type.ToString()));
}

// Bits of one width.
Expr Bits(const char* op, const Expr& value, int64_t by) {
  return MakeCall(value.dtype(), op, {value, IntConst(value.dtype(), by)});
}
Expr Left(const Expr& value, int64_t by) { return Bits("shift_left", value, by); }
Expr Right(const Expr& value, int64_t by) { return Bits("shift_right", value, by); }
Expr Mask(const Expr& value, int64_t by) { return Bits("bitwise_and", value, by); }
Expr OrBits(const Expr& a, const Expr& b) { return MakeCall(a.dtype(), "bitwise_or", {a, b}); }
Expr Plus(const Expr& value, int64_t number) {
  return MakeBinary(number < 0 ? BinaryOp::kSub : BinaryOp::kAdd, value,
                    IntConst(value.dtype(), number < 0 ? -number : number));
}

}  // namespace

DataType UIntOf(DataType type) { return DataType::UInt(type.bits).shaped_as(type); }

StatusOr<Expr> ConvertFloat(const Expr& value, DataType type) {
  ASSIGN_OR_RETURN(const FloatFormat from, FormatOf(value.dtype()));
  ASSIGN_OR_RETURN(const FloatFormat to, FormatOf(type));
  const DataType to_bits = UIntOf(type);
  const int more = to.mantissa - from.mantissa, bias = to.bias - from.bias;
  Expr bits = MakeCall(UIntOf(value.dtype()), "reinterpret", {value});
  if (more < 0)
    bits = MakeBinary(BinaryOp::kAdd, bits, Plus(Mask(Right(bits, -more), 1), (int64_t{1} << (-more - 1)) - 1));
  if (from.exponent == to.exponent) {
    const Expr moved = more < 0 ? MakeCast(to_bits, Right(bits, -more)) : Left(MakeCast(to_bits, bits), more);
    return MakeCall(type, "reinterpret", {moved});
  }
  const Expr mantissa = more < 0 ? MakeCast(to_bits, Right(bits, -more)) : Left(MakeCast(to_bits, bits), more);
  const Expr exponent = Right(Left(bits, 1), from.mantissa + 1);
  const Expr sign = Left(MakeCast(to_bits, Right(bits, from.exponent + from.mantissa)), to.exponent + to.mantissa);
  const Expr number = OrBits(OrBits(Mask(mantissa, (int64_t{1} << to.mantissa) - 1),
                                    Left(MakeCast(to_bits, Plus(exponent, bias)), to.mantissa)),
                             sign);
  if (bias >= 0) return MakeCall(type, "reinterpret", {number});
  const Expr is_small = MakeBinary(BinaryOp::kLT, exponent, IntConst(exponent.dtype(), -bias));
  return MakeCall(type, "reinterpret", {MakeCall(to_bits, "if_then_else", {is_small, IntConst(to_bits, 0), number})});
}

}  // namespace lathe
