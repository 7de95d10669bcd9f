#include "compiler/arith/match_region.h"

#include <fmt/format.h>

#include "compiler/arith/analyzer.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

Status Refuse(const BufferNode& view, const BufferNode& source, std::string_view required, std::string_view actual) {
  return InvalidArgument(
      fmt::format("match buffer \"{}\" of \"{}\": expected {}, got {}", view.name, source.name, required, actual));
}

Status CheckTypes(const BufferNode& view, const BufferNode& source) {
  if (view.dtype != source.dtype)
    return Refuse(view, source, "dtype " + source.dtype.ToString(), view.dtype.ToString());
  if (view.scope != source.scope)
    return Refuse(view, source, fmt::format("scope \"{}\"", source.scope), fmt::format("\"{}\"", view.scope));
  if (source.data_alignment % view.data_alignment != 0)
    return Refuse(view, source, fmt::format("an alignment that divides {}", source.data_alignment),
                  fmt::format("{}", view.data_alignment));
  if (view.buffer_type != BufferType::kDefault || source.buffer_type != BufferType::kDefault)
    return Refuse(view, source, "buffers of the default type", "one that broadcasts");
  return OkStatus();
}

}  // namespace

Status CheckMatch(const Buffer& view, const BufferRegion& source) {
  RETURN_IF_ERROR(CheckTypes(*view, *source.buffer));
  const size_t rank = view->shape.size(), region_rank = source.region.size();
  if (rank > region_rank)
    return Refuse(*view, *source.buffer, fmt::format("at most {} dimensions", region_rank), fmt::format("{}", rank));
  const Analyzer analyzer;
  for (size_t i = 0; i < region_rank; ++i) {
    const bool is_dropped = i < region_rank - rank;
    const Expr wanted = is_dropped ? Expr(1) : view->shape[i - (region_rank - rank)];
    if ((!is_dropped && IsVar(wanted)) || analyzer.CanProveEqual(source.region[i].extent, wanted)) continue;
    return Refuse(*view, *source.buffer, "the extents of the region, after ones",
                  fmt::format("another one in dimension {}", i));
  }
  return OkStatus();
}

}  // namespace lathe
