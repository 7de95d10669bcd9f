#include "compiler/codegen/llvm/support_functions.h"

#include <functional>

#include "compiler/codegen/llvm/arm_functions.h"
#include "llvm/IR/IRBuilder.h"

namespace lathe {

llvm::Function* NewSupportFunction(llvm::Module& module, const Target& target, const std::string& name,
                                   llvm::Type* result, std::vector<llvm::Type*> args) {
  auto* function = llvm::Function::Create(llvm::FunctionType::get(result, args, false),
                                          llvm::GlobalValue::ExternalLinkage, name, module);
  function->setVisibility(llvm::GlobalValue::HiddenVisibility);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  function->addFnAttr("no-builtins");  // Or LLVM would make memcpy a call of memcpy.
  function->addFnAttr("target-cpu", target.cpu());
  llvm::BasicBlock::Create(module.getContext(), "entry", function);
  return function;
}

namespace {

using llvm::Value;
using Builder = llvm::IRBuilder<>;

// for (i = 0; i < count; ++i) body(first-to-last or last-to-first i)
void ByteLoop(Builder& b, Value* count, bool is_backward, const std::function<void(Value*)>& body) {
  llvm::Function* function = b.GetInsertBlock()->getParent();
  llvm::BasicBlock* before = b.GetInsertBlock();
  auto* loop = llvm::BasicBlock::Create(b.getContext(), "loop", function);
  auto* end = llvm::BasicBlock::Create(b.getContext(), "end", function);
  llvm::Constant *zero = llvm::ConstantInt::get(count->getType(), 0),
                 *one = llvm::ConstantInt::get(count->getType(), 1);
  b.CreateCondBr(b.CreateICmpEQ(count, zero), end, loop);
  b.SetInsertPoint(loop);
  llvm::PHINode* i = b.CreatePHI(count->getType(), 2);
  i->addIncoming(zero, before);
  body(is_backward ? b.CreateSub(b.CreateSub(count, i), one) : i);
  Value* next = b.CreateAdd(i, one);
  i->addIncoming(next, loop);
  b.CreateCondBr(b.CreateICmpULT(next, count), loop, end);
  b.SetInsertPoint(end);
}

// As wide as a pointer.
llvm::Type* SizeType(llvm::Module& module) { return module.getDataLayout().getIntPtrType(module.getContext()); }

void CopyBytes(Builder& b, llvm::Function* f, bool is_backward) {
  ByteLoop(b, f->getArg(2), is_backward, [&](Value* i) {
    b.CreateStore(b.CreateLoad(b.getInt8Ty(), b.CreateGEP(b.getInt8Ty(), f->getArg(1), i)),
                  b.CreateGEP(b.getInt8Ty(), f->getArg(0), i));
  });
}

void DefineMemcpy(llvm::Module& module, const Target& target) {
  Builder b(module.getContext());
  llvm::Function* f =
      NewSupportFunction(module, target, "memcpy", b.getPtrTy(), {b.getPtrTy(), b.getPtrTy(), SizeType(module)});
  b.SetInsertPoint(&f->getEntryBlock());
  CopyBytes(b, f, false);
  b.CreateRet(f->getArg(0));
}

void DefineMemmove(llvm::Module& module, const Target& target) {
  Builder b(module.getContext());
  llvm::Function* f =
      NewSupportFunction(module, target, "memmove", b.getPtrTy(), {b.getPtrTy(), b.getPtrTy(), SizeType(module)});
  auto* forward = llvm::BasicBlock::Create(b.getContext(), "forward", f);
  auto* backward = llvm::BasicBlock::Create(b.getContext(), "backward", f);
  b.SetInsertPoint(&f->getEntryBlock());
  b.CreateCondBr(b.CreateICmpULE(f->getArg(0), f->getArg(1)), forward, backward);
  for (const bool is_backward : {false, true}) {
    b.SetInsertPoint(is_backward ? backward : forward);
    CopyBytes(b, f, is_backward);
    b.CreateRet(f->getArg(0));
  }
}

void DefineMemset(llvm::Module& module, const Target& target) {
  Builder b(module.getContext());
  llvm::Function* f =
      NewSupportFunction(module, target, "memset", b.getPtrTy(), {b.getPtrTy(), b.getInt32Ty(), SizeType(module)});
  b.SetInsertPoint(&f->getEntryBlock());
  Value* byte = b.CreateTrunc(f->getArg(1), b.getInt8Ty());
  ByteLoop(b, f->getArg(2), false, [&](Value* i) { b.CreateStore(byte, b.CreateGEP(b.getInt8Ty(), f->getArg(0), i)); });
  b.CreateRet(f->getArg(0));
}

// float16 to float32, exactly: normal numbers by moving the exponent, subnormal ones by a multiplication that
// normalises them.
void DefineExtendHalf(llvm::Module& module, const Target& target) {
  Builder b(module.getContext());
  llvm::Function* f = NewSupportFunction(module, target, "__extendhfsf2", b.getFloatTy(), {b.getHalfTy()});
  b.SetInsertPoint(&f->getEntryBlock());
  Value* bits = b.CreateZExt(b.CreateBitCast(f->getArg(0), b.getInt16Ty()), b.getInt32Ty());
  Value* sign = b.CreateShl(b.CreateAnd(bits, b.getInt32(0x8000)), b.getInt32(16));
  Value* rest = b.CreateAnd(bits, b.getInt32(0x7fff));
  Value* scaled = b.CreateFMul(b.CreateBitCast(b.CreateShl(rest, b.getInt32(13)), b.getFloatTy()),
                               llvm::ConstantFP::get(b.getFloatTy(), 0x1.0p112));
  Value* special = b.CreateOr(b.CreateShl(rest, b.getInt32(13)), b.getInt32(0x7f800000));
  Value* magnitude =
      b.CreateSelect(b.CreateICmpUGE(rest, b.getInt32(0x7c00)), special, b.CreateBitCast(scaled, b.getInt32Ty()));
  b.CreateRet(b.CreateBitCast(b.CreateOr(magnitude, sign), b.getFloatTy()));
}

// float32 to float16, nearest, halves to even.
void DefineTruncateToHalf(llvm::Module& module, const Target& target) {
  Builder b(module.getContext());
  llvm::Function* f = NewSupportFunction(module, target, "__truncsfhf2", b.getHalfTy(), {b.getFloatTy()});
  b.SetInsertPoint(&f->getEntryBlock());
  Value* bits = b.CreateBitCast(f->getArg(0), b.getInt32Ty());
  Value* sign = b.CreateLShr(b.CreateAnd(bits, b.getInt32(0x80000000u)), b.getInt32(16));
  Value* rest = b.CreateAnd(bits, b.getInt32(0x7fffffff));
  // Normal results: rebias the exponent and round the 13 bits that go; a carry moves into the exponent, up to infinity.
  Value* odd = b.CreateAnd(b.CreateLShr(rest, b.getInt32(13)), b.getInt32(1));
  Value* normal = b.CreateLShr(b.CreateAdd(b.CreateAdd(rest, b.getInt32(0xc8000fffu)), odd), b.getInt32(13));
  // Subnormal results: adding 0.5 aligns the mantissa so that the hardware rounds it.
  Value* half = llvm::ConstantFP::get(b.getFloatTy(), 0.5);
  Value* small = b.CreateSub(b.CreateBitCast(b.CreateFAdd(b.CreateBitCast(rest, b.getFloatTy()), half), b.getInt32Ty()),
                             b.CreateBitCast(half, b.getInt32Ty()));
  Value* result = b.CreateSelect(b.CreateICmpULT(rest, b.getInt32(0x38800000)), small, normal);
  result = b.CreateSelect(b.CreateICmpUGE(rest, b.getInt32(0x47800000)), b.getInt32(0x7c00), result);
  result = b.CreateSelect(b.CreateICmpUGT(rest, b.getInt32(0x7f800000)), b.getInt32(0x7e00), result);
  b.CreateRet(b.CreateBitCast(b.CreateTrunc(b.CreateOr(result, sign), b.getInt16Ty()), b.getHalfTy()));
}

// The smaller (or larger) of two numbers; the other one where one is NaN. LLVM calls these for float16 on processors
// that compute it in float32.
void DefineExtremum(llvm::Module& module, const Target& target, const char* name, llvm::CmpInst::Predicate is_better) {
  Builder b(module.getContext());
  llvm::Function* f = NewSupportFunction(module, target, name, b.getFloatTy(), {b.getFloatTy(), b.getFloatTy()});
  b.SetInsertPoint(&f->getEntryBlock());
  Value *x = f->getArg(0), *y = f->getArg(1);
  b.CreateRet(b.CreateSelect(b.CreateOr(b.CreateFCmp(is_better, x, y), b.CreateFCmpUNO(y, y)), x, y));
}
void DefineMinimum(llvm::Module& module, const Target& target) {
  DefineExtremum(module, target, "fminf", llvm::CmpInst::FCMP_OLT);
}
void DefineMaximum(llvm::Module& module, const Target& target) {
  DefineExtremum(module, target, "fmaxf", llvm::CmpInst::FCMP_OGT);
}

// The bits of a float, taken apart: |number| = mantissa * 2^(exponent - exponent of the smallest number), exponent
// >= 1.
struct FloatParts {
  Value* magnitude;  // All bits but the sign.
  Value* exponent;
  Value* mantissa;
};
class Remainder {
 public:
  Remainder(Builder& b, llvm::Function* f)
      : b_(b),
        f_(f),
        float_(f->getReturnType()),
        is_double_(float_->isDoubleTy()),
        bits_(b.getIntNTy(is_double_ ? 64 : 32)) {}

  // fmod, exactly: the rest of a long division, bit by bit.
  void Emit() {
    const FloatParts x = Take(f_->getArg(0)), y = Take(f_->getArg(1));
    llvm::BasicBlock *odd = Block("no.number"), *small = Block("small"), *divide = Block("divide");
    b_.CreateCondBr(HasNoRemainder(x, y), odd, small);
    b_.SetInsertPoint(odd);
    Value* invalid = b_.CreateFMul(f_->getArg(0), f_->getArg(1));
    b_.CreateRet(b_.CreateFDiv(invalid, invalid));
    b_.SetInsertPoint(small);
    llvm::BasicBlock* same = Block("same");
    b_.CreateCondBr(b_.CreateICmpULT(x.magnitude, y.magnitude), same, divide);
    b_.SetInsertPoint(same);
    b_.CreateRet(f_->getArg(0));
    b_.SetInsertPoint(divide);
    Value* rest = Divide(x, y);
    b_.CreateRet(WithSign(b_.CreateFMul(b_.CreateUIToFP(rest, float_), Unit(y.exponent))));
  }

 private:
  Value* Int(uint64_t value) { return llvm::ConstantInt::get(bits_, value); }
  llvm::BasicBlock* Block(const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, f_); }
  unsigned mantissa_bits() const { return is_double_ ? 52 : 23; }
  uint64_t implicit_bit() const { return uint64_t{1} << mantissa_bits(); }
  uint64_t infinity() const { return is_double_ ? 0x7ff0000000000000 : 0x7f800000; }

  FloatParts Take(Value* number) {
    Value* magnitude = b_.CreateAnd(b_.CreateBitCast(number, bits_), Int(is_double_ ? ~uint64_t{0} >> 1 : 0x7fffffff));
    Value* stored = b_.CreateLShr(magnitude, Int(mantissa_bits()));
    Value* is_tiny = b_.CreateICmpEQ(stored, Int(0));
    Value* low = b_.CreateAnd(magnitude, Int(implicit_bit() - 1));
    return {magnitude, b_.CreateSelect(is_tiny, Int(1), stored),
            b_.CreateSelect(is_tiny, low, b_.CreateOr(low, Int(implicit_bit())))};
  }
  Value* HasNoRemainder(const FloatParts& x, const FloatParts& y) {
    Value* is_bad =
        b_.CreateOr(b_.CreateICmpUGE(x.magnitude, Int(infinity())), b_.CreateICmpUGT(y.magnitude, Int(infinity())));
    return b_.CreateOr(is_bad, b_.CreateICmpEQ(y.magnitude, Int(0)));
  }
  Value* Divide(const FloatParts& x, const FloatParts& y) {
    llvm::BasicBlock *before = b_.GetInsertBlock(), *loop = Block("loop"), *end = Block("end");
    Value *first = b_.CreateURem(x.mantissa, y.mantissa), *steps = b_.CreateSub(x.exponent, y.exponent);
    b_.CreateCondBr(b_.CreateICmpEQ(steps, Int(0)), end, loop);
    b_.SetInsertPoint(loop);
    llvm::PHINode *rest = b_.CreatePHI(bits_, 2), *left = b_.CreatePHI(bits_, 2);
    Value *twice = b_.CreateShl(rest, Int(1)), *fewer = b_.CreateSub(left, Int(1));
    Value* next = b_.CreateSelect(b_.CreateICmpUGE(twice, y.mantissa), b_.CreateSub(twice, y.mantissa), twice);
    rest->addIncoming(first, before), rest->addIncoming(next, loop);
    left->addIncoming(steps, before), left->addIncoming(fewer, loop);
    b_.CreateCondBr(b_.CreateICmpEQ(fewer, Int(0)), end, loop);
    b_.SetInsertPoint(end);
    llvm::PHINode* result = b_.CreatePHI(bits_, 2);
    result->addIncoming(first, before), result->addIncoming(next, loop);
    return result;
  }
  // The value of a mantissa's lowest bit.
  Value* Unit(Value* exponent) {
    Value* is_tiny = b_.CreateICmpULE(exponent, Int(mantissa_bits()));
    Value* tiny = b_.CreateShl(Int(1), b_.CreateSelect(is_tiny, b_.CreateSub(exponent, Int(1)), Int(0)));
    Value* normal = b_.CreateShl(b_.CreateSub(exponent, Int(mantissa_bits())), Int(mantissa_bits()));
    return b_.CreateBitCast(b_.CreateSelect(is_tiny, tiny, normal), float_);
  }
  Value* WithSign(Value* magnitude) {
    Value* sign = b_.CreateAnd(b_.CreateBitCast(f_->getArg(0), bits_), Int(uint64_t{1} << (is_double_ ? 63 : 31)));
    return b_.CreateBitCast(b_.CreateOr(b_.CreateBitCast(magnitude, bits_), sign), float_);
  }

  Builder& b_;
  llvm::Function* f_;
  llvm::Type* float_;
  const bool is_double_;
  llvm::IntegerType* bits_;
};

void DefineRemainder(llvm::Module& module, const Target& target, const char* name, llvm::Type* type) {
  Builder b(module.getContext());
  llvm::Function* f = NewSupportFunction(module, target, name, type, {type, type});
  b.SetInsertPoint(&f->getEntryBlock());
  Remainder(b, f).Emit();
}
void DefineFmodf(llvm::Module& module, const Target& target) {
  DefineRemainder(module, target, "fmodf", llvm::Type::getFloatTy(module.getContext()));
}
void DefineFmod(llvm::Module& module, const Target& target) {
  DefineRemainder(module, target, "fmod", llvm::Type::getDoubleTy(module.getContext()));
}

struct SupportRow {
  const char* name;
  void (*define)(llvm::Module&, const Target&);
};
constexpr SupportRow kRows[] = {
    {"memcpy", DefineMemcpy},
    {"memmove", DefineMemmove},
    {"memset", DefineMemset},
    {"__extendhfsf2", DefineExtendHalf},
    {"__truncsfhf2", DefineTruncateToHalf},
    {"fminf", DefineMinimum},
    {"fmaxf", DefineMaximum},
    {"fmodf", DefineFmodf},
    {"fmod", DefineFmod},
};

}  // namespace

std::vector<std::string> DefineSupportFunctions(const std::vector<std::string>& names, const Target& target,
                                                llvm::Module& module) {
  std::vector<std::string> unknown;
  for (const std::string& name : names) {
    const auto* row = std::find_if(std::begin(kRows), std::end(kRows),
                                   [&](const SupportRow& candidate) { return candidate.name == name; });
    if (row != std::end(kRows))
      row->define(module, target);
    else if (!DefineArmFunction(name, target, module))
      unknown.push_back(name);
  }
  return unknown;
}

}  // namespace lathe
