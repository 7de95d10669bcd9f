#include "compiler/transform/bind_buffers.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/arith/analyzer.h"
#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

bool HasShapeOf(const Buffer& a, const Buffer& b) {
  const Analyzer analyzer;
  return a->dtype == b->dtype && std::equal(a->shape.begin(), a->shape.end(), b->shape.begin(), b->shape.end(),
                                            [&](const Expr& x, const Expr& y) { return analyzer.CanProveEqual(x, y); });
}

}  // namespace

StatusOr<PrimFunc> BindBuffers(PrimFunc func, const std::vector<BoundParam>& bound) {
  BufferMap buffers;
  for (const BoundParam& each : bound) {
    const auto entry = std::find_if(func.buffer_map.begin(), func.buffer_map.end(), [&](const ParamBuffer& known) {
      return each.param < func.params.size() && known.param.same_as(func.params[each.param]);
    });
    if (entry == func.buffer_map.end() || !HasShapeOf(entry->buffer, each.buffer))
      return InvalidArgument(fmt::format("bind @{}: buffer \"{}\" has not the type and shape of parameter {}",
                                         func.name, each.buffer->name, each.param));
    buffers.insert_or_assign(entry->buffer.get(), each.buffer);
    entry->buffer = each.buffer;
  }
  func.body = Substitute(func.body, {}, buffers);
  return func;
}

}  // namespace lathe
