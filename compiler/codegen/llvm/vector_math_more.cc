// Hyperbolic and inverse functions, and those of two arguments, by way of exp, log and atan in double.
#include <cmath>
#include <limits>

#include "compiler/codegen/llvm/vector_math.h"

namespace lathe {

using llvm::Value;

namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();
}  // namespace

// 10^x = e^h * e^l with h + l = x * ln(10), for the product is not exact.
Value* VectorMath::Exp10(Value* x) {
  Value* wide = Widen(x);
  Value* high = b_.CreateFMul(wide, Constant(wide, M_LN10));
  Value* low = Fma(wide, Constant(wide, M_LN10), b_.CreateFNeg(high));
  low = MulAdd(wide, Constant(wide, -2.1707562233822494e-16), low);  // ln(10) - M_LN10
  Value* power = Exp(high);
  Value* is_finite = b_.CreateFCmpOLT(Abs(high), Constant(wide, 700));
  return NarrowLike(b_.CreateSelect(is_finite, MulAdd(power, low, power), power), x);
}

Value* VectorMath::Log10(Value* x) {
  Value* wide = Widen(x);
  return NarrowLike(b_.CreateFMul(Log(wide), Constant(wide, M_LOG10E)), x);
}

// log(u) * x / (u - 1) with u = 1 + x: what rounding took from x is in u - 1, too (W. Kahan).
Value* VectorMath::Log1p(Value* x) {
  Value* wide = Widen(x);
  Value* u = b_.CreateFAdd(wide, Constant(wide, 1));
  Value* corrected = b_.CreateFMul(Log(u), b_.CreateFDiv(wide, b_.CreateFSub(u, Constant(wide, 1))));
  Value* is_tiny = b_.CreateFCmpOEQ(u, Constant(wide, 1));
  Value* result = b_.CreateSelect(b_.CreateFCmpOEQ(u, Constant(wide, kInfinity)), u, corrected);
  return NarrowLike(b_.CreateSelect(is_tiny, wide, result), x);
}

// e^t / 2, which is there where e^t is not any more.
Value* VectorMath::HalfExp(Value* t) {
  Value* root = Exp(b_.CreateFMul(t, Constant(t, 0.5)));
  return b_.CreateFMul(b_.CreateFMul(root, Constant(t, 0.5)), root);
}

Value* VectorMath::Sinh(Value* x) {
  Value* wide = Widen(x);
  Value* z = b_.CreateFMul(wide, wide);
  // Taylor: x^20 / 21! < 2e-20 for |x| < 1.
  Value* p = Horner(z, {1.0 / 121645100408832000, 1.0 / 355687428096000, 1.0 / 1307674368000, 1.0 / 6227020800,
                        1.0 / 39916800, 1.0 / 362880, 1.0 / 5040, 1.0 / 120, 1.0 / 6});
  Value* near_zero = MulAdd(b_.CreateFMul(wide, z), p, wide);
  Value* grown = HalfExp(Abs(wide));
  Value* far = CopySign(b_.CreateFSub(grown, b_.CreateFDiv(Constant(wide, 0.25), grown)), wide);
  return NarrowLike(b_.CreateSelect(b_.CreateFCmpOLT(Abs(wide), Constant(wide, 1)), near_zero, far), x);
}

Value* VectorMath::Cosh(Value* x) {
  Value* grown = HalfExp(Abs(Widen(x)));
  return NarrowLike(b_.CreateFAdd(grown, b_.CreateFDiv(Constant(grown, 0.25), grown)), x);
}

// atan(x / sqrt(1 - x^2)); not a number beyond 1.
Value* VectorMath::Asin(Value* x) {
  Value* wide = Widen(x);
  Value* one = Constant(wide, 1);
  Value* rest = b_.CreateFMul(b_.CreateFSub(one, wide), b_.CreateFAdd(one, wide));
  return NarrowLike(Atan(b_.CreateFDiv(wide, Sqrt(rest))), x);
}

Value* VectorMath::Acos(Value* x) {
  Value* wide = Widen(x);
  Value* one = Constant(wide, 1);
  Value* half = Atan(Sqrt(b_.CreateFDiv(b_.CreateFSub(one, wide), b_.CreateFAdd(one, wide))));
  return NarrowLike(b_.CreateFMul(half, Constant(wide, 2)), x);
}

// Where t^2 would overflow, log(2 t).
Value* VectorMath::ChooseLogOfTwice(Value* t, Value* otherwise) {
  Value* log = b_.CreateFAdd(Log(t), Constant(t, M_LN2));
  return b_.CreateSelect(b_.CreateFCmpOGT(t, Constant(t, 1e9)), log, otherwise);
}

Value* VectorMath::Asinh(Value* x) {
  Value* wide = Widen(x);
  Value* t = Abs(wide);
  Value* square = b_.CreateFMul(t, t);
  Value* root = b_.CreateFAdd(Sqrt(b_.CreateFAdd(square, Constant(t, 1))), Constant(t, 1));
  Value* result = Log1p(b_.CreateFAdd(t, b_.CreateFDiv(square, root)));
  return NarrowLike(CopySign(ChooseLogOfTwice(t, result), wide), x);
}

Value* VectorMath::Acosh(Value* x) {
  Value* wide = Widen(x);
  Value* t = b_.CreateFSub(wide, Constant(wide, 1));
  Value* root = Sqrt(b_.CreateFMul(t, b_.CreateFAdd(wide, Constant(wide, 1))));
  Value* result = ChooseLogOfTwice(wide, Log1p(b_.CreateFAdd(t, root)));
  Value* is_below = b_.CreateFCmpOLT(wide, Constant(wide, 1));
  return NarrowLike(b_.CreateSelect(is_below, Constant(wide, std::numeric_limits<double>::quiet_NaN()), result), x);
}

Value* VectorMath::Atanh(Value* x) {
  Value* wide = Widen(x);
  Value* t = Abs(wide);
  Value* ratio = b_.CreateFDiv(b_.CreateFAdd(t, t), b_.CreateFSub(Constant(t, 1), t));
  return NarrowLike(CopySign(b_.CreateFMul(Log1p(ratio), Constant(t, 0.5)), wide), x);
}

Value* VectorMath::Atan2(Value* y, Value* x) {
  Value *rise = Widen(y), *run = Widen(x);
  Value *up = Abs(rise), *side = Abs(run);
  const auto are_both = [&](double value) {
    return b_.CreateAnd(b_.CreateFCmpOEQ(up, Constant(up, value)), b_.CreateFCmpOEQ(side, Constant(up, value)));
  };
  Value* slope = b_.CreateSelect(are_both(kInfinity), Constant(up, 1), b_.CreateFDiv(up, side));
  slope = b_.CreateSelect(are_both(0), Constant(up, 0), slope);
  Value* angle = Atan(slope);
  Value* is_left = b_.CreateFCmpOLT(CopySign(Constant(up, 1), run), Constant(up, 0));
  angle = b_.CreateSelect(is_left, b_.CreateFSub(Constant(up, M_PI), angle), angle);
  return NarrowLike(CopySign(angle, rise), y);
}

Value* VectorMath::Hypot(Value* x, Value* y) {
  Value *a = Abs(Widen(x)), *b = Abs(Widen(y));
  Value* is_less = b_.CreateFCmpOLT(a, b);
  Value *large = b_.CreateSelect(is_less, b, a), *small = b_.CreateSelect(is_less, a, b);
  Value* ratio = b_.CreateFDiv(small, large);
  Value* result = b_.CreateFMul(large, Sqrt(MulAdd(ratio, ratio, 1)));
  Value* are_zero = b_.CreateFCmpOEQ(b_.CreateFAdd(a, b), Constant(large, 0));
  result = b_.CreateSelect(are_zero, large, result);
  const auto is_infinite = [&](Value* v) { return b_.CreateFCmpOEQ(v, Constant(v, kInfinity)); };
  Value* is_far = b_.CreateOr(is_infinite(a), is_infinite(b));
  return NarrowLike(b_.CreateSelect(is_far, Constant(large, kInfinity), result), x);
}

// The bits of a float are ordered as its magnitude is.
Value* VectorMath::NextAfter(Value* from, Value* to) {
  Value* bits = b_.CreateBitCast(from, IntType(from));
  Value* is_away = b_.CreateICmpEQ(b_.CreateFCmpOLT(from, to), b_.CreateFCmpOGT(from, Constant(from, 0)));
  Value* step = b_.CreateSelect(is_away, IntConstant(from, 1), IntConstant(from, -1));
  Value* next = b_.CreateBitCast(b_.CreateAdd(bits, step), from->getType());
  Value* smallest = CopySign(b_.CreateBitCast(IntConstant(from, 1), from->getType()), to);
  next = b_.CreateSelect(b_.CreateFCmpOEQ(from, Constant(from, 0)), smallest, next);
  next = b_.CreateSelect(b_.CreateFCmpOEQ(from, to), to, next);
  return b_.CreateSelect(b_.CreateFCmpUNO(from, to), b_.CreateFAdd(from, to), next);
}

// `exponent` is an integer; beyond three thousand it is all the same.
Value* VectorMath::Ldexp(Value* x, Value* exponent) {
  Value* wide = Widen(x);
  Value* n = b_.CreateSExtOrTrunc(exponent, IntType(wide));
  n = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, n, IntConstant(wide, 3000));
  n = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, n, IntConstant(wide, -3000));
  Value* half = b_.CreateAShr(n, IntConstant(wide, 1));
  return NarrowLike(ScaleByPowerOfTwo(ScaleByPowerOfTwo(wide, half), b_.CreateSub(n, half)), x);
}

}  // namespace lathe
