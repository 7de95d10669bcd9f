#include "compiler/transform/transpose_tiles.h"

#include <algorithm>
#include <bit>

#include "compiler/arith/analyzer.h"
#include "compiler/ir/visitor.h"
#include "compiler/target/target.h"

namespace lathe {
namespace {

constexpr int64_t kSquareBits = 128;  // Of lanes that shuffles of all vectors can reach each other in.

using RowVectors = std::vector<Expr>;

// A load whose lanes are far apart and whose neighbours are the iterations of the loop.
struct ColumnLoad {
  Expr load;
  Buffer buffer;
  Expr base;  // Of the first iteration.
  int64_t apart;
};

class SquareTransposer {
 public:
  SquareTransposer(const For& loop, const BufferStore& store, int64_t steps)
      : loop_(loop), store_(store), steps_(steps) {}

  // nullopt: the loop is no such tile.
  std::optional<Stmt> Run() {
    if (!FindColumns() || columns_.empty()) return std::nullopt;
    std::vector<RowVectors> transposed;
    for (const ColumnLoad& column : columns_) transposed.push_back(Transpose(LoadRows(column)));
    std::vector<Stmt> stores;
    for (int64_t step = 0; step < steps_; ++step) stores.push_back(StoreOf(step, transposed));
    Stmt result = MakeSeq(std::move(stores));
    for (; !lets_.empty(); lets_.pop_back()) result = LetStmt{lets_.back().second, lets_.back().first, result};
    return result;
  }

 private:
  // False: something of the loop must stay as it is.
  bool FindColumns() {
    bool is_plain = true;
    PostOrderVisit(store_.value, [&](const Expr& e) {
      is_plain &= AsCall(e, "if_then_else") == nullptr && e.As<Let>() == nullptr;
      const BufferLoad* load = e.As<BufferLoad>();
      if (load == nullptr) return;
      is_plain &= !load->predicate && !MayAlias(load->buffer, store_.buffer);
      if (std::optional<ColumnLoad> column = ColumnOf(e, *load)) columns_.push_back(*std::move(column));
    });
    return is_plain;
  }

  std::optional<ColumnLoad> ColumnOf(const Expr& e, const BufferLoad& load) const {
    const Ramp* ramp = load.indices.size() == 1 ? load.indices[0].As<Ramp>() : nullptr;
    const int64_t* apart = ramp == nullptr ? nullptr : AsIntConst(ramp->stride);
    if (apart == nullptr || *apart <= kMaxLoadStride || ramp->lanes != steps_) return std::nullopt;
    const Expr first = AtStep(ramp->base, 0);
    if (!Analyzer().CanProveEqual(ramp->base - first, loop_.loop_var)) return std::nullopt;
    return ColumnLoad{e, load.buffer, first, *apart};
  }

  Expr AtStep(const Expr& e, int64_t step) const {
    return Analyzer().Simplify(Substitute(e, {{loop_.loop_var.get(), IntConst(loop_.loop_var.dtype(), step)}}));
  }

  RowVectors LoadRows(const ColumnLoad& column) {
    RowVectors rows;
    const DataType type = column.base.dtype();
    for (int64_t row = 0; row < steps_; ++row) {
      const Expr begin = Analyzer().Simplify(column.base + IntConst(type, row * column.apart));
      const Expr lanes = Expr::Make(type.with_lanes(static_cast<int>(steps_)), Ramp{begin, IntConst(type, 1), steps_});
      rows.push_back(Name("row", Expr::Make(column.load.dtype(), BufferLoad{column.buffer, {lanes}, std::nullopt})));
    }
    return rows;
  }

  // Columns of the square. First the squares of each 128 bits, by interleaving blocks of 1, 2 ... lanes of two rows
  // each, which leaves the columns of a square in bit-reversed order; then whole squares, by taking every other one of
  // two vectors: what x86 and ARM have an instruction for in each step.
  RowVectors Transpose(RowVectors rows) {
    const int64_t in_square = std::min<int64_t>(steps_, kSquareBits / rows[0].dtype().bits);
    for (int64_t size = 1; size < in_square; size *= 2)
      Exchange(rows, size, [&](int64_t lane, bool is_second) { return Interleaved(lane, size, in_square, is_second); });
    for (int64_t apart = in_square; apart < steps_; apart *= 2)
      Exchange(rows, apart, [&](int64_t lane, bool is_second) { return EveryOther(lane, in_square, is_second); });
    RowVectors columns = rows;
    for (int64_t i = 0; i < steps_; ++i)
      columns[static_cast<size_t>(i)] = rows[static_cast<size_t>(Reversed(i, in_square))];
    return columns;
  }

  // Replaces each pair of rows `apart` apart by two vectors of what `pick` names: lanes of the first row, then of the
  // second.
  template <typename Pick>
  void Exchange(RowVectors& rows, int64_t apart, const Pick& pick) {
    for (int64_t i = 0; i < steps_; ++i) {
      if ((i & apart) != 0) continue;
      Expr &a = rows[static_cast<size_t>(i)], &b = rows[static_cast<size_t>(i + apart)];
      std::vector<Expr> first, second;
      for (int64_t lane = 0; lane < steps_; ++lane) {
        first.emplace_back(pick(lane, false));
        second.emplace_back(pick(lane, true));
      }
      const Expr low = Expr::Make(a.dtype(), Shuffle{{a, b}, std::move(first)});
      const Expr high = Expr::Make(a.dtype(), Shuffle{{a, b}, std::move(second)});
      a = Name("part", low);
      b = Name("part", high);
    }
  }

  // Blocks of `size` lanes of both rows in turns, from the first or the second half of each square.
  int64_t Interleaved(int64_t lane, int64_t size, int64_t in_square, bool is_second) const {
    const int64_t square = lane / in_square * in_square, place = lane % in_square;
    const int64_t from = place / (2 * size) * size + place % size + (is_second ? in_square / 2 : 0);
    return square + from + (place / size % 2 != 0 ? steps_ : 0);
  }

  // The even or the odd squares of the first row, then those of the second.
  int64_t EveryOther(int64_t lane, int64_t in_square, bool is_second) const {
    const int64_t half = steps_ / 2, square = lane % half / in_square;
    return (2 * square + (is_second ? 1 : 0)) * in_square + lane % in_square + (lane < half ? 0 : steps_);
  }

  static int64_t Reversed(int64_t i, int64_t in_square) {
    int64_t place = i / in_square * in_square;
    for (int64_t bit = 1; bit < in_square; bit *= 2) place += (i & bit) != 0 ? in_square / 2 / bit : 0;
    return place;
  }

  Expr Name(const char* name, Expr value) {
    const Var var(name, value.dtype());
    lets_.emplace_back(var, std::move(value));
    return var;
  }

  Stmt StoreOf(int64_t step, const std::vector<RowVectors>& transposed) const {
    class Replacer : public StmtExprMutator {
     public:
      std::vector<std::pair<Expr, Expr>> values;

     protected:
      Expr VisitExpr(const Expr& e) override {
        for (const auto& [from, to] : values)
          if (e.same_as(from)) return to;
        return StmtExprMutator::VisitExpr(e);
      }
    } replacer;
    for (size_t i = 0; i < columns_.size(); ++i)
      replacer.values.emplace_back(columns_[i].load, transposed[i][static_cast<size_t>(step)]);
    const Expr value = replacer(store_.value);
    const VarMap at{{loop_.loop_var.get(), IntConst(loop_.loop_var.dtype(), step)}};
    return Substitute(Stmt(BufferStore{store_.buffer, value, store_.indices, std::nullopt}), at);
  }

  const For& loop_;
  const BufferStore& store_;
  const int64_t steps_;
  std::vector<ColumnLoad> columns_;
  std::vector<std::pair<Var, Expr>> lets_;  // Outermost first.
};

class SquareFinder : public StmtExprMutator {
 protected:
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    const BufferStore* store = loop.kind == ForKind::kUnrolled ? loop.body.As<BufferStore>() : nullptr;
    if (store == nullptr || store->predicate || store->indices.size() != 1)
      return StmtExprMutator::VisitFor(self, loop);
    const int64_t* steps = AsIntConst(loop.extent);
    const Ramp* lanes = store->indices[0].As<Ramp>();
    const bool is_square = steps != nullptr && lanes != nullptr && lanes->lanes == *steps && *steps > 1 &&
                           *steps <= kMostRowsOfSquare && std::has_single_bit(static_cast<uint64_t>(*steps));
    if (!is_square || !IsConstInt(lanes->stride, 1) || !IsConstInt(loop.min, 0)) return self;
    return SquareTransposer(loop, *store, *steps).Run().value_or(self);
  }
};

}  // namespace

PrimFunc TransposeTiles(PrimFunc func) {
  func.body = SquareFinder()(func.body);
  return func;
}

}  // namespace lathe
