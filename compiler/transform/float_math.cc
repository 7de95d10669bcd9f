#include "compiler/transform/float_math.h"

#include <bit>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <optional>

// A namespace of its own: what is written here are formulas, with operators on numbers that nobody else should see.
namespace lathe::float_math {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

bool IsDouble(const Expr& x) { return x.dtype().bits == 64; }

Expr Number(const Expr& like, double value) {
  return like.dtype().is_float() ? FloatConst(like.dtype(), value)
                                 : IntConst(like.dtype(), static_cast<int64_t>(value));
}
Expr operator+(const Expr& a, double b) { return a + Number(a, b); }
Expr operator-(const Expr& a, double b) { return a - Number(a, b); }
Expr operator-(double a, const Expr& b) { return Number(b, a) - b; }
Expr operator*(const Expr& a, double b) { return a * Number(a, b); }
Expr operator/(double a, const Expr& b) { return Number(b, a) / b; }
Expr Negative(const Expr& x) { return -0.0 - x; }

// a * b + c.
Expr MulAdd(const Expr& a, const Expr& b, const Expr& c) { return MakeCall(a.dtype(), "fmuladd", {a, b, c}); }
Expr MulAdd(const Expr& a, const Expr& b, double c) { return MulAdd(a, b, Number(a, c)); }
Expr MulAdd(const Expr& a, double b, const Expr& c) { return MulAdd(a, Number(a, b), c); }
Expr MulAdd(const Expr& a, double b, double c) { return MulAdd(a, Number(a, b), Number(a, c)); }
Expr MulAdd(double a, const Expr& b, double c) { return MulAdd(Number(b, a), b, c); }

// x * 2^n for a whole n.
Expr Scalef(const Expr& x, const Expr& n) { return MakeCall(x.dtype(), "scalef", {x, n}); }

Expr Less(const Expr& a, double b) { return Less(a, Number(a, b)); }
Expr Equal(const Expr& a, double b) { return Equal(a, Number(a, b)); }
Expr Greater(const Expr& a, const Expr& b) { return FoldBinary(BinaryOp::kGT, a, b); }
Expr Greater(const Expr& a, double b) { return Greater(a, Number(a, b)); }
Expr Differs(const Expr& a, const Expr& b) { return FoldBinary(BinaryOp::kNE, a, b); }
Expr Or(const Expr& a, const Expr& b) { return FoldBinary(BinaryOp::kOr, a, b); }
Expr IsNan(const Expr& x) { return MakeCall(DataType::Bool().shaped_as(x.dtype()), "isnan", {x}); }
Expr Choose(const Expr& condition, double a, const Expr& b) { return MakeSelect(condition, Number(b, a), b); }

Expr Abs(const Expr& x) { return MakeCall(x.dtype(), "abs", {x}); }
Expr Sqrt(const Expr& x) { return MakeCall(x.dtype(), "sqrt", {x}); }
Expr Floor(const Expr& x) { return MakeCall(x.dtype(), "floor", {x}); }
Expr CopySign(const Expr& magnitude, const Expr& sign) { return MakeCall(sign.dtype(), "copysign", {magnitude, sign}); }
Expr CopySign(double magnitude, const Expr& sign) { return CopySign(Number(sign, magnitude), sign); }

Expr NarrowLike(const Expr& x, const Expr& like) { return MakeCast(like.dtype(), x); }

// Of bits.
Expr Reinterpret(DataType type, const Expr& x) { return MakeCall(type, "reinterpret", {x}); }
DataType IntLike(const Expr& x) { return DataType::Int(x.dtype().bits).shaped_as(x.dtype()); }
DataType UIntLike(const Expr& x) { return DataType::UInt(x.dtype().bits).shaped_as(x.dtype()); }
Expr ShiftRight(const Expr& x, int bits) { return MakeCall(x.dtype(), "shift_right", {x, Number(x, bits)}); }
Expr Mask(const Expr& x, int64_t bits) { return MakeCall(x.dtype(), "bitwise_and", {x, IntConst(x.dtype(), bits)}); }
Expr HasBit(const Expr& x, int64_t bit) { return Differs(Mask(x, bit), Number(x, 0)); }

int MantissaBits(const Expr& x) { return IsDouble(x) ? 52 : 23; }
int ExponentBias(const Expr& x) { return IsDouble(x) ? 1023 : 127; }

// Adding this to a small number leaves it, rounded, in the low bits of the mantissa.
double RoundingMagic(const Expr& x) { return IsDouble(x) ? 6755399441055744.0 : 12582912.0; }
// NaN goes through.
Expr Clamp(const Expr& x, double low, double high) { return Min(Max(x, Number(x, low)), Number(x, high)); }

// Highest power first.
Expr Horner(const Expr& x, std::initializer_list<double> coefficients) {
  const double* next = coefficients.begin();
  Expr sum = Number(x, *next++);
  while (next != coefficients.end()) sum = MulAdd(sum, x, *next++);
  return sum;
}

bool IsLeaf(const Expr& e) {
  const Broadcast* lanes = e.As<Broadcast>();
  return IsVar(e) || (lanes == nullptr ? e : lanes->value).As<FloatImm>() != nullptr;
}

}  // namespace

Expr FloatMath::Name(const char* name, const Expr& value) {
  if (IsLeaf(value)) return value;
  lets_.emplace_back(Var(name + suffix_, value.dtype()), value);
  return lets_.back().first;
}

Expr FloatMath::Finish(Expr result) {
  for (; !lets_.empty(); lets_.pop_back()) {
    const auto& [var, value] = lets_.back();
    result = Expr::Make(result.dtype(), Let{value, var, result});
  }
  return result;
}

Expr FloatMath::Widen(const Expr& x) { return Name("wide", MakeCast(DataType::Float(64).shaped_as(x.dtype()), x)); }

Expr FloatMath::Rsqrt(const Expr& x) { return 1 / Sqrt(x); }

Expr FloatMath::Round(const Expr& x_) {
  const Expr x = Name("x", x_);
  const Expr magnitude = Name("magnitude", Abs(x));
  const Expr whole = Name("whole", Floor(magnitude));
  const Expr is_up = FoldBinary(BinaryOp::kGE, magnitude - whole, Number(x, 0.5));
  return CopySign(MakeSelect(is_up, whole + 1, whole), x);
}

Expr FloatMath::ExpOfReduced(const Expr& r) {
  if (IsDouble(r)) {  // Taylor: r^14 / 14! < 5e-18.
    return Horner(r, {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
                      1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1, 1});
  }
  // 1 + r + r^2 * p(r), p by Remez' algorithm for the least relative error: 3.1e-9, a twentieth of float32's.
  const Expr p = Horner(r, {1.3814610429e-3, 8.3687109873e-3, 4.1668388993e-2, 1.6666521132e-1, 4.9999994040e-1});
  return MulAdd(r * r, p, r + 1);
}

Expr FloatMath::Exp(const Expr& x) {
  const bool wide = IsDouble(x);
  // Beyond these the result is 0 or infinity anyway.
  const Expr clamped = Name("clamped", wide ? Clamp(x, -750, 711) : Clamp(x, -105, 89.5));
  const Expr shifted = Name("shifted", MulAdd(clamped, M_LOG2E, RoundingMagic(x)));
  const Expr n = Name("n", shifted - RoundingMagic(x));
  const Expr rest = MulAdd(n, wide ? -6.93145751953125e-1 : -0.693359375, clamped);
  const Expr r = Name("r", MulAdd(n, wide ? -1.42860682030941723212e-6 : 2.12194440e-4, rest));
  return Scalef(ExpOfReduced(r), n);
}

Expr FloatMath::Exp2(const Expr& x) {
  const Expr clamped = Name("clamped", IsDouble(x) ? Clamp(x, -1080, 1025) : Clamp(x, -151, 129));
  const Expr shifted = Name("shifted", clamped + RoundingMagic(x));
  const Expr n = Name("n", shifted - RoundingMagic(x));
  const Expr r = Name("r", (clamped - n) * M_LN2);
  return Scalef(ExpOfReduced(r), n);
}

// 10^x = e^h * e^l with h + l = x * ln(10), for the product is not exact.
Expr FloatMath::Exp10(const Expr& x) {
  const Expr wide = Widen(x);
  const Expr high = Name("high", wide * M_LN10);
  const Expr rest = MakeCall(wide.dtype(), "fma", {wide, Number(wide, M_LN10), Negative(high)});
  const Expr low = Name("low", MulAdd(wide, -2.1707562233822494e-16, rest));  // ln(10) - M_LN10
  const Expr power = Name("power", Exp(high));
  return NarrowLike(MakeSelect(Less(Abs(high), 700), MulAdd(power, low, power), power), x);
}

// fdlibm's e_log: of 2^exponent * (1 + f).
Expr FloatMath::LogOfDouble(const Expr& f, const Expr& exponent) {
  const Expr z = Name("z", f * f);
  const Expr s = Name("s", f / (f + 2));
  const Expr s2 = Name("s2", s * s);
  const Expr r =
      Name("r", s2 * Horner(s2, {1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01,
                                 2.222219843214978396e-01, 2.857142874366239149e-01, 3.999999999940941908e-01,
                                 6.666666666666735130e-01}));
  const Expr half_square = Name("half_square", z * 0.5);
  const Expr low = Name("low", MulAdd(exponent, 1.90821492927058770002e-10, s * (half_square + r)));
  return MulAdd(exponent, 6.93147180369123816490e-01, f - (half_square - low));
}

// Cephes' logf.
Expr FloatMath::LogOfFloat(const Expr& f, const Expr& exponent) {
  const Expr z = Name("z", f * f);
  const Expr p =
      Name("p", Horner(f, {7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
                           -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1}));
  const Expr y = Name("y", MulAdd(exponent, -2.12194440e-4, z * f * p));
  return MulAdd(exponent, 0.693359375, f + MulAdd(z, -0.5, y));
}

Expr FloatMath::Log(const Expr& x_) {
  const Expr x = Name("x", x_);
  const bool wide = IsDouble(x);
  // Below the smallest normal number: scale up, and take the power off the exponent again.
  const Expr is_small = Name("is_small", Less(x, wide ? 0x1.0p-1022 : 0x1.0p-126));
  const Expr scaled = MakeSelect(is_small, x * (wide ? 0x1.0p54 : 0x1.0p25), x);
  // m in [sqrt(1/2), sqrt(2)): subtracting the bits of sqrt(1/2) makes the exponent field step there.
  const DataType bits = UIntLike(x);
  const int64_t root_bits = wide ? 0x3fe6a09e667f3bcd : 0x3f3504f3;
  const int64_t one_bits = wide ? 0x3ff0000000000000 : 0x3f800000;
  const Expr offset = Name("offset", Reinterpret(bits, scaled) + IntConst(bits, one_bits - root_bits));
  const Expr steps = Name("steps", MakeCast(IntLike(x), ShiftRight(offset, MantissaBits(x))) - ExponentBias(x));
  const Expr mantissa = Mask(offset, (int64_t{1} << MantissaBits(x)) - 1) + IntConst(bits, root_bits);
  const Expr f = Name("f", Reinterpret(x.dtype(), mantissa) - 1);
  const Expr exponent =
      Name("exponent", MakeCast(x.dtype(), steps - Choose(is_small, wide ? 54 : 25, Number(steps, 0))));
  Expr result = Name("log", wide ? LogOfDouble(f, exponent) : LogOfFloat(f, exponent));
  result = Choose(Equal(x, 0), -kInfinity, result);
  result = MakeSelect(Equal(x, kInfinity), x, result);
  return Choose(MakeNot(FoldBinary(BinaryOp::kGE, x, Number(x, 0))), kNan, result);
}

// float32 through double: near 1 the product with log2(e) would lose what Log has.
Expr FloatMath::Log2(const Expr& x) { return NarrowLike(Log(Widen(x)) * M_LOG2E, x); }
Expr FloatMath::Log10(const Expr& x) { return NarrowLike(Log(Widen(x)) * M_LOG10E, x); }

// log(u) * x / (u - 1) with u = 1 + x: what rounding took from x is in u - 1, too (W. Kahan).
Expr FloatMath::Log1p(const Expr& x) {
  const Expr wide = Widen(x);
  const Expr u = Name("u", wide + 1);
  const Expr corrected = Log(u) * (wide / (u - 1));
  const Expr result = MakeSelect(Equal(u, kInfinity), u, corrected);
  return NarrowLike(MakeSelect(Equal(u, 1), wide, result), x);
}

Expr FloatMath::Tanh(const Expr& x_) {
  const Expr x = Name("x", x_);
  const Expr magnitude = Name("magnitude", Abs(x));
  const Expr z = Name("z", x * x);
  Expr slope = z;
  if (IsDouble(x)) {  // Cephes' tanh.
    slope = Horner(z, {-9.64399179425052238628e-1, -9.92877231001918586564e1, -1.61468768441708447952e3}) /
            Horner(z, {1, 1.12811678491632931402e2, 2.23548839060100448583e3, 4.84406305325125486048e3});
  } else {
    slope = Horner(z, {-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1});
  }
  const Expr near_zero = Name("near_zero", MulAdd(x * z, slope, x));
  const Expr far = CopySign(1 - 2 / (Exp(magnitude + magnitude) + 1), x);
  return MakeSelect(Less(magnitude, 0.625), near_zero, far);
}

Expr FloatMath::Sigmoid(const Expr& x) { return 1 / (1 + Exp(Negative(x))); }

// erf(t) = 2/sqrt(pi) * t * exp(-t^2) * sum of (2 t^2)^n / (1 * 3 * ... * (2n + 1)): positive terms, so nothing
// cancels. From 6 on it is 1.
Expr FloatMath::ErfOfDouble(const Expr& x) {
  const Expr t = Name("t", Min(Abs(x), Number(x, 6)));
  const Expr twice = Name("twice", t * t * 2);
  Expr sum = Number(x, 1);
  for (int n = 140; n >= 1; --n) sum = MulAdd(sum * (1.0 / (2 * n + 1)), twice, 1);
  sum = Name("sum", sum);  // Before what follows: that would wait for it in registers.
  return CopySign(t * M_2_SQRTPI * Exp(Negative(t * t)) * sum, x);
}

// Two minimax polynomials (N. Juffa): 1 - exp(-t - t * q(t)) far from zero, x + x * p(x^2) near it.
Expr FloatMath::ErfOfFloat(const Expr& x) {
  const Expr t = Name("t", Abs(x));
  const Expr s = Name("s", x * x);
  Expr q = MulAdd(MulAdd(-1.72853470e-5, t, 3.83197126e-4), s, MulAdd(-3.88396438e-3, t, 2.42546219e-2));
  for (const double c : {-1.06777877e-1, -6.34846687e-1, -1.28717512e-1}) q = MulAdd(q, t, c);
  Expr far = CopySign(1 - Exp(MulAdd(q, t, Negative(t))), x);
  far = Name("far", MakeSelect(Greater(t, 4), CopySign(1, x), far));  // Powers of t overflow further out.
  const Expr p =
      Horner(s, {-5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1, -3.76125336e-1, 1.28379166e-1});
  return MakeSelect(Greater(t, 0.927734375), far, MulAdd(p, x, x));
}

Expr FloatMath::Erf(const Expr& x_) {
  const Expr x = Name("x", x_);
  return IsDouble(x) ? ErfOfDouble(x) : ErfOfFloat(x);
}

// Reduction by pi/2 in three parts, fdlibm's kernels, in double.
FloatMath::Angle FloatMath::ReduceAngle(const Expr& x) {
  const Expr wide = Widen(x);
  const Expr shifted = Name("shifted", MulAdd(wide, M_2_PI, RoundingMagic(wide)));
  const Expr n = Name("n", shifted - RoundingMagic(wide));
  const Expr quadrant = Name("quadrant", Reinterpret(IntLike(wide), shifted));
  Expr rest = MulAdd(n, -1.57079632673412561417e+00, wide);
  rest = MulAdd(n, -6.07710050630396597660e-11, rest);
  const Expr r = Name("r", MulAdd(n, -2.02226624879595063154e-21, rest));
  const Expr z = Name("z", r * r);
  const Expr p = Horner(z, {1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06,
                            -1.98412698298579493134e-04, 8.33333333332248946124e-03, -1.66666666666666324348e-01});
  const Expr sine = Name("sine", MulAdd(p * z, r, r));
  const Expr cosine = Name("cosine", Horner(z, {-1.13596475577881948265e-11, 2.08757232129817482790e-09,
                                                -2.75573143513906633035e-07, 2.48015872894767294178e-05,
                                                -1.38888888888741095749e-03, 4.16666666666666019037e-02, -0.5, 1}));
  return {quadrant, sine, cosine};
}

// sin(x + quadrants * pi/2).
Expr FloatMath::SineOf(const Angle& angle, int quadrants) {
  const Expr quadrant = quadrants == 0 ? angle.quadrant : Name("quadrant", angle.quadrant + quadrants);
  const Expr result = Name("result", MakeSelect(HasBit(quadrant, 1), angle.cosine, angle.sine));
  return MakeSelect(HasBit(quadrant, 2), Negative(result), result);
}

Expr FloatMath::Sin(const Expr& x) { return NarrowLike(SineOf(ReduceAngle(x), 0), x); }
Expr FloatMath::Cos(const Expr& x) { return NarrowLike(SineOf(ReduceAngle(x), 1), x); }
Expr FloatMath::Tan(const Expr& x) {
  const Angle angle = ReduceAngle(x);
  const Expr sine = SineOf(angle, 0);
  return NarrowLike(sine / SineOf(angle, 1), x);
}

Expr FloatMath::Atan(const Expr& x) {  // Cephes' atan, in double.
  const Expr wide = Widen(x);
  const Expr t = Name("t", Abs(wide));
  const Expr is_large = Name("is_large", Greater(t, 2.41421356237309504880));
  const Expr is_medium = Name("is_medium", Greater(t, 0.66));
  const Expr numerator = Choose(is_large, -1, MakeSelect(is_medium, t - 1, t));
  const Expr denominator = MakeSelect(is_large, t, MakeSelect(is_medium, t + 1, Number(t, 1)));
  const Expr start = Name("start", Choose(is_large, M_PI_2, Choose(is_medium, M_PI_4, Number(t, 0))));
  const Expr r = Name("r", numerator / denominator);
  const Expr z = Name("z", r * r);
  const Expr p = Horner(z, {-8.750608600031904122785e-1, -1.615753718733365076637e1, -7.500855792314704667340e1,
                            -1.228866684490136173410e2, -6.485021904942025371773e1});
  const Expr q = Horner(z, {1, 2.485846490142306297962e1, 1.650270098316988542046e2, 4.328810604912902668951e2,
                            4.853903996359136964868e2, 1.945506571482613964425e2});
  return NarrowLike(CopySign(start + MulAdd(r * z, p / q, r), wide), x);
}

// e^t / 2, which is there where e^t is not any more.
Expr FloatMath::HalfExp(const Expr& t) {
  const Expr root = Name("root", Exp(t * 0.5));
  return root * 0.5 * root;
}

Expr FloatMath::Sinh(const Expr& x) {
  const Expr wide = Widen(x);
  const Expr z = Name("z", wide * wide);
  // Taylor: x^20 / 21! < 2e-20 for |x| < 1.
  const Expr p = Horner(z, {1.0 / 121645100408832000, 1.0 / 355687428096000, 1.0 / 1307674368000, 1.0 / 6227020800,
                            1.0 / 39916800, 1.0 / 362880, 1.0 / 5040, 1.0 / 120, 1.0 / 6});
  const Expr near_zero = Name("near_zero", MulAdd(wide * z, p, wide));
  const Expr t = Name("t", Abs(wide));
  const Expr grown = Name("grown", HalfExp(t));
  const Expr far = CopySign(grown - 0.25 / grown, wide);
  return NarrowLike(MakeSelect(Less(t, 1), near_zero, far), x);
}

Expr FloatMath::Cosh(const Expr& x) {
  const Expr grown = Name("grown", HalfExp(Abs(Widen(x))));
  return NarrowLike(grown + 0.25 / grown, x);
}

// atan(x / sqrt(1 - x^2)); not a number beyond 1.
Expr FloatMath::Asin(const Expr& x) {
  const Expr wide = Widen(x);
  return NarrowLike(Atan(wide / Sqrt((1 - wide) * (1 + wide))), x);
}

Expr FloatMath::Acos(const Expr& x) {
  const Expr wide = Widen(x);
  return NarrowLike(Atan(Sqrt((1 - wide) / (1 + wide))) * 2, x);
}

// Where t^2 would overflow, log(2 t).
Expr FloatMath::LogOfTwiceOr(const Expr& t, const Expr& otherwise) {
  return MakeSelect(Greater(t, 1e9), Log(t) + M_LN2, otherwise);
}

Expr FloatMath::Asinh(const Expr& x) {
  const Expr wide = Widen(x);
  const Expr t = Name("t", Abs(wide));
  const Expr square = Name("square", t * t);
  const Expr result = Log1p(t + square / (Sqrt(square + 1) + 1));
  return NarrowLike(CopySign(LogOfTwiceOr(t, result), wide), x);
}

Expr FloatMath::Acosh(const Expr& x) {
  const Expr wide = Widen(x);
  const Expr t = Name("t", wide - 1);
  const Expr result = Log1p(t + Sqrt(t * (wide + 1)));
  return NarrowLike(Choose(Less(wide, 1), kNan, LogOfTwiceOr(wide, result)), x);
}

Expr FloatMath::Atanh(const Expr& x) {
  const Expr wide = Widen(x);
  const Expr t = Name("t", Abs(wide));
  return NarrowLike(CopySign(Log1p((t + t) / (1 - t)) * 0.5, wide), x);
}

Expr FloatMath::Atan2(const Expr& y, const Expr& x) {
  const Expr rise = Widen(y), run = Widen(x);
  const Expr up = Name("up", Abs(rise)), side = Name("side", Abs(run));
  const auto are_both = [&](double value) { return And(Equal(up, value), Equal(side, value)); };
  const Expr slope = Choose(are_both(0), 0, Choose(are_both(kInfinity), 1, up / side));
  Expr angle = Name("angle", Atan(slope));
  angle = MakeSelect(Less(CopySign(1, run), 0), M_PI - angle, angle);
  return NarrowLike(CopySign(angle, rise), y);
}

Expr FloatMath::Hypot(const Expr& x, const Expr& y) {
  const Expr a = Name("a", Abs(Widen(x))), b = Name("b", Abs(Widen(y)));
  const Expr is_less = Name("is_less", Less(a, b));
  const Expr large = Name("large", MakeSelect(is_less, b, a));
  const Expr ratio = Name("ratio", MakeSelect(is_less, a, b) / large);
  const Expr length = large * Sqrt(MulAdd(ratio, ratio, 1));
  const Expr result = MakeSelect(Equal(a + b, 0), large, length);
  return NarrowLike(Choose(Or(Equal(a, kInfinity), Equal(b, kInfinity)), kInfinity, result), x);
}

// The bits of a float are ordered as its magnitude is.
Expr FloatMath::NextAfter(const Expr& from_, const Expr& to_) {
  const Expr from = Name("from", from_), to = Name("to", to_);
  const Expr bits = Reinterpret(IntLike(from), from);
  const Expr is_away = Equal(Less(from, to), Greater(from, 0));
  const Expr next = Reinterpret(from.dtype(), bits + Choose(is_away, 1, Number(bits, -1)));
  const Expr smallest = CopySign(Reinterpret(from.dtype(), Number(bits, 1)), to);
  Expr result = MakeSelect(Equal(from, 0), smallest, next);
  result = MakeSelect(Equal(from, to), to, result);
  return MakeSelect(Or(IsNan(from), IsNan(to)), from + to, result);
}

// Beyond three thousand it is all the same.
Expr FloatMath::Ldexp(const Expr& x, const Expr& exponent) {
  const Expr wide = Widen(x);
  const Expr n = Name("n", Clamp(MakeCast(wide.dtype(), exponent), -3000, 3000));
  const Expr half = Name("half", Floor(n * 0.5));
  return NarrowLike(Scalef(Scalef(wide, half), n - half), x);
}

Expr FloatMath::Pow(const Expr& x, const Expr& y) {
  const Expr base = Widen(x), power = Widen(y);
  const Expr size = Name("size", Exp(power * Log(Abs(base))));
  // A negative base: odd powers are negative, even ones positive, others not numbers.
  const Expr is_whole = Name("is_whole", Equal(Floor(power), power));
  const Expr half = Name("half", power * 0.5);
  const Expr is_odd = And(is_whole, Differs(Floor(half), half));
  Expr negative = MakeSelect(is_odd, Negative(size), size);
  negative = MakeSelect(is_whole, negative, Number(size, kNan));
  const Expr result = MakeSelect(Less(base, 0), negative, size);
  return NarrowLike(Choose(Equal(power, 0), 1, result), x);
}

Expr FloatMath::PowInt(const Expr& x, int64_t exponent) {
  if (exponent == 0) return Number(x, 1);
  uint64_t rest = exponent < 0 ? 0 - static_cast<uint64_t>(exponent) : static_cast<uint64_t>(exponent);
  std::optional<Expr> result;
  for (Expr square = Name("x", x); rest != 0; rest >>= 1) {
    if ((rest & 1) != 0) result = result ? *result * square : square;
    if (rest > 1) square = Name("square", square * square);
  }
  return exponent < 0 ? 1 / *result : *result;
}

}  // namespace lathe::float_math
