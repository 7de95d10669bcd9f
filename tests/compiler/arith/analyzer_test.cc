#include "compiler/arith/analyzer.h"

#include <gtest/gtest.h>

#include "brute_force.h"
#include "compiler/ir/integer.h"

namespace lathe {
namespace {

// i of 0..7, j of 0..4, k of 0..16, u of 0..1; n, m are any integers.
const Var i("i"), j("j"), k("k"), u("u"), n("n"), m("m");

Analyzer Facts() {
  Analyzer analyzer;
  analyzer.Bind(i, {0, 7});
  analyzer.Bind(j, {0, 4});
  analyzer.Bind(k, {0, 16});
  analyzer.Bind(u, {0, 1});
  return analyzer;
}

Expr Div(const Expr& a, const Expr& b) { return FloorDiv(a, b); }
Expr Mod(const Expr& a, const Expr& b) { return FloorMod(a, b); }
Expr If(const Expr& c, const Expr& a, const Expr& b) { return MakeCall(a.dtype(), "if_then_else", {c, a, b}); }

struct SimplifyCase {
  const char* name;
  Expr before;
  const char* after;
};
class SimplifyTest : public testing::TestWithParam<SimplifyCase> {};
TEST_P(SimplifyTest, GivesTheCanonicalForm) {
  EXPECT_EQ(ToText(Facts().Simplify(GetParam().before)), GetParam().after);
}
INSTANTIATE_TEST_SUITE_P(
    Index, SimplifyTest,
    testing::Values(
        SimplifyCase{"DivAndModJoin", Div(n, 4) * 4 + Mod(n, 4), "n"},
        SimplifyCase{"DivAndModOfSumJoin", Div(n + m, 4) * 4 + Mod(n + m, 4), "n + m"},
        SimplifyCase{"ThreePiecesJoin", Div(n, 64) * 64 + Mod(Div(n, 4), 16) * 4 + Mod(n, 4), "n"},
        SimplifyCase{"DivOfSplit", Div(i * 4 + j, 4), "i"}, SimplifyCase{"ModOfSplit", Mod(i * 4 + j, 4), "j"},
        SimplifyCase{"DivDropsSmallPart", Div(i * 4 + j, 8), "i // 2"},
        SimplifyCase{"ModKeepsSmallPart", Mod(n * 4 + j, 8), "n % 2 * 4 + j"},
        SimplifyCase{"DivOfManyStays", Div(n * 256 + m * 4 + j, 100), "(n * 256 + m * 4 + j) // 100"},
        SimplifyCase{"ModOfManyStays", Mod(n * 256 + m * 4 + j, 100), "(n * 256 + m * 4 + j) % 100"},
        SimplifyCase{"ModOfOneIsSmall", Mod(n * 256, 100), "n * 56 % 100"},
        SimplifyCase{"NestedDiv", Div(Div(n, 4), 8), "n // 32"},
        SimplifyCase{"NestedMod", Mod(Mod(n, 64), 16), "n % 16"},
        SimplifyCase{"DivOfMod", Div(Mod(n, 64), 16), "n % 64 // 16"},
        SimplifyCase{"ModOfDiv", Mod(Div(n, 16), 4), "n % 64 // 16"},
        SimplifyCase{"ModByMultiple", n - Div(n, 8) * 8, "n % 8"},
        SimplifyCase{"DivTakesMultiplesOut", Div(n * 8 + m, 4), "n * 2 + m // 4"},
        SimplifyCase{"ConstantLeavesDiv", Div(n + 9, 4), "(n + 1) // 4 + 2"},
        SimplifyCase{"NegativeDivisor", Div(k, -16) + Mod(k * -1, 16) * 0, "k * -1 // 16"},
        SimplifyCase{"DivisionByZeroStays", MakeBinary(BinaryOp::kFloorDiv, n, 0), "n // 0"},
        SimplifyCase{"TermsMeet", n * 3 + m - n * 2 - m, "n"}, SimplifyCase{"PositiveFirst", Expr(0) - n + m, "m - n"},
        SimplifyCase{"UnitIteratorGoes", n + u * 8, "n"},
        SimplifyCase{"SymbolicProductsMeet", (n * 2) * m - n* m, "n * m"},
        SimplifyCase{"TruncDivOfNonNegative", Mod((k * 4) / 4, 16), "k"}, SimplifyCase{"MinByBounds", Min(i, 8), "i"},
        SimplifyCase{"MaxOfOffsets", Max(n + 1, n + 3), "n + 3"},
        SimplifyCase{"MinNested", Min(Min(n, 4), 3), "min(n, 3)"},
        SimplifyCase{"MinAbsorbsMax", Min(n, Max(n, m)), "n"},
        SimplifyCase{"MinRepeats", Min(Min(n, m), n), "min(n, m)"},
        SimplifyCase{"MinSharesAnOffset", Min(n + 1, m + 1), "min(n, m) + 1"},
        SimplifyCase{"MinSharesATerm", Min(m - n, m - k), "m - max(n, k)"},
        SimplifyCase{"MaxOfMultiples", Max(n * 4, 8), "max(n, 2) * 4"},
        SimplifyCase{"MinOfQuotients", Min(Div(n, 2), Div(m, 2)), "min(n, m) // 2"},
        SimplifyCase{"MinOfMaxes", Min(Max(n, 3), Max(m, 3)), "max(min(n, m), 3)"},
        SimplifyCase{"BelowTheNextIsAtMost", Less(n, m + 1), "n <= m"},
        SimplifyCase{"TheNextAtMostIsBelow", LessEqual(n + 1, m), "n < m"},
        SimplifyCase{"MinBelowItsPart", Less(Min(n, m), n), "m < n"},
        SimplifyCase{"MaxAtMost", LessEqual(Max(n, 3), 5), "n <= 5"},
        SimplifyCase{"MinAboveALimit", Less(Expr(2), Min(n, 3)), "2 < n"},
        SimplifyCase{"TruncDivOfMultiples", (n * 4 + 6) / 2, "n * 2 + 3"},
        SimplifyCase{"TruncModOfMultiples", MakeBinary(BinaryOp::kTruncMod, n * 4, 2), "0"},
        SimplifyCase{"ClampedExtent", Min(i * 16 + 16, 100) - i * 16, "min(16, 100 - i * 16)"}),
    [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(
    Condition, SimplifyTest,
    testing::Values(SimplifyCase{"TrueByBounds", Less(i * 4 + j, 28), "True"},
                    SimplifyCase{"FalseByBounds", Less(Expr(27), i * 4 + j), "False"},
                    SimplifyCase{"PredicateStays", Less(n * 16 + k, 100), "n * 16 + k < 100"},
                    SimplifyCase{"SmallPartLeavesPredicate", Less(n * 16 + k, 96), "n < 6"},
                    SimplifyCase{"LowerBoundReadsWell", LessEqual(Expr(1), n + m), "1 <= n + m"},
                    SimplifyCase{"GreaterTurnsRound", FoldBinary(BinaryOp::kGT, Expr(8), n), "n < 8"},
                    SimplifyCase{"NeverEqualByRemainder", Equal(n * 4, m * 8 + 2), "False"},
                    SimplifyCase{"AndDropsTrue", And(Less(i, 7), Less(n, 3)), "n < 3"},
                    SimplifyCase{"AndDropsWeaker", And(Less(n, 8), Less(n, 4)), "n < 4"},
                    SimplifyCase{"AndFindsContradiction", And(Less(n, 4), Less(Expr(6), n)), "False"},
                    SimplifyCase{"NotTurnsRound", MakeNot(Less(n, m)), "m <= n"},
                    SimplifyCase{"ConstantChoice", MakeSelect(Less(i, 7), n, m), "n"},
                    SimplifyCase{"ChoiceKnowsItsCondition", If(Less(n, 4), Min(n, 4), m), "select(n < 4, n, m)"},
                    SimplifyCase{"FloatsKeepTheirArithmetic",
                                 MakeBinary(BinaryOp::kAdd, FloatConst(DataType::Float(32), 1),
                                            MakeSelect(Less(i, 7), FloatConst(DataType::Float(32), 0),
                                                       FloatConst(DataType::Float(32), 2))),
                                 "1f + 0f"}),
    [](const auto& info) { return info.param.name; });

TEST(Simplify, ReturnsTheHandleItselfWhereNothingChanges) {
  const Expr e = i * 16 + k + 3;
  EXPECT_TRUE(Facts().Simplify(e).same_as(e));
}

TEST(Simplify, FoldsInt64BeyondInt32) {
  const Var wide("wide", DataType::Int(64));
  const Expr e = FloorDiv(wide * int64_t{1} * Expr(int64_t{1} << 40), Expr(int64_t{1} << 38));
  EXPECT_EQ(ToText(Analyzer().Simplify(e)), "wide * 4");
}

TEST(Simplify, LeavesConstantsThatInt32CannotHold) {
  const Expr e = MakeBinary(BinaryOp::kMul, MakeBinary(BinaryOp::kMul, n, IntConst(kIndexType, 1 << 20)),
                            IntConst(kIndexType, 1 << 20));
  EXPECT_EQ(ToText(Analyzer().Simplify(e)), ToText(e));
}

TEST(Simplify, EndsSoonOnDeeplyNestedChoices) {
  Expr e = n;
  for (int depth = 0; depth < 300; ++depth) e = Min(MakeSelect(Less(m, n + depth), e + 1, m), n * depth + 3) - m;
  Analyzer().Simplify(e);
}

TEST(Analyzer, KnowsSymbolicRanges) {
  Analyzer analyzer;
  analyzer.Bind(n, {1, 1 << 20});
  analyzer.Bind(i, Range{0, n});
  EXPECT_TRUE(analyzer.CanProve(Less(i, n)));
  EXPECT_TRUE(analyzer.CanProveEqual(FloorDiv(i, n), 0));
  EXPECT_TRUE(analyzer.CanProveEqual(FloorMod(i, n), i));
  EXPECT_FALSE(analyzer.CanProve(Less(i + 1, n)));
}

TEST(Analyzer, KnowsThatTilesReachTheEnd) {
  const Expr tiles = FloorDiv(n + 31, 32);
  const Analyzer analyzer;
  EXPECT_TRUE(analyzer.CanProve(LessEqual(n, tiles * 32)));
  EXPECT_TRUE(analyzer.CanProve(LessEqual(n, (tiles - 1) * 32 + 32)));
  EXPECT_TRUE(analyzer.CanProve(Less(tiles * 32, n + 32)));
  EXPECT_FALSE(analyzer.CanProve(LessEqual(n + 1, tiles * 32)));
  EXPECT_FALSE(analyzer.CanProve(LessEqual(n, FloorDiv(n + 30, 32) * 32)));
}

TEST(Analyzer, ReplacesBoundValues) {
  Analyzer analyzer = Facts();
  analyzer.Bind(n, i * 4 + j);
  EXPECT_EQ(ToText(analyzer.Simplify(FloorDiv(n, 4))), "i");
  EXPECT_EQ(analyzer.ConstIntBound(n), (IntBound{0, 27}));
}

TEST(Analyzer, PartsOfMinimaAndQuotientsAreComparedOneByOne) {
  const Var a("a"), b("b"), c("c");
  const Analyzer nothing;
  EXPECT_TRUE(nothing.CanProve(LessEqual(FloorDiv(a, 3), FloorDiv(Max(a, b), 3))));
  EXPECT_TRUE(nothing.CanProve(LessEqual(FloorDiv(Min(a, b), 3) + 1, FloorDiv(b, 3) + 1)));
  EXPECT_TRUE(nothing.CanProve(Less(FloorDiv(a, 3), FloorDiv(Max(a, b), 3) + 1)));
  EXPECT_FALSE(nothing.CanProve(Less(FloorDiv(a, 3), FloorDiv(Max(a, b), 3))));
  EXPECT_FALSE(nothing.CanProve(LessEqual(FloorDiv(Max(a, b), 3), FloorDiv(a, 3))));
  EXPECT_FALSE(nothing.CanProve(LessEqual(FloorMod(a, 3), FloorMod(Max(a, b), 3))));
  EXPECT_FALSE(nothing.CanProve(LessEqual(FloorDiv(a, 3), FloorDiv(Max(a, b), 4))));
  Analyzer ordered;
  ordered.Assume(LessEqual(a, c));
  EXPECT_FALSE(ordered.CanProve(LessEqual(Max(a, b), Min(c, c + 1))));
  ordered.Assume(LessEqual(b, c));
  EXPECT_TRUE(ordered.CanProve(LessEqual(Max(a, b), Min(c, c + 1))));
}

TEST(Analyzer, KnowsQuotientsByTheirDividends) {
  const Var x("x"), y("y"), n("n"), m("m");
  Analyzer analyzer;
  analyzer.Bind(x, Range{0, 9});
  analyzer.Bind(y, Range{0, 64});
  const Expr fused = x * 64 + y;
  Analyzer below = Analyzer::Under(analyzer);
  below.Assume(Less(FloorDiv(fused, 17), 33));
  EXPECT_TRUE(below.CanProve(Less(fused, 561)));
  EXPECT_FALSE(below.CanProve(Less(fused, 560)));
  // (x * 13 % 17 + 12) // 17 is the part of (x * 64 + 63) // 17 that x * 64 // 17 leaves, less 3.
  const Expr rest = FloorDiv(FloorMod(x * 13, 17) + 12, 17);
  EXPECT_TRUE(analyzer.CanProve(LessEqual(FloorDiv(x * 64 + 63, 17), FloorDiv(x * 64, 17) + rest + 3)));
  EXPECT_FALSE(analyzer.CanProve(LessEqual(FloorDiv(x * 64 + 63, 17), FloorDiv(x * 64, 17) + rest + 2)));
  Analyzer symbolic;
  const Var f("f");
  symbolic.Assume(LessEqual(1, n));
  symbolic.Assume(LessEqual(1, m));
  symbolic.Bind(f, Range{0, n * m});
  EXPECT_TRUE(symbolic.CanProve(Less(FloorDiv(f, m), n)));
  EXPECT_FALSE(symbolic.CanProve(Less(FloorDiv(f, m), n - 1)));
  EXPECT_TRUE(symbolic.CanProve(Less(FloorMod(f, m), m)));
  EXPECT_FALSE(Analyzer().CanProve(Less(FloorMod(f, m), m)));
}

TEST(Analyzer, KnowsAPartOfWhatIsAssumed) {
  const Var x("x"), y("y");
  Analyzer analyzer;
  analyzer.Bind(x, Range{0, 512});
  analyzer.Bind(y, Range{0, 4});
  analyzer.Assume(Less(x * 4 + y, 1200));
  EXPECT_TRUE(analyzer.CanProve(Less(x, 300)));
  EXPECT_FALSE(analyzer.CanProve(Less(x, 299)));
}

TEST(Analyzer, ForgetsConditionsAfterTheGuard) {
  Analyzer analyzer;
  {
    FactScope guard(analyzer, And(Less(n, m), Equal(FloorMod(m, 8), 0)));
    EXPECT_TRUE(analyzer.CanProve(Less(n, m + 1)));
    EXPECT_EQ(analyzer.Modular(m * 2 + 3), (ModularSet{16, 3}));
  }
  EXPECT_FALSE(analyzer.CanProve(Less(n, m + 1)));
  EXPECT_EQ(analyzer.Modular(m), (ModularSet{1, 0}));
}

TEST(Analyzer, ForgetsFactsAboutAVariableThatIsBoundAgain) {
  Analyzer analyzer;
  analyzer.Bind(i, Range{0, n});
  analyzer.Bind(n, {0, 4});
  EXPECT_FALSE(analyzer.CanProve(Less(i, n)));
}

TEST(FactScope, ForgetsLoopsAndTheirExtents) {
  Analyzer analyzer;
  {
    FactScope loop(analyzer, i, Range{0, n});
    EXPECT_TRUE(analyzer.CanProve(Less(Expr(0), n)));  // The body runs, so there is an iteration.
  }
  EXPECT_FALSE(analyzer.CanProve(Less(Expr(0), n)));
  EXPECT_FALSE(analyzer.CanProve(LessEqual(Expr(0), i)));
}

TEST(FactScope, BringsBackWhatWasBoundAgainInside) {
  Analyzer analyzer;
  analyzer.Bind(i, Range{0, n});
  analyzer.Bind(m, n * 2);
  {
    FactScope scope(analyzer, n, {0, 4});
    EXPECT_FALSE(analyzer.CanProve(Less(i, n)));
    EXPECT_FALSE(analyzer.CanProveEqual(m, n * 2));
  }
  EXPECT_TRUE(analyzer.CanProve(Less(i, n)));
  EXPECT_TRUE(analyzer.CanProveEqual(m, n * 2));
}

TEST(Analyzer, UnderAnotherLearnsForItselfOnly) {
  Analyzer outer;
  outer.Bind(i, Range{0, n});
  {
    Analyzer inner = Analyzer::Under(outer);
    EXPECT_TRUE(inner.CanProve(Less(i, n)));
    inner.Bind(n, {0, 4});
    EXPECT_FALSE(inner.CanProve(Less(i, n)));
    EXPECT_EQ(inner.ConstIntBound(n * 2), (IntBound{0, 6}));
  }
  EXPECT_TRUE(outer.CanProve(Less(i, n)));
  EXPECT_FALSE(outer.CanProve(Less(n, 4)));
}

// Index arithmetic stays within its type; bounds of what would leave it must not wrap either.
TEST(Analyzer, BoundsDoNotWrapNearTheEndsOfInt32) {
  constexpr int64_t kMax = INT32_MAX;
  Analyzer analyzer;
  analyzer.Bind(i, {0, kMax});
  analyzer.Bind(j, {0, kMax});
  EXPECT_EQ(analyzer.ConstIntBound(i + j), (IntBound{0, 2 * (kMax - 1)}));
  EXPECT_EQ(analyzer.ConstIntBound(i * j), (IntBound{0, (kMax - 1) * (kMax - 1)}));
  EXPECT_EQ(analyzer.ConstIntBound(i * -2), (IntBound{-2 * (kMax - 1), 0}));
  EXPECT_FALSE(analyzer.CanProve(Less(i + 1, kMax)));
  EXPECT_FALSE(analyzer.CanProve(LessEqual(Expr(0), i * 2 - j)));
  EXPECT_TRUE(analyzer.CanProve(Less(i, kMax)));
}

TEST(Analyzer, BoundsDoNotWrapNearTheEndsOfInt64) {
  constexpr int64_t kMax = INT64_MAX, kMin = INT64_MIN;
  const Var x("x", DataType::Int(64)), y("y", DataType::Int(64));
  const auto wide = [](int64_t value) { return IntConst(DataType::Int(64), value); };
  Analyzer analyzer;
  analyzer.Bind(x, {wide(0), wide(kMax)});
  analyzer.Bind(y, {wide(kMin), wide(kMax)});  // Ends at -2.
  EXPECT_EQ(analyzer.ConstIntBound(x), (IntBound{0, kMax - 1}));
  EXPECT_EQ(analyzer.ConstIntBound(y), (IntBound{kMin, -2}));
  EXPECT_EQ(analyzer.ConstIntBound(x + x), (IntBound{0, kMax}));
  EXPECT_EQ(analyzer.ConstIntBound(y + y), (IntBound{kMin, -4}));
  EXPECT_EQ(analyzer.ConstIntBound(x * x).max, kMax);
  EXPECT_EQ(analyzer.ConstIntBound(y * -1).max, kMax);
  EXPECT_FALSE(analyzer.CanProve(Less(x + 2, wide(kMax))));
  EXPECT_FALSE(analyzer.CanProve(LessEqual(wide(0), x - y)) && analyzer.CanProve(Less(x - y, wide(0))));
  EXPECT_TRUE(analyzer.CanProve(Less(y, x)));
}

TEST(Analyzer, NegatedBoundsHoldTheLastValueOfInt64) {
  const Var x("x", DataType::Int(64));
  Analyzer analyzer;
  analyzer.Bind(x, {IntConst(DataType::Int(64), INT64_MAX - 1), IntConst(DataType::Int(64), 2)});
  EXPECT_TRUE(analyzer.ConstIntBound(x * -1).Contains(-INT64_MAX));
  EXPECT_TRUE(analyzer.ConstIntBound(x * -1).Contains(1 - INT64_MAX));
}

TEST(Analyzer, KnowsDivisorsOfTheLeastInt64) {
  EXPECT_EQ(GreatestCommonDivisor(INT64_MIN, 6), 2);
  EXPECT_EQ(GreatestCommonDivisor(0, -6), 6);
  EXPECT_EQ(GreatestCommonDivisor(INT64_MIN, INT64_MIN), 1);
  const Var x("x", DataType::Int(64));
  const Expr least = IntConst(DataType::Int(64), INT64_MIN);
  EXPECT_EQ(ToText(Analyzer().Simplify(Min(x * least, least))), "min(x * -9223372036854775808, -9223372036854775808)");
}

TEST(Analyzer, DividesByNothingWhereADivisorHasNoValue) {
  Analyzer analyzer;
  analyzer.Bind(n, {0, 8});
  analyzer.Bind(m, {0, -2});
  EXPECT_EQ(analyzer.ConstIntBound(MakeBinary(BinaryOp::kDiv, n, m)), IntBound());
}

TEST(Analyzer, ProvesBoundsOfExpressions) {
  const Analyzer analyzer = Facts();
  EXPECT_TRUE(analyzer.CanProveLess(i * 16 + k, 112));
  EXPECT_FALSE(analyzer.CanProveLess(i * 16 + k, 111));
  EXPECT_TRUE(analyzer.CanProveGreaterEqual(i - k, -15));
  EXPECT_FALSE(analyzer.CanProveGreaterEqual(n, -1000));
}

}  // namespace
}  // namespace lathe
