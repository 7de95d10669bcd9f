#include "compiler/codegen/llvm/tile_statement.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/arith/analyzer.h"
#include "compiler/arith/linear.h"
#include "compiler/ir/visitor.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr int64_t kAnyStride = -1;

class Reader {
 public:
  explicit Reader(const AttrStmt& attr) {
    if (const StringImm* name = attr.value.As<StringImm>()) made_.instruction = name->value;
    const Stmt* stmt = &attr.body;
    for (const For* loop = stmt->As<For>(); loop != nullptr; loop = stmt->As<For>()) {
      loops_.push_back(loop->loop_var);
      const int64_t* extent = IsConstInt(loop->min, 0) ? AsIntConst(loop->extent) : nullptr;
      extents_.push_back(extent == nullptr ? 0 : *extent);
      facts_.Bind(loop->loop_var, Range{loop->min, loop->extent});
      stmt = &loop->body;
    }
    store_ = stmt->As<BufferStore>();
  }

  StatusOr<TileStatement> Read() {
    if (store_ == nullptr || store_->predicate || extents_.size() < 2) return Error("is no store in loops");
    made_.rows = extents_[0];
    made_.columns = extents_[1];
    if (made_.instruction == "tilezero") return ReadZero();
    return made_.instruction == "tilestored" ? ReadStore() : ReadProduct();
  }

 private:
  Status Error(std::string_view what) const {
    return FailedPrecondition(fmt::format("what stands for {} {}; use the tensor intrinsic", made_.instruction, what));
  }

  StatusOr<TileStatement> ReadZero() {
    const FloatImm* number = store_->value.As<FloatImm>();
    if (!IsConstInt(store_->value, 0) && (number == nullptr || number->value != 0)) return Error("stores no zeros");
    ASSIGN_OR_RETURN(made_.sums, Access(store_->buffer, store_->indices, {kAnyStride, 1}, 0));
    return made_;
  }
  StatusOr<TileStatement> ReadStore() {
    const BufferLoad* load = store_->value.As<BufferLoad>();
    if (load == nullptr) return Error("stores more than sums");
    ASSIGN_OR_RETURN(made_.sums, Access(load->buffer, load->indices, {kAnyStride, 1}, 0));
    ASSIGN_OR_RETURN(made_.target, Access(store_->buffer, store_->indices, {kAnyStride, 1}, 0));
    return made_;
  }
  StatusOr<TileStatement> ReadProduct() {
    const Binary* sum = store_->value.As<Binary>();
    const Binary* product = sum == nullptr ? nullptr : sum->b.As<Binary>();
    if (extents_.size() != 4 || product == nullptr || sum->op != BinaryOp::kAdd || product->op != BinaryOp::kMul)
      return Error("adds up no products");
    const BufferLoad* before = sum->a.As<BufferLoad>();
    if (before == nullptr || !before->buffer.same_as(store_->buffer) || !SameIndices(*before))
      return Error("adds to something else than what it stores");
    const BufferLoad *a = LoadOf(product->a), *b = LoadOf(product->b);
    if (a == nullptr || b == nullptr) return Error("multiplies something else than elements");
    made_.steps = extents_[2];
    made_.parts = extents_[3];
    ASSIGN_OR_RETURN(made_.sums, Access(store_->buffer, store_->indices, {kAnyStride, 1, 0, 0}, 0));
    ASSIGN_OR_RETURN(made_.a, Access(a->buffer, a->indices, {kAnyStride, 0, made_.parts, 1}, 0));
    ASSIGN_OR_RETURN(made_.b, Access(b->buffer, b->indices, {0, made_.parts, kAnyStride, 1}, 2));
    return made_;
  }

  bool SameIndices(const BufferLoad& load) const {
    return std::equal(load.indices.begin(), load.indices.end(), store_->indices.begin(), store_->indices.end(),
                      [](const Expr& x, const Expr& y) { return SameExpr(x, y); });
  }

  static const BufferLoad* LoadOf(const Expr& factor) {
    const Cast* cast = factor.As<Cast>();
    return (cast == nullptr ? factor : cast->value).As<BufferLoad>();
  }

  // `strides`: of each loop; that of loop `row` is the tile's.
  StatusOr<TileAccess> Access(const Buffer& buffer, const std::vector<Expr>& indices,
                              const std::vector<int64_t>& strides, size_t row) const {
    const Status error = Error(fmt::format("does not touch \"{}\" by rows of neighbours", buffer->name));
    if (indices.size() != 1 || !indices[0].dtype().is_scalar()) return error;
    const Expr& index = indices[0];
    const Expr first = At(index, std::nullopt);
    Expr all = first;
    std::optional<Expr> stride;
    for (size_t i = 0; i < loops_.size(); ++i) {
      const Expr step = facts_.Simplify(At(index, i) - first);
      const bool is_it = strides[i] == kAnyStride ? !UsesLoops(step) : IsConstInt(step, strides[i]);
      if (!is_it && extents_[i] > 1) return error;
      if (i == row) stride = step;
      all = all + step * MakeCast(step.dtype(), loops_[i]);
    }
    if (!facts_.CanProveEqual(index, all)) return error;
    return TileAccess{buffer, first, *stride};
  }
  // Where all loops are at 0, but `one`, which is at 1.
  Expr At(const Expr& index, std::optional<size_t> one) const {
    VarMap values;
    for (size_t i = 0; i < loops_.size(); ++i)
      values.emplace(loops_[i].get(), IntConst(loops_[i].dtype(), one == i ? 1 : 0));
    return facts_.Simplify(Substitute(index, values));
  }
  bool UsesLoops(const Expr& e) const {
    return std::any_of(loops_.begin(), loops_.end(), [&](const Var& loop) { return UsesVar(e, loop.get()); });
  }

  Analyzer facts_;
  std::vector<Var> loops_;
  std::vector<int64_t> extents_;  // 0: not known.
  const BufferStore* store_ = nullptr;
  TileStatement made_;
};

}  // namespace

bool TileStatement::Fits(const TileStatement& product) const {
  const bool are_sums_alike = rows == product.rows && columns == product.columns &&
                              sums->buffer->dtype.bits == product.sums->buffer->dtype.bits;
  return are_sums_alike && (!is_product() || (steps == product.steps && parts == product.parts));
}

StatusOr<TileStatement> AsTileStatement(const AttrStmt& attr) { return Reader(attr).Read(); }

}  // namespace lathe
