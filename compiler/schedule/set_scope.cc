#include "compiler/schedule/set_scope.h"

#include <fmt/format.h>

#include "compiler/ir/storage_scope.h"
#include "compiler/schedule/replace_buffer.h"
#include "support/status_macros.h"

namespace lathe {

Status CheckStorageScope(const Schedule& schedule, int row, const char* primitive, const std::string& storage_scope) {
  if (storage_scope.empty()) return schedule.Error(primitive, row, "a storage scope has a name");
  const StatusOr<StorageScope> scope = ParseStorageScope(storage_scope);
  return scope.ok() ? OkStatus() : schedule.Error(primitive, row, std::string(scope.status().message()));
}

Status SetScope(Schedule& schedule, BlockRV block_rv, int buffer_index, const std::string& storage_scope) {
  constexpr const char* kName = "set_scope";
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block_rv));
  RETURN_IF_ERROR(CheckStorageScope(schedule, row, kName, storage_scope));
  const auto& writes = schedule.BlockOf(row).writes;
  const bool is_there = buffer_index >= 0 && size_t(buffer_index) < writes.size() &&
                        writes[size_t(buffer_index)].buffer->scope == storage_scope;
  if (!is_there) {  // Else it may even be a parameter, as in TVM.
    ASSIGN_OR_RETURN(const IntermediateBuffer found, WrittenIntermediate(schedule, row, buffer_index, kName));
    BufferNode changed = *found.buffer;
    changed.name += "_" + storage_scope;
    changed.scope = storage_scope;
    changed.data = UnsetData();  // Its type says the scope.
    RETURN_IF_ERROR(ReplaceBuffer(schedule, found, Buffer(std::move(changed)), kName, row));
  }
  schedule.Record("SetScope", {block_rv}, {int64_t{buffer_index}, storage_scope}, {});
  return OkStatus();
}

}  // namespace lathe
