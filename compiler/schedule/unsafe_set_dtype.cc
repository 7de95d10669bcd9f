#include "compiler/schedule/unsafe_set_dtype.h"

#include <fmt/core.h>

#include "compiler/schedule/replace_buffer.h"
#include "support/status_macros.h"

namespace lathe {

Status UnsafeSetDType(Schedule& schedule, BlockRV block_rv, int buffer_index, const std::string& dtype) {
  constexpr const char* kName = "unsafe_set_dtype";
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block_rv));
  ASSIGN_OR_RETURN(const IntermediateBuffer found, WrittenIntermediate(schedule, row, buffer_index, kName));
  const StatusOr<DataType> type = DataType::Parse(dtype);
  const bool is_number = type.ok() && type->is_scalar() && (type->is_int() || type->is_float() || type->is_bool());
  if (!is_number)
    return Status(
        StatusCode::kOutOfRange,
        schedule.Error(kName, row, fmt::format("\"{}\" is no type of elements such as float16 or int8", dtype))
            .message());
  if (found.buffer->dtype != *type) {
    BufferNode changed = *found.buffer;
    changed.dtype = *type;
    changed.data = UnsetData();  // Its type says the elements.
    RETURN_IF_ERROR(ReplaceBuffer(schedule, found, Buffer(std::move(changed)), kName, row));
  }
  schedule.Record("UnsafeSetDType", {block_rv}, {int64_t{buffer_index}, dtype}, {});
  return OkStatus();
}

}  // namespace lathe
