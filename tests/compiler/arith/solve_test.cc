#include "compiler/arith/solve.h"

#include <gmock/gmock.h>

#include "brute_force.h"

namespace lathe {
namespace {

const Var i("i"), vi("vi"), vj("vj"), vk("vk");

std::vector<IterVar> IterVars() {
  return {{{0, 100}, vi, IterKind::kSpatial}, {{0, 64}, vj, IterKind::kSpatial}, {{0, 32}, vk, IterKind::kReduce}};
}
Analyzer OuterLoops(int64_t extent) {
  Analyzer analyzer;
  analyzer.Bind(i, {0, extent});
  return analyzer;
}
std::string ToText(const SolvedIterVar& solved) {
  return ToText(solved.domain.min) + ", " + ToText(solved.domain.extent) + (solved.guard_lower ? ", lower" : "") +
         (solved.guard_upper ? ", upper" : "");
}

struct SolveCase {
  const char* name;
  Range touched, required;
  int64_t outer_extent;
  const char* vi;
  const char* guard;
};
class SolveTest : public testing::TestWithParam<SolveCase> {};
TEST_P(SolveTest, FindsTheDomainOfVi) {
  const SolveCase& c = GetParam();
  const Analyzer analyzer = OuterLoops(c.outer_extent);
  const auto solved = SolveBlockVarDomains(IterVars(), {{{c.touched}, {c.required}}}, analyzer);
  ASSERT_TRUE(solved.ok()) << solved.status().message();
  EXPECT_EQ(ToText(solved->at(0)), c.vi);
  EXPECT_EQ(ToText(solved->at(2)), "0, 32");
  EXPECT_EQ(ToText(GuardPredicate(solved->at(0), IterVars()[0].domain, solved->at(0).domain.min + Var("ax"), analyzer)),
            c.guard);
}
INSTANTIATE_TEST_SUITE_P(
    Domains, SolveTest,
    testing::Values(
        SolveCase{"Tile", {vi, 1}, {i * 16, 16}, 6, "i * 16, 16", "True"},
        SolveCase{"TileBeyondTheEnd", {vi, 1}, {i * 16, 16}, 7, "i * 16, 16, upper", "i * 16 + ax < 100"},
        SolveCase{"Stencil", {vi, 1}, {i * 16 - 1, 18}, 6, "i * 16 - 1, 18, lower", "1 <= i * 16 + ax"},
        SolveCase{
            "ClampedTile", {vi, 1}, {i * 16, Min(16, Expr(100) - i * 16)}, 7, "i * 16, 16, upper", "i * 16 + ax < 100"},
        SolveCase{"Offset", {vi + 3, 1}, {i * 16 + 3, 16}, 6, "i * 16, 16", "True"},
        SolveCase{"Stride", {vi * 2, 2}, {i * 16, 16}, 6, "i * 8, 8", "True"},
        SolveCase{"Backwards", {Expr(99) - vi, 1}, {i, 1}, 100, "99 - i, 1", "True"},
        SolveCase{"Fused", {vi * 64 + vj, 1}, {i * 128, 128}, 50, "i * 2, 2", "True"},
        SolveCase{"Packed", {FloorDiv(vi, 4), 1}, {i, 1}, 25, "i * 4, 4", "True"},
        SolveCase{"AllOfIt", {vi, 1}, {0, 100}, 6, "0, 100", "True"},
        SolveCase{"MoreThanThereIs", {vi, 1}, {i * 200 - 50, 200}, 6, "0, 100", "True"}),
    [](const auto& info) { return info.param.name; });

TEST(SolveBlockVarDomains, CoversAllDemands) {
  const auto solved = SolveBlockVarDomains(
      IterVars(), {{{{vi, 1}, {vj, 1}}, {{i * 4, 4}, {0, 8}}}, {{{vi, 1}, {vj, 1}}, {{i * 4 + 2, 4}, {8, 8}}}},
      OuterLoops(10));
  ASSERT_TRUE(solved.ok()) << solved.status().message();
  EXPECT_EQ(ToText(solved->at(0)), "i * 4, 6");
  EXPECT_EQ(ToText(solved->at(1)), "0, 16");
}

struct JoinedCase {
  const char* name;
  std::vector<Range> touched, required;
  const char *vi, *vj;
};
std::ostream& operator<<(std::ostream& os, const JoinedCase& joined) { return os << joined.name; }
class SolveJoinedTest : public testing::TestWithParam<JoinedCase> {};
TEST_P(SolveJoinedTest, FollowsPointsBack) {
  std::vector<IterVar> iters = IterVars();
  iters.pop_back();
  iters[0].domain.extent = 96;
  const auto solved = SolveBlockVarDomains(iters, {{GetParam().touched, GetParam().required}}, OuterLoops(12));
  ASSERT_TRUE(solved.ok()) << solved.status().message();
  EXPECT_EQ(ToText(solved->at(0)), GetParam().vi);
  EXPECT_EQ(ToText(solved->at(1)), GetParam().vj);
}
const Expr kOther = MakeCast(DataType::Int(64), i);  // A loop of another type than the indices.
INSTANTIATE_TEST_SUITE_P(
    Points, SolveJoinedTest,
    testing::Values(JoinedCase{"Joined", {{vi * 64 + vj, 1}}, {{i * 16, 16}}, "i // 4, 1", "i % 4 * 16, 16"},
                    JoinedCase{"JoinedRows", {{vi * 64 + vj, 1}}, {{i * 64, 128}}, "i, 2", "0, 64"},
                    JoinedCase{
                        "AcrossARow", {{vi * 64 + vj, 1}}, {{i * 16 + 8, 16}}, "i // 4, (i % 4 + 1) // 4 + 1", "0, 64"},
                    JoinedCase{"Split",
                               {{FloorDiv(vi, 8), 1}, {FloorMod(vi, 8), 1}, {vj, 1}},
                               {{i, 1}, {2, 4}, {0, 64}},
                               "i * 8 + 2, 4",
                               "0, 64"},
                    JoinedCase{"OfAnotherType",
                               {{vi * 64 + vj, 1}},
                               {{kOther, IntConst(DataType::Int(64), 1)}},
                               "0, 1",
                               "int32(int64(i)), 1"}),
    [](const auto& info) { return info.param.name; });

TEST(SolveBlockVarDomains, RefusesIndicesThatAreNotAffine) {
  const auto solved = SolveBlockVarDomains(IterVars(), {{{{vi * vj, 1}}, {{i, 1}}}}, OuterLoops(10));
  EXPECT_THAT(solved.status().message(), testing::HasSubstr("not affine in its iter vars"));
}

}  // namespace
}  // namespace lathe
