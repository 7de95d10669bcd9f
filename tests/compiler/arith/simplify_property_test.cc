// Every claim of the analyzer on random expressions, checked at every point of small domains.
#include <gtest/gtest.h>

#include <functional>
#include <unordered_set>

#include "brute_force.h"
#include "compiler/arith/analyzer.h"
#include "compiler/arith/iter_map.h"
#include "compiler/arith/linear.h"
#include "compiler/arith/simplifier.h"
#include "compiler/ir/integer.h"
#include "compiler/ir/visitor.h"
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

// ---- Every type, bound variables, scopes ------------------------------------------------------------------------

// i, j: int32; x: int64; u: uint8; v: uint32; b: bool; e equals an expression of i and j. Ranges may be negative.
struct TypedCase {
  IterDomain domain;
  std::optional<Expr> value_of_e;
  Simplifier simplifier;
  std::optional<Expr> condition;
};

Range RandomRange(Random& random, DataType type) {
  const int64_t most = type.is_signed_int() ? int64_t(random.Below(3) == 0 ? random.Below(20) : 0) : 0;
  return {IntConst(type, -most), IntConst(type, int64_t(1 + random.Below(type.is_bool() ? 2 : 6)))};
}

TypedCase MakeTypedCase(Random& random) {
  TypedCase c;
  const std::pair<const char*, DataType> kAll[] = {{"i", DataType::Int(32)},  {"j", DataType::Int(32)},
                                                   {"x", DataType::Int(64)},  {"u", DataType::UInt(8)},
                                                   {"v", DataType::UInt(32)}, {"b", DataType::Bool()}};
  const size_t extra = 2 + random.Below(4);
  for (const size_t at : {size_t{0}, size_t{1}, extra}) {
    c.domain.emplace_back(Var(kAll[at].first, kAll[at].second), RandomRange(random, kAll[at].second));
    if (random.Below(8) != 0) c.simplifier.Bind(c.domain.back().first, c.domain.back().second);
  }
  if (random.Below(5) == 0) {
    c.value_of_e = RandomTypedExpr(random, c.domain, DataType::Int(32), 2);
    const Var e("e");
    c.simplifier.Bind(e, *c.value_of_e);
    c.domain.emplace_back(e, Range{0, 1});
  }
  if (random.Below(3) == 0) c.condition = RandomTypedExpr(random, c.domain, DataType::Bool(), 2);
  return c;
}

// Calls f(point) wherever the case's facts hold.
void ForEachTypedPoint(const TypedCase& c, const std::function<void(const Point&)>& f) {
  ForEachPoint(c.domain, [&](const Point& point) {
    Point p = point;
    if (c.value_of_e) {
      const auto value = ValueAt(*c.value_of_e, c.domain, p);
      if (!value) return;
      p.back() = *value;
    }
    if (!c.condition || ValueAt(*c.condition, c.domain, p) == 1) f(p);
  });
}

DataType RandomType(Random& random) {
  constexpr DataType kTypes[] = {DataType::Int(32),  DataType::Int(32), DataType::Int(32),    DataType::Int(32),
                                 DataType::Int(64),  DataType::Bool(),  DataType::Bool(),     DataType::UInt(8),
                                 DataType::UInt(32), DataType::Int(8),  DataType::Int(32, 4), DataType::Bool(4)};
  return kTypes[random.Below(12)];
}

using Simplification = std::function<Expr(Simplifier&, const Expr&)>;
struct Findings {
  std::string wrong;  // The first expression whose value is changed; empty: none.
  std::unordered_set<uint64_t> expressions;
};

Findings CheckAgainstEnumeration(uint64_t seed, int runs, const Simplification& simplify) {
  Findings findings;
  for (int round = 0; round < runs && findings.wrong.empty(); ++round) {
    Random random(seed + round);
    TypedCase c = MakeTypedCase(random);
    const DataType type = RandomType(random);
    const Expr before = RandomTypedExpr(random, c.domain, type, 2 + random.Below(3));
    findings.expressions.insert(Fingerprint(before));
    std::optional<Simplifier::Scope> scope;
    if (c.condition) scope.emplace(c.simplifier, *c.condition);
    const Expr after = simplify(c.simplifier, before);
    const Analyzer& analyzer = c.simplifier.analyzer();
    const auto wrong = [&](const Point& p, int64_t expected, std::optional<int64_t> actual) {
      std::string at;
      for (size_t i = 0; i < p.size(); ++i) at += " " + c.domain[i].first.name() + "=" + std::to_string(p[i]);
      findings.wrong = "seed " + std::to_string(seed + round) + ": " + ToText(before) + "   -->   " + ToText(after) +
                       (c.condition ? "   where " + ToText(*c.condition) : "") +
                       (c.value_of_e ? "   e = " + ToText(*c.value_of_e) : "") + "   at" + at + ": " +
                       (actual ? std::to_string(*actual) : "nothing") + ", expected " + std::to_string(expected);
    };
    const IntBound bound = type.is_scalar() ? analyzer.ConstIntBound(before) : IntBound();
    const ModularSet modular = type.is_scalar() ? analyzer.Modular(before) : ModularSet();
    ForEachTypedPoint(c, [&](const Point& p) {
      for (int lane = 0; lane < type.lanes && findings.wrong.empty(); ++lane) {
        const auto expected = ValueAt(before, c.domain, p, lane);
        if (!expected) return;
        const auto actual = ValueAt(after, c.domain, p, lane, Overflow::kWraps);
        if (actual != expected) wrong(p, *expected, actual);
        if (!bound.Contains(*expected))
          findings.wrong = "bound of " + ToText(before) + " seed " + std::to_string(seed + round);
        const int64_t rest = modular.coeff == 0 ? *expected : FloorModulo(*expected, modular.coeff);
        if (rest != modular.base)
          findings.wrong = "remainder of " + ToText(before) + " seed " + std::to_string(seed + round);
      }
    });
  }
  return findings;
}

constexpr int kTypedRounds = 130'000;

TEST(SimplifyProperty, KeepsTheValueOfEveryTypeUnderBoundVariablesAndConditions) {
  constexpr uint64_t kTypedSeed = 20261122;
  const int runs = PropertyRuns(kTypedRounds);
  const Findings findings = CheckAgainstEnumeration(
      kTypedSeed, runs, [](Simplifier& simplifier, const Expr& e) { return simplifier.analyzer().Simplify(e); });
  EXPECT_EQ(findings.wrong, "");
  RecordProperty("seed", std::to_string(kTypedSeed));
  if (AllRuns(kTypedRounds))
    EXPECT_GE(findings.expressions.size(), 100'000u) << "distinct expressions, seed " << kTypedSeed;
}

struct SimplificationCase {
  const char* name;
  Expr (*simplify)(Simplifier&, const Expr&);
  SimplifyExtensions extensions;
};
class SimplificationTest : public testing::TestWithParam<SimplificationCase> {};

TEST_P(SimplificationTest, KeepsTheValueOfEveryTypeUnderBoundVariablesAndConditions) {
  constexpr uint64_t kFormSeed = 20261123;
  const auto simplify = [](Simplifier& simplifier, const Expr& e) {
    simplifier.set_extensions(GetParam().extensions);
    return GetParam().simplify(simplifier, e);
  };
  EXPECT_EQ(CheckAgainstEnumeration(kFormSeed, PropertyRuns(10'000), simplify).wrong, "") << "seed " << kFormSeed;
}
INSTANTIATE_TEST_SUITE_P(
    Forms, SimplificationTest,
    testing::Values(
        SimplificationCase{"Rewrite", [](Simplifier& s, const Expr& e) { return s.RewriteSimplify(e); }, {}},
        SimplificationCase{"Canonical", [](Simplifier& s, const Expr& e) { return s.CanonicalSimplify(e); }, {}},
        SimplificationCase{"Both", [](Simplifier& s, const Expr& e) { return s.Simplify(e); }, {}},
        SimplificationCase{
            "WithExtensions", [](Simplifier& s, const Expr& e) { return s.Simplify(e); }, {true, true, true}}),
    [](const auto& info) { return info.param.name; });

// Found by the above with other seeds.
TEST(Simplification, DropsALimitThatTighteningBroughtOut) {
  const Var j("j");
  Analyzer analyzer;
  analyzer.Bind(j, Range{-4, 9});
  EXPECT_EQ(ToText(analyzer.Simplify(Less(0, Min(6, j * 2)))), "0 < j");
}

TEST(Simplification, KeepsTheSignOfRemaindersByNegativeNumbersInComparisons) {
  const Var i("i"), j("j");
  const Expr minus_i = j - (i + j), e = Less(j * 2, FloorMod(minus_i, 4));
  const IterDomain domain{{i, Range{-9, 19}}, {j, Range{-3, 7}}};
  Simplifier simplifier;
  for (const auto& [var, range] : domain) simplifier.Bind(var, range);
  const Expr simple = simplifier.Simplify(e);
  ForEachPoint(domain,
               [&](const Point& p) { EXPECT_EQ(ValueAt(simple, domain, p), ValueAt(e, domain, p)) << ToText(simple); });
}

TEST(Simplification, DividesByNothingElseWhereTheOtherSideOfAnOrSaysOtherwise) {
  const Var i("i"), j("j");
  const Expr left = MakeBinary(BinaryOp::kTruncMod, (i + 4) * j, FloorDiv(FloorDiv(i, 2), -3));
  const IterDomain domain{{i, Range{0, 4}}, {j, Range{0, 3}}};
  Simplifier simplifier({.apply_constraints_to_boolean_branches = true});
  for (const auto& [var, range] : domain) simplifier.Bind(var, range);
  const Expr e = MakeBinary(BinaryOp::kOr, Less(left, j), Less(left, i)), simple = simplifier.Simplify(e);
  ForEachPoint(domain, [&](const Point& p) {
    if (const auto value = ValueAt(e, domain, p)) {
      EXPECT_EQ(ValueAt(simple, domain, p), value) << ToText(simple);
    }
  });
}

// The test above would see a wrong rule: each of these is planted after the simplifier, and found.
struct Plant {
  const char* name;
  std::optional<Expr> (*rule)(const Binary& op, const Analyzer& facts);
};
class PlantedRuleTest : public testing::TestWithParam<Plant> {};

class PlantedRewriter : public StmtExprMutator {
 public:
  PlantedRewriter(const Plant& plant, const Analyzer& facts) : plant_(plant), facts_(facts) {}

 protected:
  Expr VisitExpr(const Expr& e) override {
    const Expr visited = VisitChildren(e);
    const Binary* op = visited.As<Binary>();
    if (op == nullptr || !IsIndexType(op->a.dtype())) return visited;
    return plant_.rule(*op, facts_).value_or(visited);
  }

 private:
  const Plant& plant_;
  const Analyzer& facts_;
};

TEST_P(PlantedRuleTest, IsFound) {
  const Findings findings =
      CheckAgainstEnumeration(kSeed, PropertyRuns(20'000), [](Simplifier& simplifier, const Expr& e) {
        const Analyzer& analyzer = simplifier.analyzer();
        return PlantedRewriter(GetParam(), analyzer)(analyzer.Simplify(e));
      });
  if (AllRuns(20'000)) EXPECT_NE(findings.wrong, "");
}

bool Is(const Binary& op, BinaryOp wanted) { return op.op == wanted; }
bool HasConstant(const Binary& op) { return AsIntConst(op.b) != nullptr && *AsIntConst(op.b) > 1; }
const Binary* SumBelow(const Binary& op) {
  const Binary* sum = op.a.As<Binary>();
  return sum != nullptr && sum->op == BinaryOp::kAdd && AsIntConst(sum->b) != nullptr ? sum : nullptr;
}
INSTANTIATE_TEST_SUITE_P(Rules, PlantedRuleTest,
                         testing::Values(Plant{"QuotientsAddUp",  // (x + c) // d -> x // d + c // d
                                               [](const Binary& op, const Analyzer&) -> std::optional<Expr> {
                                                 const Binary* sum = SumBelow(op);
                                                 if (!Is(op, BinaryOp::kFloorDiv) || !HasConstant(op) || sum == nullptr)
                                                   return std::nullopt;
                                                 return FloorDiv(sum->a, op.b) + FloorDiv(sum->b, op.b);
                                               }},
                                         Plant{"RemainderDropsOffset",  // (x + c) % d -> x % d
                                               [](const Binary& op, const Analyzer&) -> std::optional<Expr> {
                                                 const Binary* sum = SumBelow(op);
                                                 if (!Is(op, BinaryOp::kFloorMod) || !HasConstant(op) || sum == nullptr)
                                                   return std::nullopt;
                                                 return FloorMod(sum->a, op.b);
                                               }},
                                         Plant{"FloorIsTruncation",
                                               [](const Binary& op, const Analyzer&) -> std::optional<Expr> {
                                                 if (!Is(op, BinaryOp::kFloorDiv) || !HasConstant(op))
                                                   return std::nullopt;
                                                 return MakeBinary(BinaryOp::kDiv, op.a, op.b);
                                               }},
                                         Plant{"LessIsLessEqual",
                                               [](const Binary& op, const Analyzer&) -> std::optional<Expr> {
                                                 if (!Is(op, BinaryOp::kLT)) return std::nullopt;
                                                 return MakeBinary(BinaryOp::kLE, op.a, op.b);
                                               }},
                                         Plant{"MinTakesTheFirst",
                                               [](const Binary& op, const Analyzer&) -> std::optional<Expr> {
                                                 return Is(op, BinaryOp::kMin) ? std::optional(op.a) : std::nullopt;
                                               }},
                                         Plant{"BoundOffByOne",  // x < c is true where x <= c always
                                               [](const Binary& op, const Analyzer& facts) -> std::optional<Expr> {
                                                 if (!Is(op, BinaryOp::kLT) || AsIntConst(op.b) == nullptr)
                                                   return std::nullopt;
                                                 if (facts.ConstIntBound(op.a).max > *AsIntConst(op.b))
                                                   return std::nullopt;
                                                 return True();
                                               }},
                                         Plant{"RemainderIsWhole",  // x % c -> x where x <= c
                                               [](const Binary& op, const Analyzer& facts) -> std::optional<Expr> {
                                                 if (!Is(op, BinaryOp::kFloorMod) || !HasConstant(op))
                                                   return std::nullopt;
                                                 if (!facts.ConstIntBound(op.a).Within(0, *AsIntConst(op.b)))
                                                   return std::nullopt;
                                                 return op.a;
                                               }},
                                         Plant{"ProductCancels",  // x * c // d -> x * (c // d)
                                               [](const Binary& op, const Analyzer&) -> std::optional<Expr> {
                                                 const Binary* product = op.a.As<Binary>();
                                                 if (!Is(op, BinaryOp::kFloorDiv) || !HasConstant(op) ||
                                                     product == nullptr)
                                                   return std::nullopt;
                                                 if (product->op != BinaryOp::kMul || AsIntConst(product->b) == nullptr)
                                                   return std::nullopt;
                                                 return product->a * FloorDiv(product->b, op.b);
                                               }}),
                         [](const auto& info) { return info.param.name; });

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
    Simplifier simplifier;
    simplifier.Assume(condition);
    simplifier.Simplify(e);
    simplifier.Simplify(condition);
    (void)DetectIterMap({e}, c.domain, condition, {}, Analyzer());
  }
}

}  // namespace
}  // namespace lathe
