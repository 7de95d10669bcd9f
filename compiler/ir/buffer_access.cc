#include "compiler/ir/buffer_access.h"

#include "support/check.h"

namespace lathe {
namespace {

// Whether dimension `d` begins another dimension of the flat view.
bool BeginsAxis(const BufferNode& buffer, size_t d) {
  for (int64_t separator : buffer.axis_separators) {
    if (static_cast<size_t>(separator) == d && d > 0) return true;
  }
  return false;
}

Expr NumElements(const BufferNode& buffer) {
  if (buffer.shape.empty()) return 1;
  if (!buffer.strides.empty()) return buffer.strides[0] * buffer.shape[0];
  Expr product = buffer.shape[0];
  for (size_t d = 1; d < buffer.shape.size(); ++d) product = product * buffer.shape[d];
  return product;
}

}  // namespace

std::vector<Expr> OffsetOf(const Buffer& buffer, const std::vector<Expr>& indices) {
  CHECK(indices.size() == buffer->shape.size())
      << "offset in " << buffer->name << " of " << indices.size() << " indices";
  if (indices.empty()) return {buffer->elem_offset};
  std::vector<Expr> flat;
  for (size_t d = 0; d < indices.size(); ++d) {
    const bool begins = d == 0 || BeginsAxis(*buffer, d);
    const Expr step = buffer->strides.empty() ? indices[d] : indices[d] * buffer->strides[d];
    if (begins)
      flat.push_back(step);
    else
      flat.back() = (buffer->strides.empty() ? flat.back() * buffer->shape[d] : flat.back()) + step;
  }
  if (flat.size() == 1 && !IsConstInt(buffer->elem_offset, 0)) flat[0] = flat[0] + buffer->elem_offset;
  return flat;
}

Buffer FlatView(const Buffer& buffer) {
  if (buffer->shape.size() == 1 && buffer->strides.empty()) return buffer;
  BufferNode node = *buffer;
  node.strides.clear();
  node.shape = {NumElements(*buffer)};
  node.axis_separators.clear();
  if (buffer->strides.empty() && !buffer->axis_separators.empty()) {
    node.shape.clear();
    for (size_t d = 0; d < buffer->shape.size(); ++d) {
      if (d == 0 || BeginsAxis(*buffer, d)) {
        if (d > 0) node.axis_separators.push_back(static_cast<int64_t>(node.shape.size()));
        node.shape.push_back(buffer->shape[d]);
      } else {
        node.shape.back() = node.shape.back() * buffer->shape[d];
      }
    }
  }
  return Buffer(std::move(node));
}

Expr AccessPtr(const Buffer& buffer, int64_t access_mask, DataType pointer_type, int64_t content_lanes,
               const Expr& offset, const std::optional<Expr>& extent) {
  CHECK(content_lanes > 0) << "address of vectors of " << content_lanes << " lanes";
  const bool is_vector = content_lanes > 1;
  Expr start = buffer->elem_offset + offset, size = NumElements(*buffer) - offset;
  if (is_vector) {
    size = FloorDiv(size, Expr(content_lanes));
    start = FloorDiv(buffer->elem_offset, Expr(content_lanes));
  }
  const DataType element = is_vector ? buffer->dtype.with_lanes(static_cast<int>(content_lanes)) : buffer->dtype;
  return MakeCall(pointer_type, "tvm_access_ptr",
                  {MakeCall(element, "type_annotation", {}), buffer->data, start, extent.value_or(size),
                   IntConst(DataType::Int(32), access_mask)});
}

Expr WithIndices(const Expr& load, std::vector<Expr> indices) {
  BufferLoad moved = *load.As<BufferLoad>();
  moved.indices = std::move(indices);
  return Expr::Make(load.dtype(), std::move(moved));
}

Stmt WithIndices(const Stmt& store, std::vector<Expr> indices) {
  BufferStore moved = *store.As<BufferStore>();
  moved.indices = std::move(indices);
  return moved;
}

}  // namespace lathe
