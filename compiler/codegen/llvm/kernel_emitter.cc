#include "compiler/codegen/llvm/kernel_emitter.h"

#include <fmt/format.h>

#include "compiler/codegen/llvm/machine_code.h"
#include "compiler/codegen/llvm/uses.h"
#include "compiler/ir/memory.h"
#include "compiler/ir/storage_scope.h"
#include "compiler/ir/visitor.h"
#include "llvm/IR/InlineAsm.h"
#include "runtime/kernel_abi.h"

namespace lathe {
namespace {

using llvm::Value;

constexpr int64_t kMaxStackBuffer = 32 << 10;  // Larger ones come from the context's workspace,
constexpr int64_t kMaxStackFrame = 128 << 10;  // and so do all once a function has this much.
constexpr int64_t kMaxUnroll = 4096;
constexpr int kMaxDepth = 2000;

}  // namespace

KernelEmitter::KernelEmitter(llvm::Module& module, const Target& target, const KernelSignature& signature)
    : module_(module),
      context_(module.getContext()),
      target_(target),
      signature_(signature),
      has_masked_loads_(target.Has("avx")),
      has_masked_stores_(target.register_file().num_mask_registers > 0),
      b_(context_),
      math_(b_, {.has_fma = target.register_file().has_fma,
                 .has_rounding = target.Has("fp-armv8") || target.Has("sse4.1"),
                 .has_scalef = target.Has("avx512f") && target.Has("avx512vl")}) {
  llvm::FastMathFlags flags;
  flags.setAllowContract();  // a * b + c may become one FMA; nothing else about floats is relaxed.
  b_.setFastMathFlags(flags);
}

Status KernelEmitter::Emit(const PrimFunc& func) {
  MakeAliasScopes(func);
  EmitKernelEntry(func);
  BeginTiles(func.body);
  if (error_.ok()) EmitStmt(func.body);
  if (!error_.ok()) return error_;
  EndTiles();
  b_.CreateRet(b_.getInt32(LATHE_KERNEL_OK));
  return OkStatus();
}

void KernelEmitter::Fail(std::string message) {
  if (error_.ok()) error_ = InvalidArgument(fmt::format("codegen @{}: {}", signature_.name, message));
}

llvm::Function* KernelEmitter::NewFunction(llvm::FunctionType* type, const std::string& name, bool is_exported) {
  auto* function = llvm::Function::Create(
      type, is_exported ? llvm::GlobalValue::ExternalLinkage : llvm::GlobalValue::InternalLinkage, name, module_);
  if (is_exported) function->setVisibility(llvm::GlobalValue::ProtectedVisibility);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  function->addFnAttr("target-cpu", target_.cpu());
  function->addFnAttr("target-features", LlvmFeatures(target_));
  function->addFnAttr("no-builtins");
  if (target_.arch() == Target::Arch::kX86_64) {
    const std::string bits = std::to_string(target_.register_file().vector_bits);
    function->addFnAttr("prefer-vector-width", bits);
    function->addFnAttr("min-legal-vector-width", bits);
  }
  for (llvm::Argument& argument : function->args()) {
    if (argument.getType()->isPointerTy()) argument.addAttr(llvm::Attribute::NoAlias);
  }
  return function;
}

// One scope per data variable, in one domain: distinct ones never overlap (the caller of a kernel owes that); all
// buffers over one variable are in its scope.
void KernelEmitter::MakeAliasScopes(const PrimFunc& func) {
  std::vector<Buffer> buffers;
  std::unordered_set<const ExprNode*> seen;
  const auto add = [&](const Buffer& buffer) {
    if (seen.insert(buffer->data.get()).second) buffers.push_back(buffer);
  };
  for (const SignatureParam& param : signature_.params) {
    if (param.buffer) add(*param.buffer);
  }
  const Uses uses = CollectUses(func.body);
  for (const Buffer& buffer : uses.allocations) add(buffer);
  if (buffers.size() > 256) return;  // The lists would be larger than what they bring.
  llvm::MDBuilder metadata(context_);
  llvm::MDNode* domain = metadata.createAnonymousAliasScopeDomain(signature_.name);
  std::vector<llvm::Metadata*> all;
  for (const Buffer& buffer : buffers) all.push_back(metadata.createAnonymousAliasScope(domain, buffer->name));
  for (size_t i = 0; i < buffers.size(); ++i) {
    std::vector<llvm::Metadata*> others = all;
    others.erase(others.begin() + static_cast<ptrdiff_t>(i));
    scopes_[buffers[i]->data.get()] = {llvm::MDNode::get(context_, all[i]), llvm::MDNode::get(context_, others)};
  }
}

KernelEmitter::BufferValue KernelEmitter::MakeBufferValue(const Buffer& buffer, Value* pointer) {
  BufferValue value{.pointer = pointer, .position = num_defined_++};
  if (CheckType(buffer->dtype)) value.alignment = llvm::Align(std::max(1, buffer->dtype.bits / 8));
  if (const auto found = scopes_.find(buffer->data.get()); found != scopes_.end())
    std::tie(value.scope, value.noalias) = found->second;
  owners_.emplace(buffer->data.get(), buffer);
  return value;
}

void KernelEmitter::EmitKernelEntry(const PrimFunc& func) {
  llvm::Type* pointer = b_.getPtrTy();
  function_ = NewFunction(llvm::FunctionType::get(b_.getInt32Ty(), {pointer, pointer, pointer}, false),
                          signature_.symbol, true);
  ctx_ = function_->getArg(0);
  Value *buffers = function_->getArg(1), *scalars = function_->getArg(2);
  b_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function_));
  llvm::MDNode* empty = llvm::MDNode::get(context_, {});
  const auto number = [&](int64_t value) {
    return llvm::MDNode::get(context_, llvm::ConstantAsMetadata::get(b_.getInt64(static_cast<uint64_t>(value))));
  };
  unsigned num_buffers = 0, num_scalars = 0;
  const auto load_scalar = [&] {
    llvm::LoadInst* bits =
        b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstGEP1_64(b_.getInt64Ty(), scalars, num_scalars++));
    bits->setMetadata(llvm::LLVMContext::MD_invariant_load, empty);
    return bits;
  };
  for (const SignatureParam& param : signature_.params) {
    if (param.buffer) {
      llvm::LoadInst* data =
          b_.CreateLoad(pointer, b_.CreateConstGEP1_64(pointer, buffers, num_buffers++), (*param.buffer)->name);
      data->setMetadata(llvm::LLVMContext::MD_invariant_load, empty);
      data->setMetadata(llvm::LLVMContext::MD_noundef, empty);
      data->setMetadata(llvm::LLVMContext::MD_align, number(LATHE_BUFFER_ALIGNMENT));
      const bool is_compact = (*param.buffer)->strides.empty();
      if (const std::optional<int64_t> bytes = AllocationBytes(*param.buffer); is_compact && bytes && *bytes > 0) {
        data->setMetadata(llvm::LLVMContext::MD_nonnull, empty);
        data->setMetadata(llvm::LLVMContext::MD_dereferenceable, number(*bytes));
      }
      buffers_[param.buffer->get()] = MakeBufferValue(*param.buffer, data);
      params_.insert(param.buffer->get());
    } else if (param.address) {
      BindAddress(param, b_.CreateLoad(pointer, b_.CreateConstGEP1_64(pointer, buffers, num_buffers++), param.name));
    } else {
      BindScalar(*param.scalar, load_scalar());
    }
  }
  for (const Var& symbol : signature_.symbols) {
    Value* bits = load_scalar();
    BindScalar(symbol, bits);
  }
}

// As bytes, which others are declared over.
void KernelEmitter::BindAddress(const SignatureParam& param, Value* data) {
  BufferNode node;
  node.name = param.name;
  node.dtype = DataType::UInt(8);
  node.data = *param.address;
  const Buffer bytes(std::move(node));
  buffers_[bytes.get()] = MakeBufferValue(bytes, data);
}

void KernelEmitter::BindScalar(const Var& var, Value* bits) {
  if (!CheckType(var.dtype())) return;
  const DataType dtype = var.dtype();
  if (dtype.is_float()) {
    llvm::Type* memory = MemoryType(dtype);
    return BindVar(var, FromMemory(b_.CreateBitCast(b_.CreateTrunc(bits, b_.getIntNTy(dtype.bits)), memory), dtype));
  }
  BindVar(var, dtype.is_bool() ? b_.CreateICmpNE(bits, b_.getInt64(0)) : b_.CreateTrunc(bits, ValueType(dtype)));
}

void KernelEmitter::BindVar(const Var& var, Value* value) {
  VarValue bound{.value = value, .position = num_defined_++};
  const DataType dtype = var.dtype();
  if (dtype.is_signed_int() && dtype.is_scalar()) {
    bound.index = {.value = b_.CreateSExt(value, b_.getInt64Ty()),
                   .low = llvm::minIntN(dtype.bits),
                   .high = llvm::maxIntN(dtype.bits)};
    if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(bound.index.value))
      bound.index.low = bound.index.high = constant->getSExtValue();
  }
  vars_[var.get()] = bound;
}

void KernelEmitter::BindLoopVar(const Var& var, const IndexValue& index) {
  if (!var.dtype().is_int() || !var.dtype().is_scalar() || !CheckType(var.dtype()))
    return Fail(fmt::format("loop variable \"{}\" has type {}; use an integer", var.name(), var.dtype().ToString()));
  vars_[var.get()] = {
      .value = b_.CreateTrunc(index.value, ValueType(var.dtype())), .index = index, .position = num_defined_++};
}

llvm::BasicBlock* KernelEmitter::NewBlock(const char* name) {
  return llvm::BasicBlock::Create(context_, name, function_);
}

llvm::AllocaInst* KernelEmitter::EntryAlloca(llvm::Type* type, Value* count, llvm::Align alignment,
                                             const std::string& name) {
  llvm::BasicBlock& entry = function_->getEntryBlock();
  Builder at_entry(&entry, entry.begin());
  llvm::AllocaInst* memory = at_entry.CreateAlloca(type, count, name);
  memory->setAlignment(alignment);
  return memory;
}

Value* KernelEmitter::ContextField(unsigned offset, llvm::Type* type) {
  return b_.CreateLoad(type, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), ctx_, offset));
}

void KernelEmitter::EmitStmt(const Stmt& stmt) {
  if (!error_.ok()) return;
  const bool may_keep_tiles = stmt.As<Seq>() != nullptr || stmt.As<AttrStmt>() != nullptr;
  if (!may_keep_tiles) loaded_tiles_ = {};
  if (++depth_ > kMaxDepth)
    Fail(fmt::format("statements are nested more than {} deep; simplify the function", kMaxDepth));
  std::visit(
      [&](const auto& node) {
        using T = std::decay_t<decltype(node)>;
        if constexpr (std::is_same_v<T, For>) {
          node.kind == ForKind::kParallel && !in_parallel_ ? EmitParallelLoop(stmt, node) : EmitFor(node);
        } else if constexpr (std::is_same_v<T, BlockRealize>) {
          Fail(fmt::format("block \"{}\" is left; lower the function first", node.block->name));
        } else if constexpr (std::is_same_v<T, BufferStore>) {
          EmitBufferStore(node);
        } else if constexpr (std::is_same_v<T, IfThenElse>) {
          EmitIfThenElse(node);
        } else if constexpr (std::is_same_v<T, Seq>) {
          for (const Stmt& item : node.stmts) EmitStmt(item);
        } else if constexpr (std::is_same_v<T, Evaluate>) {
          EmitExpr(node.value);
        } else if constexpr (std::is_same_v<T, LetStmt>) {
          BindVar(node.var, EmitExpr(node.value));
          if (node.var.dtype().is_signed_int() && IsPlainIndex(node.value)) {
            if (const IndexValue index = EmitIndex(node.value); index.is_exact) vars_[node.var.get()].index = index;
          }
          EmitStmt(node.body);
        } else if constexpr (std::is_same_v<T, AllocBuffer>) {
          EmitAllocate(node);
        } else if constexpr (std::is_same_v<T, DeclBuffer>) {
          EmitDeclaration(node);
        } else if constexpr (std::is_same_v<T, Allocate>) {
          if (const std::optional<Stmt> plain = AsAllocBuffer(node)) return EmitStmt(*plain);
          Fail(fmt::format("memory \"{}\" under a condition; allocate it in an if", node.buffer_var.name()));
        } else if constexpr (std::is_same_v<T, AllocateConst>) {
          EmitStmt(AsAllocBuffer(node));
        } else if constexpr (std::is_same_v<T, AttrStmt>) {
          if (has_tiles_ && node.attr_key == kAmxAttr) return EmitTileStatement(node);
          const bool is_hint = node.attr_key.starts_with("pragma_") || node.attr_key == "double_buffer_write";
          if (is_hint) return EmitStmt(node.body);
          Fail(fmt::format("attribute \"{}\" means nothing to a CPU kernel; remove it", node.attr_key));
        } else if constexpr (std::is_same_v<T, BufferRealize>) {
          Fail(fmt::format("buffer \"{}\" is realized; run storage_flatten before", node.buffer->name));
        } else if constexpr (std::is_same_v<T, Prefetch>) {
          // A hint.
        } else if constexpr (std::is_same_v<T, AssertStmt>) {
          EmitAssert(node);
          EmitStmt(node.body);
        } else {
          static_assert(std::is_same_v<T, While>);
          EmitWhile(node);
        }
      },
      static_cast<const StmtVariant&>(stmt.node().value));
  if (!may_keep_tiles) loaded_tiles_ = {};
  --depth_;
}

void KernelEmitter::EmitFor(const For& loop) {
  if (loop.kind == ForKind::kThreadBinding)
    return Fail(
        fmt::format("loop \"{}\" is bound to {}; a CPU kernel has no such threads", loop.loop_var.name(), loop.thread));
  const int64_t* extent = AsIntConst(loop.extent);
  if (extent != nullptr && *extent <= 0) return;
  if ((loop.kind == ForKind::kUnrolled || loop.annotations.contains("pragma_unroll")) && extent != nullptr)
    return EmitUnrolledLoop(loop, *extent);
  const IndexValue begin = EmitIndex(loop.min), size = EmitIndex(loop.extent);
  IndexValue var = begin;
  const __int128 high = static_cast<__int128>(begin.high) + size.high - 1;
  var.high =
      high > std::numeric_limits<int64_t>::max() ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(high);
  EmitSerialLoop(loop, var, b_.CreateNSWAdd(begin.value, size.value), size.low > 0,
                 CollectUses(loop.body).may_be_vectorized());
}

// A bottom-tested loop: for constant extents nothing is tested before the first round, so invariant code can move out.
void KernelEmitter::EmitSerialLoop(const For& loop, const IndexValue& begin, Value* end, bool is_known_to_run,
                                   bool may_vectorize) {
  llvm::BasicBlock *body = NewBlock("loop"), *exit = NewBlock("loop.end");
  llvm::BasicBlock* before = b_.GetInsertBlock();
  if (is_known_to_run) {
    b_.CreateBr(body);
  } else {
    b_.CreateCondBr(b_.CreateICmpSLT(begin.value, end), body, exit);
  }
  b_.SetInsertPoint(body);
  llvm::PHINode* var = b_.CreatePHI(b_.getInt64Ty(), 2, loop.loop_var.name());
  var->addIncoming(begin.value, before);
  BindLoopVar(loop.loop_var, {.value = var, .low = begin.low, .high = begin.high});
  open_loops_.push_back(loop.loop_var);
  auto around = std::exchange(prefetched_, {});
  EmitStmt(loop.body);
  prefetched_ = std::move(around);
  open_loops_.pop_back();
  Value* next = b_.CreateAdd(var, b_.getInt64(1), "next", /*HasNUW=*/begin.low >= 0, /*HasNSW=*/true);
  var->addIncoming(next, b_.GetInsertBlock());
  llvm::BranchInst* back = b_.CreateCondBr(b_.CreateICmpSLT(next, end), body, exit);
  back->setMetadata(llvm::LLVMContext::MD_loop, LoopMetadata(may_vectorize));
  b_.SetInsertPoint(exit);
}

llvm::MDNode* KernelEmitter::LoopMetadata(bool may_vectorize) {
  const auto named = [&](const char* name) { return llvm::MDNode::get(context_, llvm::MDString::get(context_, name)); };
  std::vector<llvm::Metadata*> parts = {nullptr, named("llvm.loop.mustprogress"), named("llvm.loop.unroll.disable")};
  if (!may_vectorize) {
    llvm::Metadata* off = llvm::ConstantAsMetadata::get(b_.getInt1(false));
    parts.push_back(llvm::MDNode::get(context_, {llvm::MDString::get(context_, "llvm.loop.vectorize.enable"), off}));
  }
  llvm::MDNode* loop = llvm::MDNode::getDistinct(context_, parts);
  loop->replaceOperandWith(0, loop);
  return loop;
}

void KernelEmitter::EmitUnrolledLoop(const For& loop, int64_t extent) {
  if (extent > kMaxUnroll)
    return Fail(fmt::format("unrolled loop \"{}\" has {} rounds, at most {}; make it serial or split it",
                            loop.loop_var.name(), extent, kMaxUnroll));
  const IndexValue begin = EmitIndex(loop.min);
  for (int64_t i = 0; i < extent && error_.ok(); ++i) {
    IndexValue var = begin;
    var.value = b_.CreateNSWAdd(begin.value, b_.getInt64(static_cast<uint64_t>(i)));
    if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(var.value)) {
      var = ConstantIndex(constant->getSExtValue());
    } else {
      var.low = std::numeric_limits<int64_t>::min(), var.high = std::numeric_limits<int64_t>::max(),
      var.is_exact = false;
    }
    BindLoopVar(loop.loop_var, var);
    EmitStmt(loop.body);
  }
}

// A step of an unrolled reduction begins when a part of a register tile is written again. LLVM would load what several
// steps read once and keep it in registers that a large tile has not got; nothing is moved across an empty piece of
// assembly that may touch memory.
void KernelEmitter::KeepStepsApart(const BufferStore& store) {
  if (!FindBuffer(store.buffer)->is_large_tile || store.indices.size() != 1) return;
  const Ramp* ramp = store.indices[0].As<Ramp>();
  const Expr& first = ramp != nullptr ? ramp->base : store.indices[0];
  const int64_t* place = AsIntConst(first);
  if (place == nullptr) return;
  if (std::exchange(step_block_, b_.GetInsertBlock()) != b_.GetInsertBlock()) written_in_step_.clear();
  if (written_in_step_.emplace(store.buffer.get(), *place).second) return;
  b_.CreateCall(
      llvm::InlineAsm::get(llvm::FunctionType::get(b_.getVoidTy(), false), "", "~{memory}", /*hasSideEffects=*/true));
  written_in_step_ = {{store.buffer.get(), *place}};
}

void KernelEmitter::EmitBufferStore(const BufferStore& store) {
  const DataType element = store.buffer->dtype;
  if (!CheckType(element) || FindBuffer(store.buffer) == nullptr) return;
  if (store.predicate) {
    BufferStore plain = store;
    plain.predicate.reset();
    return EmitIfThenElse(IfThenElse{*store.predicate, plain, std::nullopt});
  }
  const int lanes = store.value.dtype().lanes;
  if (store.value.dtype() != element.with_lanes(lanes)) {
    return Fail(fmt::format("store to \"{}\": value is {}, elements are {}; cast it", store.buffer->name,
                            store.value.dtype().ToString(), element.ToString()));
  }
  KeepStepsApart(store);
  Value* value = EmitExpr(store.value);
  const int index_lanes = store.indices.empty() ? 1 : store.indices.back().dtype().lanes;
  if (index_lanes > 1 && lanes == 1) {
    StoreLanes(store.buffer, store.indices, Splat(ToMemory(value, element), index_lanes), index_lanes);
  } else {
    StoreLanes(store.buffer, store.indices, ToMemory(value, store.value.dtype()), lanes);
  }
}

void KernelEmitter::EmitIfThenElse(const IfThenElse& branch) {
  if (branch.condition.dtype().lanes > 1) {  // Lanes that are off neither load nor store.
    Value* condition = EmitCondition(branch.condition);
    InLanes(condition, [&] { EmitStmt(branch.then_case); });
    if (branch.else_case) InLanes(b_.CreateNot(condition), [&] { EmitStmt(*branch.else_case); });
    return;
  }
  llvm::BasicBlock *then_block = NewBlock("then"), *else_block = branch.else_case ? NewBlock("else") : nullptr,
                   *end = NewBlock("if.end");
  b_.CreateCondBr(EmitCondition(branch.condition), then_block, else_block != nullptr ? else_block : end);
  b_.SetInsertPoint(then_block);
  EmitStmt(branch.then_case);
  b_.CreateBr(end);
  if (else_block != nullptr) {
    b_.SetInsertPoint(else_block);
    EmitStmt(*branch.else_case);
    b_.CreateBr(end);
  }
  b_.SetInsertPoint(end);
}

std::optional<int64_t> KernelEmitter::AllocationBytes(const Buffer& buffer) {
  __int128 bytes = std::max(1, buffer->dtype.bits / 8);
  for (const Expr& extent : buffer->shape) {
    const int64_t* value = AsIntConst(extent);
    if (value == nullptr || *value < 0) return std::nullopt;
    bytes *= *value;
    if (bytes > (int64_t{1} << 47)) return std::nullopt;
  }
  return static_cast<int64_t>(bytes);
}

// A vector at the end of a tile may be partly off: its lanes are read and written like the others, and stay behind the
// tile. A masked store would keep the tile in memory.
static int64_t RoomBehindTile(const Buffer& buffer) {
  constexpr int64_t kMaxLanes = 64;
  return (kMaxLanes - 1) * ((buffer->dtype.bits + 7) / 8);
}

// Vector registers that a tile takes, each of its vectors some of its own.
static int64_t RegistersOfTile(const AllocBuffer& allocate, int64_t elements, const RegisterFile& registers) {
  int64_t lanes = 1;
  PostOrderVisit(allocate.body, [&](const Stmt& stmt) {
    const BufferStore* store = stmt.As<BufferStore>();
    if (store != nullptr && store->buffer.same_as(allocate.buffer) && !store->indices.empty())
      lanes = std::max<int64_t>(lanes, store->indices.back().dtype().lanes);
  });
  const int64_t per_register = std::max(1, registers.lanes(allocate.buffer->dtype.bits));
  return (elements + lanes - 1) / lanes * ((lanes + per_register - 1) / per_register);
}

void KernelEmitter::EmitAllocate(const AllocBuffer& allocate) {
  const Buffer& buffer = allocate.buffer;
  if (!CheckType(buffer->dtype)) return;
  if (IsInTiles(buffer)) {
    EmitStmt(allocate.body);
    return ForgetTiles(buffer);
  }
  const bool is_register = buffer->scope == "register";
  if (!is_register && !ParseStorageScope(buffer->scope).ok())  // A CPU has one kind of memory for all the others.
    return Fail(fmt::format("buffer \"{}\" has the unknown scope \"{}\"; use global, local or register", buffer->name,
                            buffer->scope));
  const std::optional<int64_t> bytes = AllocationBytes(buffer);
  if (is_register && !bytes)
    return Fail(fmt::format("register tile \"{}\" has no constant size; fix its extents", buffer->name));
  const bool fits_stack = bytes && *bytes <= kMaxStackBuffer && stack_bytes_ + *bytes <= kMaxStackFrame;
  if (is_register && !fits_stack)
    return Fail(fmt::format("register tile \"{}\" has {} bytes, more than any register file; choose a smaller tile",
                            buffer->name, *bytes));
  if (fits_stack) {
    stack_bytes_ += *bytes;
    const int64_t room = is_register ? RoomBehindTile(buffer) : 0;
    llvm::Type* type = llvm::ArrayType::get(b_.getInt8Ty(), static_cast<uint64_t>(std::max<int64_t>(1, *bytes + room)));
    llvm::AllocaInst* memory = EntryAlloca(
        type, nullptr, llvm::Align(64), is_register ? std::string(kRegisterTilePrefix) + buffer->name : buffer->name);
    BufferValue value = MakeBufferValue(buffer, memory);
    if (is_register) value.tile_bytes = *bytes + room;
    const RegisterFile registers = target_.register_file();
    value.is_large_tile =
        is_register && 2 * RegistersOfTile(allocate, *bytes / std::max(1, buffer->dtype.bits / 8), registers) >
                           registers.num_vector_registers;
    buffers_[buffer.get()] = value;
    if (is_register) {
      register_tiles_.push_back(buffer->name);
      std::string names;
      for (const std::string& name : register_tiles_) names += (names.empty() ? "\"" : ", \"") + name + "\"";
      function_->addFnAttr(kHasRegisterTile, names);
    }
    b_.CreateLifetimeStart(memory);
    const size_t loops_around =
        std::exchange(loops_around_tile_, is_register ? open_loops_.size() : loops_around_tile_);
    EmitStmt(allocate.body);
    loops_around_tile_ = loops_around;
    b_.CreateLifetimeEnd(memory);
    return;
  }
  EmitWorkspace(allocate);
}

void KernelEmitter::EmitDeclaration(const DeclBuffer& declaration) {
  const Buffer& buffer = declaration.buffer;
  const auto owner = owners_.find(buffer->data.get());
  if (owner == owners_.end())
    return Fail(
        fmt::format("buffer \"{}\" lies over \"{}\", which is the data of no buffer; declare it over one's data",
                    buffer->name, buffer->data.name()));
  const BufferValue memory = buffers_.at(owner->second.get());
  BufferValue value = MakeBufferValue(buffer, memory.pointer);
  value.tile_bytes = memory.tile_bytes;
  value.is_large_tile = memory.is_large_tile;
  buffers_[buffer.get()] = value;
  EmitStmt(declaration.body);
}

void KernelEmitter::EmitWorkspace(const AllocBuffer& allocate) {
  const Buffer& buffer = allocate.buffer;
  Value* bytes = b_.getInt64(static_cast<uint64_t>(std::max(1, buffer->dtype.bits / 8)));
  for (const Expr& extent : buffer->shape) bytes = b_.CreateMul(bytes, EmitIndex(extent).value);
  Value* alloc = ContextField(LATHE_CONTEXT_ALLOC_WORKSPACE, b_.getPtrTy());
  auto* type = llvm::FunctionType::get(b_.getPtrTy(), {b_.getPtrTy(), b_.getInt64Ty()}, false);
  llvm::CallInst* memory = b_.CreateCall(type, alloc, {ctx_, bytes}, buffer->name);
  memory->addRetAttr(llvm::Attribute::NoAlias);
  memory->addRetAttr(llvm::Attribute::getWithAlignment(context_, llvm::Align(LATHE_BUFFER_ALIGNMENT)));
  llvm::BasicBlock *failed = NewBlock("no.workspace"), *go_on = NewBlock("workspace");
  b_.CreateCondBr(b_.CreateIsNull(memory), failed, go_on, llvm::MDBuilder(context_).createBranchWeights(1, 1 << 20));
  b_.SetInsertPoint(failed);
  EmitFailure(fmt::format("kernel {}: no workspace memory for buffer \"{}\"", signature_.name, buffer->name),
              LATHE_KERNEL_NO_WORKSPACE);
  b_.SetInsertPoint(go_on);
  buffers_[buffer.get()] = MakeBufferValue(buffer, memory);
  workspaces_.push_back(memory);
  EmitStmt(allocate.body);
  workspaces_.pop_back();
  FreeWorkspace(memory);
}

void KernelEmitter::FreeWorkspace(Value* memory) {
  auto* type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getPtrTy()}, false);
  b_.CreateCall(type, ContextField(LATHE_CONTEXT_FREE_WORKSPACE, b_.getPtrTy()), {ctx_, memory});
}

// Leaves the insertion point in a finished block.
void KernelEmitter::ReturnFromHere(Value* code) {
  for (auto memory = workspaces_.rbegin(); memory != workspaces_.rend(); ++memory) FreeWorkspace(*memory);
  EndTiles();
  b_.CreateRet(code);
}

void KernelEmitter::EmitFailure(const std::string& message, int code) {
  auto* type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getPtrTy()}, false);
  llvm::CallInst* call = b_.CreateCall(type, ContextField(LATHE_CONTEXT_FAIL, b_.getPtrTy()),
                                       {ctx_, b_.CreateGlobalString(message, "message")});
  call->addFnAttr(llvm::Attribute::Cold);
  ReturnFromHere(b_.getInt32(static_cast<uint32_t>(code)));
}

void KernelEmitter::EmitAssert(const AssertStmt& assertion) {
  llvm::BasicBlock *failed = NewBlock("assert.failed"), *go_on = NewBlock("assert.holds");
  b_.CreateCondBr(EmitCondition(assertion.condition), go_on, failed,
                  llvm::MDBuilder(context_).createBranchWeights(1 << 20, 1));
  b_.SetInsertPoint(failed);
  EmitFailure(fmt::format("kernel {}: {}", signature_.name, assertion.message), LATHE_KERNEL_ASSERT);
  b_.SetInsertPoint(go_on);
}

void KernelEmitter::EmitWhile(const While& loop) {
  llvm::BasicBlock *head = NewBlock("while"), *body = NewBlock("while.body"), *exit = NewBlock("while.end");
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  b_.CreateCondBr(EmitCondition(loop.condition), body, exit);
  b_.SetInsertPoint(body);
  EmitStmt(loop.body);
  b_.CreateBr(head);
  b_.SetInsertPoint(exit);
}

}  // namespace lathe
