#include "compiler/relax/place_slices.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace lathe::relax {
namespace {

constexpr auto kIn = LATHE_STORAGE_INPUT, kOut = LATHE_STORAGE_OUTPUT, kConst = LATHE_STORAGE_CONSTANT,
               kArena = LATHE_STORAGE_ARENA, kSized = LATHE_STORAGE_SIZED;

// Memories are 0, 1, ...; calls have numbers from 10 on, as they are given.
struct SlicesCase {
  const char* name;
  std::vector<LatheGraphStorage> storages;
  std::vector<CopyCall> joins, cuts;
  const char* slices;  // "memory=whole+offset", in order, of those that lie in others.
  std::vector<size_t> needless_calls;
};

std::string TextOf(const SlicePlan& plan) {
  std::string text;
  for (size_t i = 0; i < plan.inside.size(); ++i) {
    if (!plan.inside[i]) continue;
    text += fmt::format("{}{}={}+{}", text.empty() ? "" : " ", i, plan.inside[i]->memory, plan.inside[i]->offset);
  }
  return text;
}

class PlaceSlicesTest : public testing::TestWithParam<SlicesCase> {};
TEST_P(PlaceSlicesTest, PlacesWhatNeedsNoCopy) {
  const SlicesCase& row = GetParam();
  const SlicePlan plan = PlaceSlices(row.storages, row.joins, row.cuts, 64);
  EXPECT_EQ(TextOf(plan), row.slices);
  EXPECT_EQ(plan.needless_calls, row.needless_calls);
}

INSTANTIATE_TEST_SUITE_P(
    Joins, PlaceSlicesTest,
    testing::Values(
        SlicesCase{
            "ResultsOfKernels", {kArena, kArena, kArena}, {{10, 2, {{0, 0}, {1, 64}}}}, {}, "0=2+0 1=2+64", {10}},
        SlicesCase{"IntoAnOutput", {kArena, kArena, kOut}, {{10, 2, {{0, 0}, {1, 64}}}}, {}, "0=2+0 1=2+64", {10}},
        SlicesCase{"NotAnInputOfTheNetwork", {kArena, kIn, kArena}, {{10, 2, {{0, 0}, {1, 64}}}}, {}, "", {}},
        SlicesCase{"NotAConstant", {kConst, kArena, kArena}, {{10, 2, {{0, 0}, {1, 64}}}}, {}, "", {}},
        SlicesCase{"NotAnOutput", {kOut, kArena, kArena}, {{10, 2, {{0, 0}, {1, 64}}}}, {}, "", {}},
        SlicesCase{"NotWhatARunSizes", {kSized, kArena, kArena}, {{10, 2, {{0, 0}, {1, 64}}}}, {}, "", {}},
        SlicesCase{"NotIntoWhatARunSizes", {kArena, kArena, kSized}, {{10, 2, {{0, 0}, {1, 64}}}}, {}, "", {}},
        SlicesCase{"NotTwiceInOne", {kArena, kArena}, {{10, 1, {{0, 0}, {0, 64}}}}, {}, "", {}},
        SlicesCase{"NotAtUnalignedPlaces", {kArena, kArena, kArena}, {{10, 2, {{0, 0}, {1, 60}}}}, {}, "", {}},
        SlicesCase{"InOneOnly",  // The second copies both, as it did.
                   {kArena, kArena, kArena, kArena, kArena},
                   {{10, 3, {{0, 0}, {1, 64}}}, {11, 4, {{1, 0}, {2, 64}}}},
                   {},
                   "0=3+0 1=3+64",
                   {10}},
        SlicesCase{"Nested",
                   {kArena, kArena, kArena, kArena, kArena},
                   {{10, 2, {{0, 0}, {1, 64}}}, {11, 4, {{3, 0}, {2, 128}}}},
                   {},
                   "0=4+128 1=4+192 2=4+128 3=4+0",
                   {10, 11}},
        SlicesCase{"NestedInACopy",  // The outer one has an input of the network.
                   {kArena, kArena, kArena, kIn, kArena},
                   {{10, 2, {{0, 0}, {1, 64}}}, {11, 4, {{3, 0}, {2, 128}}}},
                   {},
                   "0=2+0 1=2+64",
                   {10}},
        SlicesCase{"ACopyNested",  // What a copy makes is the result of a kernel like any other.
                   {kIn, kArena, kArena, kArena, kArena},
                   {{10, 2, {{0, 0}, {1, 64}}}, {11, 4, {{3, 0}, {2, 128}}}},
                   {},
                   "2=4+128 3=4+0",
                   {11}},
        SlicesCase{"ChainsThatBeginWithAllBefore",  // 4 = (0, 1), 5 = (0, 1, 2), 6 = (0, 1, 2, 3).
                   {kArena, kArena, kArena, kArena, kArena, kArena, kArena},
                   {{10, 4, {{0, 0}, {1, 64}}},
                    {11, 5, {{0, 0}, {1, 64}, {2, 128}}},
                    {12, 6, {{0, 0}, {1, 64}, {2, 128}, {3, 192}}}},
                   {},
                   "0=6+0 1=6+64 2=6+128 3=6+192 4=6+0 5=6+0",
                   {10, 11, 12}},
        SlicesCase{"ChainsThatEndWithAllBefore",
                   {kArena, kArena, kArena, kArena, kArena},
                   {{10, 3, {{0, 0}, {1, 64}}}, {11, 4, {{2, 0}, {0, 64}, {1, 128}}}},
                   {},
                   "0=4+64 1=4+128 2=4+0 3=4+64",
                   {10, 11}},
        SlicesCase{"ChainsBehindAnOutput",  // The first one's result is the caller's, the second copies.
                   {kArena, kArena, kArena, kOut, kArena},
                   {{10, 3, {{0, 0}, {1, 64}}}, {11, 4, {{0, 0}, {1, 64}, {2, 128}}}},
                   {},
                   "0=3+0 1=3+64",
                   {10}}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Cuts, PlaceSlicesTest,
    testing::Values(
        SlicesCase{"OfAResult", {kArena, kArena}, {}, {{10, 0, {{1, 64}}}}, "1=0+64", {10}},
        SlicesCase{"OfAnInput", {kIn, kArena}, {}, {{10, 0, {{1, 64}}}}, "1=0+64", {10}},
        SlicesCase{"OfAnOutput", {kOut, kArena}, {}, {{10, 0, {{1, 64}}}}, "1=0+64", {10}},
        SlicesCase{"NotOfWhatARunSizes", {kSized, kArena}, {}, {{10, 0, {{1, 64}}}}, "", {}},
        SlicesCase{"NotAnOutput", {kArena, kOut}, {}, {{10, 0, {{1, 64}}}}, "", {}},
        SlicesCase{"NotAtAnUnalignedPlace", {kArena, kArena}, {}, {{10, 0, {{1, 4}}}}, "", {}},
        SlicesCase{
            "OfACut", {kIn, kArena, kArena}, {}, {{10, 0, {{1, 64}}}, {11, 1, {{2, 128}}}}, "1=0+64 2=0+192", {10, 11}},
        SlicesCase{"OfAJoin",
                   {kArena, kArena, kArena, kArena},
                   {{10, 2, {{0, 0}, {1, 64}}}},
                   {{11, 2, {{3, 0}}}},
                   "0=2+0 1=2+64 3=2+0",
                   {10, 11}},
        SlicesCase{"NotWhatIsJoinedAgain",  // 1 = cut 0, 3 = (1, 2): only 1 is copied, into 3.
                   {kArena, kArena, kArena, kArena},
                   {{11, 3, {{1, 0}, {2, 64}}}},
                   {{10, 0, {{1, 64}}}},
                   "1=3+0 2=3+64",
                   {11}}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lathe::relax
