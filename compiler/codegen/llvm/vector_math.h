// exp, tanh, erf ... as straight-line polynomial code on scalars and vectors alike; no libm is called.
//
// Accuracy (largest error over the tested range, tests/compiler/codegen/vector_math_test.cc): float32 <= 4 ulp, 1 ulp
// what goes through double (sin, cos, tan, log2 and all of vector_math_more.cc); float64 <= 1e-14 relative (general
// pow: 2e-13). sin, cos, tan hold for |x| <= 1e5. Infinities and NaNs behave as in C, except that pow's special cases
// follow exp(y * log|x|).
#pragma once

#include <string_view>

#include "llvm/IR/IRBuilder.h"

namespace lathe {

using Builder = llvm::IRBuilder<>;

// Writes code at the builder's insertion point. Arguments and results are float or double, or vectors of them.
class VectorMath {
 public:
  struct Abilities {
    bool has_fma = false;
    bool has_rounding = false;  // Instructions for floor, ceil, trunc, nearbyint.
  };
  VectorMath(Builder& builder, Abilities abilities) : b_(builder), abilities_(abilities) {}

  llvm::Value* Exp(llvm::Value* x);
  llvm::Value* Exp2(llvm::Value* x);
  llvm::Value* Log(llvm::Value* x);
  llvm::Value* Log2(llvm::Value* x);
  llvm::Value* Tanh(llvm::Value* x);
  llvm::Value* Sigmoid(llvm::Value* x);
  llvm::Value* Erf(llvm::Value* x);
  llvm::Value* Sin(llvm::Value* x);
  llvm::Value* Cos(llvm::Value* x);
  llvm::Value* Tan(llvm::Value* x);
  llvm::Value* Atan(llvm::Value* x);
  llvm::Value* Pow(llvm::Value* x, llvm::Value* y);
  llvm::Value* Exp10(llvm::Value* x);
  llvm::Value* Log10(llvm::Value* x);
  llvm::Value* Log1p(llvm::Value* x);
  llvm::Value* Sinh(llvm::Value* x);
  llvm::Value* Cosh(llvm::Value* x);
  llvm::Value* Asin(llvm::Value* x);
  llvm::Value* Acos(llvm::Value* x);
  llvm::Value* Asinh(llvm::Value* x);
  llvm::Value* Acosh(llvm::Value* x);
  llvm::Value* Atanh(llvm::Value* x);
  llvm::Value* Atan2(llvm::Value* y, llvm::Value* x);
  llvm::Value* Hypot(llvm::Value* x, llvm::Value* y);
  llvm::Value* NextAfter(llvm::Value* from, llvm::Value* to);
  llvm::Value* CopySign(llvm::Value* magnitude, llvm::Value* sign);
  llvm::Value* Ldexp(llvm::Value* x, llvm::Value* exponent);  // An integer exponent.
  llvm::Value* PowInt(llvm::Value* x, int64_t exponent);      // By repeated squaring.
  llvm::Value* Sqrt(llvm::Value* x);
  llvm::Value* Rsqrt(llvm::Value* x);
  llvm::Value* Floor(llvm::Value* x);
  llvm::Value* Ceil(llvm::Value* x);
  llvm::Value* Trunc(llvm::Value* x);
  llvm::Value* NearbyInt(llvm::Value* x);  // Halves to even.
  llvm::Value* Round(llvm::Value* x);      // Halves away from zero.
  llvm::Value* Fma(llvm::Value* a, llvm::Value* b, llvm::Value* c);
  llvm::Value* Abs(llvm::Value* x);

 private:
  llvm::Value* Constant(llvm::Value* like, double value);
  llvm::Value* IntConstant(llvm::Value* like, int64_t value);  // Of the integer type as wide as `like`.
  llvm::Type* IntType(llvm::Value* like);
  llvm::Value* MulAdd(llvm::Value* a, llvm::Value* b, llvm::Value* c);  // One FMA where there is one.
  llvm::Value* MulAdd(llvm::Value* a, llvm::Value* b, double c) { return MulAdd(a, b, Constant(a, c)); }
  llvm::Value* Horner(llvm::Value* x, std::initializer_list<double> coefficients);  // Highest power first.
  llvm::Value* HalfExp(llvm::Value* t);
  llvm::Value* ChooseLogOfTwice(llvm::Value* t, llvm::Value* otherwise);
  llvm::Value* ScaleByPowerOfTwo(llvm::Value* x, llvm::Value* exponent);
  llvm::Value* ExpReduced(llvm::Value* r);  // e^r for |r| <= ln(2)/2.
  llvm::Value* SinCos(llvm::Value* x, int quadrant_shift);
  bool IsDouble(llvm::Value* x) const;
  llvm::Value* Widen(llvm::Value* x);
  llvm::Value* NarrowLike(llvm::Value* x, llvm::Value* like);

  Builder& b_;
  const Abilities abilities_;
};

}  // namespace lathe
