// Addresses: index expressions in 64 bits with known ranges, so that divisions of what cannot be negative become shifts
// and masks.
#include <fmt/format.h>

#include "compiler/codegen/llvm/kernel_emitter.h"

namespace lathe {
namespace {

using llvm::Value;

int64_t Clamp(__int128 value) {
  if (value > std::numeric_limits<int64_t>::max()) return std::numeric_limits<int64_t>::max();
  if (value < std::numeric_limits<int64_t>::min()) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

bool Fits(const IndexValue& index, DataType dtype) {
  return index.low >= llvm::minIntN(dtype.bits) && index.high <= llvm::maxIntN(dtype.bits);
}

}  // namespace

// Made of variables, constants and arithmetic only: nothing in it wraps on purpose.
bool KernelEmitter::IsPlainIndex(const Expr& e) {
  if (!e.dtype().is_signed_int() || !e.dtype().is_scalar()) return false;
  if (e.As<IntImm>() != nullptr || IsVar(e)) return true;
  if (const auto* binary = e.As<Binary>()) return IsPlainIndex(binary->a) && IsPlainIndex(binary->b);
  if (const auto* cast = e.As<Cast>()) return IsPlainIndex(cast->value);
  return false;
}

IndexValue KernelEmitter::ConstantIndex(int64_t value) {
  return {.value = b_.getInt64(static_cast<uint64_t>(value)), .low = value, .high = value};
}

IndexValue KernelEmitter::EmitIndex(const Expr& e) {
  const DataType dtype = e.dtype();
  if (!dtype.is_scalar() || (!dtype.is_int() && !dtype.is_bool()) || !CheckType(dtype)) {
    Fail(fmt::format("index of type {}; use a scalar integer", dtype.ToString()));
    return {.value = llvm::PoisonValue::get(b_.getInt64Ty())};
  }
  if (const auto* constant = e.As<IntImm>()) return ConstantIndex(constant->value);
  if (IsVar(e)) {
    const auto found = vars_.find(e.get());
    if (found != vars_.end() && found->second.index.value != nullptr) return found->second.index;
  }
  if (dtype.is_signed_int()) {
    if (const auto* binary = e.As<Binary>()) return EmitBinaryIndex(*binary, dtype);
    if (const auto* cast = e.As<Cast>(); cast != nullptr && cast->value.dtype().is_signed_int()) {
      IndexValue inner = EmitIndex(cast->value);
      inner.is_exact = inner.is_exact && Fits(inner, dtype);
      return inner;
    }
  }
  Value* value = EmitExpr(e);
  const bool is_signed = dtype.is_signed_int();
  const int bits = dtype.is_bool() ? 1 : dtype.bits;
  IndexValue index{.value = is_signed ? b_.CreateSExt(value, b_.getInt64Ty()) : b_.CreateZExt(value, b_.getInt64Ty())};
  index.low = is_signed ? llvm::minIntN(bits) : bits == 64 ? index.low : 0;
  index.high = is_signed ? llvm::maxIntN(bits) : bits == 64 ? index.high : static_cast<int64_t>(llvm::maxUIntN(bits));
  return index;
}

IndexValue KernelEmitter::EmitBinaryIndex(const Binary& binary, DataType dtype) {
  const IndexValue a = EmitIndex(binary.a), b = EmitIndex(binary.b);
  IndexValue result;
  const auto span = [&](std::initializer_list<__int128> values) {
    result.low = Clamp(std::min(values));
    result.high = Clamp(std::max(values));
  };
  switch (binary.op) {
    case BinaryOp::kAdd:
      result.value = b_.CreateNSWAdd(a.value, b.value);
      span({static_cast<__int128>(a.low) + b.low, static_cast<__int128>(a.high) + b.high});
      break;
    case BinaryOp::kSub:
      result.value = b_.CreateNSWSub(a.value, b.value);
      span({static_cast<__int128>(a.low) - b.high, static_cast<__int128>(a.high) - b.low});
      break;
    case BinaryOp::kMul: {
      result.value = b_.CreateNSWMul(a.value, b.value);
      const __int128 al = a.low, ah = a.high;
      span({al * b.low, al * b.high, ah * b.low, ah * b.high});
      break;
    }
    case BinaryOp::kMin:
      result.value = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a.value, b.value);
      result.low = std::min(a.low, b.low), result.high = std::min(a.high, b.high);
      break;
    case BinaryOp::kMax:
      result.value = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a.value, b.value);
      result.low = std::max(a.low, b.low), result.high = std::max(a.high, b.high);
      break;
    case BinaryOp::kDiv:
    case BinaryOp::kTruncMod:
    case BinaryOp::kFloorDiv:
    case BinaryOp::kFloorMod:
      result = EmitIndexDivision(binary.op, a, b);
      break;
    default:
      Fail("a comparison gives no integer; this index is malformed");
      result.value = llvm::PoisonValue::get(b_.getInt64Ty());
  }
  result.is_exact = a.is_exact && b.is_exact && Fits(result, dtype);
  return result;
}

IndexValue KernelEmitter::EmitIndexDivision(BinaryOp op, const IndexValue& a, const IndexValue& b) {
  const bool wants_quotient = op == BinaryOp::kDiv || op == BinaryOp::kFloorDiv;
  if (b.low == 0 && b.high == 0) {
    Fail("division by zero in an index; remove it");
    return {.value = llvm::PoisonValue::get(b_.getInt64Ty())};
  }
  if (a.low >= 0 && b.low > 0) {
    IndexValue result{.value = wants_quotient ? b_.CreateUDiv(a.value, b.value) : b_.CreateURem(a.value, b.value)};
    result.low = wants_quotient ? a.low / b.high : 0;
    result.high = wants_quotient ? a.high / b.low : std::min(a.high, b.high - 1);
    return result;
  }
  const bool is_floor = op == BinaryOp::kFloorDiv || op == BinaryOp::kFloorMod;
  IndexValue result{.value = EmitIntBinary(op, a.value, b.value, true)};
  if (op == BinaryOp::kFloorMod && b.low > 0) result.low = 0, result.high = b.high - 1;
  if (wants_quotient && b.low > 0 && is_floor)
    result.low = std::min<int64_t>(a.low, 0), result.high = std::max<int64_t>(a.high, 0);
  return result;
}

std::optional<KernelEmitter::LaneIndex> KernelEmitter::DecomposeLanes(const Expr& e) {
  if (e.dtype().lanes == 1) return LaneIndex{.base = EmitIndex(e)};
  if (!e.dtype().is_signed_int()) return std::nullopt;
  if (const auto* ramp = e.As<Ramp>()) {
    const int64_t* stride = AsIntConst(ramp->stride);
    if (stride == nullptr || ramp->base.dtype().lanes != 1) return std::nullopt;
    return LaneIndex{.base = EmitIndex(ramp->base), .stride = *stride};
  }
  if (const auto* broadcast = e.As<Broadcast>()) {
    if (broadcast->value.dtype().lanes != 1) return std::nullopt;
    return LaneIndex{.base = EmitIndex(broadcast->value)};
  }
  if (const auto* cast = e.As<Cast>())
    return cast->value.dtype().is_signed_int() ? DecomposeLanes(cast->value) : std::nullopt;
  const auto* binary = e.As<Binary>();
  if (binary == nullptr ||
      (binary->op != BinaryOp::kAdd && binary->op != BinaryOp::kSub && binary->op != BinaryOp::kMul))
    return std::nullopt;
  std::optional<LaneIndex> a = DecomposeLanes(binary->a), b = DecomposeLanes(binary->b);
  if (!a || !b) return std::nullopt;
  if (binary->op == BinaryOp::kMul) {
    if (a->stride != 0) std::swap(a, b);
    if (a->stride != 0 || a->base.low != a->base.high) return std::nullopt;
    return LaneIndex{.base = {.value = b_.CreateNSWMul(a->base.value, b->base.value), .is_exact = false},
                     .stride = Clamp(static_cast<__int128>(b->stride) * a->base.low)};
  }
  const bool is_add = binary->op == BinaryOp::kAdd;
  return LaneIndex{.base = {.value = is_add ? b_.CreateNSWAdd(a->base.value, b->base.value)
                                            : b_.CreateNSWSub(a->base.value, b->base.value),
                            .is_exact = false},
                   .stride = is_add ? a->stride + b->stride : a->stride - b->stride};
}

// Row-major position of the first `count` indices plus the offset; one index alone is flat already.
IndexValue KernelEmitter::FlattenIndex(const Buffer& buffer, const std::vector<Expr>& indices, size_t count) {
  IndexValue flat = ConstantIndex(0);
  const auto add = [&](Value* value) { flat.value = b_.CreateNSWAdd(flat.value, value); };
  for (size_t i = 0; i < count; ++i) {
    if (!buffer->strides.empty()) {
      add(b_.CreateNSWMul(EmitIndex(indices[i]).value, EmitIndex(buffer->strides[i]).value));
      continue;
    }
    if (i > 0) flat.value = b_.CreateNSWMul(flat.value, EmitIndex(buffer->shape[i]).value);
    add(EmitIndex(indices[i]).value);
  }
  return flat;
}

// Tiles are flat: `first` is the position of the first lane where the buffer begins with its memory.
bool KernelEmitter::IsInsideTile(const BufferValue& memory, const Buffer& buffer, const IndexValue& first, int lanes) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(first.value);
  const int64_t low = constant != nullptr ? constant->getSExtValue() : first.low;
  const int64_t high = constant != nullptr ? low : first.high;
  const int64_t elements = memory.tile_bytes / ((buffer->dtype.bits + 7) / 8);
  return IsConstInt(buffer->elem_offset, 0) && low >= 0 && high <= elements - lanes;
}

KernelEmitter::Address KernelEmitter::EmitAddress(const Buffer& buffer, const std::vector<Expr>& indices, int lanes) {
  const BufferValue* memory = FindBuffer(buffer);
  Address address;
  address.pointer = llvm::PoisonValue::get(b_.getPtrTy());
  if (memory == nullptr) return address;
  if (indices.empty() ? !buffer->shape.empty() : indices.size() != 1 && indices.size() != buffer->shape.size()) {
    Fail(fmt::format("access to \"{}\": {} indices, {} dimensions; write one flat index or one per dimension",
                     buffer->name, indices.size(), buffer->shape.size()));
    return address;
  }
  const bool is_strided =
      indices.size() > 1 && !buffer->strides.empty();  // One index alone is the element's position already.
  if (is_strided && buffer->strides.size() != indices.size()) {
    Fail(fmt::format("access to \"{}\": {} indices, {} strides; flatten the access", buffer->name, indices.size(),
                     buffer->strides.size()));
    return address;
  }
  address.alignment = memory->alignment;
  llvm::Type* element = MemoryType(buffer->dtype);
  const size_t leading = indices.size() <= 1 ? 0 : indices.size() - 1;
  Value* offset = EmitIndex(buffer->elem_offset).value;
  std::optional<LaneIndex> last = LaneIndex{.base = ConstantIndex(0)};
  Value* last_stride = is_strided ? EmitIndex(buffer->strides.back()).value : nullptr;
  if (leading > 0) {
    Value* rows = FlattenIndex(buffer, indices, leading).value;
    offset = b_.CreateNSWAdd(
        offset, last_stride != nullptr ? rows : b_.CreateNSWMul(rows, EmitIndex(buffer->shape.back()).value));
  }
  if (!indices.empty()) last = DecomposeLanes(indices.back());
  const auto scaled = [&](Value* value) {
    return last_stride == nullptr
               ? value
               : b_.CreateNSWMul(value,
                                 last_stride->getType() == value->getType() ? last_stride : Splat(last_stride, lanes));
  };
  if (last && (last->stride == 0 || last_stride == nullptr)) {
    const auto flags =  // The first lane may be off, and anywhere.
        mask_ == nullptr ? llvm::GEPNoWrapFlags::inBounds() : llvm::GEPNoWrapFlags::none();
    address.pointer =
        b_.CreateGEP(element, memory->pointer, b_.CreateNSWAdd(offset, scaled(last->base.value)), "", flags);
    const int span = last->stride == 0 ? 1 : lanes;
    address.is_inside_tile = leading == 0 && IsInsideTile(*memory, buffer, last->base, span);
    if (lanes == 1 || last->stride == 1) return address;
    address.is_contiguous = false;
    if (last->stride == 0) return address;  // Every lane at one address.
    const bool is_short = last->stride >= 2 && last->stride <= kMaxLoadStride;
    if (is_short && memory->tile_bytes == 0) address.first = address.pointer, address.stride = last->stride;
    std::vector<llvm::Constant*> steps;
    for (int lane = 0; lane < lanes; ++lane) steps.push_back(b_.getInt64(static_cast<uint64_t>(last->stride * lane)));
    address.is_vector_of_pointers = true;
    address.pointer = b_.CreateGEP(element, address.pointer, llvm::ConstantVector::get(steps));
    return address;
  }
  Value* lane_indices = EmitExpr(indices.back());
  if (!error_.ok()) return address;
  lane_indices = b_.CreateSExt(lane_indices, lane_indices->getType()->getWithNewType(b_.getInt64Ty()));
  address.is_contiguous = false;
  address.is_vector_of_pointers = true;
  address.pointer = b_.CreateGEP(element, memory->pointer, b_.CreateNSWAdd(Splat(offset, lanes), scaled(lane_indices)));
  return address;
}

}  // namespace lathe
