#include "compiler/arith/iter_map.h"

#include <gmock/gmock.h>

#include <set>
#include <string>

#include "brute_force.h"
#include "support/random.h"
#include "tests/property_runs.h"

namespace lathe {
namespace {

using testing::HasSubstr;

const Var i("i"), j("j"), k("k"), n("n"), m("m"), x("x"), y("y"), z("z");
IterDomain Loops() { return {{i, {0, 7}}, {j, {0, 16}}, {k, {0, 4}}}; }
Expr Div(const Expr& a, const Expr& b) { return FloorDiv(a, b); }
Expr Mod(const Expr& a, const Expr& b) { return FloorMod(a, b); }
constexpr IterMapLevel kBijective = IterMapLevel::kBijective, kSurjective = IterMapLevel::kSurjective,
                       kNoCheck = IterMapLevel::kNoCheck;

// One index per part: extent, "*scale" unless it is 1, "+base" unless it is 0; a constant index is its base.
std::string Describe(const IterMapResult& map) {
  std::string text;
  for (const IterSumExpr& sum : map.indices) {
    if (!text.empty()) text += "; ";
    if (sum.args.empty()) {
      text += ToText(sum.base);
      continue;
    }
    text += ToText(sum.args[0].extent);
    if (!IsConstInt(sum.args[0].scale, 1)) text += "*" + ToText(sum.args[0].scale);
    if (!IsConstInt(sum.base, 0)) text += "+" + ToText(Analyzer().Simplify(sum.base));
  }
  return text;
}

struct MapCase {
  const char* name;
  IterDomain domain;
  std::vector<Expr> indices;
  const char* expected;  // Or the beginning of a part of the error, after "!".
  IterMapLevel level = kSurjective;
  Expr predicate = True();
};
class IterMapTest : public testing::TestWithParam<MapCase> {};
TEST_P(IterMapTest, IsDecided) {
  const MapCase& c = GetParam();
  const auto map = DetectIterMap(c.indices, c.domain, c.predicate, {.level = c.level}, Analyzer());
  if (c.expected[0] == '!') {
    ASSERT_FALSE(map.ok()) << Describe(*map);
    EXPECT_THAT(map.status().message(), HasSubstr(c.expected + 1));
    return;
  }
  ASSERT_TRUE(map.ok()) << map.status().message();
  EXPECT_EQ(Describe(*map), c.expected);
}
INSTANTIATE_TEST_SUITE_P(
    Loops, IterMapTest,
    testing::Values(
        MapCase{"Trivial", Loops(), {k, i, j}, "4; 7; 16", kBijective},
        MapCase{"Constant", Loops(), {k, Expr(3)}, "4; 3"},
        MapCase{"SplitBackTogether", Loops(), {i * 16 + j, k}, "112; 4", kBijective},
        MapCase{"FuseAndSplitElsewhere", Loops(), {Div(i * 16 + j, 8), Mod(i * 16 + j, 8), k}, "14; 8; 4", kBijective},
        MapCase{"FuseAndSplitByPrime",
                Loops(),
                {Div(i * 64 + j * 4 + k, 14), Mod(i * 64 + j * 4 + k, 14)},
                "32; 14",
                kBijective},
        MapCase{"UnusedIsSurjective", Loops(), {i * 16 + j}, "112", kSurjective},
        MapCase{"UnusedIsNotBijective", Loops(), {i * 16 + j}, "!an iterator reaches no index", kBijective},
        MapCase{"SharedIterator", Loops(), {i, i}, "!indices share an iterator"},
        MapCase{"Gaps", Loops(), {i * 100 + j * 5 + k}, "!overlap or leave gaps"},
        MapCase{"CommonStride", {{x, {0, 3}}, {y, {0, 2}}}, {x * 4 + y * 2}, "6*2"},
        MapCase{"SymbolicStride", {{x, {0, 3}}, {y, {0, n}}}, {x * 2 * n + y * 2}, "n * 3*2"},
        MapCase{"SymbolicFactor", {{x, {0, n}}, {y, {0, 4}}}, {(y + 1) * n + x}, "n * 4+n"},
        MapCase{"SymbolicSplit", {{x, {0, m* n}}}, {Div(x, n), Mod(x, n)}, "m; n", kBijective},
        MapCase{"SplitOfMultiple", {{x, {0, 8}}}, {Div(x * 2, 4), Mod(x * 2, 4)}, "4; 2*2"},
        MapCase{"SplitOfMultipleJoins", {{x, {0, 8}}}, {Div(x * 2, 4) * 4 + Mod(x * 2, 4)}, "8*2"},
        MapCase{"OffsetOfLoops", {{i, {2, 4}}, {j, {0, 16}}}, {i * 16 + j}, "64+32", kBijective},
        MapCase{"Backwards", {{x, {0, 8}}}, {Expr(7) - x}, "8*-1+7", kBijective},
        MapCase{"Square", Loops(), {i * j}, "!multiplies two iterators", kNoCheck},
        MapCase{"DividesByIterator", Loops(), {Div(i, j + 1)}, "!divides by an iterator", kNoCheck},
        MapCase{"MaxIsNoSplit", Loops(), {Max(i, j)}, "!no sum, multiple, quotient or remainder", kNoCheck},
        MapCase{"OtherVariablesAreConstants", Loops(), {i * 16 + j + n * 3, k}, "112+n * 3; 4", kBijective},
        MapCase{"OffsetThatDivides", {{y, {0, 192}}}, {Div(y + 64, 32), Mod(y + 64, 32)}, "6+2; 32", kBijective}),
    [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(
    Overlap, IterMapTest,
    testing::Values(MapCase{"OfTwo", {{x, {0, 3}}, {y, {0, 8}}}, {x * 7 + y}, "22"},
                    MapCase{"OfTwoIsNotBijective", {{x, {0, 3}}, {y, {0, 8}}}, {x * 7 + y}, "!overlap", kBijective},
                    MapCase{"OfThree", {{x, {0, 2}}, {y, {0, 3}}, {z, {0, 8}}}, {x * 18 + y * 7 + z}, "40"},
                    MapCase{"OfAStencil", {{x, {0, 224}}, {y, {0, 7}}}, {x + y}, "230"},
                    MapCase{"Backwards", {{x, {0, 3}}, {y, {0, 8}}}, {x * -7 + y}, "!overlap"},
                    MapCase{"WithStride", {{x, {0, 4}}, {y, {0, 3}}}, {x * 5 + y * 2}, "!overlap"}),
    [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(
    Predicate, IterMapTest,
    testing::Values(
        MapCase{"GuardedTail", Loops(), {i * 16 + j, k}, "100; 4", kBijective, Less(i * 16 + j, 100)},
        MapCase{"GuardedTailInside", Loops(), {(i * 16 + j) * 4 + k}, "400", kBijective, Less(i * 16 + j, 100)},
        MapCase{"GuardedFuse",
                Loops(),
                {Div(i * 64 + j * 4 + k, 10), Mod(i * 64 + j * 4 + k, 10)},
                "44; 10",
                kBijective,
                Less(i * 64 + j * 4 + k, 440)},
        MapCase{"BothEnds",
                Loops(),
                {i * 16 + j - 1, k},
                "99; 4",
                kBijective,
                And(LessEqual(Expr(1), i * 16 + j), Less(i * 16 + j, 100))},
        MapCase{
            "LowerEnd", {{x, {0, 13}}, {y, {0, 10}}}, {x * 10 + y}, "124+6", kSurjective, Less(Expr(5), x * 10 + y)},
        MapCase{"Useless", {{x, {0, 13}}, {y, {0, 10}}}, {x * 10 + y}, "130", kSurjective, Less(x * 10 + y, 140)},
        MapCase{
            "OnBothSides", {{x, {0, 13}}, {y, {0, 10}}}, {x * 10 + y}, "128", kSurjective, Less(x * 10, Expr(128) - y)},
        MapCase{"OneIterator", {{i, {0, 48}}}, {i}, "10", kBijective, Less(i, 10)},
        MapCase{"Nested",
                {{i, {0, 11}}, {j, {0, 5}}, {k, {0, 2}}},
                {i * 8 + j * 2 + k},
                "22+3",
                kSurjective,
                And(And(LessEqual(Expr(1), j * 2 + k), Less(j * 2 + k, 9)),
                    And(LessEqual(Expr(3), i * 8 + j * 2 + k), Less(i * 8 + j * 2 + k, 25)))},
        MapCase{"Remainders",
                {{i, {0, 1024}}},
                {Mod(i, 16), Div(i, 16)},
                "7+3; 8+4",
                kBijective,
                And(And(LessEqual(Expr(3), Mod(i, 16)), Less(Mod(i, 16), 10)),
                    And(LessEqual(Expr(4), Div(i, 16)), Less(Div(i, 16), 12)))},
        MapCase{"InUnitsOfTheStride",
                {{x, {0, 3}}, {y, {0, 4}}},
                {x * 16 + y * 4},
                "10*4",
                kSurjective,
                Less(x * 4 + y, 10)},
        MapCase{"Irrelevant", {{i, {0, 1}}}, {i + j}, "j", kSurjective, LessEqual(j, 24)},
        MapCase{"IteratorsApart", Loops(), {i, j}, "!", kSurjective, Less(i * 16 + j, 100)},
        MapCase{"OuterPartOnly",
                {{i, {0, 128}}, {j, {0, 128}}, {k, {0, 128}}},
                {i * 128 + j},
                "!bounds iterators together",
                kSurjective,
                Less(i * 16384 + j * 128 + k, 100)},
        MapCase{"Crossing",
                {{i, {0, 11}}, {j, {0, 5}}, {k, {0, 2}}},
                {i * 8 + j * 2 + k},
                "!",
                kSurjective,
                And(LessEqual(Expr(2), j * 2 + k), LessEqual(Expr(0), i * 4 + j))},
        MapCase{"Impossible", Loops(), {i, j}, "!never true", kSurjective, Less(i, -1)},
        MapCase{"NotABound", Loops(), {i, j}, "!", kSurjective, Equal(i, j)}),
    [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(
    Padding, IterMapTest,
    testing::Values(
        MapCase{"OnTheLeft", {{y, {0, 176}}}, {Div(y + 80, 32)}, "6+2"},
        MapCase{"OnTheLeftOfPieces", {{y, {0, 176}}}, {Mod(Div(y + 80, 2), 16), Mod(y + 80, 2)}, "16; 2"},
        MapCase{"OnTheRight", {{x, {0, 26}}}, {Div(x, 15)}, "2"},
        MapCase{"OnTheRightOfPieces", {{x, {0, 26}}}, {Mod(Div(x, 3), 5), Mod(x, 3)}, "5; 3"},
        MapCase{"OnBothSides", {{x, {0, 45}}}, {Div(x + 71, 32)}, "2+2"},
        MapCase{
            "OfAMultiple", {{x, {0, 5}}, {y, {0, 4}}}, {Div(x * 32 + y * 8, 16), Mod(x * 32 + y * 8, 16)}, "10; 2*8"},
        MapCase{"OneOffsetManyPieces",
                {{x, {0, 240}}},
                {Mod(x + 10, 3), Mod(Div(x + 10, 3), 4), Mod(Div(Div(x + 10, 3), 4), 5)},
                "3; 4; 5"},
        MapCase{"AllOfItTwice", {{y, {0, 176}}}, {Div(y + 80, 32), Mod(y + 80, 32)}, "!several indices use a padded"},
        MapCase{"AllPieces",
                {{x, {0, 240}}},
                {Mod(x + 10, 3), Mod(Div(x + 10, 3), 4), Div(Div(x + 10, 3), 4)},
                "!several indices use a padded"},
        MapCase{"MoreThanThereIs", {{x, {0, 3}}}, {Mod(x, 16)}, "!"},
        MapCase{"NotBijective", {{x, {0, 26}}}, {Div(x, 15), Mod(x, 15)}, "!", kBijective},
        MapCase{"Symbolic", {{x, {0, n}}}, {Div(x, 4), Mod(x, 4)}, "(n + 3) // 4; 4", kNoCheck},
        // Where TVM says yes: the offset moves values from one quotient to the next.
        MapCase{"OffsetIsNotBijective", {{x, {0, 8}}}, {Div(x + 1, 4), Mod(x + 1, 4)}, "!offset", kBijective},
        MapCase{"DifferentOffsets",
                {{x, {0, 240}}},
                {Mod(x + 1, 3), Mod(Div(x + 10, 3) + 2, 4), Mod(Div(Div(x + 10, 3), 4) + 3, 5)},
                "!offset"}),
    [](const auto& info) { return info.param.name; });

TEST(DetectIterMap, GivesTheStructureOfFusesAndSplits) {
  const Expr fused = Div(y, 3) * 6 + Div(x, 5) * 3 + Mod(y, 3);
  const auto map =
      DetectIterMap({fused, Mod(x, 5)}, {{x, {0, 10}}, {y, {0, 9}}}, True(), {.level = kBijective}, Analyzer());
  ASSERT_TRUE(map.ok()) << map.status().message();
  const IterSplitExpr& whole = map->indices[0].args.at(0);
  const IterSumExpr& sum = std::get<IterSumExpr>(whole.source->source);
  ASSERT_EQ(sum.args.size(), 3u);
  EXPECT_EQ(sum.args[0].source, sum.args[2].source);  // One mark for y.
  EXPECT_TRUE(std::get<Expr>(sum.args[1].source->source).same_as(x));
  EXPECT_TRUE(IsConstInt(sum.args[1].lower_factor, 5) && IsConstInt(sum.args[1].extent, 2) &&
              IsConstInt(sum.args[1].scale, 3));
  EXPECT_EQ(ToText(ToExpr(map->indices[0], Analyzer())), "y // 3 * 6 + x // 5 * 3 + y % 3");
}

TEST(DetectIterMap, RefusesWhatOverflows) {
  const IterDomain wide{{x, {0, 1 << 16}}, {y, {0, 1 << 16}}};
  EXPECT_FALSE(DetectIterMap({x * (1 << 16) + y}, wide, True(), {}, Analyzer()).ok());
  EXPECT_FALSE(DetectIterMap({Mod(Div(y, 65537), 65539)}, wide, True(), {}, Analyzer()).ok());
  EXPECT_FALSE(DetectIterMap({Div(Div(y, 65537), 65539)}, wide, True(), {}, Analyzer()).ok());
}

TEST(DetectIterMap, TakesInt64Iterators) {
  const Var p("p", DataType::Int(64)), q("q", DataType::Int(64));
  const IterDomain domain{{p, {0, 1 << 20}}, {q, {0, 1 << 20}}};
  const auto map = DetectIterMap({p * (1 << 20) + q}, domain, True(), {.level = kBijective}, Analyzer());
  ASSERT_TRUE(map.ok()) << map.status().message();
  EXPECT_EQ(Describe(*map), "1099511627776");
  const auto padded = DetectIterMap({Div(p + 5, 3)}, domain, True(), {}, Analyzer());
  ASSERT_TRUE(padded.ok()) << padded.status().message();
  EXPECT_EQ(Describe(*padded), "349526+1");
}

TEST(DetectIterMap, TellsWherePaddingIs) {
  const auto map = DetectIterMap({Div(x, 4), Mod(x, 4)}, {{x, {0, 14}}}, True(), {.level = kNoCheck}, Analyzer());
  ASSERT_TRUE(map.ok()) << map.status().message();
  EXPECT_EQ(ToText(map->padding_predicate), "x // 4 == 3 and 2 <= x % 4");
}

TEST(DetectIterMap, KeepsTrivialIteratorsOnDemand) {
  const IterDomain domain{{x, {0, 1}}, {y, {0, 16}}};
  const auto map =
      DetectIterMap({x * 16 + y}, domain, True(), {kSurjective, /*simplify_trivial_iterators=*/false}, Analyzer());
  ASSERT_TRUE(map.ok()) << map.status().message();
  EXPECT_EQ(ToText(ToExpr(map->indices[0], Analyzer())), "x * 16 + y");
}

TEST(DetectIterMap, RefusesIteratorsThatDependOnEachOther) {
  const auto map = DetectIterMap({i, j}, {{i, {0, 4}}, {j, Range{0, i + 1}}}, True(), {}, Analyzer());
  EXPECT_THAT(map.status().message(), HasSubstr("depends on another iterator"));
}

struct SumCase {
  const char* name;
  IterDomain domain;
  Expr index;
  std::vector<const char*> args;
  const char* base;
};
class NormalizeToIterSumTest : public testing::TestWithParam<SumCase> {};
TEST_P(NormalizeToIterSumTest, ListsThePartsByScale) {
  const auto sum = NormalizeToIterSum(GetParam().index, GetParam().domain, Analyzer());
  ASSERT_TRUE(sum.ok()) << sum.status().message();
  std::vector<std::string> args;
  for (const IterSplitExpr& arg : sum->args) args.push_back(ToText(Analyzer().Simplify(ToExpr(arg, Analyzer()))));
  EXPECT_THAT(args, testing::ElementsAreArray(GetParam().args.begin(), GetParam().args.end()));
  EXPECT_EQ(ToText(Analyzer().Simplify(sum->base)), GetParam().base);
}
INSTANTIATE_TEST_SUITE_P(
    Sums, NormalizeToIterSumTest,
    testing::Values(
        SumCase{"SymbolicScales",
                {{x, {0, 9}}, {y, {0, 4}}, {z, {0, 3}}},
                z + (y + x * 4 + 2) * n + 3,
                {"x * n * 4", "y * n", "z"},
                "n * 2 + 3"},
        SumCase{
            "ConstantScales", {{x, {0, 8}}, {y, {0, 8}}, {z, {0, 8}}}, z + y * 6 + x * 4, {"y * 6", "x * 4", "z"}, "0"},
        SumCase{"UnknownPartsAreBase", {{x, {0, 9}}, {z, {0, 3}}}, Max(z, n) + x * 4, {"x * 4"}, "max(z, n)"},
        SumCase{"UnevenSplit", {{x, {0, 4096}}}, Div(x, 5), {"x // 5"}, "0"},
        SumCase{"PiecesJoin", {{x, {0, 64}}, {z, {0, 3}}}, z * 2 + Div(x, 4) * 4 + Mod(x, 4), {"z * 2", "x"}, "0"}),
    [](const auto& info) { return info.param.name; });

TEST(IterMapSimplify, UndoesSplitsOfFuses) {
  const Expr fused = x * n + y;
  const IterDomain domain{{x, Range{0, 32}}, {y, Range{0, n}}};
  const std::vector<Expr> simple = IterMapSimplify({Div(fused, n) * n + Mod(fused, n)}, domain, True(), {}, Analyzer());
  EXPECT_EQ(ToText(simple[0]), "x * n + y");
  EXPECT_EQ(ToText(IterMapSimplify({x * y}, domain, True(), {}, Analyzer())[0]), "x * y");
}

// What splits and fuses of loops make: (i0 * 4 + i1, f // 6, f % 6 * 3 + i2). Some are spoilt: a part left out, twice.
struct TileCase {
  IterDomain loops;
  std::vector<Expr> indices;
};
TileCase RandomTiles(uint64_t seed) {
  Random random(seed);
  TileCase c;
  std::vector<std::pair<Expr, int64_t>> parts;  // With their extents.
  for (uint64_t count = 2 + random.Below(4); count > 0; --count) {
    const int64_t a = static_cast<int64_t>(1 + random.Below(4)), b = static_cast<int64_t>(1 + random.Below(4));
    const Var loop("l" + std::to_string(c.loops.size()));
    const bool is_fused = random.Below(3) == 0;
    c.loops.emplace_back(loop, Range{0, is_fused ? a * b : a});
    parts.emplace_back(is_fused ? FloorDiv(loop, b) : Expr(loop), a);
    if (is_fused) parts.emplace_back(FloorMod(loop, b), b);
  }
  if (random.Below(8) == 0) parts.pop_back();
  if (random.Below(8) == 0) parts.push_back(parts[random.Below(parts.size())]);
  for (size_t i = parts.size(); i-- > 1;) std::swap(parts[i], parts[random.Below(i + 1)]);
  for (size_t next = 0; next < parts.size();) {
    Expr index = static_cast<int64_t>(random.Below(2));
    const size_t end = std::min(parts.size(), next + 1 + random.Below(3));
    Expr sum = 0;
    for (; next < end; ++next) sum = sum * parts[next].second + parts[next].first;
    c.indices.push_back(sum * static_cast<int64_t>(1 + random.Below(2)) + index);
  }
  return c;
}

// Where no predicate is, tiles are recognised at sight; a predicate that is always true takes the long way.
TEST(DetectIterMap, TilesAreTheSameAtSight) {
  int num_maps = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const TileCase c = RandomTiles(seed);
    const Expr always = Less(c.loops[0].first, c.loops[0].second.extent);
    std::vector<Expr> moved = c.indices;
    moved[0] = moved[0] + n;
    for (const bool drops_unit : {false, true}) {
      for (const IterMapLevel level : {kBijective, kSurjective, kNoCheck}) {
        const IterMapOptions options{level, drops_unit};
        const auto quick = DetectIterMap(c.indices, c.loops, True(), options, Analyzer());
        const auto slow = DetectIterMap(c.indices, c.loops, always, options, Analyzer());
        ASSERT_EQ(quick.ok(), slow.ok()) << quick.status().message() << slow.status().message();
        EXPECT_EQ(HasIterMap(moved, c.loops, True(), options, Analyzer()),
                  DetectIterMap(moved, c.loops, always, options, Analyzer()).ok());
        if (!quick.ok()) continue;
        ++num_maps;
        const std::vector<Expr> simple = IterMapSimplify(c.indices, c.loops, True(), options, Analyzer());
        EXPECT_EQ(Describe(*quick), Describe(*slow));
        for (size_t i = 0; i < c.indices.size(); ++i)
          for (const Expr& index : {ToExpr(quick->indices[i], Analyzer()), simple[i]})
            EXPECT_EQ(ToText(index), ToText(ToExpr(slow->indices[i], Analyzer())));
      }
    }
  }
  EXPECT_GT(num_maps, 1000);
}

// Some of the sums below a constant, as uneven splits leave them.
Expr RandomGuards(const TileCase& c, Random& random) {
  Expr predicate = True();
  for (const Expr& index : c.indices) {
    Analyzer analyzer;
    for (const auto& [var, range] : c.loops) analyzer.Bind(var, range);
    const auto bound = analyzer.ConstIntBound(index);
    if (random.Below(2) == 0) continue;
    const Expr end =
        bound.min + 1 + static_cast<int64_t>(random.Below(static_cast<uint64_t>(bound.max - bound.min + 1)));
    predicate = And(predicate, Less(index, end));
  }
  return predicate;
}

// Sums that are kept below constants are recognised at sight, too, where the long way says the same.
TEST(IterMapSimplify, GuardedTilesAreTheSameAtSight) {
  int num_guarded = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const TileCase c = RandomTiles(seed);
    Random random(seed);
    const Expr predicate = RandomGuards(c, random);
    num_guarded += !IsConstInt(predicate, 1);
    for (const bool drops_unit : {false, true}) {
      for (const IterMapLevel level : {kBijective, kSurjective, kNoCheck}) {
        const IterMapOptions options{level, drops_unit};
        StatusOr<IterMapResult> slow = DetectIterMap(c.indices, c.loops, predicate, options, Analyzer());
        EXPECT_EQ(HasIterMap(c.indices, c.loops, predicate, options, Analyzer()), slow.ok()) << ToText(predicate);
        if (!slow.ok() && level != kBijective) slow = DetectIterMap(c.indices, c.loops, True(), options, Analyzer());
        const std::vector<Expr> simple = IterMapSimplify(c.indices, c.loops, predicate, options, Analyzer());
        for (size_t i = 0; i < c.indices.size(); ++i)
          EXPECT_EQ(ToText(simple[i]), ToText(slow.ok() ? ToExpr(slow->indices[i], Analyzer()) : c.indices[i]))
              << ToText(c.indices[i]) << " where " << ToText(predicate);
      }
    }
  }
  EXPECT_GT(num_guarded, 1000);
}

TEST(IsAffineBinding, DemandsStepsOfOneWithoutOverlap) {
  const auto realize = [](std::vector<Expr> values) {
    return BlockRealize{std::move(values), True(), Block(BlockNode{.body = Evaluate{Expr(0)}})};
  };
  EXPECT_TRUE(IsTrivialBinding(realize({i, k}), Loops()));
  EXPECT_FALSE(IsTrivialBinding(realize({i, i}), Loops()));
  EXPECT_TRUE(IsAffineBinding(realize({i * 16 + j, k}), Loops(), Analyzer()));
  EXPECT_FALSE(IsAffineBinding(realize({i * 2, k}), Loops(), Analyzer()));
  EXPECT_FALSE(IsAffineBinding(realize({i + j, k}), Loops(), Analyzer()));
  EXPECT_FALSE(IsAffineBinding(realize({Div(j, 5)}), Loops(), Analyzer()));
}

// ---- Inverses ---------------------------------------------------------------------------------------------------

TEST(InverseAffineIterMap, SolvesForTheIterators) {
  const auto map = DetectIterMap({Div(i * 64 + j * 4 + k, 14), Mod(i * 64 + j * 4 + k, 14)}, Loops(), True(),
                                 {.level = kBijective}, Analyzer());
  ASSERT_TRUE(map.ok()) << map.status().message();
  Analyzer analyzer;
  analyzer.Bind(x, {0, 32});
  analyzer.Bind(y, {0, 14});
  const auto inverse = InverseAffineIterMap(map->indices, {x, y}, analyzer);
  ASSERT_TRUE(inverse.ok()) << inverse.status().message();
  EXPECT_EQ(ToText(inverse->at(i.get())), "(x * 14 + y) // 64");
  EXPECT_EQ(ToText(inverse->at(j.get())), "(x * 14 + y) % 64 // 4");
}

TEST(InverseAffineIterMap, AddsUpThePiecesOfOneIterator) {
  const IterDomain domain{{x, {0, 64}}, {y, {0, 64}}};
  const auto map = DetectIterMap({Mod(x, 16) * 4 + Mod(y, 4), Div(x, 16), Div(y, 4)}, domain, True(), {}, Analyzer());
  ASSERT_TRUE(map.ok()) << map.status().message();
  const Var a("a"), b("b"), c("c");
  Analyzer analyzer;
  analyzer.Bind(a, {0, 64});
  const auto inverse = InverseAffineIterMap(map->indices, {a, b, c}, analyzer);
  ASSERT_TRUE(inverse.ok()) << inverse.status().message();
  EXPECT_TRUE(analyzer.CanProveEqual(inverse->at(x.get()), FloorDiv(a, 4) + b * 16));
  EXPECT_TRUE(analyzer.CanProveEqual(inverse->at(y.get()), FloorMod(a, 4) + c * 4));
}

TEST(InverseAffineIterMap, RefusesOverlap) {
  const auto map = DetectIterMap({x + y}, {{x, {0, 4}}, {y, {0, 4}}}, True(), {}, Analyzer());
  ASSERT_TRUE(map.ok());
  EXPECT_THAT(InverseAffineIterMap(map->indices, {z}, Analyzer()).status().message(), HasSubstr("overlap"));
}

// ---- Subspaces --------------------------------------------------------------------------------------------------

struct DivideCase {
  const char* name;
  IterDomain domain;
  std::vector<Expr> bindings;
  std::vector<Var> sub_iters;
  const char* expected;  // "outer | inner; ... where outer | inner", or an error after "!".
  Expr predicate = True();
};
class SubspaceDivideTest : public testing::TestWithParam<DivideCase> {};
TEST_P(SubspaceDivideTest, SeparatesOuterFromInner) {
  const DivideCase& c = GetParam();
  const auto division = SubspaceDivide(c.bindings, c.domain, c.sub_iters, c.predicate, {}, Analyzer());
  if (c.expected[0] == '!') {
    ASSERT_FALSE(division.ok());
    EXPECT_THAT(division.status().message(), HasSubstr(c.expected + 1));
    return;
  }
  ASSERT_TRUE(division.ok()) << division.status().message();
  std::string text;
  for (const DividedIter& iter : division->bindings) {
    if (!text.empty()) text += "; ";
    text += ToText(ToExpr(iter.outer, Analyzer())) + " | " + ToText(ToExpr(iter.inner, Analyzer()));
  }
  if (!IsConstInt(division->outer_predicate, 1) || !IsConstInt(division->inner_predicate, 1))
    text += " where " + ToText(division->outer_predicate) + " | " + ToText(division->inner_predicate);
  EXPECT_EQ(text, c.expected);
}
const IterDomain kTile{{x, {0, 3}}, {y, {0, 4}}, {z, {0, 5}}};
const IterDomain kCompound{{i, {0, 4}}, {j, {0, 8}}, {k, {0, 2}}};
const Expr kHigh = i * 2 + Div(j, 4), kLow = Mod(j, 4) * 2 + k;
INSTANTIATE_TEST_SUITE_P(
    Bindings, SubspaceDivideTest,
    testing::Values(
        DivideCase{"Tile", kTile, {z * 12 + y * 3 + x + n}, {x}, "z * 4 + y | x + n"},
        DivideCase{"TileAndGuard",
                   kTile,
                   {z * 12 + y * 3 + x + n},
                   {x},
                   "z * 4 + y | x + n where z * 4 + y < 18 | True",
                   Less(z * 4 + y, 18)},
        DivideCase{"OneInside", kCompound, {kHigh, kLow}, {k}, "i * 2 + j // 4 | 0; j % 4 | k"},
        DivideCase{"TwoInside", kCompound, {kHigh, kLow}, {j, k}, "i | j // 4; 0 | j % 4 * 2 + k"},
        DivideCase{"Crossed", kCompound, {kHigh, kLow}, {i, k}, "!"},
        DivideCase{"GuardOutside",
                   kCompound,
                   {kHigh, kLow},
                   {k},
                   "i * 2 + j // 4 | 0; j % 4 | k where i * 2 + j // 4 < 7 | True",
                   Less(kHigh, 7)},
        DivideCase{"GuardInside",
                   kCompound,
                   {kHigh, kLow},
                   {j, k},
                   "i | j // 4; 0 | j % 4 * 2 + k where True | j % 4 * 2 + k < 7",
                   Less(kLow, 7)},
        DivideCase{
            "GuardAcross", kCompound, {kHigh, kLow}, {k}, "!outside and inside", And(Less(kHigh, 7), Less(kLow, 7))},
        DivideCase{
            "FusedThenSplit", {{i, {0, 2}}, {j, {0, 6}}}, {Div(i * 6 + j, 6), Mod(i * 6 + j, 6)}, {j}, "i | 0; 0 | j"},
        DivideCase{"SplitAcross",
                   {{i, {0, 2}}, {j, {0, 6}}},
                   {Div(i * 6 + j, 3), Mod(i * 6 + j, 3)},
                   {j},
                   "!partly outside and partly inside"}),
    [](const auto& info) { return info.param.name; });

// ---- Against enumeration ----------------------------------------------------------------------------------------

struct RandomMap {
  IterDomain iters;
  std::vector<Expr> indices;
  Expr predicate = True();
};

// Splits, fuses, reorderings and their guards, as schedules make them, and now and then something else.
RandomMap MakeRandomMap(Random& random) {
  RandomMap map;
  const int count = 1 + random.Below(3);
  const char* names[] = {"a", "b", "c"};
  for (int at = 0; at < count; ++at) {
    map.iters.emplace_back(Var(names[at]),
                           Range{random.Below(5) == 0 ? Expr(2) : Expr(0), int64_t(1 + random.Below(8))});
  }
  std::vector<Expr> open;
  std::vector<int64_t> extents;
  for (const auto& [var, range] : map.iters) {
    open.push_back(var - range.min);
    extents.push_back(*AsIntConst(range.extent));
  }
  const auto erase = [&](size_t at) {
    open.erase(open.begin() + at);
    extents.erase(extents.begin() + at);
  };
  for (int step = random.Below(5); step > 0; --step) {
    const size_t at = random.Below(open.size());
    if (random.Below(2) == 0 && open.size() > 1) {
      const size_t other = (at + 1) % open.size();
      open[at] = open[at] * extents[other] + open[other];
      extents[at] *= extents[other];
      if (random.Below(3) == 0 && extents[at] > 2 && IsConstInt(map.predicate, 1)) {
        const int64_t limit = 1 + random.Below(extents[at]);
        map.predicate = Less(open[at], limit);
        extents[at] = limit;
      }
      erase(other);
    } else {
      const int64_t factor = 1 + random.Below(4);
      if (extents[at] % factor != 0 && random.Below(4) != 0) continue;
      const Expr whole = open[at];
      open[at] = FloorDiv(whole, factor);
      open.push_back(FloorMod(whole, factor));
      extents.push_back(factor);
      extents[at] = (extents[at] + factor - 1) / factor;
    }
  }
  map.indices = open;
  if (random.Below(6) == 0) map.indices.pop_back();
  if (random.Below(6) == 0) map.indices.push_back(RandomExpr(random, map.iters, 2));
  if (random.Below(6) == 0 && !map.indices.empty()) map.indices[0] = map.indices[0] * 3 + 5;
  if (map.indices.empty()) map.indices.push_back(map.iters[0].first);
  return map;
}

TEST(IterMapProperty, ClaimsAreTrueAtEveryPoint) {
  constexpr uint64_t kSeed = 4242;
  int num_recognised = 0, num_inverted = 0;
  for (int round = 0; round < PropertyRuns(6000); ++round) {
    Random random(kSeed + round);
    const RandomMap map = MakeRandomMap(random);
    const IterMapLevel level = static_cast<IterMapLevel>(random.Below(3));
    const auto detected = DetectIterMap(map.indices, map.iters, map.predicate, {.level = level}, Analyzer());
    bool is_defined = true;  // Nothing divides by zero.
    ForEachPoint(map.iters, [&](const Point& p) {
      for (const Expr& index : map.indices) is_defined = is_defined && ValueAt(index, map.iters, p);
    });
    if (!detected.ok() || !is_defined) continue;
    ++num_recognised;
    std::string text = "seed " + std::to_string(kSeed + round) + " level " + std::to_string(int(level)) + ": ";
    for (const Expr& index : map.indices) text += ToText(index) + "; ";
    SCOPED_TRACE(text + "where " + ToText(map.predicate));
    std::vector<Var> outputs;
    std::vector<Expr> output_exprs;
    IterDomain with_outputs = map.iters;
    for (size_t at = 0; at < map.indices.size(); ++at) {
      outputs.emplace_back("o" + std::to_string(at));
      output_exprs.push_back(outputs.back());
      with_outputs.emplace_back(outputs.back(), Range{0, 1});
    }
    std::optional<VarMap> inverse;
    auto solved = InverseAffineIterMap(detected->indices, output_exprs, Analyzer());
    if (level == kBijective) ASSERT_TRUE(solved.ok()) << solved.status().message();
    if (level == kBijective) {
      inverse = *solved;
      ++num_inverted;
    }
    std::set<std::vector<int64_t>> images;
    int64_t num_points = 0;
    ForEachPoint(map.iters, [&](const Point& p) {
      if (ValueAt(map.predicate, map.iters, p) != 1) return;
      ++num_points;
      std::vector<int64_t> image;
      for (size_t at = 0; at < map.indices.size(); ++at) {
        image.push_back(*ValueAt(map.indices[at], map.iters, p));
        ASSERT_EQ(ValueAt(ToExpr(detected->indices[at], Analyzer()), map.iters, p), image.back())
            << "sum of splits, index " << at << ": " << ToText(ToExpr(detected->indices[at], Analyzer()));
      }
      images.insert(image);
      if (!inverse) return;
      Point whole = p;
      whole.insert(whole.end(), image.begin(), image.end());
      for (size_t at = 0; at < map.iters.size(); ++at) {
        const auto found = inverse->find(map.iters[at].first.get());
        if (found == inverse->end()) {
          ASSERT_TRUE(IsConstInt(map.iters[at].second.extent, 1) || !IsConstInt(map.predicate, 1));
          continue;
        }
        ASSERT_EQ(ValueAt(found->second, with_outputs, whole), p[at]) << "inverse " << ToText(found->second);
      }
    });
    int64_t box = 1;
    for (const IterSumExpr& sum : detected->indices) {
      if (sum.args.empty()) continue;
      ASSERT_NE(AsIntConst(sum.args[0].extent), nullptr) << ToText(sum.args[0].extent);
      box *= *AsIntConst(sum.args[0].extent);
    }
    if (level == kBijective) {
      EXPECT_EQ(int64_t(images.size()), num_points) << "not injective";
    }
    if (level == kBijective || level == kSurjective) {
      EXPECT_EQ(int64_t(images.size()), box) << "not surjective";
    }
    if (HasFailure()) return;
  }
  if (!AllRuns(6000)) return;
  EXPECT_GT(num_recognised, 3000);
  EXPECT_GT(num_inverted, 1000);
}

}  // namespace
}  // namespace lathe
