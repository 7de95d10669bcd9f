#include "compiler/schedule/set_scope.h"

#include <fmt/format.h>

#include "compiler/schedule/replace_buffer.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

// A scope begins with one of these; what follows is a tag: "global.texture", "shared.dyn".
constexpr std::string_view kScopes[] = {"global",         "local",         "register",      "shared",
                                        "warp",           "wmma.matrix_a", "wmma.matrix_b", "wmma.accumulator",
                                        "m16n8k8.matrix", "texture",       "amx.tmm"};

}  // namespace

Status CheckStorageScope(const Schedule& schedule, int row, const char* primitive, const std::string& storage_scope) {
  const bool is_known = std::any_of(std::begin(kScopes), std::end(kScopes),
                                    [&](std::string_view scope) { return storage_scope.starts_with(scope); });
  if (is_known) return OkStatus();
  return schedule.Error(primitive, row,
                        fmt::format("\"{}\" is no storage scope; a scope begins with one of: {}", storage_scope,
                                    fmt::join(kScopes, ", ")));
}

Status SetScope(Schedule& schedule, BlockRV block_rv, int buffer_index, const std::string& storage_scope) {
  constexpr const char* kName = "set_scope";
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block_rv));
  RETURN_IF_ERROR(CheckStorageScope(schedule, row, kName, storage_scope));
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
