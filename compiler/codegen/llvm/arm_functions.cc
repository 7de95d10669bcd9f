#include "compiler/codegen/llvm/arm_functions.h"

#include <iterator>

#include "compiler/codegen/llvm/support_functions.h"
#include "llvm/IR/IRBuilder.h"

namespace lathe {
namespace {

using llvm::Value;
using Builder = llvm::IRBuilder<>;

// One helper on its way. Their arguments are in core registers also where the program's are in those of the FPU.
class ArmFunction {
 public:
  ArmFunction(llvm::Module& module, const Target& target, const std::string& name, llvm::Type* result,
              std::vector<llvm::Type*> args)
      : b_(module.getContext()), function_(NewSupportFunction(module, target, name, result, std::move(args))) {
    function_->setCallingConv(llvm::CallingConv::ARM_AAPCS);
    b_.SetInsertPoint(&function_->getEntryBlock());
  }
  Builder& b() { return b_; }
  Value* arg(unsigned i) { return function_->getArg(i); }

  struct Division {
    Value *quotient, *rest;
  };
  // Of unsigned integers of one width, bit by bit; of 64 bits that fit 32, as such.
  Division Divide(Value* number, Value* by) {
    if (number->getType()->isIntegerTy(32)) return DivideLong(number, by);
    llvm::BasicBlock *narrow = Block("narrow"), *wide = Block("wide"), *end = Block("divided");
    Value* upper = b_.CreateLShr(b_.CreateOr(number, by), 32);
    b_.CreateCondBr(b_.CreateICmpEQ(upper, b_.getInt64(0)), narrow, wide);
    b_.SetInsertPoint(narrow);
    Value *low = Low(number), *low_by = Low(by);
    Value *narrow_quotient = Wide(b_.CreateUDiv(low, low_by)), *narrow_rest = Wide(b_.CreateURem(low, low_by));
    b_.CreateBr(end);
    b_.SetInsertPoint(wide);
    const Division long_division = DivideLong(number, by);
    llvm::BasicBlock* from_wide = b_.GetInsertBlock();
    b_.CreateBr(end);
    b_.SetInsertPoint(end);
    return {Either(narrow_quotient, narrow, long_division.quotient, from_wide),
            Either(narrow_rest, narrow, long_division.rest, from_wide)};
  }
  // Toward zero; the rest has the sign of the number.
  Division DivideSigned(Value* number, Value* by) {
    const Division parts = Divide(Magnitude(number), Magnitude(by));
    return {WithSignOf(b_.CreateXor(number, by), parts.quotient), WithSignOf(number, parts.rest)};
  }
  void Return(const Division& division) {
    Value* values[] = {division.quotient, division.rest};
    b_.CreateAggregateRet(values, 2);
  }

  Value* Low(Value* wide) { return b_.CreateTrunc(wide, b_.getInt32Ty()); }
  Value* High(Value* wide) { return Low(b_.CreateLShr(wide, 32)); }
  Value* Wide(Value* narrow) { return b_.CreateZExt(narrow, b_.getInt64Ty()); }
  Value* Magnitude(Value* number) { return WithSignOf(number, number); }
  Value* WithSignOf(Value* sign, Value* number) {
    Value* zero = llvm::ConstantInt::get(sign->getType(), 0);
    return b_.CreateSelect(b_.CreateICmpSLT(sign, zero), b_.CreateNeg(number), number);
  }
  // float64, rounded once: both halves are exact.
  Value* ToDouble(Value* number, bool is_signed) {
    Value* high =
        is_signed ? b_.CreateSIToFP(High(number), b_.getDoubleTy()) : b_.CreateUIToFP(High(number), b_.getDoubleTy());
    return b_.CreateFAdd(b_.CreateFMul(high, Double(0x1p32)), b_.CreateUIToFP(Low(number), b_.getDoubleTy()));
  }
  // float32, rounded once: of what float64 would round, the bits that go are gathered in one that it keeps.
  Value* ToFloat(Value* number) {
    Value* rest = b_.CreateAdd(b_.CreateAnd(number, b_.getInt64(0x7ff)), b_.getInt64(0x7ff));
    Value* gathered = b_.CreateAnd(b_.CreateOr(number, rest), b_.getInt64(~uint64_t{0x7ff}));
    Value* is_long = b_.CreateICmpUGE(number, b_.getInt64(uint64_t{1} << 53));
    return b_.CreateFPTrunc(ToDouble(b_.CreateSelect(is_long, gathered, number), false), b_.getFloatTy());
  }
  // A float64 that is at least 0 as an integer, toward zero.
  Value* ToInteger(Value* number) {
    Value* high = b_.CreateFPToUI(b_.CreateFMul(number, Double(0x1p-32)), b_.getInt32Ty());
    Value* upper = b_.CreateFMul(b_.CreateUIToFP(high, b_.getDoubleTy()), Double(0x1p32));
    Value* low = b_.CreateFPToUI(b_.CreateFSub(number, upper), b_.getInt32Ty());
    return b_.CreateOr(b_.CreateShl(Wide(high), 32), Wide(low));
  }
  Value* ToSignedInteger(Value* number) {
    Value* is_negative = b_.CreateFCmpOLT(number, Double(0));
    Value* magnitude = ToInteger(b_.CreateSelect(is_negative, b_.CreateFNeg(number), number));
    return b_.CreateSelect(is_negative, b_.CreateNeg(magnitude), magnitude);
  }
  Value* Double(double value) { return llvm::ConstantFP::get(b_.getDoubleTy(), value); }

 private:
  llvm::BasicBlock* Block(const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, function_); }
  Value* Either(Value* first, llvm::BasicBlock* from, Value* second, llvm::BasicBlock* from_second) {
    llvm::PHINode* phi = b_.CreatePHI(first->getType(), 2);
    phi->addIncoming(first, from), phi->addIncoming(second, from_second);
    return phi;
  }

  Division DivideLong(Value* number, Value* by) {
    llvm::Type* type = number->getType();
    const auto constant = [&](uint64_t value) { return llvm::ConstantInt::get(type, value); };
    const auto zeros_of = [&](Value* value) {
      return b_.CreateIntrinsic(llvm::Intrinsic::ctlz, {type}, {value, b_.getFalse()});
    };
    llvm::BasicBlock *before = b_.GetInsertBlock(), *loop = Block("loop"), *end = Block("end");
    Value* shift = b_.CreateSub(zeros_of(by), zeros_of(number));  // How far `by` fits to the left.
    b_.CreateCondBr(b_.CreateICmpUGT(by, number), end, loop);
    b_.SetInsertPoint(loop);
    llvm::PHINode *left = b_.CreatePHI(type, 2), *quotient = b_.CreatePHI(type, 2), *rest = b_.CreatePHI(type, 2);
    Value* part = b_.CreateShl(by, left);
    Value* fits = b_.CreateICmpUGE(rest, part);
    Value* next_rest = b_.CreateSelect(fits, b_.CreateSub(rest, part), rest);
    Value* next_quotient = b_.CreateOr(b_.CreateShl(quotient, constant(1)), b_.CreateZExt(fits, type));
    left->addIncoming(shift, before), left->addIncoming(b_.CreateSub(left, constant(1)), loop);
    quotient->addIncoming(constant(0), before), quotient->addIncoming(next_quotient, loop);
    rest->addIncoming(number, before), rest->addIncoming(next_rest, loop);
    b_.CreateCondBr(b_.CreateICmpEQ(left, constant(0)), end, loop);
    b_.SetInsertPoint(end);
    return {Either(constant(0), before, next_quotient, loop), Either(number, before, next_rest, loop)};
  }

  Builder b_;
  llvm::Function* function_;
};

enum class Helper { kQuotient, kDivision, kToDouble, kToFloat, kFromDouble, kFromFloat };
struct HelperRow {
  const char* name;
  Helper helper;
  unsigned bits;
  bool is_signed;
};
constexpr HelperRow kArmRows[] = {
    {"__aeabi_uidiv", Helper::kQuotient, 32, false},    {"__aeabi_idiv", Helper::kQuotient, 32, true},
    {"__aeabi_uidivmod", Helper::kDivision, 32, false}, {"__aeabi_idivmod", Helper::kDivision, 32, true},
    {"__aeabi_uldivmod", Helper::kDivision, 64, false}, {"__aeabi_ldivmod", Helper::kDivision, 64, true},
    {"__aeabi_ul2d", Helper::kToDouble, 64, false},     {"__aeabi_l2d", Helper::kToDouble, 64, true},
    {"__aeabi_ul2f", Helper::kToFloat, 64, false},      {"__aeabi_l2f", Helper::kToFloat, 64, true},
    {"__aeabi_d2ulz", Helper::kFromDouble, 64, false},  {"__aeabi_d2lz", Helper::kFromDouble, 64, true},
    {"__aeabi_f2ulz", Helper::kFromFloat, 64, false},   {"__aeabi_f2lz", Helper::kFromFloat, 64, true},
};

void DefineDivision(const HelperRow& row, const Target& target, llvm::Module& module) {
  llvm::Type* type = llvm::IntegerType::get(module.getContext(), row.bits);
  llvm::Type* result = row.helper == Helper::kQuotient ? type : llvm::StructType::get(type, type);
  ArmFunction f(module, target, row.name, result, {type, type});
  const auto division = row.is_signed ? f.DivideSigned(f.arg(0), f.arg(1)) : f.Divide(f.arg(0), f.arg(1));
  if (row.helper == Helper::kQuotient)
    f.b().CreateRet(division.quotient);
  else
    f.Return(division);
}

void DefineFromInteger(const HelperRow& row, const Target& target, llvm::Module& module) {
  const bool is_double = row.helper == Helper::kToDouble;
  llvm::LLVMContext& context = module.getContext();
  ArmFunction f(module, target, row.name,
                is_double ? llvm::Type::getDoubleTy(context) : llvm::Type::getFloatTy(context),
                {llvm::Type::getInt64Ty(context)});
  Value* number = f.arg(0);
  if (is_double) return static_cast<void>(f.b().CreateRet(f.ToDouble(number, row.is_signed)));
  Value* magnitude = f.ToFloat(row.is_signed ? f.Magnitude(number) : number);
  Value* is_negative = f.b().CreateICmpSLT(number, f.b().getInt64(0));
  f.b().CreateRet(row.is_signed ? f.b().CreateSelect(is_negative, f.b().CreateFNeg(magnitude), magnitude) : magnitude);
}

void DefineToInteger(const HelperRow& row, const Target& target, llvm::Module& module) {
  llvm::LLVMContext& context = module.getContext();
  const bool is_double = row.helper == Helper::kFromDouble;
  ArmFunction f(module, target, row.name, llvm::Type::getInt64Ty(context),
                {is_double ? llvm::Type::getDoubleTy(context) : llvm::Type::getFloatTy(context)});
  Value* number = is_double ? f.arg(0) : f.b().CreateFPExt(f.arg(0), f.b().getDoubleTy());
  f.b().CreateRet(row.is_signed ? f.ToSignedInteger(number) : f.ToInteger(number));
}

}  // namespace

bool DefineArmFunction(const std::string& name, const Target& target, llvm::Module& module) {
  const HelperRow* row =
      std::find_if(std::begin(kArmRows), std::end(kArmRows), [&](const HelperRow& each) { return each.name == name; });
  if (row == std::end(kArmRows)) return false;
  switch (row->helper) {
    case Helper::kQuotient:
    case Helper::kDivision:
      DefineDivision(*row, target, module);
      break;
    case Helper::kToDouble:
    case Helper::kToFloat:
      DefineFromInteger(*row, target, module);
      break;
    case Helper::kFromDouble:
    case Helper::kFromFloat:
      DefineToInteger(*row, target, module);
      break;
  }
  return true;
}

}  // namespace lathe
