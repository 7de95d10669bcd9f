// exp, tanh, erf ... as straight-line polynomial code on scalars and vectors alike; no libm is called.
//
// Accuracy (largest error over the tested range, tests/compiler/codegen/vector_math_test.cc): float32 exp, exp2, log,
// log2, tanh, erf, sigmoid, sin, cos, tan, atan, pow <= 4 ulp; float64 the same functions <= 1e-14 relative (general
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
  llvm::Value* PowInt(llvm::Value* x, int64_t exponent);  // By repeated squaring.
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
  llvm::Value* CopySign(llvm::Value* magnitude, llvm::Value* sign);
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
