// Calls of operations (compiler/ir/op.cc).
#include <fmt/format.h>

#include <algorithm>

#include "compiler/codegen/llvm/kernel_emitter.h"
#include "compiler/ir/may_trap.h"
#include "compiler/ir/plain_call.h"
#include "compiler/ir/visitor.h"
#include "runtime/kernel_abi.h"

namespace lathe {

using llvm::Value;

Value* KernelEmitter::EmitCall(const Call& call, DataType dtype) {
  const std::string_view name = call.op->name;
  if (name.starts_with("call_llvm")) {
    const Expr whole = Expr::Make(dtype, call);
    if (const std::optional<DotUse> dot = AsDotInstruction(whole))
      return HasDot(dot->instruction->feature) ? EmitDot(*dot, dtype) : EmitExpr(*PlainCall(whole));
  }
  const bool has_handle = std::any_of(call.args.begin(), call.args.end(),
                                      [](const Expr& arg) { return arg.dtype().code == DataType::Code::kHandle; });
  const bool is_foreign = call.op->num_args < 0 || has_handle || dtype.code == DataType::Code::kHandle;
  if (is_foreign && name != "tvm_storage_sync") {  // Nothing here knows it, and a kernel has no undefined symbol.
    const StringImm* symbol = call.args.empty() ? nullptr : call.args[0].As<StringImm>();
    Fail(symbol == nullptr ? fmt::format("no code for T.{}", name)
                           : fmt::format("no code for T.{}(\"{}\")", name, symbol->value));
    return Poison(DataType::Int(32));
  }
  if (call.op->num_args >= 0 && static_cast<size_t>(call.op->num_args) != call.args.size()) {
    Fail(fmt::format("T.{}: {} arguments, it takes {}", name, call.args.size(), call.op->num_args));
    return Poison(dtype);
  }
  if (name == "if_then_else") return EmitIfThenElseCall(call, dtype);
  if (name == "ret") return EmitReturn(call);
  if (name == "undef") return llvm::Constant::getNullValue(ValueType(dtype));  // The same wherever it runs.
  if (name == "assume" || name == "tvm_storage_sync")
    return Poison(DataType::Int(32));  // One thread at a time needs neither.
  if (name == "reinterpret") {
    Value* value = EmitExpr(call.args[0]);
    const DataType from = call.args[0].dtype();
    if (!error_.ok()) return Poison(dtype);
    if (from.bits * from.lanes != dtype.bits * dtype.lanes) {
      Fail(fmt::format("T.reinterpret from {} to {} changes the size", from.ToString(), dtype.ToString()));
      return Poison(dtype);
    }
    return FromMemory(b_.CreateBitCast(ToMemory(value, from), MemoryType(dtype)), dtype);
  }
  if (name == "vectorlow" || name == "vector_reduce_add") {
    Value* value = EmitExpr(call.args[0]);
    if (!error_.ok()) return Poison(dtype);
    if (!value->getType()->isVectorTy()) return value;
    if (name == "vectorlow") {
      std::vector<int> lanes(dtype.lanes);
      for (int lane = 0; lane < dtype.lanes; ++lane) lanes[static_cast<size_t>(lane)] = lane;
      return b_.CreateShuffleVector(value, lanes);
    }
    if (!dtype.is_float()) return b_.CreateAddReduce(value);
    // A horizontal sum that the schedule asked for: lanes may be added in any order.
    auto* sum = llvm::cast<llvm::Instruction>(
        b_.CreateFAddReduce(llvm::ConstantFP::getNegativeZero(value->getType()->getScalarType()), value));
    llvm::FastMathFlags flags = b_.getFastMathFlags();
    flags.setAllowReassoc();
    sum->setFastMathFlags(flags);
    return RoundTo16Bits(sum, dtype);
  }
  return (call.args.empty() ? dtype : call.args[0].dtype()).is_float() ? EmitFloatCall(name, call, dtype)
                                                                       : EmitIntCall(name, call, dtype);
}

// The widths below 512 bits came with AVX-512 as well, encoded otherwise.
bool KernelEmitter::HasDot(std::string_view feature) const {
  return target_.Has(feature) || (feature == "avxvnni" && target_.Has("avx512vnni") && target_.Has("avx512vl"));
}

Value* KernelEmitter::EmitDot(const DotUse& dot, DataType dtype) {
  std::vector<Value*> args;
  for (const Expr& arg : dot.args) {
    Value* value = EmitExpr(arg);
    if (!error_.ok()) return Poison(dtype);
    llvm::Type* type = arg.dtype().code == DataType::Code::kBFloat
                           ? llvm::FixedVectorType::get(b_.getBFloatTy(), arg.dtype().lanes)
                           : value->getType();
    args.push_back(b_.CreateBitCast(ToMemory(value, arg.dtype()), type));
  }
  const std::string name(dot.instruction->name);
  const llvm::Intrinsic::ID id = llvm::Function::lookupIntrinsicID(name);
  if (!llvm::Intrinsic::isOverloaded(id)) return b_.CreateIntrinsic(id, {}, args);
  return b_.CreateIntrinsic(id, {args[0]->getType(), args[1]->getType()}, args);
}

// Ends the kernel; what a program returns was stored before (return_by_buffer.h).
Value* KernelEmitter::EmitReturn(const Call& call) {
  if (in_parallel_ || mask_ != nullptr) Fail("T.ret inside of a loop whose iterations run side by side");
  if (!IsConstInt(call.args[0], 0)) Fail("T.ret of a value; run return_by_buffer before");
  ReturnFromHere(b_.getInt32(LATHE_KERNEL_OK));
  b_.SetInsertPoint(NewBlock("after.return"));
  return b_.getInt32(0);
}

static std::string WhyNotCallable(std::string_view name, const std::vector<Expr>& args) {
  if (args.size() != 2) return "";
  const DataType first = args[0].dtype().element(), second = args[1].dtype().element();
  if (name == "ldexp") return second.is_int() ? "" : "T.ldexp takes an exponent of integers; cast it";
  return first == second ? "" : fmt::format("T.{} of two types; cast one", name);
}

Value* KernelEmitter::EmitFloatCall(std::string_view name, const Call& call, DataType dtype) {
  if (const std::string why = WhyNotCallable(name, call.args); !why.empty()) {
    Fail(why);
    return Poison(dtype);
  }
  std::vector<Value*> args;
  for (const Expr& arg : call.args) args.push_back(EmitExpr(arg));
  if (!error_.ok()) return Poison(dtype);
  using Unary = Value* (MachineMath::*)(Value*);
  static constexpr std::pair<std::string_view, Unary> kUnary[] = {
      {"abs", &MachineMath::Abs},   {"ceil", &MachineMath::Ceil},           {"floor", &MachineMath::Floor},
      {"sqrt", &MachineMath::Sqrt}, {"nearbyint", &MachineMath::NearbyInt}, {"trunc", &MachineMath::Trunc},
  };
  for (const auto& [known, method] : kUnary) {
    if (known == name) return RoundTo16Bits((math_.*method)(args[0]), dtype);
  }
  if (name == "copysign") return RoundTo16Bits(math_.CopySign(args[0], args[1]), dtype);
  if (name == "scalef") return RoundTo16Bits(math_.Scalef(args[0], args[1]), dtype);
  if (name == "fmod") return RoundTo16Bits(b_.CreateFRem(args[0], args[1]), dtype);
  if (name == "isnan") return b_.CreateFCmpUNO(args[0], args[0]);
  if (name == "isinf" || name == "isfinite") {
    Value* infinity = llvm::ConstantFP::getInfinity(args[0]->getType());
    return name == "isinf" ? b_.CreateFCmpOEQ(math_.Abs(args[0]), infinity)
                           : b_.CreateFCmpOLT(math_.Abs(args[0]), infinity);
  }
  if (name == "infinity") return llvm::ConstantFP::getInfinity(ValueType(dtype));
  if (name == "max_value" || name == "min_value") {
    const double sign = name == "max_value" ? 1 : -1;
    const double largest = dtype.bits == 64                       ? std::numeric_limits<double>::max()
                           : dtype.bits == 32                     ? std::numeric_limits<float>::max()
                           : dtype.code == DataType::Code::kFloat ? 65504
                                                                  : 0x1.fep127;
    return llvm::ConstantFP::get(ValueType(dtype), sign * largest);
  }
  if (name == "fmuladd") return RoundTo16Bits(math_.MulAdd(args[0], args[1], args[2]), dtype);
  if (name == "fma") return RoundTo16Bits(math_.Fma(args[0], args[1], args[2]), dtype);
  Fail(fmt::format("T.{} of {} has no code for a CPU", name, dtype.ToString()));
  return Poison(dtype);
}

Value* KernelEmitter::EmitIntCall(std::string_view name, const Call& call, DataType dtype) {
  std::vector<Value*> args;
  for (const Expr& arg : call.args) args.push_back(EmitExpr(arg));
  if (!error_.ok()) return Poison(dtype);
  if (name.starts_with("bitwise_") || name.starts_with("shift_")) {
    if (args.size() == 2 && args[0]->getType() != args[1]->getType()) {
      Fail(fmt::format("T.{} of two types; cast one", name));
      return Poison(dtype);
    }
    if (name == "bitwise_and") return b_.CreateAnd(args[0], args[1]);
    if (name == "bitwise_or") return b_.CreateOr(args[0], args[1]);
    if (name == "bitwise_xor") return b_.CreateXor(args[0], args[1]);
    if (name == "bitwise_not") return b_.CreateNot(args[0]);
    if (name == "shift_left") return b_.CreateShl(args[0], args[1]);
    return dtype.is_signed_int() ? b_.CreateAShr(args[0], args[1]) : b_.CreateLShr(args[0], args[1]);
  }
  if (name == "abs")
    return dtype.is_signed_int() ? b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, args[0], b_.getInt1(false)) : args[0];
  if (name == "popcount") return b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, args[0]);
  if (name == "clz") {
    Value* zeros = b_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, args[0], b_.getFalse());
    return b_.CreateZExtOrTrunc(zeros, ValueType(dtype));
  }
  if (name == "isnan" || name == "isinf") return llvm::ConstantInt::getFalse(ValueType(dtype));
  if (name == "isfinite") return llvm::ConstantInt::getTrue(ValueType(dtype));
  if (name == "floor" || name == "ceil" || name == "round" || name == "trunc" || name == "nearbyint") return args[0];
  if ((name == "max_value" || name == "min_value") && dtype.is_int()) {
    const unsigned bits = dtype.bits;
    const bool is_max = name == "max_value";
    const llvm::APInt value =
        dtype.is_signed_int() ? (is_max ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getSignedMinValue(bits))
                              : (is_max ? llvm::APInt::getMaxValue(bits) : llvm::APInt::getMinValue(bits));
    return llvm::ConstantInt::get(ValueType(dtype), value);
  }
  Fail(fmt::format("T.{} of {} has no code for a CPU; cast its argument to a float", name, dtype.ToString()));
  return Poison(dtype);
}

static bool IsUndefined(const Expr& e) {
  const Broadcast* broadcast = e.As<Broadcast>();
  return AsCall(broadcast == nullptr ? e : broadcast->value, "undef") != nullptr;
}

// What can be computed where the guard does not hold.
static bool IsSafeAnywhere(const Expr& index) {
  bool is_safe = !HasLoad(index);
  PostOrderVisit(index, [&](const Expr& e) { is_safe &= !MayTrap(e) && e.As<Call>() == nullptr; });
  return is_safe;
}

// T.if_then_else(condition, A[i], 0.0) without a branch, which would cut a tile of registers in pieces: where the guard
// does not hold, the load reads a constant of the module. nullptr: the call is none such, or there was an error.
Value* KernelEmitter::EmitGuardedLoad(const Call& call, Value* condition, DataType dtype) {
  const BufferLoad* load = call.args[1].As<BufferLoad>();
  if (load == nullptr || load->predicate || mask_ != nullptr || load->buffer->scope != "global" ||
      call.args[1].dtype() != dtype || !std::all_of(load->indices.begin(), load->indices.end(), IsSafeAnywhere))
    return nullptr;
  const Expr& other = call.args[2].As<Broadcast>() == nullptr ? call.args[2] : call.args[2].As<Broadcast>()->value;
  const bool is_number = other.As<FloatImm>() != nullptr || other.As<IntImm>() != nullptr;
  auto* constant = is_number ? llvm::dyn_cast<llvm::Constant>(Splat(EmitExpr(call.args[2]), dtype.lanes)) : nullptr;
  const BufferValue* buffer = constant == nullptr ? nullptr : FindBuffer(load->buffer);
  if (buffer == nullptr || constant->getType() != MemoryType(dtype)) return nullptr;
  const Address address = EmitAddress(load->buffer, load->indices, dtype.lanes);
  if (!error_.ok() || !address.is_contiguous) return nullptr;
  auto* otherwise = new llvm::GlobalVariable(module_, constant->getType(), /*isConstant=*/true,
                                             llvm::GlobalValue::PrivateLinkage, constant, "otherwise");
  otherwise->setAlignment(address.alignment);
  otherwise->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  llvm::Instruction* value = b_.CreateAlignedLoad(
      constant->getType(), b_.CreateSelect(condition, address.pointer, otherwise), address.alignment);
  AddAliasMetadata(value, *buffer);
  return value;
}

// Evaluates one of its two values, so that a guard keeps loads inside their buffer.
Value* KernelEmitter::EmitIfThenElseCall(const Call& call, DataType dtype) {
  Value* condition = EmitCondition(call.args[0]);
  if (!error_.ok()) return Poison(dtype);
  if (condition->getType()->isVectorTy()) {
    Value *a = nullptr, *b = nullptr;
    InLanes(condition, [&] { a = EmitExpr(call.args[1]); });
    if (error_.ok() && IsUndefined(call.args[2])) return Splat(a, dtype.lanes);  // Whatever is in lanes that are off.
    InLanes(b_.CreateNot(condition), [&] { b = EmitExpr(call.args[2]); });
    return error_.ok() ? b_.CreateSelect(condition, Splat(a, dtype.lanes), Splat(b, dtype.lanes)) : Poison(dtype);
  }
  if (Value* loaded = EmitGuardedLoad(call, condition, dtype)) return loaded;
  if (!error_.ok()) return Poison(dtype);
  llvm::BasicBlock *then_block = NewBlock("value.then"), *else_block = NewBlock("value.else"), *end = NewBlock("value");
  b_.CreateCondBr(condition, then_block, else_block);
  b_.SetInsertPoint(then_block);
  Value* a = EmitExpr(call.args[1]);
  llvm::BasicBlock* then_end = b_.GetInsertBlock();
  b_.CreateBr(end);
  b_.SetInsertPoint(else_block);
  Value* b = EmitExpr(call.args[2]);
  llvm::BasicBlock* else_end = b_.GetInsertBlock();
  b_.CreateBr(end);
  b_.SetInsertPoint(end);
  if (!error_.ok()) return Poison(dtype);
  if (a->getType() != b->getType()) {
    Fail("T.if_then_else with values of two types; cast one");
    return Poison(dtype);
  }
  llvm::PHINode* result = b_.CreatePHI(a->getType(), 2);
  result->addIncoming(a, then_end);
  result->addIncoming(b, else_end);
  return result;
}

}  // namespace lathe
