// Loads and stores: whole vectors, lanes under a mask, lanes apart.
#include <fmt/format.h>

#include <bit>
#include <numeric>

#include "compiler/codegen/llvm/kernel_emitter.h"
#include "compiler/ir/structural.h"
#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

using llvm::Value;

constexpr int kMaxMaskDepth = 8;

// begin, begin + 1 ...
std::vector<int> LanesFrom(unsigned begin, unsigned size) {
  std::vector<int> lanes(size);
  std::iota(lanes.begin(), lanes.end(), static_cast<int>(begin));
  return lanes;
}

enum class Lane : uint8_t { kOff, kOn, kUnknown };

// What is known of each lane of a mask.
std::vector<Lane> LanesOf(Value* mask, int depth = 0) {
  std::vector<Lane> lanes(llvm::cast<llvm::FixedVectorType>(mask->getType())->getNumElements(), Lane::kUnknown);
  if (const auto* constant = llvm::dyn_cast<llvm::Constant>(mask)) {
    for (unsigned i = 0; i < lanes.size(); ++i) {
      const auto* bit = llvm::dyn_cast_or_null<llvm::ConstantInt>(constant->getAggregateElement(i));
      if (bit != nullptr) lanes[i] = bit->isOne() ? Lane::kOn : Lane::kOff;
    }
  } else if (auto* both = llvm::dyn_cast<llvm::BinaryOperator>(mask);
             both != nullptr && both->getOpcode() == llvm::Instruction::And && depth < kMaxMaskDepth) {
    const std::vector<Lane> a = LanesOf(both->getOperand(0), depth + 1), b = LanesOf(both->getOperand(1), depth + 1);
    for (unsigned i = 0; i < lanes.size(); ++i) {
      if (a[i] == Lane::kOff || b[i] == Lane::kOff) lanes[i] = Lane::kOff;
      if (a[i] == Lane::kOn && b[i] == Lane::kOn) lanes[i] = Lane::kOn;
    }
  }
  return lanes;
}

// The number of lanes that are on, where those are the first ones and all are known; nullopt otherwise.
std::optional<unsigned> NumFirst(std::span<const Lane> lanes) {
  const auto first_off = std::find(lanes.begin(), lanes.end(), Lane::kOff);
  const bool are_on = std::all_of(lanes.begin(), first_off, [](Lane lane) { return lane == Lane::kOn; });
  const bool are_off = std::all_of(first_off, lanes.end(), [](Lane lane) { return lane == Lane::kOff; });
  return are_on && are_off ? std::optional(static_cast<unsigned>(first_off - lanes.begin())) : std::nullopt;
}

}  // namespace

void KernelEmitter::AddAliasMetadata(llvm::Instruction* access, const BufferValue& buffer) {
  if (buffer.scope == nullptr) return;
  access->setMetadata(llvm::LLVMContext::MD_alias_scope, buffer.scope);
  access->setMetadata(llvm::LLVMContext::MD_noalias, buffer.noalias);
}

// A register tile's sum walks through weights that are larger than the second cache; the walk through the next part
// of them, in the next iteration of a loop around the tile, finds what this one has asked for.
void KernelEmitter::PrefetchNext(const BufferLoad& load, int lanes) {
  constexpr int kIntoSecondCache = 2;
  const Buffer& buffer = load.buffer;
  const std::optional<std::vector<int64_t>> shape = ConstantShape(buffer->shape);
  if (open_loops_.size() <= loops_around_tile_ || !shape || !params_.contains(buffer.get())) return;
  int64_t bytes = buffer->dtype.bytes();
  for (const int64_t extent : *shape) bytes *= extent;
  if (bytes < target_.cache_sizes().l2_bytes) return;
  size_t loop = loops_around_tile_;
  const auto moves = [&](const Expr& index) { return UsesVar(index, open_loops_[loop].get()); };
  do {
    if (loop-- == 0) return;
  } while (std::none_of(load.indices.begin(), load.indices.end(), moves));
  const auto is_known = [&](const auto& known) {
    return known.first == buffer.get() && StructuralEqual(known.second, load.indices.back());
  };
  if (std::any_of(prefetched_.begin(), prefetched_.end(), is_known)) return;
  prefetched_.emplace_back(buffer.get(), load.indices.back());
  const Var var = open_loops_[loop];
  const VarValue here = vars_.at(var.get());
  IndexValue next = here.index;
  next.value = b_.CreateAdd(next.value, b_.getInt64(1));
  BindLoopVar(var, next);
  Value* pointer = EmitAddress(buffer, load.indices, lanes).pointer;
  vars_.insert_or_assign(var.get(), here);
  if (!error_.ok()) return;
  b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                     {b_.CreateFreeze(pointer), b_.getInt32(0), b_.getInt32(kIntoSecondCache), b_.getInt32(1)});
}

Value* KernelEmitter::EmitLoad(const BufferLoad& load, DataType dtype) {
  const int lanes = dtype.lanes;
  if (load.predicate) {  // Lanes that are off are zero.
    const Expr plain = Expr::Make(dtype, BufferLoad{load.buffer, load.indices, std::nullopt});
    const Expr zero = dtype.is_float() ? FloatConst(dtype, 0) : IntConst(dtype, 0);
    return EmitExpr(MakeCall(dtype, "if_then_else", {*load.predicate, plain, zero}));
  }
  const BufferValue* buffer = FindBuffer(load.buffer);
  if (buffer == nullptr || !CheckType(load.buffer->dtype)) return Poison(dtype);
  if (dtype.element() != load.buffer->dtype || (!load.indices.empty() && load.indices.back().dtype().lanes != lanes)) {
    Fail(fmt::format("load from \"{}\": {} with {} index lanes, elements are {}", load.buffer->name, dtype.ToString(),
                     load.indices.empty() ? 1 : load.indices.back().dtype().lanes, load.buffer->dtype.ToString()));
    return Poison(dtype);
  }
  const Address address = EmitAddress(load.buffer, load.indices, lanes);
  if (!error_.ok()) return Poison(dtype);
  llvm::Type* type = MemoryType(dtype);
  llvm::Type* element = MemoryType(dtype.element());
  const auto finish = [&](llvm::Instruction* access) {
    AddAliasMetadata(access, *buffer);
    return access;
  };
  const bool is_masked =
      mask_ != nullptr &&
      llvm::cast<llvm::VectorType>(mask_->getType())->getElementCount().getFixedValue() == static_cast<unsigned>(lanes);
  if (address.is_contiguous || !address.is_vector_of_pointers) {
    if (is_masked && address.is_contiguous && !address.is_inside_tile)
      return FromMemory(LoadMasked(type, address, *buffer), dtype);
    llvm::Type* access_type = address.is_contiguous ? type : element;
    Value* pointer = address.pointer;
    if (mask_ != nullptr && !address.is_inside_tile)
      pointer =
          b_.CreateSelect(b_.CreateOrReduce(mask_), pointer, buffer->pointer);  // No lane runs: any valid address.
    Value* value = finish(b_.CreateAlignedLoad(access_type, pointer, address.alignment));
    if (address.is_contiguous && lanes > 1 && mask_ == nullptr) PrefetchNext(load, lanes);
    return FromMemory(address.is_contiguous ? value : Splat(value, lanes), dtype);
  }
  if (address.first != nullptr && (mask_ == nullptr || is_masked)) {
    const auto all = static_cast<unsigned>(lanes);
    const std::optional<unsigned> num_on = mask_ == nullptr ? all : NumFirst(LanesOf(mask_));
    if (num_on) return FromMemory(LoadSpan(llvm::cast<llvm::FixedVectorType>(type), address, *num_on, *buffer), dtype);
  }
  if (is_masked) return FromMemory(Gather(address, element, *buffer), dtype);
  Value* value = llvm::PoisonValue::get(type);
  for (int lane = 0; lane < lanes; ++lane) {
    Value* pointer = b_.CreateExtractElement(address.pointer, static_cast<uint64_t>(lane));
    value = b_.CreateInsertElement(value, finish(b_.CreateAlignedLoad(element, pointer, address.alignment)),
                                   static_cast<uint64_t>(lane));
  }
  return FromMemory(value, dtype);
}

// Cuts a contiguous access under the mask into what one instruction moves: a register's lanes, under their part of the
// mask or all of them, or, without masked moves (`has_masks`), 14 first lanes as 8, 4 and 2. What is known to be off is
// left out. LLVM 19, which would do the first itself, loads single lanes of a half that it finds to be off unmasked.
void KernelEmitter::ForEachPiece(const Address& address, llvm::FixedVectorType* type, bool has_masks,
                                 const std::function<void(const Piece& piece)>& visit) {
  llvm::Type* element = type->getElementType();
  const uint64_t bytes = module_.getDataLayout().getTypeStoreSize(element);
  const std::vector<Lane> known = LanesOf(mask_);
  const auto add = [&](unsigned begin, unsigned size, bool is_masked) {
    Piece piece{begin, size, address.pointer, llvm::commonAlignment(address.alignment, begin * bytes), nullptr};
    if (begin > 0) piece.pointer = b_.CreateConstGEP1_64(element, address.pointer, begin);
    if (is_masked) piece.mask = b_.CreateShuffleVector(mask_, LanesFrom(begin, size));
    visit(piece);
  };
  const unsigned lanes = type->getNumElements();
  const unsigned most = std::max(1u, static_cast<unsigned>(target_.register_file().vector_bits / (8 * bytes)));
  for (unsigned begin = 0; begin < lanes; begin += most) {
    const unsigned size = std::min(most, lanes - begin);
    const std::optional<unsigned> first = NumFirst(std::span(known).subspan(begin, size));
    if (!first || (*first > 0 && *first < size && has_masks)) {
      add(begin, size, true);
      continue;
    }
    for (unsigned done = 0; done < *first;) {
      const unsigned part = *first == size ? size : std::bit_floor(*first - done);
      add(begin + done, part, false);
      done += part;
    }
  }
}

// `all` with the lanes of `part` from lane `begin` on.
Value* KernelEmitter::InsertLanes(Value* all, Value* part, unsigned begin) {
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(all->getType())->getNumElements();
  const unsigned size = llvm::cast<llvm::FixedVectorType>(part->getType())->getNumElements();
  if (size == lanes) return part;
  std::vector<int> widened(lanes, -1), merged(lanes);
  for (unsigned lane = 0; lane < lanes; ++lane) {
    const bool is_new = lane >= begin && lane < begin + size;
    if (is_new) widened[lane] = static_cast<int>(lane - begin);
    merged[lane] = static_cast<int>(is_new ? lanes + lane : lane);
  }
  return b_.CreateShuffleVector(all, b_.CreateShuffleVector(part, widened), merged);
}

// Lanes a few elements apart, the first `num_on` of them; the others are anything. Nothing in front of the first or
// behind the last of them is read.
Value* KernelEmitter::LoadSpan(llvm::FixedVectorType* type, const Address& address, unsigned num_on,
                               const BufferValue& buffer) {
  const uint64_t bits = module_.getDataLayout().getTypeStoreSizeInBits(type->getElementType());
  const unsigned lanes = type->getNumElements();
  const auto most = static_cast<unsigned>(std::max(1, target_.register_file().lanes(static_cast<int>(bits))));
  Value* all = llvm::Constant::getNullValue(type);
  for (unsigned begin = 0; begin < num_on; begin += most) {
    auto* part = llvm::FixedVectorType::get(type->getElementType(), std::min(most, lanes - begin));
    all = InsertLanes(all, LanesOfSpan(part, address, begin, std::min(most, num_on - begin), buffer), begin);
  }
  return all;
}

// A register of them, from lane `begin` on, of which the first `size` are on: vectors as long, or shorter, of which the
// last ends with the last lane, and from each of them the lanes that it has.
Value* KernelEmitter::LanesOfSpan(llvm::FixedVectorType* type, const Address& address, unsigned begin, unsigned size,
                                  const BufferValue& buffer) {
  llvm::Type* element = type->getElementType();
  const uint64_t bytes = module_.getDataLayout().getTypeStoreSize(element);
  const auto stride = static_cast<unsigned>(address.stride);
  const unsigned lanes = type->getNumElements(), span = (size - 1) * stride + 1;
  const unsigned loaded = std::bit_floor(std::min(span, lanes));
  Value* first = nullptr;
  Value* result = nullptr;
  for (unsigned lane = 0; lane < size;) {
    const unsigned offset = std::min(lane * stride, span - loaded);
    const uint64_t from = uint64_t{begin} * stride + offset;
    llvm::Instruction* vector = b_.CreateAlignedLoad(llvm::FixedVectorType::get(element, loaded),
                                                     b_.CreateConstGEP1_64(element, address.first, from),
                                                     llvm::commonAlignment(address.alignment, from * bytes));
    AddAliasMetadata(vector, buffer);
    // Two vectors as they are loaded give one shuffle; what a third one has joins them.
    const bool is_second = first != nullptr && result == nullptr;
    std::vector<int> picked(lanes, -1), merged = LanesFrom(0, lanes);
    for (unsigned i = 0; is_second && i < lane; ++i) picked[i] = static_cast<int>(i * stride);
    for (; lane < size && lane * stride < offset + loaded; ++lane) {
      picked[lane] = static_cast<int>(lane * stride - offset + (is_second ? loaded : 0));
      merged[lane] = static_cast<int>(lanes + lane);
    }
    if (first == nullptr) first = vector;
    if (is_second || (result == nullptr && lane == size)) {
      result = b_.CreateShuffleVector(first, vector, picked);
    } else if (result != nullptr) {
      result = b_.CreateShuffleVector(result, b_.CreateShuffleVector(vector, picked), merged);
    }
  }
  return result;
}

Value* KernelEmitter::LoadMasked(llvm::Type* type, const Address& address, const BufferValue& buffer) {
  auto* vector = llvm::cast<llvm::FixedVectorType>(type);
  Value* all = llvm::Constant::getNullValue(type);
  ForEachPiece(address, vector, has_masked_loads_, [&](const Piece& piece) {
    auto* part = llvm::FixedVectorType::get(vector->getElementType(), piece.size);
    llvm::Instruction* load =
        piece.mask == nullptr
            ? static_cast<llvm::Instruction*>(b_.CreateAlignedLoad(part, piece.pointer, piece.alignment))
            : b_.CreateMaskedLoad(part, piece.pointer, piece.alignment, piece.mask, llvm::Constant::getNullValue(part));
    AddAliasMetadata(load, buffer);
    all = InsertLanes(all, load, piece.begin);
  });
  return all;
}

void KernelEmitter::StoreMasked(Value* value, const Address& address, const BufferValue& buffer) {
  auto* vector = llvm::cast<llvm::FixedVectorType>(value->getType());
  ForEachPiece(address, vector, has_masked_stores_, [&](const Piece& piece) {
    Value* part = piece.size == vector->getNumElements()
                      ? value
                      : b_.CreateShuffleVector(value, LanesFrom(piece.begin, piece.size));
    AddAliasMetadata(piece.mask == nullptr
                         ? static_cast<llvm::Instruction*>(b_.CreateAlignedStore(part, piece.pointer, piece.alignment))
                         : b_.CreateMaskedStore(part, piece.pointer, piece.alignment, piece.mask),
                     buffer);
  });
}

// The lanes that are on. Their number is rounded up to a power of two by lanes that are off and point at memory of the
// first: LLVM 19 leaves the places of lanes that it adds itself undefined, and may give them the register of the
// result.
Value* KernelEmitter::Gather(const Address& address, llvm::Type* element, const BufferValue& buffer) {
  const int lanes = static_cast<int>(llvm::cast<llvm::FixedVectorType>(mask_->getType())->getNumElements());
  const int all = static_cast<int>(std::bit_ceil(static_cast<unsigned>(lanes)));
  std::vector<int> first(static_cast<size_t>(all), 0), off(static_cast<size_t>(all), lanes),
      own(static_cast<size_t>(lanes));
  std::iota(own.begin(), own.end(), 0);
  std::copy(own.begin(), own.end(), first.begin());
  std::copy(own.begin(), own.end(), off.begin());
  Value* pointers = b_.CreateShuffleVector(address.pointer, first);
  Value* mask = b_.CreateShuffleVector(mask_, llvm::Constant::getNullValue(mask_->getType()), off);
  llvm::Type* type = llvm::FixedVectorType::get(element, static_cast<unsigned>(all));
  llvm::CallInst* read =
      b_.CreateMaskedGather(type, pointers, address.alignment, mask, llvm::Constant::getNullValue(type));
  AddAliasMetadata(read, buffer);
  return b_.CreateShuffleVector(read, own);
}

// Lanes a few elements apart, by vectors whose other lanes are off.
void KernelEmitter::StoreApart(Value* value, const Address& address, const BufferValue& buffer) {
  const auto* vector = llvm::cast<llvm::FixedVectorType>(value->getType());
  const unsigned lanes = vector->getNumElements(), stride = static_cast<unsigned>(address.stride);
  const uint64_t bits = module_.getDataLayout().getTypeStoreSizeInBits(vector->getElementType());
  const unsigned most =
      std::max(1U, static_cast<unsigned>(target_.register_file().lanes(static_cast<int>(bits))) / stride);
  for (unsigned begin = 0; begin < lanes; begin += most) {
    const unsigned size = std::min(most, lanes - begin);
    std::vector<int> places(size_t{size} * stride, -1);
    llvm::SmallVector<llvm::Constant*> mask(places.size(), b_.getFalse());
    for (unsigned i = 0; i < size; ++i) {
      places[size_t{i} * stride] = static_cast<int>(begin + i);
      mask[size_t{i} * stride] = b_.getTrue();
    }
    const uint64_t from = uint64_t{begin} * stride;
    Value* pointer = b_.CreateConstGEP1_64(vector->getElementType(), address.first, from);
    const llvm::Align alignment = llvm::commonAlignment(address.alignment, from * bits / 8);
    AddAliasMetadata(b_.CreateMaskedStore(b_.CreateShuffleVector(value, places), pointer, alignment,
                                          llvm::ConstantVector::get(mask)),
                     buffer);
  }
}

void KernelEmitter::StoreLanes(const Buffer& buffer, const std::vector<Expr>& indices, Value* value, int lanes) {
  const int index_lanes = indices.empty() ? 1 : indices.back().dtype().lanes;
  if (index_lanes != lanes)
    return Fail(fmt::format("store to \"{}\": {} values at {} places", buffer->name, lanes, index_lanes));
  const Address address = EmitAddress(buffer, indices, lanes);
  if (!error_.ok()) return;
  const BufferValue& memory = *FindBuffer(buffer);
  const bool is_masked =
      mask_ != nullptr &&
      llvm::cast<llvm::VectorType>(mask_->getType())->getElementCount().getFixedValue() == static_cast<unsigned>(lanes);
  if (mask_ != nullptr && !is_masked)
    return Fail(fmt::format("store to \"{}\" has {} lanes under a condition with others", buffer->name, lanes));
  if (address.is_contiguous) {
    if (is_masked && address.is_inside_tile) {
      value = b_.CreateSelect(mask_, value, b_.CreateAlignedLoad(value->getType(), address.pointer, address.alignment));
    }
    if (is_masked && !address.is_inside_tile) return StoreMasked(value, address, memory);
    llvm::Instruction* access = b_.CreateAlignedStore(value, address.pointer, address.alignment);
    return AddAliasMetadata(access, memory);
  }
  const int bits = buffer->dtype.bits;
  if (!is_masked && address.first != nullptr && has_masked_stores_ && (bits >= 32 || target_.Has("avx512bw")))
    return StoreApart(value, address, memory);
  Value* pointers = address.is_vector_of_pointers ? address.pointer : Splat(address.pointer, lanes);
  if (is_masked) return AddAliasMetadata(b_.CreateMaskedScatter(value, pointers, address.alignment, mask_), memory);
  for (int lane = 0; lane < lanes; ++lane) {  // In order: where lanes meet, the last one stays.
    Value* element = b_.CreateExtractElement(value, static_cast<uint64_t>(lane));
    AddAliasMetadata(b_.CreateAlignedStore(element, b_.CreateExtractElement(pointers, static_cast<uint64_t>(lane)),
                                           address.alignment),
                     memory);
  }
}

}  // namespace lathe
