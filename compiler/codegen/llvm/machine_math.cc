#include "compiler/codegen/llvm/machine_math.h"

#include "llvm/IR/IntrinsicsX86.h"

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

namespace {

llvm::Intrinsic::ID ScalefOf(unsigned bits, bool is_double) {
  using namespace llvm::Intrinsic;
  if (bits == 128) return is_double ? x86_avx512_mask_scalef_pd_128 : x86_avx512_mask_scalef_ps_128;
  if (bits == 256) return is_double ? x86_avx512_mask_scalef_pd_256 : x86_avx512_mask_scalef_ps_256;
  if (bits == 512) return is_double ? x86_avx512_mask_scalef_pd_512 : x86_avx512_mask_scalef_ps_512;
  return not_intrinsic;
}

}  // namespace

Value* MachineMath::ScalefOfVector(Value* x, Value* n) {
  constexpr unsigned kWidest = 512;
  auto* type = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  if (type == nullptr) return nullptr;
  const unsigned bits = IsDouble(x) ? 64 : 32, lanes = type->getNumElements();
  if (lanes * bits > kWidest && lanes % 2 == 0) {
    auto* half = llvm::FixedVectorType::get(type->getElementType(), lanes / 2);
    Value* result = llvm::PoisonValue::get(type);
    for (Value* from : {b_.getInt64(0), b_.getInt64(lanes / 2)}) {
      Value* part = ScalefOfVector(b_.CreateExtractVector(half, x, from), b_.CreateExtractVector(half, n, from));
      if (part == nullptr) return nullptr;
      result = b_.CreateInsertVector(type, result, part, from);
    }
    return result;
  }
  const llvm::Intrinsic::ID id = ScalefOf(lanes * bits, IsDouble(x));
  if (id == llvm::Intrinsic::not_intrinsic) return nullptr;
  std::vector<Value*> args{x, n, x, llvm::Constant::getAllOnesValue(b_.getIntNTy(std::max(lanes, 8U)))};
  constexpr int kRoundAsSet = 4;
  if (lanes * bits == kWidest) args.push_back(b_.getInt32(kRoundAsSet));
  return b_.CreateIntrinsic(id, {}, args);
}

Value* MachineMath::Scalef(Value* x, Value* n) {
  if (Value* result = abilities_.has_scalef ? ScalefOfVector(x, n) : nullptr) return result;
  // In two steps, so that results below the smallest normal number are rounded once and not flushed.
  const unsigned bits = IsDouble(x) ? 64 : 32;
  llvm::Type* type = n->getType()->getWithNewType(b_.getIntNTy(bits));
  const auto number = [&](uint64_t value) { return llvm::ConstantInt::get(type, value); };
  const auto power = [&](Value* exponent) {
    Value* biased = b_.CreateAdd(exponent, number(IsDouble(x) ? 1023 : 127));
    return b_.CreateBitCast(b_.CreateShl(biased, number(IsDouble(x) ? 52 : 23)), x->getType());
  };
  Value* whole = b_.CreateFreeze(b_.CreateFPToSI(n, type));  // Of NaN anything: x is NaN as well.
  Value* half = b_.CreateAShr(whole, number(1));
  return b_.CreateFMul(b_.CreateFMul(x, power(half)), power(b_.CreateSub(whole, half)));
}

}  // namespace lathe
