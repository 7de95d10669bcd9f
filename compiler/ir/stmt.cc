#include "compiler/ir/stmt.h"

namespace lathe {

Block::Block(BlockNode node) : node_(new BlockNode(std::move(node))) {}

Stmt MakeSeq(std::vector<Stmt> stmts) {
  CHECK(!stmts.empty()) << "sequence of nothing";
  std::vector<Stmt> flat;
  for (Stmt& stmt : stmts) {
    if (const Seq* seq = stmt.As<Seq>()) {
      flat.insert(flat.end(), seq->stmts.begin(), seq->stmts.end());
    } else {
      flat.push_back(std::move(stmt));
    }
  }
  if (flat.size() == 1) return flat.front();
  return Seq{std::move(flat)};
}

Stmt MakeFor(Var loop_var, Expr extent, Stmt body, ForKind kind) {
  const DataType type = loop_var.dtype();
  return For{std::move(loop_var), IntConst(type, 0), std::move(extent), kind, "", {}, std::move(body)};
}

Stmt MakeStore(const Buffer& buffer, Expr value, std::vector<Expr> indices) {
  CHECK(indices.size() == buffer->shape.size())
      << "store to " << buffer->name << " with " << indices.size() << " indices";
  return BufferStore{buffer, std::move(value), std::move(indices)};
}

Buffer MakeBuffer(std::string name, std::vector<Expr> shape, DataType dtype, std::string scope) {
  BufferNode node;
  node.name = std::move(name);
  node.dtype = dtype;
  node.shape = std::move(shape);
  node.scope = std::move(scope);
  return Buffer(std::move(node));
}

BufferRegion FullRegion(const Buffer& buffer) {
  BufferRegion region{buffer, {}};
  for (const Expr& extent : buffer->shape) region.region.push_back({IntConst(extent.dtype(), 0), extent});
  return region;
}

std::optional<std::vector<int64_t>> ConstantShape(const std::vector<Expr>& shape) {
  std::vector<int64_t> extents;
  for (const Expr& extent : shape) {
    const int64_t* value = AsIntConst(extent);
    if (value == nullptr) return std::nullopt;
    extents.push_back(*value);
  }
  return extents;
}

}  // namespace lathe
