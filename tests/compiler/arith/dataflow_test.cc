// Whether reads find what was written before: named cases, and random accesses against running them.
#include "compiler/arith/dataflow.h"

#include <gmock/gmock.h>

#include <set>

#include "brute_force.h"
#include "tests/property_runs.h"

namespace lathe {
namespace {

const Var i("i"), j("j"), k("k"), n("n");
const DataType kInt = DataType::Int(32);
Expr Int(int64_t value) { return IntConst(kInt, value); }
Range Upto(const Expr& extent) { return {Int(0), extent}; }
Range At(const Expr& index) { return {index, Int(1)}; }
DataflowLoop Loop(const Var& var, const Expr& extent, bool is_in_order = true) {
  return {var, Upto(extent), is_in_order};
}

struct DataflowCase {
  const char* name;
  DataflowAccess write, read;
  size_t num_same, num_common;
  bool is_before;
  bool is_written;
};
class DataflowTest : public testing::TestWithParam<DataflowCase> {};
TEST_P(DataflowTest, SaysWhetherEveryReadFindsItsElementWritten) {
  const DataflowCase& c = GetParam();
  Analyzer analyzer;
  analyzer.Update(n, IntBound{1, IntBound::kPosInf});
  const std::vector<DataflowSource> sources = {{c.write, c.num_same, c.num_common, c.is_before}};
  EXPECT_EQ(IsAlwaysWritten(c.read, sources, {Upto(Int(64))}, analyzer), c.is_written);
}

const Expr kOpaque = LessEqual(MakeCall(kInt, "abs", {i - 3}), Int(3));
INSTANTIATE_TEST_SUITE_P(
    Accesses, DataflowTest,
    testing::Values(
        DataflowCase{
            "OfTheSameIteration", {{At(i)}, {Loop(i, Int(8))}, {}}, {{At(i)}, {Loop(i, Int(8))}, {}}, 1, 1, true, true},
        DataflowCase{"AfterIt", {{At(i)}, {Loop(i, Int(8))}, {}}, {{At(i)}, {Loop(i, Int(8))}, {}}, 1, 1, false, false},
        DataflowCase{"OfTheOneBefore",
                     {{At(i + 1)}, {Loop(i, Int(8))}, {}},
                     {{At(i)}, {Loop(i, Int(8))}, {{-1, LessEqual(Int(1), i), 1}}},
                     0,
                     1,
                     false,
                     true},
        DataflowCase{"OfTheOneBeforeAndNoneIsThere",
                     {{At(i + 1)}, {Loop(i, Int(8))}, {}},
                     {{At(i)}, {Loop(i, Int(8))}, {}},
                     0,
                     1,
                     false,
                     false},
        DataflowCase{"OfOneBesideIt",
                     {{At(i + 1)}, {Loop(i, Int(8), false)}, {}},
                     {{At(i)}, {Loop(i, Int(8), false)}, {{-1, LessEqual(Int(1), i), 1}}},
                     0,
                     1,
                     false,
                     false},
        DataflowCase{"FusedAndFalling",
                     {{At(7 - FloorMod(j, 8))}, {Loop(j, Int(32))}, {}},
                     {{At(k)}, {Loop(k, Int(8))}, {}},
                     0,
                     0,
                     true,
                     true},
        DataflowCase{
            "EverySecond", {{At(j * 2)}, {Loop(j, Int(8))}, {}}, {{At(k)}, {Loop(k, Int(15))}, {}}, 0, 0, true, false},
        DataflowCase{"AsFarAsAVariable",
                     {{At(j)}, {Loop(j, n)}, {}},
                     {{At(FoldBinary(BinaryOp::kMin, k, n - 1))}, {Loop(k, Int(20))}, {}},
                     0,
                     0,
                     true,
                     true},
        DataflowCase{"BeyondIt", {{At(j)}, {Loop(j, n)}, {}}, {{At(k)}, {Loop(k, Int(20))}, {}}, 0, 0, true, false},
        DataflowCase{"InTiles",
                     {{At(j * 3 + k)}, {Loop(j, FloorDiv(n - FloorMod(n, -3), 3)), Loop(k, Int(3))}, {}},
                     {{At(i)}, {Loop(i, n)}, {}},
                     0,
                     0,
                     true,
                     true},
        DataflowCase{"AProductOfVariables",
                     {{At(i * n + j)}, {Loop(i, Int(8)), Loop(j, Int(4))}, {{-1, LessEqual(i* n, Int(9)), 1}}},
                     {{At(i * n + 3)}, {Loop(i, Int(8))}, {{-1, LessEqual(i* n, Int(8)), 1}}},
                     1,
                     1,
                     true,
                     true},
        DataflowCase{"AProductOfAnotherIteration",
                     {{At(j * n)}, {Loop(j, Int(8))}, {}},
                     {{At(i * n)}, {Loop(i, Int(8))}, {}},
                     0,
                     0,
                     true,
                     false},
        DataflowCase{"UnderOneConditionOfMemory",
                     {{At(i)}, {Loop(i, Int(8))}, {{7, kOpaque, 1}}},
                     {{At(i)}, {Loop(i, Int(8))}, {{7, kOpaque, 1}}},
                     0,
                     1,
                     true,
                     true},
        DataflowCase{"UnderAnotherOne",
                     {{At(i)}, {Loop(i, Int(8))}, {{7, kOpaque, 1}}},
                     {{At(i)}, {Loop(i, Int(8))}, {{8, kOpaque, 1}}},
                     0,
                     1,
                     true,
                     false},
        DataflowCase{"UnderItInAnEarlierIteration",
                     {{At(i + 1)}, {Loop(i, Int(8))}, {{7, kOpaque, 1}}},
                     {{At(i)}, {Loop(i, Int(8))}, {{-1, LessEqual(Int(1), i), 1}, {7, kOpaque, 1}}},
                     0,
                     1,
                     false,
                     false}),
    [](const auto& info) { return info.param.name; });

// Both ask the memory M, in iteration i, for how many there are.
TEST(Dataflow, WhatMemoryHoldsIsANumberWhereNothingChangesIt) {
  const Buffer memory = MakeBuffer("M", {Int(8)}, kInt);
  const Expr count = Load(memory, {i});
  const DataflowAccess write{{At(j)}, {Loop(i, Int(8)), Loop(j, FloorDiv(count, 4) + Int(1))}, {}};
  const DataflowAccess read{{At(k)}, {Loop(i, Int(8)), Loop(k, Int(8))}, {{-1, LessEqual(k * 4, count), 2}}};
  const std::vector<DataflowSource> sources = {{write, 1, 1, true}};
  EXPECT_TRUE(IsAlwaysWritten(read, sources, {Upto(Int(64))}, Analyzer()));
  EXPECT_FALSE(IsAlwaysWritten(read, sources, {Upto(Int(64))}, Analyzer(), {memory->data.get()}));
  EXPECT_FALSE(IsAlwaysWritten(read, {{write, 0, 1, false}}, {Upto(Int(64))}, Analyzer())) << "another i";
}

TEST(Dataflow, ARemainderByTheLengthOfItsLoopIsTheVariable) {
  const DataflowAccess read{{At(Int(0))}, {Loop(i, n)}, {}};
  const DataflowAccess write{{At(Int(0))}, {Loop(j, n)}, {{-1, Equal(FloorMod(j, n), Int(0)), 1}}};
  EXPECT_TRUE(IsAlwaysWritten(read, {{write, 0, 0, true}}, {Upto(Int(64))}, Analyzer()));
}

TEST(Dataflow, ALoopOfUnknownLengthMayRunNothing) {
  const Var length("length");
  const DataflowAccess read{{At(Int(0))}, {}, {}}, write{{At(Int(0))}, {Loop(j, length)}, {}};
  EXPECT_FALSE(IsAlwaysWritten(read, {{write, 0, 0, true}}, {Upto(Int(64))}, Analyzer()));
}

TEST(Dataflow, SeveralWritesMakeWhatIsRead) {
  const DataflowAccess read{{At(k)}, {Loop(k, Int(10))}, {}};
  const DataflowAccess low{{At(i)}, {Loop(i, Int(4))}, {}}, high{{At(j + 4)}, {Loop(j, Int(6))}, {}};
  EXPECT_FALSE(IsAlwaysWritten(read, {{low, 0, 0, true}}, {Upto(Int(10))}, Analyzer()));
  EXPECT_TRUE(IsAlwaysWritten(read, {{low, 0, 0, true}, {high, 0, 0, true}}, {Upto(Int(10))}, Analyzer()));
}

// Small nests of two loops, whose inner one is the access's own or, like the outer one, around both.
struct RandomNests {
  DataflowAccess write, read;
  size_t num_common;
  bool is_before;
};
RandomNests Draw(Random& random) {
  RandomNests nests{.write = {}, .read = {}, .num_common = random.Below(3), .is_before = random.Below(2) == 0};
  const Var mine("a"), other("b"), outer("o"), inner("p");
  const auto draw = [&](const Var& first, const Var& second) {
    const IterDomain domain = {{first, Upto(Int(3))}, {second, Upto(Int(4))}};
    const Expr index = RandomExpr(random, domain, 2), condition = RandomCondition(random, domain, 1);
    DataflowAccess access{
        {{index, Int(1 + static_cast<int64_t>(random.Below(3)))}}, {Loop(first, Int(3)), Loop(second, Int(4))}, {}};
    if (random.Below(2) == 0) access.conditions.push_back({-1, condition, 2});
    return access;
  };
  const bool is_in_order[] = {random.Below(4) > 0, random.Below(4) > 0};
  nests.write = draw(nests.num_common > 0 ? outer : i, nests.num_common > 1 ? inner : mine);
  nests.read = draw(nests.num_common > 0 ? outer : j, nests.num_common > 1 ? inner : other);
  for (size_t d = 0; d < nests.num_common; ++d)
    nests.write.loops[d].is_in_order = nests.read.loops[d].is_in_order = is_in_order[d];
  return nests;
}

// The elements of 0 to 5 that an access touches in an iteration; nullopt where an expression has no value.
std::optional<std::set<int64_t>> Touched(const DataflowAccess& access, const Point& point) {
  IterDomain domain;
  for (const DataflowLoop& loop : access.loops) domain.emplace_back(loop.var, loop.range);
  std::set<int64_t> touched;
  for (const DataflowCondition& condition : access.conditions) {
    const auto holds = ValueAt(condition.says, domain, point);
    if (!holds) return std::nullopt;
    if (*holds == 0) return touched;
  }
  const auto first = ValueAt(access.region[0].min, domain, point);
  if (!first) return std::nullopt;
  for (int64_t e = 0; e < *AsIntConst(access.region[0].extent); ++e)
    if (*first + e >= 0 && *first + e < 6) touched.insert(*first + e);
  return touched;
}

bool RunsBefore(const RandomNests& nests, const Point& write, const Point& read) {
  for (size_t d = 0; d < nests.num_common; ++d)
    if (write[d] != read[d]) return nests.read.loops[d].is_in_order && write[d] < read[d];
  return nests.is_before;
}

// nullopt where some expression has no value.
std::optional<bool> IsWrittenWhenRun(const RandomNests& nests) {
  IterDomain domain;
  for (const DataflowLoop& loop : nests.read.loops) domain.emplace_back(loop.var, loop.range);
  bool has_values = true, is_written = true;
  ForEachPoint(domain, [&](const Point& read) {
    auto missing = Touched(nests.read, read);
    has_values = has_values && missing;
    ForEachPoint(domain, [&](const Point& write) {
      const auto made = Touched(nests.write, write);
      has_values = has_values && made;
      if (!has_values || !RunsBefore(nests, write, read)) return;
      for (const int64_t element : *made) missing->erase(element);
    });
    is_written = is_written && has_values && missing->empty();
  });
  return has_values ? std::optional(is_written) : std::nullopt;
}

std::string ToText(const DataflowAccess& access) {
  std::string text = lathe::ToText(access.region[0].min) + " + " + lathe::ToText(access.region[0].extent);
  for (const DataflowCondition& condition : access.conditions) text += " if " + lathe::ToText(condition.says);
  return text;
}

TEST(Dataflow, NeverSaysWrittenWhereARunFindsNothing) {
  int num_written = 0, num_found = 0;
  const SeedRange seeds = SeedsToTry(2000);
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    Random random(Random::Mix(seed));
    const RandomNests nests = Draw(random);
    const std::optional<bool> expected = IsWrittenWhenRun(nests);
    if (!expected) continue;
    const bool actual =
        IsAlwaysWritten(nests.read, {{nests.write, 0, nests.num_common, nests.is_before}}, {Upto(Int(6))}, Analyzer());
    num_written += *expected;
    num_found += *expected && actual;
    EXPECT_TRUE(*expected || !actual) << "LATHE_SEED=" << seed << ": write " << ToText(nests.write) << ", read "
                                      << ToText(nests.read);
  }
  RecordProperty("written", num_written);
  RecordProperty("found", num_found);
  if (seeds.count != 2000) return;
  EXPECT_GE(num_found * 10, num_written * 7) << "of " << num_written;  // Products of variables are not affine.
}

}  // namespace
}  // namespace lathe
