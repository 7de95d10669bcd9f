#include "compiler/schedule/replace_buffer.h"

#include <fmt/core.h>

#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

class BufferReplacer : public StmtExprMutator {
 public:
  BufferReplacer(const Schedule& schedule, const Buffer& from, const Buffer& to)
      : schedule_(schedule), from_(from), to_(to) {}
  std::vector<BlockReuse> reuse;
  bool is_viewed = false;

 protected:
  Buffer VisitBufferDef(const Buffer& buffer) override { return buffer.same_as(from_) ? to_ : buffer; }
  Buffer VisitBufferUse(const Buffer& buffer) override { return buffer.same_as(from_) ? to_ : buffer; }
  Expr VisitVar(const Var& var) override { return var.same_as(from_->data) ? to_->data : var; }
  Expr VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    const Expr visited = StmtExprMutator::VisitBufferLoad(self, load);
    if (!load.buffer.same_as(from_) || from_->dtype == to_->dtype) return visited;
    return Expr::Make(self.dtype(), Cast{Load(to_, visited.As<BufferLoad>()->indices)});
  }
  Stmt VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    const Stmt visited = StmtExprMutator::VisitBufferStore(self, store);
    if (!store.buffer.same_as(from_) || from_->dtype == to_->dtype) return visited;
    const BufferStore& changed = *visited.As<BufferStore>();
    return MakeStore(to_, Expr::Make(to_->dtype.shaped_as(changed.value.dtype()), Cast{changed.value}),
                     changed.indices);
  }
  Block VisitBlock(const Block& block) override {
    for (const MatchBufferRegion& match : block->match_buffers)
      is_viewed = is_viewed || match.source.buffer.same_as(from_);
    Block changed = StmtExprMutator::VisitBlock(block);
    if (!changed.same_as(block)) reuse.push_back({schedule_.RowOf(block), changed});
    return changed;
  }

 private:
  const Schedule& schedule_;
  const Buffer &from_, &to_;
};

}  // namespace

Status ReplaceBuffer(Schedule& schedule, const IntermediateBuffer& from, const Buffer& to, const char* primitive,
                     int row) {
  BufferReplacer replacer(schedule, from.buffer, to);
  Stmt replaced = replacer(schedule.StmtOf(from.allocated_in));
  if (replacer.is_viewed && from.buffer->dtype != to->dtype)
    return schedule.Error(
        primitive, row,
        fmt::format("buffer \"{}\" is seen through a view, whose type would differ", from.buffer->name));
  schedule.Replace(from.allocated_in, std::move(replaced), replacer.reuse);
  return OkStatus();
}

}  // namespace lathe
