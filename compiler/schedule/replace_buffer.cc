#include "compiler/schedule/replace_buffer.h"

#include <fmt/core.h>

#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

class BufferReplacer : public StmtExprMutator {
 public:
  BufferReplacer(const Schedule& schedule, const Buffer& from, const Buffer& to)
      : schedule_(schedule), from_(from), to_(to) {
    Map(from, to);
  }
  std::vector<BlockReuse> reuse;
  std::string odd_view;  // One whose elements are of another type than the buffer's.

 protected:
  Buffer VisitBufferDef(const Buffer& buffer) override { return VisitBufferUse(buffer); }
  Buffer VisitBufferUse(const Buffer& buffer) override {
    const auto found = buffers_.find(buffer.get());
    return found == buffers_.end() ? buffer : found->second;
  }
  Expr VisitVar(const Expr& var) override {
    const auto found = pointers_.find(var.get());
    return found == pointers_.end() ? var : found->second;
  }
  Expr VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    const Expr visited = StmtExprMutator::VisitBufferLoad(self, load);
    if (!IsRetyped(load.buffer)) return visited;
    const BufferLoad& changed = *visited.As<BufferLoad>();
    return Expr::Make(self.dtype(), Cast{Load(changed.buffer, changed.indices)});
  }
  Stmt VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    const Stmt visited = StmtExprMutator::VisitBufferStore(self, store);
    if (!IsRetyped(store.buffer)) return visited;
    const BufferStore& changed = *visited.As<BufferStore>();
    return MakeStore(changed.buffer, Expr::Make(to_->dtype.shaped_as(changed.value.dtype()), Cast{changed.value}),
                     changed.indices);
  }
  Block VisitBlock(const Block& block) override {
    for (const MatchBufferRegion& match : block->match_buffers)
      if (buffers_.contains(match.source.buffer.get())) Map(match.buffer, ViewLike(match.buffer));
    Block changed = StmtExprMutator::VisitBlock(block);
    if (!changed.same_as(block)) reuse.push_back({schedule_.RowOf(block), changed});
    return changed;
  }

 private:
  void Map(const Buffer& from, const Buffer& to) {
    buffers_.insert_or_assign(from.get(), to);
    pointers_.insert_or_assign(from->data.get(), to->data);
  }
  // A view of what the buffer has become.
  Buffer ViewLike(const Buffer& view) {
    BufferNode node = *view;
    if (from_->dtype != to_->dtype) {
      if (view->dtype != from_->dtype) odd_view = view->name;
      node.dtype = to_->dtype;
    }
    if (to_->name.starts_with(from_->name)) node.name += to_->name.substr(from_->name.size());
    node.scope = to_->scope;
    node.data = UnsetData();
    return Buffer(std::move(node));
  }
  bool IsRetyped(const Buffer& buffer) const { return from_->dtype != to_->dtype && buffers_.contains(buffer.get()); }

  const Schedule& schedule_;
  const Buffer &from_, &to_;
  BufferMap buffers_;
  VarMap pointers_;
};

}  // namespace

Status ReplaceBuffer(Schedule& schedule, const IntermediateBuffer& from, const Buffer& to, const char* primitive,
                     int row) {
  BufferReplacer replacer(schedule, from.buffer, to);
  Stmt replaced = replacer(schedule.StmtOf(from.allocated_in));
  if (!replacer.odd_view.empty())
    return schedule.Error(
        primitive, row,
        fmt::format("view \"{}\" of buffer \"{}\" has elements of another type", replacer.odd_view, from.buffer->name));
  schedule.Replace(from.allocated_in, std::move(replaced), replacer.reuse);
  return OkStatus();
}

}  // namespace lathe
