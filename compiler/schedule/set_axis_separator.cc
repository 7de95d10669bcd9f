#include "compiler/schedule/set_axis_separator.h"

#include <fmt/format.h>

#include "compiler/ir/visitor.h"
#include "compiler/schedule/buffer_site.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr const char* kSetAxisSeparator = "set_axis_separator";

Buffer WithSeparators(const Buffer& buffer, std::span<const int64_t> separators) {
  BufferNode node = *buffer;
  node.axis_separators.assign(separators.begin(), separators.end());
  return Buffer(std::move(node));
}

// A buffer and its views, and theirs, become others with separators.
class Separator : public StmtExprMutator {
 public:
  Separator(const Schedule& schedule, const Buffer& from, const Buffer& to) : schedule_(schedule) {
    changed_.emplace(from.get(), to);
  }
  std::vector<BlockReuse> reuse;

 protected:
  Buffer VisitBufferDef(const Buffer& buffer) override { return VisitBufferUse(buffer); }
  Buffer VisitBufferUse(const Buffer& buffer) override {
    const auto found = changed_.find(buffer.get());
    return found == changed_.end() ? buffer : found->second;
  }
  Block VisitBlock(const Block& block) override {
    for (const MatchBufferRegion& match : block->match_buffers) {
      const auto source = changed_.find(match.source.buffer.get());
      if (source == changed_.end()) continue;
      const std::vector<int64_t> separators = source->second->axis_separators;
      changed_.emplace(match.buffer.get(), WithSeparators(match.buffer, separators));
    }
    Block changed = StmtExprMutator::VisitBlock(block);
    if (!changed.same_as(block)) reuse.push_back({schedule_.RowOf(block), changed});
    return changed;
  }

 private:
  const Schedule& schedule_;
  BufferMap changed_;
};

}  // namespace

Status SetAxisSeparator(Schedule& schedule, BlockRV block, int buffer_index, BufferSide side,
                        std::span<const int64_t> axis_separators) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block));
  ASSIGN_OR_RETURN(const BufferSite site, SiteOf(schedule, row, buffer_index, side, kSetAxisSeparator));
  const int64_t rank = static_cast<int64_t>(site.buffer->shape.size());
  for (size_t i = 0; i < axis_separators.size(); ++i) {
    const int64_t least = i == 0 ? 0 : axis_separators[i - 1];
    if (axis_separators[i] < least || axis_separators[i] > rank)
      return schedule.Error(kSetAxisSeparator, row,
                            fmt::format("separators [{}] of buffer \"{}\" of {} dimensions; they must ascend within 0 "
                                        "and {}",
                                        fmt::join(axis_separators, ", "), site.buffer->name, rank, rank));
  }
  RETURN_IF_ERROR(CheckOnlyElements(schedule, site, row, kSetAxisSeparator, /*may_be_viewed=*/true));
  const Buffer to = WithSeparators(site.buffer, axis_separators);
  Separator separate(schedule, site.buffer, to);
  Stmt body = separate(schedule.StmtOf(site.row));
  ReplaceAtSite(schedule, site, to, std::move(body), separate.reuse);
  const std::vector<Attr> separators(axis_separators.begin(), axis_separators.end());
  schedule.Record("SetAxisSeparator", {block}, {int64_t{buffer_index}, int64_t{side == BufferSide::kWrite}, separators},
                  {});
  return OkStatus();
}

}  // namespace lathe
