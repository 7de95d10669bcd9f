#include "compiler/arith/int_set.h"

#include <gtest/gtest.h>

#include "brute_force.h"
#include "tests/property_runs.h"

namespace lathe {
namespace {

const Var i("i"), j("j"), k("k"), n("n");
const Expr w = MakeCast(DataType::Int(32), Var("w", DataType::Int(64)));

std::string ToText(const IntSet& set) {
  if (set.is_nothing()) return "nothing";
  return "[" + (set.min() ? ToText(*set.min()) : "-inf") + ", " + (set.max() ? ToText(*set.max()) : "inf") + "]";
}

struct EvalCase {
  const char* name;
  Expr e;
  const char* set;
};
class EvalSetTest : public testing::TestWithParam<EvalCase> {};
TEST_P(EvalSetTest, RelaxesJAndK) {  // j of 0..16, k of 0..3; i of 0..8 stays.
  DomMap vars;
  vars.Add(j, {0, 16});
  vars.Add(k, {0, 3});
  Analyzer analyzer;
  analyzer.Bind(i, {0, 8});
  EXPECT_EQ(ToText(EvalSet(GetParam().e, vars, analyzer)), GetParam().set);
}
INSTANTIATE_TEST_SUITE_P(
    Forms, EvalSetTest,
    testing::Values(EvalCase{"Stencil", i * 16 + j + k, "[i * 16, i * 16 + 17]"},
                    EvalCase{"Stays", i * 2 + n, "[i * 2 + n, i * 2 + n]"},
                    EvalCase{"Negative", i - j * 2, "[i - 30, i]"}, EvalCase{"Cancels", j * 4 + k - j * 4, "[0, 2]"},
                    EvalCase{"Quotient", FloorDiv(i * 16 + j, 4), "[i * 4, i * 4 + 3]"},
                    EvalCase{"RemainderOfAligned", FloorMod(n * 16 + j, 16), "[0, 15]"},
                    EvalCase{"Clamp", Max(i * 16 + j - 1, 0), "[max(i * 16 - 1, 0), i * 16 + 14]"},
                    EvalCase{"SymbolicProduct", j*(i + 1), "[0, i * 15 + 15]"},
                    EvalCase{"BeyondItsType", FloorDiv(FloorDiv(FloorMod(j, (w + 1) * 48), w + 1), 12), "[-inf, inf]"}),
    [](const auto& info) { return info.param.name; });

TEST(RelaxRegion, IsTheSmallestBoxOfAStencil) {
  DomMap vars;
  vars.Add(j, {0, 16});
  vars.Add(k, {0, 3});
  const std::vector<Range> box = RelaxRegion({{i * 16 + j + k, 1}, {k * 2, 4}}, vars, Analyzer());
  EXPECT_EQ(ToText(box[0].min), "i * 16");
  EXPECT_EQ(ToText(box[0].extent), "18");
  EXPECT_EQ(ToText(box[1].min), "0");
  EXPECT_EQ(ToText(box[1].extent), "8");
}

TEST(RelaxRegion, FallsBackToTheWholeDimensionWhereNothingBounds) {
  DomMap vars;
  vars.Add(j, IntSet::Everything());
  const std::vector<Range> full{{0, 100}};
  EXPECT_EQ(ToText(RelaxRegion({{j, 1}}, vars, Analyzer(), &full)[0].extent), "100");
}

TEST(RelaxRegion, FallsBackToTheWholeDimensionWhereTheBoundsAreThoseOfTheType) {
  DomMap vars;
  vars.Add(j, {0, 16});
  const std::vector<Range> full{{0, i + 1}};
  const Range remainder{FloorMod(j, FloorDiv(i + 4, 4)) * 4, 1};  // Of neither sign: from -2^31 to 2^31 - 4.
  EXPECT_EQ(ToText(RelaxRegion({remainder}, vars, Analyzer(), &full)[0].extent), "i + 1");
}

TEST(UnionRegion, IsTheBoxAroundBoth) {
  const std::vector<Range> box = UnionRegion({{i * 4, 4}}, {{i * 4 + 2, 6}}, Analyzer());
  EXPECT_EQ(ToText(box[0].min), "i * 4");
  EXPECT_EQ(ToText(box[0].extent), "8");
}

TEST(IntersectSets, FindsThatNothingIsCommon) {
  EXPECT_TRUE(Intersect(IntSet::Interval(i, i + 3), IntSet::Interval(i + 4, std::nullopt), Analyzer()).is_nothing());
}

// i, k stay; j and l are relaxed.
struct RandomDomains {
  IterDomain all;
  DomMap relaxed;
  Analyzer analyzer;
  explicit RandomDomains(Random& random) {
    for (const char* name : {"i", "k", "j", "l"}) {
      const Range range{int64_t(random.Below(5)) - 2, int64_t(1 + random.Below(7))};
      all.emplace_back(Var(name), range);
      if (all.size() > 2) relaxed.Add(all.back().first, range);
      if (all.size() <= 2) analyzer.Bind(all.back().first, range);
    }
  }
  // Calls f(point with fixed i and k, all values of e there).
  void ForEachFixed(const Expr& e, const std::function<void(const Point&, const std::vector<int64_t>&)>& f) const {
    ForEachPoint({all[0], all[1]}, [&](const Point& fixed) {
      std::vector<int64_t> values;
      Point whole = fixed;
      ForEachPoint({all[2], all[3]}, [&](const Point& inner) {
        whole = {fixed[0], fixed[1], inner[0], inner[1]};
        if (const auto value = ValueAt(e, all, whole)) values.push_back(*value);
      });
      f(whole, values);
    });
  }
};

TEST(EvalSetProperty, CoversEveryValue) {
  constexpr uint64_t kSeed = 77;
  for (int round = 0; round < PropertyRuns(3000); ++round) {
    Random random(kSeed + round);
    const RandomDomains domains(random);
    const Expr e = RandomExpr(random, domains.all, 3);
    const IntSet set = EvalSet(e, domains.relaxed, domains.analyzer);
    SCOPED_TRACE("seed " + std::to_string(kSeed + round) + ": " + ToText(e) + " in " + ToText(set));
    domains.ForEachFixed(e, [&](const Point& point, const std::vector<int64_t>& values) {
      const auto low = set.min() ? ValueAt(*set.min(), domains.all, point) : std::nullopt;
      const auto high = set.max() ? ValueAt(*set.max(), domains.all, point) : std::nullopt;
      for (const int64_t value : values) {
        if (low) {
          ASSERT_LE(*low, value);
        }
        if (high) {
          ASSERT_GE(*high, value);
        }
      }
    });
    if (HasFailure()) return;
  }
}

TEST(EvalSetProperty, IsTightWhereAffine) {
  constexpr uint64_t kSeed = 78;
  for (int round = 0; round < PropertyRuns(1000); ++round) {
    Random random(kSeed + round);
    const RandomDomains domains(random);
    Expr e = int64_t(random.Below(20)) - 10;
    for (int term = 0; term < 5; ++term) e = e + domains.all[random.Below(4)].first * (int64_t(random.Below(9)) - 4);
    const IntSet set = EvalSet(e, domains.relaxed, domains.analyzer);
    SCOPED_TRACE("seed " + std::to_string(kSeed + round) + ": " + ToText(e) + " in " + ToText(set));
    domains.ForEachFixed(e, [&](const Point& point, const std::vector<int64_t>& values) {
      ASSERT_EQ(ValueAt(*set.min(), domains.all, point), *std::min_element(values.begin(), values.end()));
      ASSERT_EQ(ValueAt(*set.max(), domains.all, point), *std::max_element(values.begin(), values.end()));
    });
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace lathe
