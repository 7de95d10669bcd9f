#include <algorithm>

#include "compiler/arith/iter_rewriter.h"
#include "compiler/arith/linear.h"

namespace lathe {
namespace {

// (iterator // lower % extent) * scale.
struct Piece {
  size_t iter;
  int64_t lower, extent, scale;
};

class TileReader {
 public:
  TileReader(const IterDomain& iters, const IterMapOptions& options) : iters_(iters), options_(options) {}

  // Appends the pieces of a sum, in its order, each times `factor`, and adds to `base`; false: it is something else.
  bool Add(const Expr& e, int64_t factor, std::vector<Piece>& pieces, int64_t& base) const {
    if (const int64_t* value = AsIntConst(e)) {
      int64_t product;
      return !__builtin_mul_overflow(*value, factor, &product) && !__builtin_add_overflow(base, product, &base);
    }
    const Binary* op = e.As<Binary>();
    if (op != nullptr && op->op == BinaryOp::kAdd)
      return Add(op->a, factor, pieces, base) && Add(op->b, factor, pieces, base);
    if (op != nullptr && op->op == BinaryOp::kMul) {
      const int64_t* scale = AsIntConst(op->b);
      return scale != nullptr && *scale > 0 && !__builtin_mul_overflow(factor, *scale, &factor) &&
             Add(op->a, factor, pieces, base);
    }
    std::optional<Piece> piece = Read(e);
    if (!piece) return false;
    piece->scale = factor;
    if (!IsTrivial(*piece)) pieces.push_back(*piece);
    return true;
  }
  // Whether the pieces of each iterator lie side by side and make up all of it; where `all`, of every iterator.
  bool AreWhole(std::vector<Piece> pieces, bool all) const {
    std::sort(pieces.begin(), pieces.end(),
              [](const Piece& a, const Piece& b) { return std::pair(a.iter, a.lower) < std::pair(b.iter, b.lower); });
    size_t next = 0;
    for (size_t iter = 0; iter < iters_.size(); ++iter) {
      int64_t covered = 1;
      const size_t first = next;
      for (; next < pieces.size() && pieces[next].iter == iter; ++next) {
        if (pieces[next].lower != covered) return false;
        covered *= pieces[next].extent;
      }
      const int64_t extent = *AsIntConst(iters_[iter].second.extent);
      if (next == first ? all && extent != 1 : covered != extent) return false;
      if (next - first > 1 && extent == 1) return false;  // Used twice.
    }
    return true;
  }

 private:
  bool IsTrivial(const Piece& piece) const { return options_.simplify_trivial_iterators && piece.extent == 1; }
  // An iterator from 0, or its quotient or remainder by what divides it.
  std::optional<Piece> Read(const Expr& e) const {
    if (IsVar(e)) {
      for (size_t i = 0; i < iters_.size(); ++i)
        if (iters_[i].first.same_as(e)) return ReadIter(i);
      return std::nullopt;
    }
    const Binary* op = e.As<Binary>();
    if (op == nullptr || (op->op != BinaryOp::kFloorDiv && op->op != BinaryOp::kFloorMod)) return std::nullopt;
    const int64_t* divisor = AsIntConst(op->b);
    std::optional<Piece> piece = Read(op->a);
    if (!piece || divisor == nullptr || *divisor < 2 || *divisor >= piece->extent || piece->extent % *divisor != 0)
      return std::nullopt;
    if (op->op == BinaryOp::kFloorMod) {
      piece->extent = *divisor;
    } else {
      piece->lower *= *divisor;
      piece->extent /= *divisor;
    }
    return piece;
  }
  std::optional<Piece> ReadIter(size_t i) const {
    const Range& range = iters_[i].second;
    if (!IsConstInt(range.min, 0)) return std::nullopt;
    return Piece{i, 1, *AsIntConst(range.extent), 1};
  }

  const IterDomain& iters_;
  const IterMapOptions& options_;
};

// Whether each piece begins where those after it end.
bool IsChain(const std::vector<Piece>& pieces) {
  for (size_t i = 0; i + 1 < pieces.size(); ++i) {
    int64_t above;
    if (__builtin_mul_overflow(pieces[i + 1].scale, pieces[i + 1].extent, &above) || pieces[i].scale != above)
      return false;
    for (size_t k = 0; k < i + 1; ++k)
      if (pieces[k].iter == pieces[i + 1].iter) return false;  // Neighbours would become one.
  }
  return true;
}

// The pieces as one fused mark, as the rewriter makes it; nullopt: its extent or a type does not fit.
std::optional<IterSplitExpr> Fuse(const std::vector<Piece>& pieces, const IterDomain& iters, DataType type,
                                  std::vector<IterMarkPtr>& marks) {
  const int64_t unit = pieces.back().scale;
  int64_t extent;
  if (__builtin_mul_overflow(pieces.front().scale / unit, pieces.front().extent, &extent) ||
      !TypeBound(type).Contains(extent))
    return std::nullopt;
  IterSumExpr sum{{}, IntConst(type, 0)};
  for (const Piece& piece : pieces) {
    const auto& [var, range] = iters[piece.iter];
    if (var.dtype() != type) return std::nullopt;
    IterMarkPtr& mark = marks[piece.iter];
    if (mark == nullptr)
      mark = std::make_shared<IterMark>(IterMark{Expr(var), IntConst(type, *AsIntConst(range.extent))});
    sum.args.push_back(
        {mark, IntConst(type, piece.lower), IntConst(type, piece.extent), IntConst(type, piece.scale / unit)});
  }
  IterSplitExpr whole = WholeSplit(std::make_shared<IterMark>(IterMark{std::move(sum), IntConst(type, extent)}));
  whole.scale = IntConst(type, unit);
  return whole;
}

bool HasConstantBounds(const IterDomain& iters) {
  return std::all_of(iters.begin(), iters.end(), [](const auto& item) {
    const int64_t* extent = AsIntConst(item.second.extent);
    return IsIndexType(item.first.dtype()) && AsIntConst(item.second.min) != nullptr && extent != nullptr &&
           *extent > 0;
  });
}

}  // namespace

std::optional<IterMapResult> DetectTiles(const std::vector<Expr>& indices, const IterDomain& iters,
                                         const IterMapOptions& options) {
  if (!HasConstantBounds(iters)) return std::nullopt;
  const TileReader reader(iters, options);
  std::vector<Piece> pieces, all;
  std::vector<IterMarkPtr> marks(iters.size());
  IterMapResult result{{}, IntConst(DataType::Bool(), 0)};
  for (const Expr& index : indices) {
    const DataType type = index.dtype();
    int64_t base = 0;
    pieces.clear();
    if (!IsIndexType(type) || !reader.Add(index, 1, pieces, base) || !IsChain(pieces) ||
        !TypeBound(type).Contains(base))
      return std::nullopt;
    IterSumExpr& sum = result.indices.emplace_back(IterSumExpr{{}, IntConst(type, base)});
    if (pieces.empty()) continue;
    std::optional<IterSplitExpr> fused = Fuse(pieces, iters, type, marks);
    if (!fused) return std::nullopt;
    sum.args.push_back(*std::move(fused));
    all.insert(all.end(), pieces.begin(), pieces.end());
  }
  if (!reader.AreWhole(std::move(all), options.level == IterMapLevel::kBijective)) return std::nullopt;
  return result;
}

}  // namespace lathe
