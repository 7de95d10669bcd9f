#include "compiler/arith/iter_map.h"

#include <gmock/gmock.h>

#include <set>

#include "brute_force.h"
#include "tests/property_runs.h"

namespace lathe {
namespace {

using testing::HasSubstr;

const Var i("i"), j("j"), k("k"), n("n");
IterDomain Loops() { return {{i, {0, 7}}, {j, {0, 16}}, {k, {0, 4}}}; }
Expr Div(const Expr& a, int64_t b) { return FloorDiv(a, b); }
Expr Mod(const Expr& a, int64_t b) { return FloorMod(a, b); }

struct MapCase {
  const char* name;
  std::vector<Expr> indices;
  Expr predicate;
  IterMapLevel level;
  const char* error;  // Empty: it is recognised.
};
class IterMapTest : public testing::TestWithParam<MapCase> {};
TEST_P(IterMapTest, IsDecided) {
  const MapCase& c = GetParam();
  const auto map = DetectIterMap(c.indices, Loops(), c.predicate, c.level, Analyzer());
  if (c.error[0] == '\0')
    EXPECT_TRUE(map.ok()) << map.status().message();
  else
    EXPECT_THAT(map.status().message(), HasSubstr(c.error));
}
constexpr IterMapLevel kBijective = IterMapLevel::kBijective, kSurjective = IterMapLevel::kSurjective,
                       kInjective = IterMapLevel::kInjective, kNoCheck = IterMapLevel::kNoCheck;
INSTANTIATE_TEST_SUITE_P(
    Maps, IterMapTest,
    testing::Values(
        MapCase{"Trivial", {k, i, j}, True(), kBijective, ""},
        MapCase{"SplitBackTogether", {i * 16 + j, k}, True(), kBijective, ""},
        MapCase{"FuseAndSplitElsewhere", {Div(i * 16 + j, 8), Mod(i * 16 + j, 8), k}, True(), kBijective, ""},
        MapCase{
            "FuseAndSplitByPrime", {Div(i * 64 + j * 4 + k, 14), Mod(i * 64 + j * 4 + k, 14)}, True(), kBijective, ""},
        MapCase{"GuardedTail", {i * 16 + j, k}, Less(i * 16 + j, 100), kBijective, ""},
        MapCase{"GuardedTailInside", {(i * 16 + j) * 4 + k}, Less(i * 16 + j, 100), kBijective, ""},
        MapCase{"GuardedFuse",
                {Div(i * 64 + j * 4 + k, 10), Mod(i * 64 + j * 4 + k, 10)},
                Less(i * 64 + j * 4 + k, 440),
                kBijective,
                ""},
        MapCase{"LowerGuard",
                {i * 16 + j - 1, k},
                And(LessEqual(Expr(1), i * 16 + j), Less(i * 16 + j, 100)),
                kBijective,
                ""},
        MapCase{"UnusedIsSurjective", {i * 16 + j}, True(), kSurjective, ""},
        MapCase{"UnusedIsNotBijective", {i * 16 + j}, True(), kBijective, "reaches no index"},
        MapCase{"SharedIterator", {i, i}, True(), kSurjective, "two indices share an iterator"},
        MapCase{
            "OverlapOfSum", {i + j}, True(), kSurjective, "index 0: iter map: fused iterators overlap or leave gaps"},
        MapCase{"GapsAreInjective", {i * 100 + j * 5 + k}, True(), kInjective, ""},
        MapCase{"GapsAreNotSurjective", {i * 100 + j * 5 + k}, True(), kSurjective, "leave gaps"},
        MapCase{"OverlapIsReadable", {i + j}, True(), kNoCheck, ""},
        MapCase{"GuardedIteratorsApart", {i, j}, Less(i * 16 + j, 100), kSurjective, "share an iterator"},
        MapCase{"ImpossibleGuard", {i, j}, Less(i, -1), kSurjective, "never true"},
        MapCase{"DivisionWithRest", {Div(i, 2)}, True(), kSurjective, "do not divide it"},
        MapCase{"Square", {i * j}, True(), kNoCheck, "something that is no constant"},
        MapCase{"OtherVariablesAreConstants", {i * 16 + j + n * 3, k}, True(), kBijective, ""}),
    [](const auto& info) { return info.param.name; });

TEST(DetectIterMap, AcceptsLoopsThatDoNotBeginAtZero) {
  const auto map = DetectIterMap({i * 16 + j}, {{i, {2, 4}}, {j, {0, 16}}}, True(), kBijective, Analyzer());
  ASSERT_TRUE(map.ok()) << map.status().message();
  EXPECT_EQ(map->indices[0].args[0].extent, 64);
  EXPECT_EQ(ToText(map->indices[0].base), "32");
}

TEST(DetectIterMap, AcceptsAnOutermostSymbolicExtent) {
  const auto map = DetectIterMap({i * 16 + j}, {{i, {0, n}}, {j, {0, 16}}}, True(), kBijective, Analyzer());
  ASSERT_TRUE(map.ok()) << map.status().message();
  EXPECT_EQ(ToText(*map->indices[0].args[0].source->symbolic_extent), "n * 16");
}

TEST(IsAffineBinding, DemandsStepsOfOne) {
  const auto realize = [](std::vector<Expr> values) {
    return BlockRealize{std::move(values), True(), Block(BlockNode{.body = Evaluate{Expr(0)}})};
  };
  EXPECT_TRUE(IsTrivialBinding(realize({i, k}), Loops()));
  EXPECT_FALSE(IsTrivialBinding(realize({i, i}), Loops()));
  EXPECT_TRUE(IsAffineBinding(realize({i * 16 + j, k}), Loops(), Analyzer()));
  EXPECT_FALSE(IsAffineBinding(realize({i * 2, k}), Loops(), Analyzer()));
}

TEST(InverseAffineMap, SolvesForTheIterators) {
  const Var x("x"), y("y");
  const auto map = DetectIterMap({Div(i * 64 + j * 4 + k, 14), Mod(i * 64 + j * 4 + k, 14)}, Loops(), True(),
                                 kBijective, Analyzer());
  ASSERT_TRUE(map.ok()) << map.status().message();
  Analyzer analyzer;
  analyzer.Bind(x, {0, 32});
  analyzer.Bind(y, {0, 14});
  const auto inverse = InverseAffineMap(*map, {x, y}, analyzer);
  ASSERT_TRUE(inverse.ok()) << inverse.status().message();
  EXPECT_EQ(ToText(inverse->at(i.get())), "(x * 14 + y) // 64");
  EXPECT_EQ(ToText(inverse->at(j.get())), "(x * 14 + y) % 64 // 4");
}

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
  for (int x = 0; x < count; ++x) {
    map.iters.emplace_back(Var(names[x]),
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
    const IterMapLevel level = static_cast<IterMapLevel>(random.Below(4));
    const auto detected = DetectIterMap(map.indices, map.iters, map.predicate, level, Analyzer());
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
    for (size_t x = 0; x < map.indices.size(); ++x) {
      outputs.emplace_back("o" + std::to_string(x));
      output_exprs.push_back(outputs.back());
      with_outputs.emplace_back(outputs.back(), Range{0, 1});
    }
    std::optional<VarMap> inverse;
    if (level == kBijective || level == kInjective) {
      auto solved = InverseAffineMap(*detected, output_exprs, Analyzer());
      ASSERT_TRUE(solved.ok()) << solved.status().message();
      inverse = *solved;
      ++num_inverted;
    }
    std::set<std::vector<int64_t>> images;
    int64_t num_points = 0;
    ForEachPoint(map.iters, [&](const Point& p) {
      if (ValueAt(map.predicate, map.iters, p) != 1) return;
      ++num_points;
      std::vector<int64_t> image;
      for (size_t x = 0; x < map.indices.size(); ++x) {
        image.push_back(*ValueAt(map.indices[x], map.iters, p));
        ASSERT_EQ(ValueAt(ToExpr(detected->indices[x]), map.iters, p), image.back())
            << "sum of splits, index " << x << ": " << ToText(ToExpr(detected->indices[x]));
      }
      images.insert(image);
      if (!inverse) return;
      Point whole = p;
      whole.insert(whole.end(), image.begin(), image.end());
      for (size_t x = 0; x < map.iters.size(); ++x) {
        const auto found = inverse->find(map.iters[x].first.get());
        if (found == inverse->end()) {
          ASSERT_TRUE(IsConstInt(map.iters[x].second.extent, 1) || !IsConstInt(map.predicate, 1));
          continue;
        }
        ASSERT_EQ(ValueAt(found->second, with_outputs, whole), p[x]) << "inverse " << ToText(found->second);
      }
    });
    int64_t box = 1;
    for (const IterSumExpr& sum : detected->indices) {
      if (!sum.args.empty()) box *= sum.args[0].extent;
    }
    if (level == kBijective || level == kInjective) {
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
