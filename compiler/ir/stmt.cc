#include "compiler/ir/stmt.h"

#include "compiler/ir/node_pool.h"

namespace lathe {

void* StmtNode::operator new(size_t) { return NodePool<sizeof(StmtNode)>::Take(); }
void StmtNode::operator delete(void* node) { NodePool<sizeof(StmtNode)>::Give(node); }

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
  return BufferStore{buffer, std::move(value), std::move(indices), std::nullopt};
}

Buffer MakeBuffer(std::string name, std::vector<Expr> shape, DataType dtype, std::string scope) {
  BufferNode node;
  node.name = std::move(name);
  node.dtype = dtype;
  node.shape = std::move(shape);
  node.scope = std::move(scope);
  return Buffer(std::move(node));
}

PrimFunc MakePrimFunc(std::string name, const std::vector<Param>& params, Stmt body, AttrMap attrs) {
  PrimFunc func{.name = std::move(name), .attrs = std::move(attrs), .body = std::move(body)};
  for (const Param& param : params) {
    const Buffer* buffer = std::get_if<Buffer>(&param);
    func.params.push_back(buffer == nullptr ? std::get<Var>(param)
                                            : Var((*buffer)->name + "_handle", DataType::Handle()));
    if (buffer != nullptr) func.buffer_map.push_back({func.params.back(), *buffer});
  }
  return func;
}

const Buffer* FindBuffer(const PrimFunc& func, const Var& param) {
  for (const ParamBuffer& entry : func.buffer_map) {
    if (entry.param.same_as(param)) return &entry.buffer;
  }
  return nullptr;
}

std::vector<Param> ParamsOf(const PrimFunc& func) {
  std::vector<Param> params;
  auto next = func.buffer_map.begin();  // In the order of the parameters.
  for (const Var& param : func.params) {
    const bool is_buffer = next != func.buffer_map.end() && next->param.same_as(param);
    params.push_back(is_buffer ? Param((next++)->buffer) : Param(param));
  }
  return params;
}

const Buffer& BufferParam(const PrimFunc& func, size_t i) {
  const Buffer* buffer = FindBuffer(func, func.params.at(i));
  CHECK(buffer != nullptr) << "parameter " << i << " of " << func.name << " is no buffer";
  return *buffer;
}

BufferRegion FullRegion(const Buffer& buffer) {
  BufferRegion region{buffer, {}};
  for (const Expr& extent : buffer->shape) region.region.push_back({IntConst(extent.dtype(), 0), extent});
  return region;
}

const std::vector<Range>* RegionOfBuffer(const std::vector<BufferRegion>& regions, const Buffer& buffer) {
  for (const BufferRegion& region : regions)
    if (region.buffer.same_as(buffer)) return &region.region;
  return nullptr;
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
