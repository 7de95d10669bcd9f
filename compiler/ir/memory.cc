#include "compiler/ir/memory.h"

#include <algorithm>

#include "compiler/ir/structural.h"
#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

Buffer BufferOver(const Var& data, DataType dtype, std::vector<Expr> shape) {
  BufferNode node;
  node.name = data.name();
  node.dtype = dtype;
  node.shape = std::move(shape);
  node.scope = data.pointer() == nullptr ? "global" : data.pointer()->scope;
  node.data = data;
  return Buffer(std::move(node));
}

// From the outermost dimension to the innermost, how many rows of the next one each row has room for; nullopt: they are
// not known to lie behind each other.
std::optional<std::vector<Expr>> RowsOf(const BufferNode& buffer) {
  const auto shape = ConstantShape(buffer.shape), strides = ConstantShape(buffer.strides);
  if (!shape || !strides || shape->empty() || strides->back() != 1) return std::nullopt;
  std::vector<Expr> rows = {buffer.shape[0]};
  for (size_t d = 1; d < shape->size(); ++d) {
    const int64_t inner = (*strides)[d], outer = (*strides)[d - 1];
    if (inner <= 0 || outer % inner != 0 || outer / inner < (*shape)[d]) return std::nullopt;
    rows.push_back(IntConst(buffer.shape[d].dtype(), outer / inner));
  }
  return rows;
}

// Elements up to the last that the buffer reaches.
Expr LengthOf(const BufferNode& buffer) {
  Expr last = buffer.elem_offset;
  for (size_t d = 0; d < buffer.shape.size(); ++d) last = last + (buffer.shape[d] - 1) * buffer.strides[d];
  return last + 1;
}

// Of the memory that a buffer needs: its shape, or as long as its rows are by its strides; one extent where that is not
// known.
std::vector<Expr> AllocationExtents(const BufferNode& buffer) {
  if (buffer.strides.empty()) return buffer.shape;
  std::optional<std::vector<Expr>> rows = IsConstInt(buffer.elem_offset, 0) ? RowsOf(buffer) : std::nullopt;
  return rows ? *std::move(rows) : std::vector<Expr>{LengthOf(buffer)};
}

class AllocationSplitter : public StmtExprMutator {
 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    const Stmt visited = StmtExprMutator::VisitStmt(stmt);
    const AllocBuffer* alloc = visited.As<AllocBuffer>();
    return alloc == nullptr ? visited : SplitAllocBuffer(*alloc);
  }
  Expr VisitExpr(const Expr& expr) override { return expr; }
};

bool SameExtents(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Expr& x, const Expr& y) { return StructuralEqual(x, y); });
}

class AllocationJoiner : public StmtExprMutator {
 public:
  explicit AllocationJoiner(bool for_text) : for_text_(for_text) {}

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    const Stmt visited = StmtExprMutator::VisitStmt(stmt);
    const Allocate* memory = visited.As<Allocate>();
    const DeclBuffer* view = memory == nullptr ? nullptr : memory->body.As<DeclBuffer>();
    return view != nullptr && IsPair(*memory, *view->buffer) ? Stmt(AllocBuffer{view->buffer, view->body}) : visited;
  }
  Expr VisitExpr(const Expr& expr) override { return expr; }

 private:
  bool IsPair(const Allocate& memory, const BufferNode& buffer) const {
    return buffer.data.same_as(memory.buffer_var) && buffer.dtype == memory.dtype && memory.annotations.empty() &&
           IsConstInt(memory.condition, 1) && SameExtents(memory.extents, AllocationExtents(buffer)) &&
           (!for_text_ || IsPlain(memory, buffer));
  }
  static bool IsPlain(const Allocate& memory, const BufferNode& buffer) {
    return buffer.name == memory.buffer_var.name() && SameExtents(memory.extents, buffer.shape);
  }
  const bool for_text_;
};

}  // namespace

Stmt SplitAllocBuffer(const AllocBuffer& alloc) {
  const Buffer& buffer = alloc.buffer;
  return Allocate{buffer->data, buffer->dtype, AllocationExtents(*buffer), True(), {}, DeclBuffer{buffer, alloc.body}};
}

Stmt SplitAllocBuffers(const Stmt& stmt) { return AllocationSplitter()(stmt); }
Stmt JoinAllocations(const Stmt& stmt, bool for_text) { return AllocationJoiner(for_text)(stmt); }

std::optional<Stmt> AsAllocBuffer(const Allocate& allocate) {
  if (!IsConstInt(allocate.condition, 1)) return std::nullopt;
  return AllocBuffer{BufferOver(allocate.buffer_var, allocate.dtype, allocate.extents), allocate.body};
}

Stmt AsAllocBuffer(const AllocateConst& allocate) {
  const Buffer flat =
      BufferOver(allocate.buffer_var, allocate.dtype, {Expr(static_cast<int64_t>(allocate.data.size()))});
  std::vector<Stmt> stmts;
  for (size_t i = 0; i < allocate.data.size(); ++i)
    stmts.push_back(MakeStore(flat, allocate.data[i], {Expr(static_cast<int64_t>(i))}));
  stmts.push_back(allocate.body);
  return AllocBuffer{flat, MakeSeq(std::move(stmts))};
}

}  // namespace lathe
