#include "compiler/schedule/set_scope.h"

#include <fmt/format.h>

#include "compiler/schedule/replace_buffer.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr std::string_view kScopes[] = {"global", "local",         "register",      "shared",          "shared.dyn",
                                        "warp",   "wmma.matrix_a", "wmma.matrix_b", "wmma.accumulator"};

}  // namespace

Status SetScope(Schedule& schedule, BlockRV block_rv, int buffer_index, const std::string& storage_scope) {
  constexpr const char* kName = "set_scope";
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block_rv));
  if (std::find(std::begin(kScopes), std::end(kScopes), storage_scope) == std::end(kScopes))
    return schedule.Error(
        kName, row, fmt::format("\"{}\" is no storage scope; there are: {}", storage_scope, fmt::join(kScopes, ", ")));
  ASSIGN_OR_RETURN(const IntermediateBuffer found, WrittenIntermediate(schedule, row, buffer_index, kName));
  if (found.buffer->scope != storage_scope) {
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
