#include "compiler/transform/inject_permuted_layout.h"

#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>

#include "compiler/ir/storage_scope.h"
#include "compiler/transform/fact_mutator.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr char kPermutedLayout[] = "permuted_layout";
constexpr int64_t kGroup = 8;  // Columns that stay side by side: 16 bytes of float16.

bool IsSharedMemory(const Buffer& buffer) {
  const StatusOr<StorageScope> scope = ParseStorageScope(ScopeOf(buffer->data));
  return scope.ok() && scope->rank == StorageRank::kShared;
}

// A text says which step of TVM's rules the block is; none is off, as is 0.
bool IsPermuted(const BlockNode& block) {
  const auto found = block.annotations.find(kPermutedLayout);
  if (found == block.annotations.end()) return false;
  if (const std::string* text = std::get_if<std::string>(&found->second)) return !text->empty();
  const Expr* value = std::get_if<Expr>(&found->second);
  return !(found->second == Attr(0) || found->second == Attr(false) || (value != nullptr && IsConstInt(*value, 0)));
}

// Which shared memory is touched inside and outside of permuted blocks, and the buffer over it.
class TouchFinder : public StmtExprVisitor {
 public:
  std::unordered_map<const ExprNode*, Buffer> buffers;
  std::unordered_set<const ExprNode*> inside, outside;

 protected:
  void VisitBlock(const Block& block) override {
    const bool was = is_inside_;
    is_inside_ |= IsPermuted(*block);
    StmtExprVisitor::VisitBlock(block);
    is_inside_ = was;
  }
  void VisitBufferDef(const Buffer& buffer) override { buffers.emplace(buffer->data.get(), buffer); }
  void VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    Touch(load.buffer->data);
    StmtExprVisitor::VisitBufferLoad(self, load);
  }
  void VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    Touch(store.buffer->data);
    StmtExprVisitor::VisitBufferStore(self, store);
  }
  void VisitVar(const Expr& var) override { Touch(var); }

 private:
  void Touch(const Expr& data) { (is_inside_ ? inside : outside).insert(data.get()); }
  bool is_inside_ = false;
};

class LayoutPermuter : public FactMutator {
 public:
  explicit LayoutPermuter(const TouchFinder& touched) : touched_(touched) {}
  Status status;

 protected:
  Block VisitBlock(const Block& self) override {
    const bool was = permutes_, begins = IsPermuted(*self);
    permutes_ |= begins;
    Block block = FactMutator::VisitBlock(self);
    permutes_ = was;
    if (begins) block.Mutable().annotations.erase(kPermutedLayout);
    return block;
  }
  Stmt VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    const Stmt visited = FactMutator::VisitBufferStore(self, store);
    const BufferStore& now = *visited.As<BufferStore>();
    const std::optional<std::vector<Expr>> indices = Permuted(now.buffer, now.indices);
    if (!indices) return visited;
    BufferStore copy = now;
    copy.indices = *indices;
    return copy;
  }
  Expr VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    const Expr visited = FactMutator::VisitBufferLoad(self, load);
    const BufferLoad& now = *visited.As<BufferLoad>();
    const std::optional<std::vector<Expr>> indices = Permuted(now.buffer, now.indices);
    if (!indices) return visited;
    BufferLoad copy = now;
    copy.indices = *indices;
    return Expr::Make(visited.dtype(), std::move(copy));
  }
  Expr VisitExpr(const Expr& e) override {
    const Call* before = e.As<Call>();
    const bool was = in_ldmatrix_;
    in_ldmatrix_ |= before != nullptr && before->op->name == "ptx_ldmatrix" && before->args.size() == 7;
    const bool is_ldmatrix = in_ldmatrix_ && !was;
    const Expr visited = FactMutator::VisitExpr(e);
    in_ldmatrix_ = was;
    const Call* call = permutes_ ? visited.As<Call>() : nullptr;
    if (call == nullptr) return visited;
    if (is_ldmatrix) return WithAddress(visited, *call);
    if (call->op->name == "tvm_access_ptr") RefuseAddress(*call);
    return visited;
  }

 private:
  // How many columns a row has; nullopt: the buffer stays as it is.
  std::optional<int64_t> RowSize(const Buffer& buffer) {
    if (!permutes_ || buffer->shape.size() < 2 || !IsSharedMemory(buffer)) return std::nullopt;
    const int64_t* columns = AsIntConst(buffer->shape.back());
    const int64_t* rows = AsIntConst(buffer->shape[buffer->shape.size() - 2]);
    const bool fits = columns != nullptr && rows != nullptr &&
                      (*columns % 64 == 0 || (*columns % 32 == 0 && *rows % 2 == 0)) && buffer->strides.empty();
    if (!fits) {
      Refuse(buffer, "its rows have to be multiples of 64 columns, or of 32 in pairs of rows");
      return std::nullopt;
    }
    const ExprNode* data = buffer->data.get();
    if (touched_.inside.count(data) != 0 && touched_.outside.count(data) != 0)
      Refuse(buffer, "blocks without the annotation touch it as well; annotate all that do");
    return *columns;
  }
  void Refuse(const Buffer& buffer, const char* reason) {
    status = InvalidArgument(fmt::format("InjectPermutedLayout buffer \"{}\": {}", buffer->name, reason));
  }

  // The column where column `column` of row `row` lies.
  Expr PermutedColumn(const Expr& row, const Expr& column, int64_t row_size) {
    const Expr of_rows = row_size % 64 == 0 ? FloorMod(row, kGroup) : FloorDiv(FloorMod(row, kGroup), 2);
    Expr group = facts_.Simplify(FloorDiv(column, kGroup)), mask = facts_.Simplify(of_rows);
    MatchTypes(group, mask);
    const Expr exchanged = MakeCall(group.dtype(), "bitwise_xor", {group, mask});
    return facts_.Simplify(exchanged * kGroup + FloorMod(column, kGroup));
  }
  std::optional<std::vector<Expr>> Permuted(const Buffer& buffer, std::vector<Expr> indices) {
    const std::optional<int64_t> row_size = RowSize(buffer);
    if (!row_size) return std::nullopt;
    indices.back() = PermutedColumn(indices[indices.size() - 2], indices.back(), *row_size);
    return indices;
  }

  std::optional<int64_t> RowSizeOf(const Call& access) {
    const auto found = touched_.buffers.find(access.args[1].get());
    return found == touched_.buffers.end() ? std::nullopt : RowSize(found->second);
  }
  // Of a tile that something else walks, row by row.
  void RefuseAddress(const Call& access) {
    if (RowSizeOf(access) && !in_ldmatrix_)
      Refuse(touched_.buffers.at(access.args[1].get()), "only ptx_ldmatrix may take its address");
  }

  // Each thread of ldmatrix has the address of one group: T.tvm_access_ptr in argument 5, and argument 6 elements on.
  Expr WithAddress(const Expr& self, const Call& call) {
    const Call* access = call.args[5].As<Call>();
    if (access == nullptr || access->op->name != "tvm_access_ptr") return self;
    const std::optional<int64_t> row_size = RowSizeOf(*access);
    if (!row_size) return self;
    const Expr start = access->args[2] + call.args[6];
    const Expr row = FloorDiv(start, *row_size), column = FloorMod(start, *row_size);
    Call moved = *access, result = call;
    moved.args[2] = facts_.Simplify(row * *row_size + PermutedColumn(row, column, *row_size));
    result.args[5] = Expr::Make(call.args[5].dtype(), std::move(moved));
    result.args[6] = IntConst(call.args[6].dtype(), 0);
    return Expr::Make(self.dtype(), std::move(result));
  }

  const TouchFinder& touched_;
  bool permutes_ = false, in_ldmatrix_ = false;
};

}  // namespace

StatusOr<PrimFunc> InjectPermutedLayout(PrimFunc func) {
  TouchFinder touched;
  touched(func.body);
  LayoutPermuter permuter(touched);
  Stmt body = permuter(func.body);
  RETURN_IF_ERROR(permuter.status);
  func.body = std::move(body);
  return func;
}

}  // namespace lathe
