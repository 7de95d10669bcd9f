#include "compiler/schedule/storage_align.h"

#include <fmt/core.h>

#include "compiler/schedule/analysis.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr const char* kKey = "buffer_dim_align";

// `requests` with one more, in the place of one for the same axis.
std::vector<Attr> WithRequest(std::vector<Attr> requests, int64_t buffer_index, int64_t axis, int64_t factor,
                              int64_t offset) {
  const Attr request = std::vector<Attr>{buffer_index, axis, factor, offset};
  for (Attr& known : requests) {
    const auto* items = std::get_if<std::vector<Attr>>(&known);
    if (items == nullptr || items->size() != 4 || (*items)[0] != Attr(buffer_index) || (*items)[1] != Attr(axis))
      continue;
    known = request;
    return requests;
  }
  requests.push_back(request);
  return requests;
}

}  // namespace

Status StorageAlign(Schedule& schedule, BlockRV block_rv, int buffer_index, int axis, int factor, int offset) {
  constexpr const char* kName = "storage_align";
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block_rv));
  ASSIGN_OR_RETURN(const IntermediateBuffer found, WrittenIntermediate(schedule, row, buffer_index, kName));
  const int rank = static_cast<int>(found.buffer->shape.size());
  if (axis < -rank || axis >= rank)
    return schedule.Error(kName, row,
                          fmt::format("buffer \"{}\" has {} dimensions, axis {} is not in [-{}, {})",
                                      found.buffer->name, rank, axis, rank, rank));
  if (factor <= 0) return schedule.Error(kName, row, fmt::format("factor {} is not positive", factor));
  if (offset < 0) return schedule.Error(kName, row, fmt::format("offset {} is negative", offset));

  BlockRealize realize = schedule.RealizeOf(row);
  Attr& annotation = realize.block.Mutable().annotations[kKey];
  const auto* known = std::get_if<std::vector<Attr>>(&annotation);
  annotation = WithRequest(known != nullptr ? *known : std::vector<Attr>(), buffer_index, axis < 0 ? axis + rank : axis,
                           factor, offset);
  const std::vector<BlockReuse> reuse{{row, realize.block}};
  schedule.Replace(row, std::move(realize), reuse);
  schedule.Record("StorageAlign", {block_rv}, {int64_t{buffer_index}, int64_t{axis}, int64_t{factor}, int64_t{offset}},
                  {});
  return OkStatus();
}

}  // namespace lathe
