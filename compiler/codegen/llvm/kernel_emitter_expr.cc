// Values: everything that is not an address.
#include <fmt/format.h>

#include "compiler/codegen/llvm/kernel_emitter.h"
#include "compiler/codegen/llvm/uses.h"
#include "compiler/ir/may_trap.h"
#include "compiler/ir/visitor.h"
#include "llvm/IR/PatternMatch.h"

namespace lathe {
namespace {

using llvm::Value;
using namespace llvm::PatternMatch;  // NOLINT: its names are made for it.

constexpr int kMostLanes = 1024;
constexpr int kMaxExprDepth = 2000;

bool Is16Bit(DataType dtype) { return dtype.is_float() && dtype.bits == 16; }

bool IsComparison(BinaryOp op) { return op >= BinaryOp::kEQ && op <= BinaryOp::kGE; }

}  // namespace

bool KernelEmitter::CheckType(DataType dtype) {
  const int bits = dtype.bits;
  bool is_known = dtype.lanes >= 1 && dtype.lanes <= kMostLanes && !dtype.is_scalable;
  if (dtype.is_int())
    is_known = is_known && (bits == 8 || bits == 16 || bits == 32 || bits == 64);
  else if (dtype.code == DataType::Code::kFloat)
    is_known = is_known && (bits == 16 || bits == 32 || bits == 64);
  else if (dtype.code == DataType::Code::kBFloat)
    is_known = is_known && bits == 16;
  else
    is_known = is_known && dtype.is_bool();
  if (!is_known)
    Fail(fmt::format(
        "no code for type {}; cast to int8..64, uint8..64, float16..64, bfloat16 or bool with at most {} lanes",
        dtype.ToString(), kMostLanes));
  return is_known;
}

llvm::Type* KernelEmitter::ValueType(DataType dtype) {
  if (!CheckType(dtype)) return b_.getInt32Ty();
  llvm::Type* element = dtype.is_bool()    ? static_cast<llvm::Type*>(b_.getInt1Ty())
                        : dtype.is_int()   ? static_cast<llvm::Type*>(b_.getIntNTy(dtype.bits))
                        : dtype.bits == 64 ? b_.getDoubleTy()
                                           : b_.getFloatTy();
  return dtype.lanes == 1 ? element : llvm::FixedVectorType::get(element, dtype.lanes);
}

llvm::Type* KernelEmitter::MemoryType(DataType dtype) {
  if (!dtype.is_bool() && !Is16Bit(dtype)) return ValueType(dtype);
  if (!CheckType(dtype)) return b_.getInt32Ty();
  llvm::Type* element = dtype.is_bool()                         ? static_cast<llvm::Type*>(b_.getInt8Ty())
                        : dtype.code == DataType::Code::kBFloat ? b_.getInt16Ty()
                                                                : b_.getHalfTy();
  return dtype.lanes == 1 ? element : llvm::FixedVectorType::get(element, dtype.lanes);
}

Value* KernelEmitter::Poison(DataType dtype) { return llvm::PoisonValue::get(ValueType(dtype)); }

Value* KernelEmitter::Splat(Value* scalar, int lanes) {
  if (lanes == 1 || scalar->getType()->isVectorTy()) return scalar;
  const auto count = llvm::ElementCount::getFixed(static_cast<unsigned>(lanes));
  if (auto* constant = llvm::dyn_cast<llvm::Constant>(scalar)) return llvm::ConstantVector::getSplat(count, constant);
  return b_.CreateVectorSplat(count, scalar);
}

const KernelEmitter::BufferValue* KernelEmitter::FindBuffer(const Buffer& buffer) {
  const auto found = buffers_.find(buffer.get());
  if (found != buffers_.end()) return &found->second;
  if (IsInTiles(buffer))
    Fail(
        fmt::format("buffer \"{}\" is in tile registers, which only AMX's tensor intrinsics reach; give it another "
                    "scope",
                    buffer->name));
  Fail(fmt::format("buffer \"{}\" is neither a parameter nor allocated around its use", buffer->name));
  return nullptr;
}

Value* KernelEmitter::FromMemory(Value* value, DataType dtype) {
  llvm::Type* type = ValueType(dtype);
  if (dtype.is_bool()) return b_.CreateICmpNE(value, llvm::ConstantInt::get(value->getType(), 0));
  if (!Is16Bit(dtype)) return value;
  if (dtype.code == DataType::Code::kFloat) return b_.CreateFPExt(value, type);
  llvm::Type* wide = type->getWithNewType(b_.getInt32Ty());
  return b_.CreateBitCast(b_.CreateShl(b_.CreateZExt(value, wide), llvm::ConstantInt::get(wide, 16)), type);
}

Value* KernelEmitter::ToMemory(Value* value, DataType dtype) {
  llvm::Type* type = MemoryType(dtype);
  if (dtype.is_bool()) return b_.CreateZExt(value, type);
  if (!Is16Bit(dtype)) return value;
  if (dtype.code == DataType::Code::kFloat) return b_.CreateFPTrunc(value, type);
  if (Value* loaded = nullptr;
      match(value, m_BitCast(m_Shl(m_ZExt(m_Value(loaded)), m_SpecificInt(16)))) && loaded->getType() == type)
    return loaded;  // What FromMemory has made of it.
  llvm::Type* wide = value->getType()->getWithNewType(b_.getInt32Ty());
  const auto number = [&](uint64_t n) { return llvm::ConstantInt::get(wide, n); };
  Value* bits = b_.CreateBitCast(value, wide);  // Nearest, halves to even; a NaN stays one.
  Value* odd = b_.CreateAnd(b_.CreateLShr(bits, number(16)), number(1));
  Value* rounded = b_.CreateLShr(b_.CreateAdd(bits, b_.CreateAdd(odd, number(0x7fff))), number(16));
  Value* quiet = b_.CreateOr(b_.CreateLShr(bits, number(16)), number(0x40));
  return b_.CreateTrunc(b_.CreateSelect(b_.CreateFCmpUNO(value, value), quiet, rounded), type);
}

Value* KernelEmitter::RoundTo16Bits(Value* value, DataType dtype) {
  return Is16Bit(dtype) && error_.ok() ? FromMemory(ToMemory(value, dtype), dtype) : value;
}

Value* KernelEmitter::EmitExpr(const Expr& e) {
  const DataType dtype = e.dtype();
  if (!error_.ok()) return Poison(DataType::Int(32));
  if (e.As<StringImm>() == nullptr && dtype.code != DataType::Code::kHandle && !CheckType(dtype))
    return Poison(DataType::Int(32));
  if (depth_ > kMaxExprDepth) {
    Fail(fmt::format("expressions are nested more than {} deep; simplify the function", kMaxExprDepth));
    return Poison(dtype);
  }
  ++depth_;
  Value* value = VisitNode(e, [&](const auto& node) -> Value* {
    using T = std::decay_t<decltype(node)>;
    if constexpr (std::is_same_v<T, IntImm>) {
      return llvm::ConstantInt::get(ValueType(dtype), static_cast<uint64_t>(node.value), true);
    } else if constexpr (std::is_same_v<T, FloatImm>) {
      if (!Is16Bit(dtype)) return llvm::ConstantFP::get(ValueType(dtype), node.value);
      llvm::APFloat exact(node.value);
      bool loses = false;
      exact.convert(dtype.code == DataType::Code::kFloat ? llvm::APFloat::IEEEhalf() : llvm::APFloat::BFloat(),
                    llvm::APFloat::rmNearestTiesToEven, &loses);
      exact.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &loses);
      return llvm::ConstantFP::get(ValueType(dtype), exact);
    } else if constexpr (std::is_same_v<T, StringImm>) {
      Fail("a string is no value of a kernel");
      return Poison(DataType::Int(32));
    } else if constexpr (std::is_same_v<T, VarName>) {
      const auto found = vars_.find(e.get());
      if (found != vars_.end()) return found->second.value;
      Fail(fmt::format("variable \"{}\" is not defined around its use", node.name));
      return Poison(dtype);
    } else if constexpr (std::is_same_v<T, Binary>) {
      return EmitBinary(node, dtype);
    } else if constexpr (std::is_same_v<T, Not>) {
      return b_.CreateNot(EmitExpr(node.a));
    } else if constexpr (std::is_same_v<T, Cast>) {
      return EmitCast(node.value, dtype);
    } else if constexpr (std::is_same_v<T, Select>) {
      Value *condition = EmitCondition(node.condition), *a = EmitExpr(node.true_value), *b = EmitExpr(node.false_value);
      return b_.CreateSelect(condition, Splat(a, dtype.lanes), Splat(b, dtype.lanes));
    } else if constexpr (std::is_same_v<T, BufferLoad>) {
      return EmitLoad(node, dtype);
    } else if constexpr (std::is_same_v<T, Ramp>) {
      if (node.lanes != dtype.lanes || !dtype.is_int()) {
        Fail("a ramp has other lanes than its type");
        return Poison(dtype);
      }
      std::vector<llvm::Constant*> lanes;
      for (int lane = 0; lane < dtype.lanes; ++lane)
        lanes.push_back(llvm::ConstantInt::get(ValueType(dtype.element()), static_cast<uint64_t>(lane)));
      Value *base = EmitExpr(node.base), *stride = EmitExpr(node.stride);
      return b_.CreateAdd(Splat(base, dtype.lanes),
                          b_.CreateMul(Splat(stride, dtype.lanes), llvm::ConstantVector::get(lanes)));
    } else if constexpr (std::is_same_v<T, Broadcast>) {
      Value* scalar = EmitExpr(node.value);
      if (scalar->getType()->isVectorTy() || node.lanes != dtype.lanes) {
        Fail("a broadcast of a vector; broadcast its lanes one by one");
        return Poison(dtype);
      }
      return Splat(scalar, dtype.lanes);
    } else if constexpr (std::is_same_v<T, Let>) {
      BindVar(node.var, EmitExpr(node.value));
      return EmitExpr(node.body);
    } else if constexpr (std::is_same_v<T, Shuffle>) {
      return EmitShuffle(node, dtype);
    } else if constexpr (std::is_same_v<T, FuncCall>) {
      Fail(fmt::format("a call of function \"{}\"; a kernel has no undefined symbol: inline it", node.callee));
      return Poison(dtype);
    } else if constexpr (std::is_same_v<T, Reduce>) {
      Fail("T.Reduce as a value; write a block with T.axis.reduce");
      return Poison(dtype);
    } else {
      static_assert(std::is_same_v<T, Call>);
      return EmitCall(node, dtype);
    }
  });
  --depth_;
  return error_.ok() ? value : Poison(DataType::Int(32));
}

Value* KernelEmitter::EmitShuffle(const Shuffle& shuffle, DataType dtype) {
  std::vector<Value*> vectors;
  std::vector<int> picks;
  int64_t num_lanes = 0;
  for (const Expr& e : shuffle.vectors) {
    vectors.push_back(EmitExpr(e));
    if (!error_.ok()) return Poison(dtype);
    num_lanes += e.dtype().lanes;
  }
  for (const Expr& index : shuffle.indices) {
    const int64_t* lane = AsIntConst(index);
    if (lane == nullptr || *lane < 0 || *lane >= num_lanes) {
      Fail("T.Shuffle picks a lane that is no constant or not there");
      return Poison(dtype);
    }
    picks.push_back(static_cast<int>(*lane));
  }
  // Pairs stay pairs: of single lanes LLVM would make instructions of its own choice.
  const bool is_pair = vectors.size() == 2 && vectors[0]->getType()->isVectorTy();
  if (!dtype.is_scalar() && is_pair && vectors[0]->getType() == vectors[1]->getType())
    return b_.CreateShuffleVector(vectors[0], vectors[1], picks);
  std::vector<Value*> lanes;
  for (Value* vector : vectors) {
    const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(vector->getType());
    for (uint64_t i = 0; i < (type == nullptr ? 1 : type->getNumElements()); ++i)
      lanes.push_back(type == nullptr ? vector : b_.CreateExtractElement(vector, i));
  }
  if (dtype.is_scalar()) return lanes[static_cast<size_t>(picks[0])];
  Value* result = Poison(dtype);
  for (uint64_t i = 0; i < picks.size(); ++i)
    result = b_.CreateInsertElement(result, lanes[static_cast<size_t>(picks[i])], i);
  return result;
}

Value* KernelEmitter::EmitCondition(const Expr& condition) {
  if (!condition.dtype().is_bool() && !condition.dtype().is_int())
    Fail(fmt::format("condition of type {}; compare it with something", condition.dtype().ToString()));
  Value* value = EmitExpr(condition);
  if (!error_.ok()) return llvm::PoisonValue::get(b_.getInt1Ty());
  return condition.dtype().is_bool() ? value : b_.CreateICmpNE(value, llvm::ConstantInt::get(value->getType(), 0));
}

Value* KernelEmitter::EmitBinary(const Binary& binary, DataType dtype) {
  if (binary.op == BinaryOp::kAnd || binary.op == BinaryOp::kOr) return EmitLogical(binary);
  const DataType operand = binary.a.dtype();
  if (operand != binary.b.dtype()) {
    Fail(fmt::format("operands of types {} and {}; cast one", operand.ToString(), binary.b.dtype().ToString()));
    return Poison(dtype);
  }
  if (IsComparison(binary.op) && IsPlainIndex(binary.a) && IsPlainIndex(binary.b)) {
    const IndexValue a = EmitIndex(binary.a), b = EmitIndex(binary.b);
    if (a.is_exact && b.is_exact) return EmitIntBinary(binary.op, a.value, b.value, true);
  }
  Value *a = EmitExpr(binary.a), *b = EmitExpr(binary.b);
  if (!error_.ok()) return Poison(dtype);
  if (operand.is_float()) {
    Value* value = EmitFloatBinary(binary.op, a, b);
    return IsComparison(binary.op) ? value : RoundTo16Bits(value, dtype);
  }
  return EmitIntBinary(binary.op, a, b, operand.is_signed_int());
}

Value* KernelEmitter::EmitFloatBinary(BinaryOp op, Value* a, Value* b) {
  switch (op) {
    case BinaryOp::kAdd:
      return b_.CreateFAdd(a, b);
    case BinaryOp::kSub:
      return b_.CreateFSub(a, b);
    case BinaryOp::kMul:
      return b_.CreateFMul(a, b);
    case BinaryOp::kDiv:
      return b_.CreateFDiv(a, b);
    case BinaryOp::kFloorDiv:
      return math_.Floor(b_.CreateFDiv(a, b));
    case BinaryOp::kFloorMod:
      return b_.CreateFSub(a, b_.CreateFMul(math_.Floor(b_.CreateFDiv(a, b)), b));
    case BinaryOp::kTruncMod:
      return b_.CreateFSub(a, b_.CreateFMul(math_.Trunc(b_.CreateFDiv(a, b)), b));
    case BinaryOp::kMin:  // The first operand where they do not compare: max(x, 0) keeps NaN, in one instruction.
      return b_.CreateSelect(b_.CreateFCmpOLT(b, a), b, a);
    case BinaryOp::kMax:
      return b_.CreateSelect(b_.CreateFCmpOGT(b, a), b, a);
    case BinaryOp::kEQ:
      return b_.CreateFCmpOEQ(a, b);
    case BinaryOp::kNE:
      return b_.CreateFCmpUNE(a, b);
    case BinaryOp::kLT:
      return b_.CreateFCmpOLT(a, b);
    case BinaryOp::kLE:
      return b_.CreateFCmpOLE(a, b);
    case BinaryOp::kGT:
      return b_.CreateFCmpOGT(a, b);
    case BinaryOp::kGE:
      return b_.CreateFCmpOGE(a, b);
    default:
      return a;
  }
}

// Lanes that are off divide by 1: what they hold is nothing that the program computes, and may be 0.
Value* KernelEmitter::DivisorOfLanes(Value* divisor) {
  if (mask_ == nullptr || llvm::isa<llvm::Constant>(divisor)) return divisor;
  const auto lanes_of = [](Value* value) {
    const auto* type = llvm::dyn_cast<llvm::VectorType>(value->getType());
    return type == nullptr ? 1 : type->getElementCount().getKnownMinValue();
  };
  Value* is_on = lanes_of(divisor) == lanes_of(mask_) ? mask_ : b_.CreateOrReduce(mask_);
  return b_.CreateSelect(is_on, divisor, llvm::ConstantInt::get(divisor->getType(), 1));
}

Value* KernelEmitter::EmitIntBinary(BinaryOp op, Value* a, Value* b, bool is_signed) {
  using P = llvm::CmpInst::Predicate;
  const auto compare = [&](P when_signed, P when_unsigned) {
    return b_.CreateICmp(is_signed ? when_signed : when_unsigned, a, b);
  };
  Value* zero = llvm::ConstantInt::get(a->getType(), 0);
  if (IsDivision(op)) b = DivisorOfLanes(b);
  switch (op) {
    case BinaryOp::kAdd:
      return b_.CreateAdd(a, b);
    case BinaryOp::kSub:
      return b_.CreateSub(a, b);
    case BinaryOp::kMul:
      return b_.CreateMul(a, b);
    case BinaryOp::kDiv:
      return is_signed ? b_.CreateSDiv(a, b) : b_.CreateUDiv(a, b);
    case BinaryOp::kTruncMod:
      return is_signed ? b_.CreateSRem(a, b) : b_.CreateURem(a, b);
    case BinaryOp::kFloorDiv:
    case BinaryOp::kFloorMod: {
      if (!is_signed) return op == BinaryOp::kFloorDiv ? b_.CreateUDiv(a, b) : b_.CreateURem(a, b);
      Value *quotient = b_.CreateSDiv(a, b), *rest = b_.CreateSRem(a, b);
      // A rest whose sign is not the divisor's belongs one step lower.
      Value* is_off = b_.CreateAnd(b_.CreateICmpNE(rest, zero), b_.CreateICmpSLT(b_.CreateXor(rest, b), zero));
      if (op == BinaryOp::kFloorDiv) return b_.CreateSub(quotient, b_.CreateZExt(is_off, a->getType()));
      return b_.CreateSelect(is_off, b_.CreateAdd(rest, b), rest);
    }
    case BinaryOp::kMin:
      return b_.CreateSelect(compare(P::ICMP_SLT, P::ICMP_ULT), a, b);
    case BinaryOp::kMax:
      return b_.CreateSelect(compare(P::ICMP_SGT, P::ICMP_UGT), a, b);
    case BinaryOp::kEQ:
      return b_.CreateICmpEQ(a, b);
    case BinaryOp::kNE:
      return b_.CreateICmpNE(a, b);
    case BinaryOp::kLT:
      return compare(P::ICMP_SLT, P::ICMP_ULT);
    case BinaryOp::kLE:
      return compare(P::ICMP_SLE, P::ICMP_ULE);
    case BinaryOp::kGT:
      return compare(P::ICMP_SGT, P::ICMP_UGT);
    case BinaryOp::kGE:
      return compare(P::ICMP_SGE, P::ICMP_UGE);
    default:
      return a;
  }
}

// The right side is not evaluated where the left one decides and the right one reads memory: i < n and A[i] > 0.
Value* KernelEmitter::EmitLogical(const Binary& binary) {
  const bool is_and = binary.op == BinaryOp::kAnd;
  Value* a = EmitCondition(binary.a);
  const bool is_vector = binary.a.dtype().lanes > 1;
  if (is_vector || !(HasLoad(binary.b) || DividesByParts(binary.b))) {
    Value* b = nullptr;
    const auto emit = [&] { b = EmitCondition(binary.b); };
    is_vector&& error_.ok() ? InLanes(is_and ? a : b_.CreateNot(a), emit) : emit();
    return is_and ? b_.CreateAnd(a, b) : b_.CreateOr(a, b);
  }
  llvm::BasicBlock *before = b_.GetInsertBlock(), *right = NewBlock("right"), *end = NewBlock("decided");
  is_and ? b_.CreateCondBr(a, right, end) : b_.CreateCondBr(a, end, right);
  b_.SetInsertPoint(right);
  Value* b = EmitCondition(binary.b);
  llvm::BasicBlock* right_end = b_.GetInsertBlock();
  b_.CreateBr(end);
  b_.SetInsertPoint(end);
  llvm::PHINode* result = b_.CreatePHI(b_.getInt1Ty(), 2);
  result->addIncoming(b_.getInt1(!is_and), before);
  result->addIncoming(b, right_end);
  return result;
}

Value* KernelEmitter::EmitCast(const Expr& source, DataType to) {
  const DataType from = source.dtype();
  Value* value = EmitExpr(source);
  if (!error_.ok()) return Poison(to);
  if (from.lanes != to.lanes) {
    Fail(fmt::format("cast from {} to {} changes the lanes; broadcast instead", from.ToString(), to.ToString()));
    return Poison(to);
  }
  llvm::Type* type = ValueType(to);
  if (to.is_bool()) {
    if (from.is_bool()) return value;
    return from.is_float() ? b_.CreateFCmpUNE(value, llvm::ConstantFP::get(value->getType(), 0))
                           : b_.CreateICmpNE(value, llvm::ConstantInt::get(value->getType(), 0));
  }
  if (from.is_float() && to.is_float()) return RoundTo16Bits(b_.CreateFPCast(value, type), to);
  if (from.is_float()) {  // NaN becomes 0 and what is too large the nearest end, on every target alike.
    return b_.CreateIntrinsic(to.is_signed_int() ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat,
                              {type, value->getType()}, {value});
  }
  if (to.is_float())
    return RoundTo16Bits(from.is_signed_int() ? b_.CreateSIToFP(value, type) : b_.CreateUIToFP(value, type), to);
  return b_.CreateIntCast(value, type, from.is_signed_int());
}

}  // namespace lathe
