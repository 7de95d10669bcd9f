#include <algorithm>
#include <span>

#include "compiler/arith/iter_rewriter.h"
#include "compiler/arith/linear.h"

namespace lathe {
namespace {

// (iterator // lower % extent) * scale.
struct Piece {
  size_t iter;
  int64_t lower, extent, scale;
};

using Pieces = std::span<const Piece>;

class TileReader {
 public:
  // `may_be_fixed`: parts without an iterator are left out.
  TileReader(const IterDomain& iters, const IterMapOptions& options, bool may_be_fixed)
      : iters_(iters), options_(options), may_be_fixed_(may_be_fixed) {}

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
    if (!piece) return may_be_fixed_ && !UsesIters(e);
    piece->scale = factor;
    if (!IsTrivial(*piece)) pieces.push_back(*piece);
    return true;
  }
  // Whether the pieces of each iterator do not share digits and, where `all`, make up all of every iterator.
  bool AreApart(std::vector<Piece> pieces, bool all) const {
    std::sort(pieces.begin(), pieces.end(),
              [](const Piece& a, const Piece& b) { return std::pair(a.iter, a.lower) < std::pair(b.iter, b.lower); });
    size_t next = 0;
    for (size_t iter = 0; iter < iters_.size(); ++iter) {
      int64_t covered = 1;
      const size_t first = next;
      for (; next < pieces.size() && pieces[next].iter == iter; ++next) {
        if (all ? pieces[next].lower != covered : pieces[next].lower % covered != 0) return false;
        covered = pieces[next].lower * pieces[next].extent;
      }
      const int64_t extent = *AsIntConst(iters_[iter].second.extent);
      if (all && covered != extent) return false;
      if (next - first > 1 && extent == 1) return false;  // Used twice.
    }
    return true;
  }

 private:
  bool UsesIters(const Expr& e) const {
    return UsesVar(e, [&](const ExprNode* used) {
      return std::any_of(iters_.begin(), iters_.end(), [&](const auto& item) { return item.first.get() == used; });
    });
  }
  bool IsTrivial(const Piece& piece) const {
    return options_.simplify_trivial_iterators && IsConstInt(iters_[piece.iter].second.extent, 1);
  }
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
    if (!piece || divisor == nullptr || *divisor < 2 || piece->extent % *divisor != 0) return std::nullopt;
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
  const bool may_be_fixed_;
};

// Whether each piece begins where those after it end.
bool IsChain(Pieces pieces) {
  for (size_t i = 0; i + 1 < pieces.size(); ++i) {
    int64_t above;
    if (__builtin_mul_overflow(pieces[i + 1].scale, pieces[i + 1].extent, &above) || pieces[i].scale != above)
      return false;
    for (size_t k = 0; k < i + 1; ++k)
      if (pieces[k].iter == pieces[i + 1].iter) return false;  // Neighbours would become one.
  }
  return true;
}

// Whether the type holds what the pieces count together, and is theirs.
bool HasRoom(Pieces pieces, const IterDomain& iters, DataType type) {
  if (pieces.empty()) return true;
  int64_t extent;
  return !__builtin_mul_overflow(pieces.front().scale / pieces.back().scale, pieces.front().extent, &extent) &&
         TypeBound(type).Contains(extent) && std::all_of(pieces.begin(), pieces.end(), [&](const Piece& piece) {
           return iters[piece.iter].first.dtype() == type;
         });
}

// The pieces as one fused mark, as the rewriter makes it.
IterSplitExpr Fuse(Pieces pieces, const IterDomain& iters, DataType type, std::vector<IterMarkPtr>& marks) {
  const int64_t unit = pieces.back().scale, extent = pieces.front().scale / unit * pieces.front().extent;
  IterSumExpr sum{{}, IntConst(type, 0)};
  for (const Piece& piece : pieces) {
    const auto& [var, range] = iters[piece.iter];
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

// An index: its pieces, largest scale first, each beginning where those after it end, and a constant.
struct Tile {
  Pieces pieces;
  int64_t base;
};

// The tiles of several indices; their pieces lie in one row.
class Tiles {
 public:
  explicit Tiles(size_t count) {
    ends_.reserve(count);
    bases_.reserve(count);
    pieces_.reserve(2 * count);
  }
  bool Add(const Expr& index, const TileReader& reader, const IterDomain& iters) {
    const DataType type = index.dtype();
    int64_t base = 0;
    if (!IsIndexType(type) || !reader.Add(index, 1, pieces_, base) || !TypeBound(type).Contains(base)) return false;
    bases_.push_back(base);
    ends_.push_back(pieces_.size());
    const Pieces added = (*this)[ends_.size() - 1].pieces;
    return IsChain(added) && HasRoom(added, iters, type);
  }
  Tile operator[](size_t i) const {
    const size_t first = i == 0 ? 0 : ends_[i - 1];
    return {Pieces(pieces_).subspan(first, ends_[i] - first), bases_[i]};
  }
  const std::vector<Piece>& pieces() const { return pieces_; }

 private:
  std::vector<Piece> pieces_;
  std::vector<size_t> ends_;
  std::vector<int64_t> bases_;
};

// The sums of iterators that a predicate bounds from above, as uneven splits write it: a < 3, a * 4 + b < 14.
class TileGuards {
 public:
  // False: it is no conjunction of such, or one leaves an iterator nothing to count, or has one that another has.
  bool Read(const Expr& predicate, const TileReader& reader, const IterDomain& iters) {
    if (IsConstInt(predicate, 1)) return true;
    const Binary* op = predicate.As<Binary>();
    if (op == nullptr) return false;
    if (op->op == BinaryOp::kAnd) return Read(op->a, reader, iters) && Read(op->b, reader, iters);
    const int64_t* end = op->op == BinaryOp::kLT ? AsIntConst(op->b) : nullptr;
    std::vector<Piece> sum;
    int64_t base = 0;
    if (end == nullptr || !reader.Add(op->a, 1, sum, base) || base != 0 || sum.empty()) return false;
    const bool is_one_number = IsChain(sum) && sum.back().scale == 1 && HasRoom(sum, iters, op->a.dtype());
    if (!is_one_number || !IsBetween(*end, sum)) return false;
    if (std::any_of(sum.begin(), sum.end(), [&](const Piece& piece) { return Has(piece); })) return false;
    sums_.push_back(std::move(sum));
    return true;
  }
  // Whether the predicate changes nothing about how a tile is written: it shares nothing with the sums, or is one.
  bool MayBe(Pieces pieces) const {
    return std::none_of(pieces.begin(), pieces.end(), [&](const Piece& piece) { return Has(piece); }) ||
           std::any_of(sums_.begin(), sums_.end(), [&](const std::vector<Piece>& sum) { return IsSame(sum, pieces); });
  }

 private:
  bool Has(const Piece& piece) const {
    return std::any_of(sums_.begin(), sums_.end(), [&](const std::vector<Piece>& sum) {
      return std::any_of(sum.begin(), sum.end(), [&](const Piece& other) { return ShareDigits(piece, other); });
    });
  }
  static bool ShareDigits(const Piece& a, const Piece& b) {
    return a.iter == b.iter && a.lower < b.lower * b.extent && b.lower < a.lower * a.extent;
  }
  // Whether some values of the first iterator that counts are cut off, and not all but one.
  static bool IsBetween(int64_t end, Pieces sum) {
    const auto counts = std::find_if(sum.begin(), sum.end(), [](const Piece& piece) { return piece.extent > 1; });
    return counts != sum.end() && end > counts->scale && end < counts->scale * counts->extent;
  }
  static bool IsSame(Pieces a, Pieces b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Piece& x, const Piece& y) {
      return std::tuple(x.iter, x.lower, x.extent, x.scale) == std::tuple(y.iter, y.lower, y.extent, y.scale);
    });
  }

  std::vector<std::vector<Piece>> sums_;
};

// Of indices that the predicate leaves as they are written.
std::optional<Tiles> ReadTiles(const std::vector<Expr>& indices, const IterDomain& iters, const Expr& predicate,
                               const IterMapOptions& options, bool may_be_fixed) {
  if (!HasConstantBounds(iters)) return std::nullopt;
  const TileReader reader(iters, options, may_be_fixed);
  std::optional<Tiles> tiles(std::in_place, indices.size());
  for (const Expr& index : indices)
    if (!tiles->Add(index, reader, iters)) return std::nullopt;
  if (!reader.AreApart(tiles->pieces(), options.level == IterMapLevel::kBijective)) return std::nullopt;
  TileGuards guards;
  if (!guards.Read(predicate, TileReader(iters, options, /*may_be_fixed=*/false), iters)) return std::nullopt;
  for (size_t i = 0; i < indices.size(); ++i)
    if (!guards.MayBe((*tiles)[i].pieces)) return std::nullopt;
  return tiles;
}

// (iterator // lower % extent) * scale, without what says nothing.
Expr ToExpr(const Piece& piece, int64_t scale, const IterDomain& iters, DataType type) {
  const auto& [var, range] = iters[piece.iter];
  const int64_t whole = *AsIntConst(range.extent), end = piece.lower * piece.extent;
  Expr value = var;
  if (end < whole) value = FloorMod(value, IntConst(type, end));
  // A part of extent 1 that reaches the top is always 0; an iterator of extent 1 stays, for those who look for it.
  if (end == whole && piece.lower != 1 && piece.extent == 1) return IntConst(type, 0);
  if (piece.lower != 1) value = FloorDiv(value, IntConst(type, piece.lower));
  return scale == 1 ? value : value * IntConst(type, scale);
}

Expr ToExpr(const Tile& tile, const IterDomain& iters, DataType type) {
  if (tile.pieces.empty()) return IntConst(type, tile.base);
  const int64_t unit = tile.pieces.back().scale;
  Expr sum = ToExpr(tile.pieces[0], tile.pieces[0].scale / unit, iters, type);
  for (size_t i = 1; i < tile.pieces.size(); ++i)
    sum = sum + ToExpr(tile.pieces[i], tile.pieces[i].scale / unit, iters, type);
  if (unit != 1) sum = sum * IntConst(type, unit);
  return tile.base == 0 ? sum : sum + IntConst(type, tile.base);
}

// Whether `e` is what ToExpr would make of the piece, times `scale`.
bool IsWritten(const Expr& e, const Piece& piece, const IterDomain& iters) {
  const auto is_op = [](const Expr& part, BinaryOp op, int64_t right) {
    const Binary* binary = part.As<Binary>();
    return binary != nullptr && binary->op == op && IsConstInt(binary->b, right);
  };
  const auto& [var, range] = iters[piece.iter];
  const Expr* at = &e;
  if (piece.scale != 1) {
    if (!is_op(*at, BinaryOp::kMul, piece.scale)) return false;
    at = &at->As<Binary>()->a;
  }
  const int64_t whole = *AsIntConst(range.extent), end = piece.lower * piece.extent;
  if (end == whole && piece.lower != 1 && piece.extent == 1) return false;
  if (piece.lower != 1) {
    if (!is_op(*at, BinaryOp::kFloorDiv, piece.lower)) return false;
    at = &at->As<Binary>()->a;
  }
  if (end < whole) {
    if (!is_op(*at, BinaryOp::kFloorMod, end)) return false;
    at = &at->As<Binary>()->a;
  }
  return at->same_as(var);
}

// Whether `e` is what ToExpr would make of the tile, so that it need not be made again.
bool IsWritten(const Expr& e, const Tile& tile, const IterDomain& iters) {
  if (tile.pieces.empty() || tile.base != 0 || tile.pieces.back().scale != 1) return false;
  const Expr* sum = &e;
  for (size_t i = tile.pieces.size(); i-- > 1;) {
    const Binary* op = sum->As<Binary>();
    if (op == nullptr || op->op != BinaryOp::kAdd || !IsWritten(op->b, tile.pieces[i], iters)) return false;
    sum = &op->a;
  }
  return IsWritten(*sum, tile.pieces[0], iters);
}

}  // namespace

std::optional<IterMapResult> DetectTiles(const std::vector<Expr>& indices, const IterDomain& iters,
                                         const IterMapOptions& options) {
  const std::optional<Tiles> tiles = ReadTiles(indices, iters, True(), options, /*may_be_fixed=*/false);
  if (!tiles) return std::nullopt;
  std::vector<IterMarkPtr> marks(iters.size());
  IterMapResult result{{}, IntConst(DataType::Bool(), 0)};
  for (size_t i = 0; i < indices.size(); ++i) {
    const DataType type = indices[i].dtype();
    const Tile tile = (*tiles)[i];
    IterSumExpr& sum = result.indices.emplace_back(IterSumExpr{{}, IntConst(type, tile.base)});
    if (!tile.pieces.empty()) sum.args.push_back(Fuse(tile.pieces, iters, type, marks));
  }
  return result;
}

std::optional<std::vector<Expr>> SimplifyTiles(const std::vector<Expr>& indices, const IterDomain& iters,
                                               const Expr& predicate, const IterMapOptions& options) {
  const std::optional<Tiles> tiles = ReadTiles(indices, iters, predicate, options, /*may_be_fixed=*/false);
  if (!tiles) return std::nullopt;
  std::vector<Expr> simplified;
  simplified.reserve(indices.size());
  for (size_t i = 0; i < indices.size(); ++i)
    simplified.push_back(IsWritten(indices[i], (*tiles)[i], iters) ? indices[i]
                                                                   : ToExpr((*tiles)[i], iters, indices[i].dtype()));
  return simplified;
}

bool AreTiles(const std::vector<Expr>& indices, const IterDomain& iters, const Expr& predicate,
              const IterMapOptions& options) {
  return ReadTiles(indices, iters, predicate, options, /*may_be_fixed=*/true).has_value();
}

}  // namespace lathe
