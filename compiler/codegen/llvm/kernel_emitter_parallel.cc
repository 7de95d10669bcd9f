#include <fmt/format.h>

#include "compiler/codegen/llvm/kernel_emitter.h"
#include "compiler/codegen/llvm/uses.h"
#include "runtime/kernel_abi.h"

namespace lathe {

using llvm::Value;

// What the body of a parallel loop needs from around it, in the order of the closure's fields: variables, then buffers,
// then the first value of the loop variable.
struct KernelEmitter::Capture {
  std::vector<std::pair<const ExprNode*, VarValue>> vars;
  std::vector<Buffer> buffers;
  IndexValue begin;
  llvm::StructType* type = nullptr;
};

std::optional<KernelEmitter::Capture> KernelEmitter::CaptureUses(const Stmt& self, const For& loop) {
  Uses uses = CollectUses(self);
  for (const auto& [data, owner] : owners_) {
    if (uses.vars.contains(data)) uses.buffers.emplace(owner.get(), owner);
  }
  Capture capture{.begin = EmitIndex(loop.min)};
  for (const auto& [node, bound] : vars_) {
    if (uses.vars.contains(node) && !llvm::isa<llvm::Constant>(bound.value)) capture.vars.emplace_back(node, bound);
  }
  for (const auto& [node, buffer] : uses.buffers) {
    const auto found = buffers_.find(node);
    if (found == buffers_.end()) continue;  // Allocated inside.
    if (found->second.tile_bytes > 0) {
      Fail(fmt::format("register tile \"{}\" lives outside of parallel loop \"{}\", which uses it; allocate it inside",
                       buffer->name, loop.loop_var.name()));
      return std::nullopt;
    }
    capture.buffers.push_back(buffer);
  }
  // The maps are ordered by address; artifacts must not be.
  std::sort(capture.vars.begin(), capture.vars.end(),
            [](const auto& a, const auto& b) { return a.second.position < b.second.position; });
  std::sort(capture.buffers.begin(), capture.buffers.end(),
            [&](const Buffer& a, const Buffer& b) { return buffers_[a.get()].position < buffers_[b.get()].position; });
  std::vector<llvm::Type*> types;
  for (const auto& [node, bound] : capture.vars)
    types.push_back(bound.index.value != nullptr ? b_.getInt64Ty() : bound.value->getType());
  types.insert(types.end(), capture.buffers.size(), b_.getPtrTy());
  if (mask_ != nullptr) types.push_back(mask_->getType()->getWithNewBitWidth(8));
  types.push_back(b_.getInt64Ty());
  capture.type = llvm::StructType::get(context_, types);
  return capture;
}

void KernelEmitter::EmitParallelLoop(const Stmt& self, const For& loop) {
  std::optional<Capture> capture = CaptureUses(self, loop);
  if (!capture || !error_.ok()) return;
  const IndexValue extent = EmitIndex(loop.extent);
  llvm::AllocaInst* closure = EntryAlloca(capture->type, nullptr, llvm::Align(64), "closure");
  unsigned field = 0;
  const auto put = [&](Value* value) { b_.CreateStore(value, b_.CreateStructGEP(capture->type, closure, field++)); };
  for (const auto& [node, bound] : capture->vars) put(bound.index.value != nullptr ? bound.index.value : bound.value);
  for (const Buffer& buffer : capture->buffers) put(buffers_[buffer.get()].pointer);
  if (mask_ != nullptr) put(b_.CreateZExt(mask_, mask_->getType()->getWithNewBitWidth(8)));
  put(capture->begin.value);
  const __int128 high = static_cast<__int128>(capture->begin.high) + extent.high - 1;
  capture->begin.high =
      high > std::numeric_limits<int64_t>::max() ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(high);

  llvm::Function* body = EmitParallelBody(loop, *capture);
  auto* type =
      llvm::FunctionType::get(b_.getInt32Ty(), {b_.getPtrTy(), b_.getPtrTy(), b_.getPtrTy(), b_.getInt64Ty()}, false);
  Value* code =
      b_.CreateCall(type, ContextField(LATHE_CONTEXT_PARALLEL_FOR, b_.getPtrTy()), {ctx_, body, closure, extent.value});
  llvm::BasicBlock *failed = NewBlock("body.failed"), *go_on = NewBlock("bodies.done");
  b_.CreateCondBr(b_.CreateIsNull(code), go_on, failed, llvm::MDBuilder(context_).createBranchWeights(1 << 20, 1));
  b_.SetInsertPoint(failed);
  ReturnFromHere(code);
  b_.SetInsertPoint(go_on);
  ConfigureTilesAgain();
}

llvm::Function* KernelEmitter::EmitParallelBody(const For& loop, const Capture& capture) {
  auto* type =
      llvm::FunctionType::get(b_.getInt32Ty(), {b_.getPtrTy(), b_.getPtrTy(), b_.getInt64Ty(), b_.getInt64Ty()}, false);
  llvm::Function* body = NewFunction(type, fmt::format("{}.body{}", signature_.symbol, num_bodies_++), false);
  // Everything that belongs to the present function steps aside.
  Builder::InsertPointGuard guard(b_);
  const auto outer_vars = vars_;
  const auto outer_buffers = buffers_;
  const auto outer_workspaces = std::exchange(workspaces_, {});
  const auto outer_tiles = std::exchange(register_tiles_, {});
  llvm::Function* outer_function = std::exchange(function_, body);
  Value* outer_ctx = std::exchange(ctx_, body->getArg(0));
  Value* outer_mask = std::exchange(mask_, nullptr);
  const int64_t outer_stack = std::exchange(stack_bytes_, 0);
  const bool outer_has_tiles = has_tiles_;
  const auto outer_sums = std::exchange(tile_sums_, {});
  llvm::Value* outer_config = tile_config_;
  in_parallel_ = true;

  b_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", body));
  BindCaptured(capture, body->getArg(1));
  const auto field = [&](unsigned i) {
    return b_.CreateLoad(capture.type->getElementType(i), b_.CreateStructGEP(capture.type, body->getArg(1), i));
  };
  const unsigned last = capture.type->getNumElements() - 1;
  if (outer_mask != nullptr) mask_ = b_.CreateTrunc(field(last - 1), outer_mask->getType());
  Value* first = field(last);
  IndexValue begin = capture.begin;
  begin.value = b_.CreateNSWAdd(first, body->getArg(2));
  BeginTiles(loop.body);
  EmitSerialLoop(loop, begin, b_.CreateNSWAdd(first, body->getArg(3)), false,
                 CollectUses(loop.body).may_be_vectorized());
  EndTiles();
  b_.CreateRet(b_.getInt32(LATHE_KERNEL_OK));

  in_parallel_ = false;
  has_tiles_ = outer_has_tiles;
  tile_sums_ = outer_sums;
  tile_config_ = outer_config;
  loaded_tiles_ = {};
  vars_ = outer_vars;
  buffers_ = outer_buffers;
  workspaces_ = outer_workspaces;
  register_tiles_ = outer_tiles;
  function_ = outer_function;
  ctx_ = outer_ctx;
  mask_ = outer_mask;
  stack_bytes_ = outer_stack;
  return body;
}

void KernelEmitter::BindCaptured(const Capture& capture, Value* closure) {
  llvm::MDNode* empty = llvm::MDNode::get(context_, {});
  unsigned field = 0;
  const auto take = [&] {
    llvm::LoadInst* value =
        b_.CreateLoad(capture.type->getElementType(field), b_.CreateStructGEP(capture.type, closure, field));
    value->setMetadata(llvm::LLVMContext::MD_invariant_load, empty);
    value->setMetadata(llvm::LLVMContext::MD_noundef, empty);
    ++field;
    return value;
  };
  for (const auto& [node, bound] : capture.vars) {
    VarValue& inner = vars_[node];
    if (bound.index.value != nullptr) {
      inner.index.value = take();
      inner.value = b_.CreateTrunc(inner.index.value, bound.value->getType());
    } else {
      inner.value = take();
    }
  }
  for (const Buffer& buffer : capture.buffers) {
    llvm::LoadInst* pointer = take();
    const auto number = [&](int64_t value) {
      return llvm::MDNode::get(context_, llvm::ConstantAsMetadata::get(b_.getInt64(static_cast<uint64_t>(value))));
    };
    pointer->setMetadata(llvm::LLVMContext::MD_align, number(LATHE_BUFFER_ALIGNMENT));
    const bool is_own = buffer->strides.empty() && owners_.at(buffer->data.get()).same_as(buffer);
    if (const std::optional<int64_t> bytes = AllocationBytes(buffer); is_own && bytes && *bytes > 0) {
      pointer->setMetadata(llvm::LLVMContext::MD_nonnull, empty);
      pointer->setMetadata(llvm::LLVMContext::MD_dereferenceable, number(*bytes));
    }
    buffers_[buffer.get()].pointer = pointer;
  }
}

}  // namespace lathe
