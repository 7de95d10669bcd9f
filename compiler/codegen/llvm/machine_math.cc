#include "compiler/codegen/llvm/machine_math.h"

namespace lathe {

using llvm::Value;

namespace {

bool IsDouble(const Value* x) { return x->getType()->getScalarType()->isDoubleTy(); }
Value* Constant(const Value* like, double value) { return llvm::ConstantFP::get(like->getType(), value); }

}  // namespace

Value* MachineMath::Abs(Value* x) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x); }
Value* MachineMath::Sqrt(Value* x) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x); }
Value* MachineMath::CopySign(Value* magnitude, Value* sign) {
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, magnitude, sign);
}

Value* MachineMath::MulAdd(Value* a, Value* b, Value* c) {
  return b_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {a->getType()}, {a, b, c});
}

Value* MachineMath::Fma(Value* a, Value* b, Value* c) {
  if (abilities_.has_fma) return b_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c});
  if (IsDouble(a)) return MulAdd(a, b, c);
  // The product of two floats is exact in double.
  const auto widen = [&](Value* x) { return b_.CreateFPExt(x, x->getType()->getWithNewType(b_.getDoubleTy())); };
  return b_.CreateFPTrunc(b_.CreateFAdd(b_.CreateFMul(widen(a), widen(b)), widen(c)), a->getType());
}

Value* MachineMath::NearbyInt(Value* x) {
  if (abilities_.has_rounding) return b_.CreateUnaryIntrinsic(llvm::Intrinsic::nearbyint, x);
  // Adding and subtracting 2^(mantissa bits) leaves the integer part; larger numbers are integers already.
  Value* limit = Constant(x, IsDouble(x) ? 0x1.0p52 : 0x1.0p23);
  Value* magnitude = Abs(x);
  Value* rounded = b_.CreateFSub(b_.CreateFAdd(magnitude, limit), limit);
  return b_.CreateSelect(b_.CreateFCmpOLT(magnitude, limit), CopySign(rounded, x), x);
}

Value* MachineMath::Floor(Value* x) {
  if (abilities_.has_rounding) return b_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, x);
  Value* rounded = NearbyInt(x);
  Value* lower = b_.CreateFSub(rounded, Constant(x, 1));
  return CopySign(b_.CreateSelect(b_.CreateFCmpOGT(rounded, x), lower, rounded), x);
}

Value* MachineMath::Ceil(Value* x) { return b_.CreateFNeg(Floor(b_.CreateFNeg(x))); }

Value* MachineMath::Trunc(Value* x) {
  if (abilities_.has_rounding) return b_.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, x);
  return CopySign(Floor(Abs(x)), x);
}

}  // namespace lathe
