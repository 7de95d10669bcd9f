#include "compiler/transform/bind_buffers.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "compiler/arith/analyzer.h"
#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

// Notes what the variables of `own` shape are called in `given`. Whether that is all that differs.
bool MatchShape(const BufferNode& own, const BufferNode& given, VarMap& names) {
  const Analyzer analyzer;
  if (own.dtype != given.dtype || own.shape.size() != given.shape.size()) return false;
  for (size_t i = 0; i < own.shape.size(); ++i)
    if (IsVar(own.shape[i]) && IsVar(given.shape[i]) && own.shape[i].dtype() == given.shape[i].dtype())
      names.emplace(own.shape[i].get(), given.shape[i]);
  return std::equal(own.shape.begin(), own.shape.end(), given.shape.begin(),
                    [&](const Expr& x, const Expr& y) { return analyzer.CanProveEqual(Substitute(x, names), y); });
}

Buffer Renamed(const Buffer& buffer, const VarMap& names) {
  std::optional<BufferNode> mapped = MapDims(buffer, [&](const Expr& e) { return Substitute(e, names); });
  return mapped ? Buffer(*std::move(mapped)) : buffer;
}

}  // namespace

StatusOr<PrimFunc> BindBuffers(PrimFunc func, const std::vector<BoundParam>& bound) {
  BufferMap buffers;
  VarMap names;
  for (const BoundParam& each : bound) {
    const Buffer* own = each.param < func.params.size() ? FindBuffer(func, func.params[each.param]) : nullptr;
    if (own == nullptr || !MatchShape(**own, *each.buffer, names))
      return InvalidArgument(fmt::format("bind @{}: buffer \"{}\" has not the type and shape of parameter {}",
                                         func.name, each.buffer->name, each.param));
    buffers.insert_or_assign(own->get(), each.buffer);
  }
  for (ParamBuffer& entry : func.buffer_map)
    entry.buffer = Buffer(buffers.try_emplace(entry.buffer.get(), Renamed(entry.buffer, names)).first->second);
  for (Var& param : func.params)
    if (const auto name = names.find(param.get()); name != names.end()) param = Var(name->second);
  func.body = Substitute(func.body, names, buffers);
  return func;
}

}  // namespace lathe
