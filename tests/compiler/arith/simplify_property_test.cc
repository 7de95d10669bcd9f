// Every claim of the analyzer on random expressions, checked at every point of small domains.
#include <gtest/gtest.h>

#include "brute_force.h"
#include "compiler/arith/analyzer.h"
#include "compiler/arith/iter_map.h"
#include "compiler/arith/linear.h"
#include "compiler/ir/integer.h"
#include "tests/property_runs.h"

namespace lathe {
namespace {

struct Case {
  IterDomain domain;
  Analyzer analyzer;
};

Case RandomCase(Random& random) {
  Case result;
  const char* names[] = {"i", "j", "k"};
  for (const char* name : names) {
    const int64_t min = random.Below(3) == 0 ? int64_t(random.Below(9)) - 4 : 0;
    const Range range{min, int64_t(1 + random.Below(9))};
    result.domain.emplace_back(Var(name), range);
    result.analyzer.Bind(result.domain.back().first, range);
  }
  return result;
}

constexpr uint64_t kSeed = 20240607;
constexpr int kRounds = 4000;

TEST(SimplifyProperty, KeepsTheValueAndSettlesAtOnce) {
  for (int round = 0; round < PropertyRuns(kRounds); ++round) {
    SCOPED_TRACE("seed " + std::to_string(kSeed + round));
    Random random(kSeed + round);
    const Case c = RandomCase(random);
    const Expr before = RandomExpr(random, c.domain, 4);
    const Expr after = c.analyzer.Simplify(before);
    SCOPED_TRACE(ToText(before) + "   -->   " + ToText(after));
    ForEachPoint(c.domain, [&](const Point& p) {
      const auto expected = ValueAt(before, c.domain, p);
      if (expected) {
        ASSERT_EQ(ValueAt(after, c.domain, p), expected);
      }
    });
    EXPECT_EQ(ToText(c.analyzer.Simplify(after)), ToText(after));
    if (HasFailure()) return;
  }
}

TEST(SimplifyProperty, KeepsConditions) {
  for (int round = 0; round < PropertyRuns(kRounds); ++round) {
    SCOPED_TRACE("seed " + std::to_string(kSeed + round));
    Random random(kSeed + round);
    const Case c = RandomCase(random);
    const Expr before = RandomCondition(random, c.domain, 3);
    const Expr after = c.analyzer.Simplify(before);
    SCOPED_TRACE(ToText(before) + "   -->   " + ToText(after));
    ForEachPoint(c.domain, [&](const Point& p) {
      const auto expected = ValueAt(before, c.domain, p);
      if (expected) {
        ASSERT_EQ(ValueAt(after, c.domain, p), expected);
      }
    });
    EXPECT_EQ(ToText(c.analyzer.Simplify(after)), ToText(after));
    if (HasFailure()) return;
  }
}

TEST(SimplifyProperty, BoundsAndRemaindersHoldEveryValue) {
  for (int round = 0; round < PropertyRuns(kRounds); ++round) {
    SCOPED_TRACE("seed " + std::to_string(kSeed + round));
    Random random(kSeed + round);
    const Case c = RandomCase(random);
    const Expr e = RandomExpr(random, c.domain, 4);
    const IntBound bound = c.analyzer.ConstIntBound(e);
    const ModularSet modular = c.analyzer.Modular(e);
    SCOPED_TRACE(ToText(e));
    ForEachPoint(c.domain, [&](const Point& p) {
      const auto value = ValueAt(e, c.domain, p);
      if (!value) return;
      ASSERT_TRUE(bound.Contains(*value)) << *value << " is not in [" << bound.min << ", " << bound.max << "]";
      if (modular.coeff == 0) {
        ASSERT_EQ(*value, modular.base);
      }
      if (modular.coeff != 0) {
        ASSERT_EQ(FloorModulo(*value, modular.coeff), modular.base) << "modulo " << modular.coeff;
      }
    });
    if (HasFailure()) return;
  }
}

TEST(SimplifyProperty, UsesAssumedConditionsOnlyWhereTheyHold) {
  for (int round = 0; round < PropertyRuns(kRounds); ++round) {
    SCOPED_TRACE("seed " + std::to_string(kSeed + round));
    Random random(kSeed + round);
    Case c = RandomCase(random);
    const Expr condition = RandomCondition(random, c.domain, 2);
    const Expr before = RandomExpr(random, c.domain, 3);
    const Expr unassumed = c.analyzer.Simplify(before);
    {
      FactScope guard(c.analyzer, condition);
      const Expr after = c.analyzer.Simplify(before);
      const IntBound bound = c.analyzer.ConstIntBound(before);
      SCOPED_TRACE(ToText(before) + "   -->   " + ToText(after) + "   where " + ToText(condition));
      ForEachPoint(c.domain, [&](const Point& p) {
        if (ValueAt(condition, c.domain, p) != 1) return;
        const auto expected = ValueAt(before, c.domain, p);
        if (!expected) return;
        ASSERT_EQ(ValueAt(after, c.domain, p), expected);
        ASSERT_TRUE(bound.Contains(*expected));
      });
    }
    EXPECT_EQ(ToText(c.analyzer.Simplify(before)), ToText(unassumed));
    if (HasFailure()) return;
  }
}

// Sanitizers watch this one: coefficients leave int64, and nothing may overflow on the way.
TEST(SimplifyProperty, SurvivesHugeConstants) {
  for (int round = 0; round < PropertyRuns(1000); ++round) {
    SCOPED_TRACE("seed " + std::to_string(kSeed + round));
    Random random(kSeed + round);
    const Case c = RandomCase(random);
    VarMap huge;
    for (const auto& [var, range] : c.domain)
      huge.insert_or_assign(var.get(), var * INT32_MAX + (random.Below(2) ? INT32_MIN : INT32_MAX));
    Expr e = RandomExpr(random, c.domain, 3), condition = RandomCondition(random, c.domain, 3);
    for (int times = random.Below(4); times >= 0; --times) {
      e = Substitute(e, huge);
      condition = Substitute(condition, huge);
    }
    Analyzer analyzer = c.analyzer;
    analyzer.Assume(condition);
    analyzer.Simplify(e);
    analyzer.Simplify(condition);
    analyzer.Modular(e);
    analyzer.ConstIntBound(e);
    (void)DetectIterMap({e}, c.domain, condition, {}, Analyzer());
  }
}

}  // namespace
}  // namespace lathe
