#include "compiler/schedule/annotate_buffer_access.h"

#include <fmt/core.h>

#include <algorithm>

#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr const char* kAnnotateBufferAccess = "annotate_buffer_access";

// The list of numbers under `key`, this one among them.
void AddNumber(AttrMap& annotations, const std::string& key, int64_t number) {
  std::vector<Attr> numbers;
  if (const auto found = annotations.find(key); found != annotations.end()) {
    if (const auto* known = std::get_if<std::vector<Attr>>(&found->second)) numbers = *known;
  }
  if (std::find(numbers.begin(), numbers.end(), Attr(number)) == numbers.end()) numbers.emplace_back(number);
  annotations.insert_or_assign(key, Attr(std::move(numbers)));
}

}  // namespace

Status AnnotateBufferAccess(Schedule& schedule, BlockRV block_rv, int buffer_index, BufferSide side,
                            const TraceMap& given) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block_rv));
  ASSIGN_OR_RETURN(const IndexMap ranges, MapInNumbers(schedule, given));
  if (const Status known = CheckBufferIndex(schedule, row, kAnnotateBufferAccess, buffer_index, side); !known.ok())
    return Status(StatusCode::kOutOfRange, known.message());
  BlockRealize realize = schedule.RealizeOf(row);
  BlockNode& node = realize.block.Mutable();
  BufferRegion& access = (side == BufferSide::kRead ? node.reads : node.writes)[size_t(buffer_index)];
  if (ranges.initial_indices.size() != node.iter_vars.size() || ranges.final_indices.size() != 2 * access.region.size())
    return schedule.Error(
        kAnnotateBufferAccess, row,
        fmt::format("begin and end of {} dimensions are wanted for {} iter vars, got {} values for {}",
                    access.region.size(), node.iter_vars.size(), ranges.final_indices.size(),
                    ranges.initial_indices.size()));
  Analyzer analyzer;
  VarMap vars;
  for (size_t i = 0; i < node.iter_vars.size(); ++i)
    vars.emplace(ranges.initial_indices[i].get(), node.iter_vars[i].var);
  for (size_t i = 0; i < access.region.size(); ++i) {
    const Expr begin = Substitute(ranges.final_indices[2 * i], vars);
    const Expr end = Substitute(ranges.final_indices[2 * i + 1], vars);
    access.region[i] = Range{begin, analyzer.Simplify(end - begin)};
  }
  AddNumber(node.annotations, side == BufferSide::kRead ? "explicit_read_region" : "explicit_write_region",
            buffer_index);
  const Block annotated = realize.block;
  schedule.Replace(row, std::move(realize), {{row, annotated}});
  schedule.Record("AnnotateBufferAccess", {block_rv, int64_t{buffer_index}, int64_t{side == BufferSide::kWrite}, given},
                  {}, {});
  return OkStatus();
}

}  // namespace lathe
