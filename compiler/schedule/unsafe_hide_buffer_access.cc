#include "compiler/schedule/unsafe_hide_buffer_access.h"

#include <fmt/core.h>

#include <algorithm>

#include "support/status_macros.h"

namespace lathe {

Status UnsafeHideBufferAccess(Schedule& schedule, BlockRV block_rv, std::string_view buf_type,
                              std::span<const int64_t> buf_index_array) {
  constexpr const char* kName = "unsafe_hide_buffer_access";
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block_rv));
  if (buf_type != "read" && buf_type != "write")
    return schedule.Error(kName, row, fmt::format("buf_type is \"{}\"; give \"read\" or \"write\"", buf_type));
  BlockRealize realize = schedule.RealizeOf(row);
  BlockNode& node = realize.block.Mutable();
  std::vector<BufferRegion>& regions = buf_type == "read" ? node.reads : node.writes;
  std::vector<BufferRegion> kept;
  for (size_t i = 0; i < regions.size(); ++i)
    if (std::find(buf_index_array.begin(), buf_index_array.end(), int64_t(i)) == buf_index_array.end())
      kept.push_back(regions[i]);
  for (int64_t index : buf_index_array) {
    if (index >= 0 && size_t(index) < regions.size()) continue;
    return schedule.Error(
        kName, row, fmt::format("it has {} {} regions, index {} is not among them", regions.size(), buf_type, index));
  }
  regions = std::move(kept);
  const Block hidden = realize.block;
  schedule.Replace(row, std::move(realize), {{row, hidden}});
  schedule.Record(
      "UnsafeHideBufferAccess",
      {block_rv, std::string(buf_type), std::vector<int64_t>(buf_index_array.begin(), buf_index_array.end())}, {}, {});
  return OkStatus();
}

}  // namespace lathe
