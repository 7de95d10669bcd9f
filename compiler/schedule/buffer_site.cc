#include "compiler/schedule/buffer_site.h"

#include <fmt/core.h>

#include "compiler/ir/visitor.h"
#include "compiler/schedule/analysis.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

class MemoryUseFinder : public StmtExprVisitor {
 public:
  explicit MemoryUseFinder(const Buffer& buffer) : buffer_(buffer) {}
  bool is_viewed = false, is_shared = false;

 protected:
  void VisitBlock(const Block& block) override {
    for (const MatchBufferRegion& match : block->match_buffers)
      is_viewed = is_viewed || match.source.buffer.same_as(buffer_);
    for (const auto* regions : {&block->reads, &block->writes})
      for (const BufferRegion& region : *regions) Note(region.buffer);
    StmtExprVisitor::VisitBlock(block);
  }
  void VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    Note(store.buffer);
    StmtExprVisitor::VisitBufferStore(self, store);
  }
  void VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    Note(load.buffer);
    StmtExprVisitor::VisitBufferLoad(self, load);
  }
  void VisitBufferDef(const Buffer& buffer) override {
    Note(buffer);
    StmtExprVisitor::VisitBufferDef(buffer);
  }
  void VisitVar(const Expr& var) override { is_shared = is_shared || var.same_as(buffer_->data); }

 private:
  void Note(const Buffer& other) { is_shared = is_shared || (!other.same_as(buffer_) && MayAlias(other, buffer_)); }

  const Buffer& buffer_;
};

}  // namespace

StatusOr<BufferSite> SiteOf(const Schedule& schedule, int row, int index, BufferSide side, const char* primitive) {
  RETURN_IF_ERROR(CheckBufferIndex(schedule, row, primitive, index, side));
  const BlockNode& block = schedule.BlockOf(row);
  const Buffer buffer = (side == BufferSide::kRead ? block.reads : block.writes)[index].buffer;
  int root = row;
  for (int scope = row; scope >= 0; scope = schedule.ScopeOf(scope)) {
    const BlockNode& node = schedule.BlockOf(scope);
    if (Allocates(node, buffer)) return BufferSite{buffer, scope, false};
    for (const MatchBufferRegion& match : node.match_buffers)
      if (match.buffer.same_as(buffer))
        return schedule.Error(
            primitive, row,
            fmt::format("buffer \"{}\" is a region of \"{}\" (match_buffer in block \"{}\"); name the "
                        "buffer itself",
                        buffer->name, match.source.buffer->name, node.name));
    root = scope;
  }
  return BufferSite{buffer, root, true};
}

Status CheckOnlyElements(const Schedule& schedule, const BufferSite& site, int row, const char* primitive,
                         bool may_be_viewed) {
  MemoryUseFinder finder(site.buffer);
  finder(schedule.StmtOf(site.row));
  if (finder.is_viewed && !may_be_viewed)
    return schedule.Error(primitive, row,
                          fmt::format("buffer \"{}\" is seen through a view (match_buffer)", site.buffer->name));
  if (finder.is_shared)
    return schedule.Error(
        primitive, row,
        fmt::format("the memory of buffer \"{}\" is used by its address or as another buffer", site.buffer->name));
  return OkStatus();
}

void ReplaceAtSite(Schedule& schedule, const BufferSite& site, const Buffer& to, Stmt body,
                   const std::vector<BlockReuse>& reuse) {
  if (site.is_param) schedule.ReplaceParam(site.row, site.buffer, to);
  schedule.Replace(site.row, std::move(body), reuse);
}

}  // namespace lathe
