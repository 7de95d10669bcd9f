#include "tuner/search/adapt_trace.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <numeric>

#include "tests/tuner/search/simulated_device.h"
#include "tests/tuner/space/workloads.h"
#include "tuner/search/decisions.h"

namespace lathe {
namespace {

using Tile = std::vector<int64_t>;
using testing::HasSubstr;

struct NearestTileCase {
  const char* name;
  Tile tile;
  int64_t extent, limit;
  Tile expected;
};
class NearestTileTest : public testing::TestWithParam<NearestTileCase> {};
TEST_P(NearestTileTest, KeepsInnerFactors) {
  EXPECT_EQ(NearestTile(GetParam().tile, GetParam().extent, GetParam().limit), GetParam().expected);
}
INSTANTIATE_TEST_SUITE_P(Tiles, NearestTileTest,
                         testing::Values(NearestTileCase{"SameExtent", {4, 2, 4, 16}, 512, 64, {4, 2, 4, 16}},
                                         NearestTileCase{"MoreOutside", {4, 2, 4, 16}, 2048, 64, {16, 2, 4, 16}},
                                         NearestTileCase{"FewerOutside", {4, 2, 4, 16}, 128, 64, {1, 2, 4, 16}},
                                         NearestTileCase{"AFactorGivesWay", {4, 2, 4, 16}, 64, 64, {1, 1, 4, 16}},
                                         NearestTileCase{"NoPowerOfTwo", {4, 2, 4, 16}, 96, 64, {1, 2, 3, 16}},
                                         NearestTileCase{"SevenToEight", {8, 1, 7}, 64, 64, {8, 1, 8}},
                                         NearestTileCase{"Prime", {4, 2, 4, 16}, 127, 64, {127, 1, 1, 1}},
                                         NearestTileCase{"WithinTheLimit", {1, 2, 32}, 64, 16, {2, 2, 16}},
                                         NearestTileCase{"One", {4, 2, 4}, 1, 64, {1, 1, 1}},
                                         NearestTileCase{"OneFactor", {8}, 12, 64, {12}},
                                         NearestTileCase{"TooLargeForItsLimit", {8}, 128, 64, {}}),
                         [](const auto& info) { return info.param.name; });

std::string ProductRelu(int m, int n, int k) {
  return fmt::format(R"(
@T.prim_func
def main(A: T.Buffer(({0}, {2}), "float32"), B: T.Buffer(({2}, {1}), "float32"), D: T.Buffer(({0}, {1}), "float32")):
    C = T.alloc_buffer(({0}, {1}))
    for i, j, k in T.grid({0}, {1}, {2}):
        with T.block("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid({0}, {1}):
        with T.block("relu"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], T.float32(0))
)",
                     m, n, k);
}

struct AdaptCase {
  const char* name;
  int m, n, k;
  size_t least;  // Of 32.
};
class AdaptTraceTest : public testing::TestWithParam<AdaptCase> {};

TEST_P(AdaptTraceTest, MakesCandidatesOfTheTasksOwnSketches) {
  const TuneTask from = MakeTestTask(ProductRelu(128, 128, 128).c_str());
  const TuneTask to = MakeTestTask(ProductRelu(GetParam().m, GetParam().n, GetParam().k).c_str());
  size_t made = 0;
  for (const MeasureCandidate& candidate : MakeRandomSearch(from, 7)->Propose(32)) {
    const StatusOr<ScheduleTrace> adapted = AdaptTrace(to, candidate.trace);
    ASSERT_TRUE(adapted.ok()) << adapted.status().message();
    EXPECT_GE(FindSketch(to.sketches, *adapted), 0) << adapted->ToPython();
    made += MakeCandidate(to, *adapted, 0).ok();
  }
  EXPECT_GE(made, GetParam().least) << "of 32 that passed the constraints there";
}
INSTANTIATE_TEST_SUITE_P(Extents, AdaptTraceTest,
                         testing::Values(AdaptCase{"Larger", 256, 512, 128, 28}, AdaptCase{"Odd", 96, 160, 75, 16}),
                         [](const auto& info) { return info.param.name; });

constexpr char kDepthwise28[] = R"(
@T.prim_func
def main(A: T.Buffer((8, 30, 30), "float32"), W: T.Buffer((8, 3, 3), "float32"), Y: T.Buffer((8, 28, 28), "float32")):
    for c, y, x, i, j in T.grid(8, 28, 28, 3, 3):
        with T.block("depthwise"):
            vc, vy, vx, vi, vj = T.axis.remap("SSSRR", [c, y, x, i, j])
            with T.init():
                Y[vc, vy, vx] = T.float32(0)
            Y[vc, vy, vx] = Y[vc, vy, vx] + A[vc, vy + vi, vx + vj] * W[vc, vi, vj]
)";

// Some sketches differ in nothing but the numbers that their primitives are given: how many lanes a vector has.
class SameWorkloadTest : public testing::TestWithParam<const char*> {};
TEST_P(SameWorkloadTest, LeavesItsSchedulesAsTheyAre) {
  const TuneTask task = MakeTestTask(GetParam());
  for (const MeasureCandidate& candidate : MakeRandomSearch(task, 3)->Propose(24)) {
    const StatusOr<ScheduleTrace> adapted = AdaptTrace(task, candidate.trace);
    ASSERT_TRUE(adapted.ok()) << adapted.status().message();
    EXPECT_EQ(adapted->ToJson(), candidate.trace_json);
  }
}
INSTANTIATE_TEST_SUITE_P(Workloads, SameWorkloadTest, testing::Values(kConvBiasAddRelu, kDepthwise28),
                         [](const auto& info) { return info.index == 0 ? "Convolution" : "Depthwise"; });

TEST(AdaptTrace, TakesTheTracesOwnPrimitivesWhereTheTaskAllowsIt) {
  TuneTask task = MakeTestTask(kMatmulRelu);
  const MeasureCandidate candidate = MakeRandomSearch(task, 3)->Propose(1)[0];
  task.sketches.clear();
  const StatusOr<ScheduleTrace> adapted = AdaptTrace(task, candidate.trace);
  ASSERT_TRUE(adapted.ok()) << adapted.status().message();
  EXPECT_EQ(adapted->ToJson(), candidate.trace_json);
  task.keeps_to_sketches = true;
  EXPECT_THAT(AdaptTrace(task, candidate.trace).status().message(), HasSubstr("no sketch of the space"));
}

TEST(AdaptTrace, SaysWhyATraceDoesNotFit) {
  TuneTask task = MakeTestTask(kMaxPool);
  const TuneTask from = MakeTestTask(kMatmulRelu);
  const MeasureCandidate candidate = MakeRandomSearch(from, 3)->Propose(1)[0];
  EXPECT_THAT(AdaptTrace(task, candidate.trace).status().message(), HasSubstr("matmul"));
}

}  // namespace
}  // namespace lathe
