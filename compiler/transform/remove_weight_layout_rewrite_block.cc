#include "compiler/transform/remove_weight_layout_rewrite_block.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/visitor.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

class LayoutRewriteRemover : public StmtExprMutator {
 public:
  explicit LayoutRewriteRemover(const PrimFunc& func) : func_(func) {}
  BufferMap rewritten;  // A parameter's buffer to what it is copied to.
  Status status;

 protected:
  Block VisitBlock(const Block& self) override {
    Block block = StmtExprMutator::VisitBlock(self);
    if (IsLayoutRewrite(*block)) return WithoutCopy(std::move(block));
    const auto is_param_now = [&](const Buffer& buffer) {
      return std::any_of(rewritten.begin(), rewritten.end(),
                         [&](const auto& entry) { return entry.second.same_as(buffer); });
    };
    if (std::any_of(block->alloc_buffers.begin(), block->alloc_buffers.end(), is_param_now))
      std::erase_if(block.Mutable().alloc_buffers, is_param_now);
    return block;
  }

 private:
  static bool IsLayoutRewrite(const BlockNode& block) {
    const auto found = block.annotations.find("meta_schedule.layout_rewrite_preproc");
    if (found == block.annotations.end()) return false;
    const Expr* value = std::get_if<Expr>(&found->second);
    return value != nullptr ? IsConstInt(*value, 1) : found->second == Attr(true) || found->second == Attr(1);
  }
  Block WithoutCopy(Block block) {
    const BufferStore* store = block->body.As<BufferStore>();
    const BufferLoad* load = store == nullptr ? nullptr : store->value.As<BufferLoad>();
    const bool is_param =
        load != nullptr && std::any_of(func_.buffer_map.begin(), func_.buffer_map.end(),
                                       [&](const ParamBuffer& entry) { return entry.buffer.same_as(load->buffer); });
    const bool copies = is_param && block->alloc_buffers.empty() && block->match_buffers.empty() &&
                        std::all_of(load->indices.begin(), load->indices.end(), IsVar);
    if (!copies || !rewritten.emplace(load->buffer.get(), store->buffer).second) {
      status =
          InvalidArgument(fmt::format("RemoveWeightLayoutRewriteBlock @{} block \"{}\": it is more than one copy of a "
                                      "parameter into another layout",
                                      func_.name, block->name));
      return block;
    }
    BlockNode& node = block.Mutable();
    node.body = Evaluate{0};
    node.reads.clear();
    node.writes.clear();
    return block;
  }

  const PrimFunc& func_;
};

}  // namespace

StatusOr<PrimFunc> RemoveWeightLayoutRewriteBlock(PrimFunc func) {
  LayoutRewriteRemover remover(func);
  Stmt body = remover(func.body);
  RETURN_IF_ERROR(remover.status);
  func.body = std::move(body);
  for (ParamBuffer& entry : func.buffer_map) {
    const auto found = remover.rewritten.find(entry.buffer.get());
    if (found != remover.rewritten.end()) entry.buffer = found->second;
  }
  return func;
}

}  // namespace lathe
