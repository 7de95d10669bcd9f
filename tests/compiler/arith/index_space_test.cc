#include "compiler/arith/index_space.h"

#include <gmock/gmock.h>

#include "compiler/script/printer.h"
#include "support/random.h"

namespace lathe {
namespace {

struct TestLoop {
  Var var;
  int64_t extent;
  int id;
};

int64_t EvaluateIndex(const Expr& e, const std::vector<TestLoop>& loops, const std::vector<int64_t>& values) {
  if (const int64_t* constant = AsIntConst(e)) return *constant;
  for (size_t i = 0; i < loops.size(); ++i)
    if (e.same_as(loops[i].var)) return values[i];
  const Binary& binary = *e.As<Binary>();
  const int64_t a = EvaluateIndex(binary.a, loops, values), b = EvaluateIndex(binary.b, loops, values);
  const int64_t quotient = b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));
  switch (binary.op) {
    case BinaryOp::kAdd:
      return a + b;
    case BinaryOp::kSub:
      return a - b;
    case BinaryOp::kMul:
      return a * b;
    case BinaryOp::kFloorDiv:
      return quotient;
    case BinaryOp::kFloorMod:
      return a - quotient * b;
    default:
      return 0;
  }
}

Expr RandomIndex(const std::vector<TestLoop>& loops, int depth, Random& random) {
  const uint64_t kind = depth == 0 ? random.Below(2) : random.Below(6);
  const auto below = [&] { return RandomIndex(loops, depth - 1, random); };
  const int64_t constant = 1 + static_cast<int64_t>(random.Below(7));
  switch (kind) {
    case 0:
      return loops[random.Below(loops.size())].var;
    case 1:
      return Expr(constant);
    case 2:
      return below() + below();
    case 3:
      return below() * Expr(constant);
    case 4:
      return FloorDiv(below(), Expr(constant));
    default:
      return FloorMod(below(), Expr(constant));
  }
}

TEST(IndexSpace, CoversEveryValueOfRandomIndices) {
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    Random random(seed);
    IndexSpace space;
    std::vector<TestLoop> loops;
    for (int i = 0; i < 3; ++i) {
      const Var var("i" + std::to_string(i));
      const int64_t extent = 1 + static_cast<int64_t>(random.Below(6));
      loops.push_back({var, extent, space.AddLoop(var, extent)});
    }
    const Expr index = RandomIndex(loops, 4, random);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + Print(index));
    const AffineForm form = space.Parse(index);
    const size_t first = random.Below(3);  // Loops before it stand still.
    uint64_t running = 0;
    for (size_t i = first; i < 3; ++i) running |= space.BitOf(loops[i].id);
    const IndexInterval cover = space.Cover(form, running);
    std::vector<int64_t> values(3, 0);
    const std::function<void(size_t)> enumerate = [&](size_t i) {
      if (i == 3) {
        const int64_t value = EvaluateIndex(index, loops, values);
        ASSERT_LE(cover.low, value);
        ASSERT_GE(cover.high, value);
        return;
      }
      for (values[i] = 0; values[i] < (i < first ? 1 : loops[i].extent); ++values[i]) enumerate(i + 1);
      values[i] = 0;
    };
    enumerate(0);
    for (size_t i = 0; i < 3; ++i) {
      if (loops[i].extent < 2) continue;
      values.assign(3, 0);
      values[i] = 1;
      EXPECT_EQ(space.At(form, loops[i].id, 1), EvaluateIndex(index, loops, values));
    }
  }
}

TEST(IndexSpace, SaysWhatItEstimates) {
  IndexSpace space;
  const Var i("i"), bound("bound"), clamped("clamped"), unknown("unknown");
  const int loop = space.AddLoop(i, 16);
  space.Bind(bound, i * Expr(3));
  space.Bind(clamped, Min(i, Expr(4)));
  const struct {
    Expr index;
    std::optional<int64_t> at_5;  // nullopt: it is an estimate.
  } rows[] = {{FloorDiv(bound + Expr(1), Expr(4)), 4},
              {FloorMod(bound, Expr(4)), 3},
              {FoldBinary(BinaryOp::kDiv, bound, Expr(4)), 3},
              {FoldBinary(BinaryOp::kDiv, Expr(0) - i, Expr(4)), {}},
              {Max(i, Expr(2)), {}},
              {clamped + Expr(1), {}},
              {unknown, {}},
              {FloorDiv(Expr(8), i), {}},
              {i * i, {}}};
  for (const auto& row : rows) {
    SCOPED_TRACE(Print(row.index));
    const std::optional<AffineForm> form = space.ParseExactly(row.index);
    ASSERT_EQ(form.has_value(), row.at_5.has_value());
    if (form) {
      EXPECT_EQ(space.At(*form, loop, 5), *row.at_5);
    }
  }
}

TEST(IndexSpace, APlaceIsCountedInElements) {
  IndexSpace space;
  const Var i("i"), j("j");
  const int row = space.AddLoop(i, 4), column = space.AddLoop(j, 8);
  const Buffer buffer = MakeBuffer("A", {Expr(4), Expr(10)});
  const std::optional<AffineForm> place = space.FlatPlace({buffer, {{i, Expr(1)}, {j * Expr(2) + Expr(1), Expr(1)}}});
  ASSERT_TRUE(place);
  EXPECT_EQ(space.At(*place, row, 0), 1);
  EXPECT_EQ(space.At(*place, row, 3), 31);
  EXPECT_EQ(space.At(*place, column, 3), 7);
  const Var n("n");
  const Buffer symbolic = MakeBuffer("B", {n});
  EXPECT_FALSE(space.FlatPlace({symbolic, {{i, Expr(1)}}}));
}

TEST(IndexSpace, ATiledLoopIsExact) {
  IndexSpace space;
  const Var outer("i_0"), inner("i_1");
  const int outer_id = space.AddLoop(outer, 4), inner_id = space.AddLoop(inner, 8);
  const Expr whole = outer * Expr(8) + inner;
  const IndexInterval all = space.Cover(space.Parse(FloorMod(whole, Expr(8))), ~uint64_t{0});
  EXPECT_EQ(all.low, 0);
  EXPECT_EQ(all.high, 7);
  EXPECT_EQ(space.LoopsOf(space.Parse(FloorMod(whole, Expr(8)))), space.BitOf(inner_id));
  EXPECT_EQ(space.LoopsOf(space.Parse(FloorDiv(whole, Expr(8)))), space.BitOf(outer_id));
  EXPECT_EQ(space.Cover(space.Parse(whole), space.BitOf(inner_id)).high, 7);
}

}  // namespace
}  // namespace lathe
