#include "compiler/schedule/tensorize.h"

#include <fmt/core.h>

#include "compiler/ir/visitor.h"
#include "compiler/schedule/analysis.h"
#include "compiler/schedule/blockize.h"
#include "compiler/schedule/description_matcher.h"
#include "compiler/schedule/tensor_intrin.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr const char* kTensorize = "tensorize";

const std::vector<Range>* RegionOf(const BlockNode& block, const Buffer& buffer) {
  const std::vector<Range>* read = RegionOfBuffer(block.reads, buffer);
  return read != nullptr ? read : RegionOfBuffer(block.writes, buffer);
}

// The regions of the block's buffers as the implementation's parameters see them. Where the region of a parameter has
// an origin of its own, the view begins there.
StatusOr<std::vector<MatchBufferRegion>> Views(const TensorIntrin& intrin, const PrimFunc& implementation,
                                               const DescriptionMatcher& matcher) {
  const BlockNode& body = *implementation.body.As<BlockRealize>()->block;
  std::vector<MatchBufferRegion> views;
  for (size_t i = 0; i < implementation.params.size(); ++i) {
    const Buffer& param = *FindBuffer(implementation, implementation.params[i]);
    const Buffer& described = *FindBuffer(intrin.description, intrin.description.params[i]);
    const Buffer* buffer = matcher.BufferFor(described);
    const std::vector<Range>* region = RegionOf(body, param);
    if (buffer == nullptr || region == nullptr)
      return FailedPrecondition(
          fmt::format("its parameter \"{}\" is no region of the root blocks of description and "
                      "implementation; state it in T.reads or T.writes",
                      param->name));
    const std::vector<Expr>& base = matcher.BaseOf(*buffer);
    if (base.size() < region->size())
      return FailedPrecondition(
          fmt::format("its parameter \"{}\" has more dimensions than \"{}\"", param->name, (*buffer)->name));
    const size_t in_front = base.size() - region->size();
    BufferRegion source{*buffer, {}};
    for (size_t d = 0; d < base.size(); ++d)
      source.region.push_back({base[d], d < in_front ? Expr(1) : (*region)[d - in_front].extent});
    views.push_back({param, std::move(source)});
  }
  return views;
}

// Views and implementation with each view where its memory is.
Stmt InScopesOf(std::vector<MatchBufferRegion>& views, const Stmt& body) {
  BufferMap moved;
  VarMap data;
  for (MatchBufferRegion& view : views) {
    if (view.buffer->scope == view.source.buffer->scope) continue;
    BufferNode node = *view.buffer;
    node.scope = view.source.buffer->scope;
    node.data = UnsetData();  // Its type says the scope.
    const Buffer there(std::move(node));
    data.emplace(view.buffer->data.get(), there->data);
    moved.emplace(view.buffer.get(), there);
    view.buffer = there;
  }
  return Substitute(body, data, moved);
}

StatusOr<BlockRealize> Tensorized(const BlockRealize& realize, const std::string& name, bool any_scope) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const TensorIntrin> intrin, GetTensorIntrin(name));
  const BlockRealize* description = intrin->description.body.As<BlockRealize>();
  const PrimFunc implementation = Clone(intrin->implementation);
  const BlockRealize* made = implementation.body.As<BlockRealize>();
  if (description == nullptr || made == nullptr)
    return FailedPrecondition("description and implementation need a root block");
  DescriptionMatcher matcher(any_scope);
  if (!matcher.Match(realize, *description))
    return FailedPrecondition(
        fmt::format("the block doesn't match the description of the tensor intrinsic: {}", matcher.difference()));
  BlockRealize result = realize;
  BlockNode& block = result.block.Mutable();
  ASSIGN_OR_RETURN(block.match_buffers, Views(*intrin, implementation, matcher));
  block.body = InScopesOf(block.match_buffers, made->block->body);
  const std::vector<Buffer>& allocated = made->block->alloc_buffers;
  block.alloc_buffers.insert(block.alloc_buffers.end(), allocated.begin(), allocated.end());
  for (const auto& [key, value] : made->block->annotations) block.annotations.insert_or_assign(key, value);
  return result;
}

Status ReplaceBy(Schedule& schedule, int row, const BlockRealize& realize, const std::string& name) {
  StatusOr<BlockRealize> made = Tensorized(realize, name, /*any_scope=*/false);
  if (!made.ok()) {
    const Status error =
        schedule.Error(kTensorize, row, fmt::format("intrinsic \"{}\": {}", name, made.status().message()));
    return made.status().code() == StatusCode::kNotFound ? NotFound(error.message()) : error;
  }
  std::vector<BlockReuse> reuse;
  if (!schedule.IsLoop(row)) reuse.push_back({row, made->block});
  schedule.Replace(row, *std::move(made), reuse);
  return OkStatus();
}

}  // namespace

Status Tensorize(Schedule& schedule, BlockRV block, const std::string& tensor_intrin, bool preserve_unit_iters) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block));
  if (schedule.ScopeOf(row) < 0) return schedule.Error(kTensorize, row, "the root block cannot be an intrinsic");
  RETURN_IF_ERROR(ReplaceBy(schedule, row, schedule.RealizeOf(row), tensor_intrin));
  schedule.Record("Tensorize", {block}, {tensor_intrin, int64_t{preserve_unit_iters}}, {});
  return OkStatus();
}

Status Tensorize(Schedule& schedule, LoopRV loop, const std::string& tensor_intrin, bool preserve_unit_iters) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(loop));
  ASSIGN_OR_RETURN(const Blockized made, MakeBlockized(schedule, row, preserve_unit_iters));
  RETURN_IF_ERROR(ReplaceBy(schedule, row, made.realize, tensor_intrin));
  schedule.Record("Tensorize", {loop}, {tensor_intrin, int64_t{preserve_unit_iters}}, {});
  return OkStatus();
}

StatusOr<BlockRealize> TensorizedInAnyScope(const BlockRealize& realize, const std::string& tensor_intrin) {
  return Tensorized(realize, tensor_intrin, /*any_scope=*/true);
}

}  // namespace lathe
