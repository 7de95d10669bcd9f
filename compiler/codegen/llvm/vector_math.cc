#include "compiler/codegen/llvm/vector_math.h"

#include <cmath>
#include <limits>

namespace lathe {

using llvm::Value;

bool VectorMath::IsDouble(Value* x) const { return x->getType()->getScalarType()->isDoubleTy(); }

Value* VectorMath::Constant(Value* like, double value) { return llvm::ConstantFP::get(like->getType(), value); }

llvm::Type* VectorMath::IntType(Value* like) {
  return like->getType()->getWithNewType(b_.getIntNTy(IsDouble(like) ? 64 : 32));
}

Value* VectorMath::IntConstant(Value* like, int64_t value) {
  return llvm::ConstantInt::get(IntType(like), static_cast<uint64_t>(value), true);
}

Value* VectorMath::MulAdd(Value* a, Value* b, Value* c) {
  return b_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {a->getType()}, {a, b, c});
}

Value* VectorMath::Horner(Value* x, std::initializer_list<double> coefficients) {
  Value* sum = nullptr;
  for (const double c : coefficients) sum = sum == nullptr ? Constant(x, c) : MulAdd(sum, x, c);
  return sum;
}

Value* VectorMath::Abs(Value* x) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x); }
Value* VectorMath::Sqrt(Value* x) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x); }
Value* VectorMath::Rsqrt(Value* x) { return b_.CreateFDiv(Constant(x, 1), Sqrt(x)); }
Value* VectorMath::CopySign(Value* magnitude, Value* sign) {
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, magnitude, sign);
}

Value* VectorMath::Widen(Value* x) {
  return IsDouble(x) ? x : b_.CreateFPExt(x, x->getType()->getWithNewType(b_.getDoubleTy()));
}
Value* VectorMath::NarrowLike(Value* x, Value* like) {
  return x->getType() == like->getType() ? x : b_.CreateFPTrunc(x, like->getType());
}

Value* VectorMath::Fma(Value* a, Value* b, Value* c) {
  if (abilities_.has_fma) return b_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c});
  if (IsDouble(a)) return MulAdd(a, b, c);
  // The product of two floats is exact in double.
  return NarrowLike(b_.CreateFAdd(b_.CreateFMul(Widen(a), Widen(b)), Widen(c)), a);
}

Value* VectorMath::NearbyInt(Value* x) {
  if (abilities_.has_rounding) return b_.CreateUnaryIntrinsic(llvm::Intrinsic::nearbyint, x);
  // Adding and subtracting 1.5 * 2^(mantissa bits) leaves the integer part; larger numbers are integers already.
  const double limit = IsDouble(x) ? 0x1.0p52 : 0x1.0p23;
  Value* magnitude = Abs(x);
  Value* rounded = b_.CreateFSub(b_.CreateFAdd(magnitude, Constant(x, limit)), Constant(x, limit));
  return b_.CreateSelect(b_.CreateFCmpOLT(magnitude, Constant(x, limit)), CopySign(rounded, x), x);
}

Value* VectorMath::Floor(Value* x) {
  if (abilities_.has_rounding) return b_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, x);
  Value* rounded = NearbyInt(x);
  Value* lower = b_.CreateFSub(rounded, Constant(x, 1));
  return CopySign(b_.CreateSelect(b_.CreateFCmpOGT(rounded, x), lower, rounded), x);
}

Value* VectorMath::Ceil(Value* x) { return b_.CreateFNeg(Floor(b_.CreateFNeg(x))); }

Value* VectorMath::Trunc(Value* x) {
  if (abilities_.has_rounding) return b_.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, x);
  return CopySign(Floor(Abs(x)), x);
}

Value* VectorMath::Round(Value* x) {
  Value* magnitude = Abs(x);
  Value* whole = Floor(magnitude);
  Value* is_up = b_.CreateFCmpOGE(b_.CreateFSub(magnitude, whole), Constant(x, 0.5));
  return CopySign(b_.CreateSelect(is_up, b_.CreateFAdd(whole, Constant(x, 1)), whole), x);
}

// x * 2^exponent in two steps, so that results below the smallest normal number are rounded once and not flushed.
Value* VectorMath::ScaleByPowerOfTwo(Value* x, Value* exponent) {
  const int mantissa_bits = IsDouble(x) ? 52 : 23, bias = IsDouble(x) ? 1023 : 127;
  const auto power = [&](Value* n) {
    return b_.CreateBitCast(b_.CreateShl(b_.CreateAdd(n, IntConstant(x, bias)), IntConstant(x, mantissa_bits)),
                            x->getType());
  };
  Value* half = b_.CreateAShr(exponent, IntConstant(x, 1));
  return b_.CreateFMul(b_.CreateFMul(x, power(half)), power(b_.CreateSub(exponent, half)));
}

Value* VectorMath::ExpReduced(Value* r) {
  if (IsDouble(r)) {  // Taylor: r^14 / 14! < 5e-18.
    return Horner(r, {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
                      1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1, 1});
  }
  // Minimax polynomial of Cephes' expf.
  Value* p =
      Horner(r, {1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1});
  return MulAdd(b_.CreateFMul(r, r), p, b_.CreateFAdd(r, Constant(r, 1)));
}

namespace {
// Adding this to a small number leaves it, rounded, in the low bits of the mantissa.
double RoundingMagic(bool is_double) { return is_double ? 6755399441055744.0 : 12582912.0; }
}  // namespace

Value* VectorMath::Exp(Value* x) {
  const bool wide = IsDouble(x);
  // Beyond these the result is 0 or infinity anyway; the comparison is false for NaN, which goes through.
  const double low = wide ? -750 : -105, high = wide ? 711 : 89.5;
  Value* clamped = b_.CreateSelect(b_.CreateFCmpOLT(x, Constant(x, low)), Constant(x, low), x);
  clamped = b_.CreateSelect(b_.CreateFCmpOGT(clamped, Constant(x, high)), Constant(x, high), clamped);
  Value* shifted = MulAdd(clamped, Constant(x, M_LOG2E), RoundingMagic(wide));
  Value* n = b_.CreateFSub(shifted, Constant(x, RoundingMagic(wide)));
  Value* exponent = b_.CreateSub(b_.CreateBitCast(shifted, IntType(x)),
                                 b_.CreateBitCast(Constant(x, RoundingMagic(wide)), IntType(x)));
  Value* r = MulAdd(n, Constant(x, wide ? -6.93145751953125e-1 : -0.693359375), clamped);
  r = MulAdd(n, Constant(x, wide ? -1.42860682030941723212e-6 : 2.12194440e-4), r);
  return ScaleByPowerOfTwo(ExpReduced(r), exponent);
}

Value* VectorMath::Exp2(Value* x) {
  const bool wide = IsDouble(x);
  const double low = wide ? -1080 : -151, high = wide ? 1025 : 129;
  Value* clamped = b_.CreateSelect(b_.CreateFCmpOLT(x, Constant(x, low)), Constant(x, low), x);
  clamped = b_.CreateSelect(b_.CreateFCmpOGT(clamped, Constant(x, high)), Constant(x, high), clamped);
  Value* shifted = b_.CreateFAdd(clamped, Constant(x, RoundingMagic(wide)));
  Value* n = b_.CreateFSub(shifted, Constant(x, RoundingMagic(wide)));
  Value* exponent = b_.CreateSub(b_.CreateBitCast(shifted, IntType(x)),
                                 b_.CreateBitCast(Constant(x, RoundingMagic(wide)), IntType(x)));
  return ScaleByPowerOfTwo(ExpReduced(b_.CreateFMul(b_.CreateFSub(clamped, n), Constant(x, M_LN2))), exponent);
}

Value* VectorMath::Log(Value* x) {
  const bool wide = IsDouble(x);
  const int mantissa_bits = wide ? 52 : 23, bias = wide ? 1023 : 127;
  // Below the smallest normal number: scale up, and take the power off the exponent again.
  Value* is_small = b_.CreateFCmpOLT(x, Constant(x, wide ? 0x1.0p-1022 : 0x1.0p-126));
  Value* scaled = b_.CreateSelect(is_small, b_.CreateFMul(x, Constant(x, wide ? 0x1.0p54 : 0x1.0p25)), x);
  Value* bits = b_.CreateBitCast(scaled, IntType(x));
  // m in [sqrt(1/2), sqrt(2)): subtracting the bits of sqrt(1/2) makes the exponent field step there.
  const int64_t root_bits = wide ? 0x3fe6a09e667f3bcd : 0x3f3504f3;
  const int64_t one_bits = wide ? 0x3ff0000000000000 : 0x3f800000;
  Value* offset = b_.CreateAdd(bits, IntConstant(x, one_bits - root_bits));
  Value* exponent = b_.CreateSub(b_.CreateLShr(offset, IntConstant(x, mantissa_bits)), IntConstant(x, bias));
  Value* mantissa =
      b_.CreateAdd(b_.CreateAnd(offset, IntConstant(x, (int64_t{1} << mantissa_bits) - 1)), IntConstant(x, root_bits));
  Value* f = b_.CreateFSub(b_.CreateBitCast(mantissa, x->getType()), Constant(x, 1));
  exponent = b_.CreateSub(exponent, b_.CreateSelect(is_small, IntConstant(x, wide ? 54 : 25), IntConstant(x, 0)));
  Value* e = b_.CreateSIToFP(exponent, x->getType());
  Value* z = b_.CreateFMul(f, f);
  Value* result;
  if (wide) {  // fdlibm's e_log.
    Value* s = b_.CreateFDiv(f, b_.CreateFAdd(f, Constant(x, 2)));
    Value* s2 = b_.CreateFMul(s, s);
    Value* r =
        b_.CreateFMul(s2, Horner(s2, {1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01,
                                      2.222219843214978396e-01, 2.857142874366239149e-01, 3.999999999940941908e-01,
                                      6.666666666666735130e-01}));
    Value* half_square = b_.CreateFMul(z, Constant(x, 0.5));
    Value* low = MulAdd(e, Constant(x, 1.90821492927058770002e-10), b_.CreateFMul(s, b_.CreateFAdd(half_square, r)));
    result = MulAdd(e, Constant(x, 6.93147180369123816490e-01), b_.CreateFSub(f, b_.CreateFSub(half_square, low)));
  } else {  // Cephes' logf.
    Value* p = Horner(f, {7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
                          -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1});
    Value* y = MulAdd(e, Constant(x, -2.12194440e-4), b_.CreateFMul(b_.CreateFMul(z, f), p));
    y = MulAdd(z, Constant(x, -0.5), y);
    result = MulAdd(e, Constant(x, 0.693359375), b_.CreateFAdd(f, y));
  }
  const double infinity = std::numeric_limits<double>::infinity();
  result = b_.CreateSelect(b_.CreateFCmpOEQ(x, Constant(x, 0)), Constant(x, -infinity), result);
  result = b_.CreateSelect(b_.CreateFCmpOEQ(x, Constant(x, infinity)), x, result);
  return b_.CreateSelect(b_.CreateFCmpULT(x, Constant(x, 0)), Constant(x, std::numeric_limits<double>::quiet_NaN()),
                         result);
}

Value* VectorMath::Log2(Value* x) {
  // float32 through double: near 1 the product with log2(e) would lose what Log has.
  return NarrowLike(b_.CreateFMul(Log(Widen(x)), Constant(Widen(x), M_LOG2E)), x);
}

Value* VectorMath::Tanh(Value* x) {
  Value* magnitude = Abs(x);
  Value* z = b_.CreateFMul(x, x);
  Value* near_zero;
  if (IsDouble(x)) {  // Cephes' tanh.
    Value* p = Horner(z, {-9.64399179425052238628e-1, -9.92877231001918586564e1, -1.61468768441708447952e3});
    Value* q = Horner(z, {1, 1.12811678491632931402e2, 2.23548839060100448583e3, 4.84406305325125486048e3});
    near_zero = MulAdd(b_.CreateFMul(x, z), b_.CreateFDiv(p, q), x);
  } else {
    Value* p = Horner(z, {-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1});
    near_zero = MulAdd(b_.CreateFMul(x, z), p, x);
  }
  Value* grown = b_.CreateFAdd(Exp(b_.CreateFAdd(magnitude, magnitude)), Constant(x, 1));
  Value* far = CopySign(b_.CreateFSub(Constant(x, 1), b_.CreateFDiv(Constant(x, 2), grown)), x);
  return b_.CreateSelect(b_.CreateFCmpOLT(magnitude, Constant(x, 0.625)), near_zero, far);
}

Value* VectorMath::Sigmoid(Value* x) {
  return b_.CreateFDiv(Constant(x, 1), b_.CreateFAdd(Constant(x, 1), Exp(b_.CreateFNeg(x))));
}

Value* VectorMath::Erf(Value* x) {
  Value* t = Abs(x);
  Value* s = b_.CreateFMul(x, x);
  if (IsDouble(x)) {
    // erf(t) = 2/sqrt(pi) * t * exp(-t^2) * sum of (2 t^2)^n / (1 * 3 * ... * (2n + 1)): positive terms, so nothing
    // cancels. From 6 on it is 1.
    t = b_.CreateSelect(b_.CreateFCmpOGT(t, Constant(x, 6)), Constant(x, 6), t);
    Value* twice = b_.CreateFMul(b_.CreateFMul(t, t), Constant(x, 2));
    Value* sum = Constant(x, 1);
    for (int n = 140; n >= 1; --n) sum = MulAdd(b_.CreateFMul(sum, Constant(x, 1.0 / (2 * n + 1))), twice, 1);
    Value* result = b_.CreateFMul(
        b_.CreateFMul(b_.CreateFMul(t, Constant(x, M_2_SQRTPI)), Exp(b_.CreateFNeg(b_.CreateFMul(t, t)))), sum);
    return CopySign(result, x);
  }
  // Two minimax polynomials (N. Juffa): 1 - exp(-t - t * q(t)) far from zero, x + x * p(x^2) near it.
  Value* q = MulAdd(Constant(x, -1.72853470e-5), t, 3.83197126e-4);
  Value* u = MulAdd(Constant(x, -3.88396438e-3), t, 2.42546219e-2);
  q = MulAdd(q, s, u);
  for (const double c : {-1.06777877e-1, -6.34846687e-1, -1.28717512e-1}) q = MulAdd(q, t, c);
  q = MulAdd(q, t, b_.CreateFNeg(t));
  Value* far = CopySign(b_.CreateFSub(Constant(x, 1), Exp(q)), x);
  far = b_.CreateSelect(b_.CreateFCmpOGT(t, Constant(x, 4)), CopySign(Constant(x, 1), x),
                        far);  // Powers of t overflow further out.
  Value* p = Horner(s, {-5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1, -3.76125336e-1, 1.28379166e-1});
  return b_.CreateSelect(b_.CreateFCmpOGT(t, Constant(x, 0.927734375)), far, MulAdd(p, x, x));
}

// sin(x + quadrant_shift * pi/2): reduction by pi/2 in three parts, fdlibm's kernels, in double.
Value* VectorMath::SinCos(Value* x, int quadrant_shift) {
  Value* wide = Widen(x);
  Value* shifted = MulAdd(wide, Constant(wide, M_2_PI), RoundingMagic(true));
  Value* n = b_.CreateFSub(shifted, Constant(wide, RoundingMagic(true)));
  Value* quadrant = b_.CreateAdd(b_.CreateBitCast(shifted, IntType(wide)), IntConstant(wide, quadrant_shift));
  Value* r = MulAdd(n, Constant(wide, -1.57079632673412561417e+00), wide);
  r = MulAdd(n, Constant(wide, -6.07710050630396597660e-11), r);
  r = MulAdd(n, Constant(wide, -2.02226624879595063154e-21), r);
  Value* z = b_.CreateFMul(r, r);
  Value* sine = Horner(z, {1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06,
                           -1.98412698298579493134e-04, 8.33333333332248946124e-03, -1.66666666666666324348e-01});
  sine = MulAdd(b_.CreateFMul(sine, z), r, r);
  Value* cosine =
      Horner(z, {-1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07,
                 2.48015872894767294178e-05, -1.38888888888741095749e-03, 4.16666666666666019037e-02, -0.5, 1});
  Value* is_odd = b_.CreateICmpNE(b_.CreateAnd(quadrant, IntConstant(wide, 1)), IntConstant(wide, 0));
  Value* is_negative = b_.CreateICmpNE(b_.CreateAnd(quadrant, IntConstant(wide, 2)), IntConstant(wide, 0));
  Value* result = b_.CreateSelect(is_odd, cosine, sine);
  return NarrowLike(b_.CreateSelect(is_negative, b_.CreateFNeg(result), result), x);
}

Value* VectorMath::Sin(Value* x) { return SinCos(x, 0); }
Value* VectorMath::Cos(Value* x) { return SinCos(x, 1); }
Value* VectorMath::Tan(Value* x) {
  Value* wide = Widen(x);
  return NarrowLike(b_.CreateFDiv(SinCos(wide, 0), SinCos(wide, 1)), x);
}

Value* VectorMath::Atan(Value* x) {  // Cephes' atan, in double.
  Value* wide = Widen(x);
  Value* t = Abs(wide);
  Value* is_large = b_.CreateFCmpOGT(t, Constant(t, 2.41421356237309504880));
  Value* is_medium = b_.CreateFCmpOGT(t, Constant(t, 0.66));
  Value* numerator =
      b_.CreateSelect(is_large, Constant(t, -1), b_.CreateSelect(is_medium, b_.CreateFSub(t, Constant(t, 1)), t));
  Value* denominator =
      b_.CreateSelect(is_large, t, b_.CreateSelect(is_medium, b_.CreateFAdd(t, Constant(t, 1)), Constant(t, 1)));
  Value* start =
      b_.CreateSelect(is_large, Constant(t, M_PI_2), b_.CreateSelect(is_medium, Constant(t, M_PI_4), Constant(t, 0)));
  Value* r = b_.CreateFDiv(numerator, denominator);
  Value* z = b_.CreateFMul(r, r);
  Value* p = Horner(z, {-8.750608600031904122785e-1, -1.615753718733365076637e1, -7.500855792314704667340e1,
                        -1.228866684490136173410e2, -6.485021904942025371773e1});
  Value* q = Horner(z, {1, 2.485846490142306297962e1, 1.650270098316988542046e2, 4.328810604912902668951e2,
                        4.853903996359136964868e2, 1.945506571482613964425e2});
  Value* result = b_.CreateFAdd(start, MulAdd(b_.CreateFMul(r, z), b_.CreateFDiv(p, q), r));
  return NarrowLike(CopySign(result, wide), x);
}

Value* VectorMath::Pow(Value* x, Value* y) {
  Value* base = Widen(x);
  Value* power = Widen(y);
  Value* result = Exp(b_.CreateFMul(power, Log(Abs(base))));
  // A negative base: odd powers are negative, even ones positive, others not numbers.
  Value* is_whole = b_.CreateFCmpOEQ(Floor(power), power);
  Value* half = b_.CreateFMul(power, Constant(power, 0.5));
  Value* is_odd = b_.CreateAnd(is_whole, b_.CreateFCmpONE(Floor(half), half));
  Value* negative = b_.CreateSelect(is_odd, b_.CreateFNeg(result), result);
  negative = b_.CreateSelect(is_whole, negative, Constant(base, std::numeric_limits<double>::quiet_NaN()));
  result = b_.CreateSelect(b_.CreateFCmpOLT(base, Constant(base, 0)), negative, result);
  result = b_.CreateSelect(b_.CreateFCmpOEQ(power, Constant(base, 0)), Constant(base, 1), result);
  return NarrowLike(result, x);
}

Value* VectorMath::PowInt(Value* x, int64_t exponent) {
  uint64_t rest = exponent < 0 ? 0 - static_cast<uint64_t>(exponent) : static_cast<uint64_t>(exponent);
  Value* result = nullptr;
  for (Value* square = x; rest != 0; rest >>= 1) {
    if ((rest & 1) != 0) result = result == nullptr ? square : b_.CreateFMul(result, square);
    if (rest > 1) square = b_.CreateFMul(square, square);
  }
  if (result == nullptr) return Constant(x, 1);
  return exponent < 0 ? b_.CreateFDiv(Constant(x, 1), result) : result;
}

}  // namespace lathe
