// Operations on floats that most machines have as one instruction, and what they are elsewhere; no libm is called. All
// other functions are arithmetic by now (compiler/transform/legalize_math.h).
#pragma once

#include "llvm/IR/IRBuilder.h"

namespace lathe {

using Builder = llvm::IRBuilder<>;

// Writes code at the builder's insertion point. Arguments and results are float or double, or vectors of them.
class MachineMath {
 public:
  struct Abilities {
    bool has_fma = false;
    bool has_rounding = false;  // Instructions for floor, ceil, trunc, nearbyint.
    bool has_scalef = false;    // AVX-512's, on vectors of 128 to 512 bits.
  };
  MachineMath(Builder& builder, Abilities abilities) : b_(builder), abilities_(abilities) {}

  llvm::Value* Abs(llvm::Value* x);
  llvm::Value* Sqrt(llvm::Value* x);
  llvm::Value* CopySign(llvm::Value* magnitude, llvm::Value* sign);
  llvm::Value* Fma(llvm::Value* a, llvm::Value* b, llvm::Value* c);     // Rounded once.
  llvm::Value* MulAdd(llvm::Value* a, llvm::Value* b, llvm::Value* c);  // One FMA where there is one.
  llvm::Value* Floor(llvm::Value* x);
  llvm::Value* Ceil(llvm::Value* x);
  llvm::Value* Trunc(llvm::Value* x);
  llvm::Value* NearbyInt(llvm::Value* x);               // Halves to even.
  llvm::Value* Scalef(llvm::Value* x, llvm::Value* n);  // x * 2^n, rounded once; n is whole, |n| <= 252 (double: 2044).

 private:
  llvm::Value* ScalefOfVector(llvm::Value* x, llvm::Value* n);  // By the instruction; null: no vectors that it takes.
  Builder& b_;
  const Abilities abilities_;
};

}  // namespace lathe
