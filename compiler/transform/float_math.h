// exp, tanh, erf ... as straight-line TensorIR of floats, on scalars and vectors alike: what is left are operations
// that machines have (T.sqrt, T.abs, T.copysign, T.floor, T.fmuladd, T.scalef).
//
// Accuracy (largest error over the tested range, tests/compiler/codegen/vector_math_test.cc): float32 <= 4 ulp, 1 ulp
// what goes through double (sin, cos, tan, log2, pow, and all that is not exp, exp2, log, tanh, sigmoid, erf); float64
// <= 1e-14 relative (general pow: 2e-13). sin, cos, tan hold for |x| <= 1e5. Infinities and NaNs behave as in C, except
// that pow's special cases follow exp(y * log|x|).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/expr.h"

namespace lathe::float_math {

// Writes one expression. Arguments and results are float32 or float64, or vectors of them.
class FloatMath {
 public:
  // `suffix` ends the names of all variables: with one of its own each call keeps unique_names from another copy of it.
  explicit FloatMath(std::string suffix) : suffix_(std::move(suffix)) {}

  Expr Exp(const Expr& x);
  Expr Exp2(const Expr& x);
  Expr Exp10(const Expr& x);
  Expr Log(const Expr& x);
  Expr Log2(const Expr& x);
  Expr Log10(const Expr& x);
  Expr Log1p(const Expr& x);
  Expr Tanh(const Expr& x);
  Expr Sigmoid(const Expr& x);
  Expr Erf(const Expr& x);
  Expr Sin(const Expr& x);
  Expr Cos(const Expr& x);
  Expr Tan(const Expr& x);
  Expr Atan(const Expr& x);
  Expr Sinh(const Expr& x);
  Expr Cosh(const Expr& x);
  Expr Asin(const Expr& x);
  Expr Acos(const Expr& x);
  Expr Asinh(const Expr& x);
  Expr Acosh(const Expr& x);
  Expr Atanh(const Expr& x);
  Expr Rsqrt(const Expr& x);
  Expr Round(const Expr& x);  // Halves away from zero.
  Expr Atan2(const Expr& y, const Expr& x);
  Expr Hypot(const Expr& x, const Expr& y);
  Expr NextAfter(const Expr& from, const Expr& to);
  Expr Ldexp(const Expr& x, const Expr& exponent);  // An integer exponent.
  Expr Pow(const Expr& x, const Expr& y);
  Expr PowInt(const Expr& x, int64_t exponent);  // By repeated squaring.

  // `result` within lets of all that it was made of.
  Expr Finish(Expr result);

 private:
  struct Angle {
    Expr quadrant, sine, cosine;  // Of x; of what is left of x without its quadrants.
  };
  Expr Name(const char* name, const Expr& value);  // For what is used more than once.
  Expr Widen(const Expr& x);                       // Named.
  Expr ExpOfReduced(const Expr& r);                // e^r for |r| <= ln(2)/2.
  Expr LogOfDouble(const Expr& f, const Expr& exponent);
  Expr LogOfFloat(const Expr& f, const Expr& exponent);
  Expr ErfOfDouble(const Expr& x);
  Expr ErfOfFloat(const Expr& x);
  Expr HalfExp(const Expr& t);
  Expr LogOfTwiceOr(const Expr& t, const Expr& otherwise);
  Angle ReduceAngle(const Expr& x);
  Expr SineOf(const Angle& angle, int quadrants);

  const std::string suffix_;
  std::vector<std::pair<Var, Expr>> lets_;  // Outermost first.
};

}  // namespace lathe::float_math
