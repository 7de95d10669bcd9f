// Linear parts, deduced bounds, covered regions: facts that TVM gives, and random ones against enumeration.
#include <gmock/gmock.h>

#include "brute_force.h"
#include "compiler/arith/deduce_bound.h"
#include "compiler/arith/linear_equation.h"
#include "compiler/arith/region_bound.h"
#include "tests/property_runs.h"

namespace lathe {
namespace {

const Var a("a"), b("b"), c("c"), d("d");

Expr Greater(const Expr& x, const Expr& y) { return FoldBinary(BinaryOp::kGT, x, y); }
Expr GreaterEqual(const Expr& x, const Expr& y) { return FoldBinary(BinaryOp::kGE, x, y); }
std::string End(const std::optional<Expr>& end) { return end ? ToText(*end) : "?"; }
std::string Text(const IntSet& set) {
  return set.is_nothing() ? "nothing" : "[" + End(set.min()) + ", " + End(set.max()) + "]";
}

struct LinearCase {
  const char* name;
  Expr e;
  std::vector<Var> vars;
  std::vector<std::string> row;
};
class DetectLinearEquationTest : public testing::TestWithParam<LinearCase> {};
TEST_P(DetectLinearEquationTest, GivesCoefficientsAndTheRest) {
  std::vector<std::string> row;
  for (const Expr& part : DetectLinearEquation(GetParam().e, GetParam().vars)) row.push_back(ToText(part));
  EXPECT_EQ(row, GetParam().row);
}
INSTANTIATE_TEST_SUITE_P(Expressions, DetectLinearEquationTest,
                         testing::Values(LinearCase{"Constants", a * 4 + b * 6 + 7, {a}, {"4", "b * 6 + 7"}},
                                         LinearCase{"Square", a * 4 * (a + 1) + b * 6 + 7, {a}, {}},
                                         LinearCase{"TwoParts", a * 4 + (a + 1) + b * 6 + 7, {a}, {"5", "b * 6 + 8"}},
                                         LinearCase{"SymbolicCoefficient", a* b + 7, {a}, {"b", "7"}},
                                         LinearCase{"Unused", b * 7, {a}, {"0", "b * 7"}},
                                         LinearCase{"NoVariables", b * 7, {}, {"b * 7"}},
                                         LinearCase{"Two", a*(b + 4) + a + c * 8, {a, c}, {"b + 5", "8", "0"}},
                                         LinearCase{"ProductOfBoth", a + c * 8 * a, {a, c}, {}},
                                         LinearCase{"Quotient", FloorDiv(a, 2), {a}, {}}),
                         [](const auto& info) { return info.param.name; });

struct ClipCase {
  const char* name;
  Expr condition;
  std::vector<Var> vars;
  const char* bounds;
};
class DetectClipBoundTest : public testing::TestWithParam<ClipCase> {};
TEST_P(DetectClipBoundTest, GivesMinAndMaxOfEach) {
  std::string text;
  for (const ClipBound& bound : DetectClipBound(GetParam().condition, GetParam().vars))
    text += "[" + End(bound.min) + ", " + End(bound.max) + "]";
  EXPECT_EQ(text, GetParam().bounds);
}
INSTANTIATE_TEST_SUITE_P(
    Conditions, DetectClipBoundTest,
    testing::Values(ClipCase{"BothEnds", And(Less(a, b * 6), Greater(a - 1, 0)), {a}, "[2, b * 6 - 1]"},
                    ClipCase{"TwoAtOnce", And(Less(a, b * 6), Greater(a - 1, 0)), {a, b}, ""},
                    ClipCase{
                        "Two", And(LessEqual(a + c * 10, 20), Greater(b - 1, 0)), {a, b}, "[?, 20 - c * 10][2, ?]"},
                    ClipCase{"Equal", Equal(a, b * 6), {a}, "[b * 6, b * 6]"},
                    ClipCase{"Multiple", Less(a * 2, 9), {a}, "[?, 4]"},
                    ClipCase{"Smallest", And(Less(a, 5), Less(a, b)), {a}, "[?, min(4, b - 1)]"},
                    ClipCase{"Or", FoldBinary(BinaryOp::kOr, Less(a, 4), Greater(a, 9)), {a}, ""}),
    [](const auto& info) { return info.param.name; });

struct DeduceCase {
  const char* name;
  Expr condition;
  bool relaxes_b;
  const char* set;
};
class DeduceBoundTest : public testing::TestWithParam<DeduceCase> {};
TEST_P(DeduceBoundTest, SolvesForA) {  // b in 0..3, c in 5..10, d in 1..4.
  DomMap hints, relax;
  hints.Add(b, Range{0, 4});
  hints.Add(c, Range{5, 6});
  hints.Add(d, Range{1, 4});
  if (GetParam().relaxes_b) relax.Add(b, Range{0, 4});
  EXPECT_EQ(Text(DeduceBound(a, GetParam().condition, hints, relax)), GetParam().set);
}
INSTANTIATE_TEST_SUITE_P(Conditions, DeduceBoundTest,
                         testing::Values(DeduceCase{"Product", Less(a * 4, 20), false, "[?, 4]"},
                                         DeduceCase{"RoundsUp", GreaterEqual(a * 4, 9), false, "[3, ?]"},
                                         DeduceCase{"Negative", GreaterEqual(a * -4, 9), false, "[?, -3]"},
                                         DeduceCase{"SymbolicFactor", GreaterEqual(a* d, c), false, "[c // d + 1, ?]"},
                                         DeduceCase{"SymbolicFactorBelow", LessEqual(a* d, c), false, "[?, c // d]"},
                                         DeduceCase{"FactorOfUnknownSign", GreaterEqual(a* b, c), false, "nothing"},
                                         DeduceCase{"Sum", Less(a + b, 10), false, "[?, 9 - b]"},
                                         DeduceCase{"Relaxed", Less(a + b, 10), true, "[?, 6]"},
                                         DeduceCase{"RelaxedMultiple", Greater(a * 2 - b * 2, 3), true, "[5, ?]"},
                                         DeduceCase{"OnTheRight", Greater(Expr(10) - a, b), false, "[?, 9 - b]"},
                                         DeduceCase{"QuotientFrom", GreaterEqual(FloorDiv(a, 4), 3), false, "[12, ?]"},
                                         DeduceCase{"QuotientBelow", Less(FloorDiv(a, 4), 3), false, "[?, 11]"},
                                         DeduceCase{"Ceiling", LessEqual(FloorDiv(a + 3, 4) * 2 + b, c), false,
                                                    "[?, (c - b) // 2 * 4]"},
                                         DeduceCase{"Equal", Equal(a * 4, 8), false, "[2, 2]"},
                                         DeduceCase{"EqualWithRest", Equal(a * 4, 9), false, "nothing"},
                                         DeduceCase{"Remainder", Less(FloorMod(a, 4), 3), false, "nothing"},
                                         DeduceCase{"Twice", Less(a, a * 2 + b), false, "nothing"}),
                         [](const auto& info) { return info.param.name; });

TEST(DeduceBoundProperty, HoldsForAllRelaxedValues) {
  constexpr uint64_t kSeed = 515;
  int num_solved = 0;
  for (int round = 0; round < PropertyRuns(4000); ++round) {
    Random random(kSeed + round);
    const IterDomain all{{a, {-6, 13}}, {b, {0, 4}}};
    const Expr condition = RandomCondition(random, all, 2);
    DomMap relax;
    relax.Add(b, Range{0, 4});
    const IntSet set = DeduceBound(a, condition, {}, relax);
    if (set.is_nothing()) continue;
    ++num_solved;
    SCOPED_TRACE("seed " + std::to_string(kSeed + round) + ": " + ToText(condition) + " gives " + Text(set));
    const auto end = [&](const std::optional<Expr>& e, int64_t otherwise) {
      return e ? ValueAt(*e, {}, {}) : std::optional(otherwise);
    };
    const auto low = end(set.min(), INT64_MIN), high = end(set.max(), INT64_MAX);
    if (!low || !high) continue;
    ForEachPoint(all, [&](const Point& p) {
      if (p[0] < *low || p[0] > *high) return;
      const auto value = ValueAt(condition, all, p);
      if (value) ASSERT_EQ(*value, 1) << "at a=" << p[0] << " b=" << p[1];
    });
    if (HasFailure()) return;
  }
  if (AllRuns(4000)) EXPECT_GT(num_solved, 100);
}

struct RegionCase {
  const char* name;
  std::vector<Range> region;
  Expr predicate;
  const char *strict, *upper;
};
class RegionBoundTest : public testing::TestWithParam<RegionCase> {};
TEST_P(RegionBoundTest, IsExactOrHoldsAll) {
  const IterDomain loops{{a, {0, 10}}, {b, {0, 4}}};
  const auto text = [](const std::vector<IntSet>& sets) {
    std::string all;
    for (const IntSet& set : sets) all += Text(set);
    return all;
  };
  const auto strict = EstimateRegionStrictBound(GetParam().region, loops, GetParam().predicate, Analyzer());
  EXPECT_EQ(strict ? text(*strict) : "unknown", GetParam().strict);
  EXPECT_EQ(text(EstimateRegionUpperBound(GetParam().region, loops, GetParam().predicate, Analyzer())),
            GetParam().upper);
}
INSTANTIATE_TEST_SUITE_P(
    Regions, RegionBoundTest,
    testing::Values(RegionCase{"Fused", {{a * 4 + b, 1}}, True(), "[0, 39]", "[0, 39]"},
                    RegionCase{"Tiles", {{a * 4, 4}}, True(), "[0, 39]", "[0, 39]"},
                    RegionCase{"Gaps", {{a * 4, 2}}, True(), "unknown", "[0, 37]"},
                    RegionCase{"OverlappingTiles", {{a * 4, 6}}, True(), "[0, 41]", "[0, 41]"},
                    RegionCase{"Stencil", {{a + b, 1}}, True(), "[0, 12]", "[0, 12]"},
                    RegionCase{"Diagonal", {{a, 1}, {a, 1}}, True(), "unknown", "[0, 9][0, 9]"},
                    RegionCase{"Guarded", {{a * 4 + b + 3, 1}}, Less(a * 4 + b, 20), "[3, 22]", "[3, 22]"},
                    RegionCase{"UnevenSplit", {{FloorDiv(a, 3), 1}}, True(), "[0, 3]", "[0, 3]"},
                    RegionCase{"Free", {{c, 2}}, True(), "[c, c + 1]", "[c, c + 1]"}),
    [](const auto& info) { return info.param.name; });

TEST(Analyzer, UpdatesReplaceWhatIsKnown) {
  Analyzer analyzer;
  analyzer.Update(a, IntBound{3, 10});
  analyzer.Update(a, ModularSet{4, 1});
  EXPECT_EQ(analyzer.ConstIntBound(a * 2 + 1), (IntBound{7, 21}));
  EXPECT_TRUE(analyzer.CanProveEqual(FloorMod(a, 4), 1) || analyzer.Modular(a) == (ModularSet{4, 1}));
  analyzer.Update(a, IntBound{0, 1});
  EXPECT_EQ(analyzer.ConstIntBound(a), (IntBound{0, 1}));
}

struct VectorCase {
  const char* name;
  Expr before;
  const char* after;
};
Expr Ramp4(const Expr& base, const Expr& stride) {
  return Expr::Make(base.dtype().with_lanes(4), Ramp{base, stride, 4});
}
Expr Broadcast4(const Expr& value) { return Expr::Make(value.dtype().with_lanes(4), Broadcast{value, 4}); }
class SimplifyVectorTest : public testing::TestWithParam<VectorCase> {};
TEST_P(SimplifyVectorTest, ComputesWithLanes) {
  EXPECT_EQ(ToText(Analyzer().Simplify(GetParam().before)), GetParam().after);
}
Expr Op(BinaryOp op, const Expr& x, const Expr& y) { return MakeBinary(op, x, y); }
INSTANTIATE_TEST_SUITE_P(
    Rules, SimplifyVectorTest,
    testing::Values(VectorCase{"Sum", Op(BinaryOp::kAdd, Ramp4(a, 2), Ramp4(b, 3)), "ramp(a + b, 5, 4)"},
                    VectorCase{"SumBecomesBroadcast", Op(BinaryOp::kSub, Ramp4(a, 2), Ramp4(a, 2)), "broadcast(0, 4)"},
                    VectorCase{"Offset", Op(BinaryOp::kAdd, Ramp4(a, 1), Broadcast4(b)), "ramp(a + b, 1, 4)"},
                    VectorCase{"From", Op(BinaryOp::kSub, Broadcast4(b), Ramp4(a, 2)), "ramp(b - a, -2, 4)"},
                    VectorCase{"Multiple", Op(BinaryOp::kMul, Ramp4(a, 2), Broadcast4(Expr(3))), "ramp(a * 3, 6, 4)"},
                    VectorCase{"Broadcasts", Op(BinaryOp::kMin, Broadcast4(a), Broadcast4(a + 1)), "broadcast(a, 4)"},
                    VectorCase{"Quotient", Op(BinaryOp::kFloorDiv, Ramp4(a, 8), Broadcast4(Expr(4))),
                               "ramp(a // 4, 2, 4)"},
                    VectorCase{"QuotientInOnePeriod", Op(BinaryOp::kFloorDiv, Ramp4(a * 8, 1), Broadcast4(Expr(8))),
                               "broadcast(a, 4)"},
                    VectorCase{"RemainderInOnePeriod",
                               Op(BinaryOp::kFloorMod, Ramp4(a * 8 + 3, 1), Broadcast4(Expr(8))), "ramp(3, 1, 4)"},
                    VectorCase{"RemainderOfStride", Op(BinaryOp::kFloorMod, Ramp4(a, 8), Broadcast4(Expr(4))),
                               "broadcast(a % 4, 4)"},
                    VectorCase{"Bits", MakeCall(kIndexType, "bitwise_and", {Expr(12), Expr(10)}), "8"},
                    VectorCase{"Shift", MakeCall(kIndexType, "shift_left", {Expr(3), Expr(4)}), "48"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lathe
