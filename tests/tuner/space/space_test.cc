#include <gmock/gmock.h>

#include <array>

#include "compiler/schedule/compute_inline.h"
#include "compiler/schedule/get_block.h"
#include "compiler/script/parser.h"
#include "compiler/script/printer.h"
#include "tests/compiler/schedule/soundness.h"
#include "tests/property_runs.h"
#include "tests/tuner/space/workloads.h"
#include "tuner/search/search_strategy.h"
#include "tuner/space/auto_inline.h"
#include "tuner/space/block_pattern.h"
#include "tuner/space/chain_tiles.h"
#include "tuner/space/constraints.h"
#include "tuner/space/default_schedule.h"
#include "tuner/space/register_pressure.h"
#include "tuner/space/row_reduction.h"
#include "tuner/space/space_generator.h"
#include "tuner/space/transposed_tiles.h"
#include "tuner/space/window_tiles.h"

namespace lathe {
namespace {

using testing::HasSubstr;

Target Avx512() {
  StatusOr<Target> target = Target::Parse("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4 -num-cores=1");
  CHECK(target.ok()) << target.status().message();
  return *std::move(target);
}
PrimFunc Parse(const char* text) {
  StatusOr<PrimFunc> func = ParsePrimFunc(text, "workload.py");
  CHECK(func.ok()) << func.status().ToString();
  return *std::move(func);
}
TuneTask TaskOf(const char* text) {
  TuneTask task{{}, Parse(text), Avx512(), {}, 0};
  StatusOr<std::vector<Sketch>> sketches = MakePostOrderApply()->Generate(task.func, task.target);
  CHECK(sketches.ok()) << sketches.status().ToString();
  task.sketches = *std::move(sketches);
  return task;
}

struct SpaceCase {
  const char* name;
  const char* text;
  bool has_tile;
};
class SpaceTest : public testing::TestWithParam<SpaceCase> {};

TEST_P(SpaceTest, EverySketchGivesCandidates) {
  const TuneTask task = TaskOf(GetParam().text);
  for (const Sketch& sketch : task.sketches) {
    int ok = 0;
    Status why;
    const int runs = PropertyRuns(200);
    for (int seed = 0; seed < runs; ++seed) {
      const StatusOr<MeasureCandidate> candidate = MakeCandidate(task, sketch.trace, seed);
      ok += candidate.ok();
      if (!candidate.ok()) why = candidate.status();
    }
    EXPECT_GT(ok, AllRuns(200) ? 10 : 0) << sketch.trace.ToPython() << why.ToString();
  }
}

TEST_P(SpaceTest, ARecordedTraceGivesTheSameFunctionAgain) {
  const TuneTask task = TaskOf(GetParam().text);
  const std::vector<MeasureCandidate> candidates = MakeRandomSearch(task, /*seed=*/7)->Propose(3);
  ASSERT_FALSE(candidates.empty());
  for (const MeasureCandidate& candidate : candidates) {
    const StatusOr<ScheduleTrace> trace = ScheduleTrace::FromJson(candidate.trace_json);
    ASSERT_TRUE(trace.ok()) << trace.status().message();
    const StatusOr<MeasureCandidate> again = MakeCandidate(task, *trace, /*seed=*/99);
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(Print(again->func), Print(candidate.func));
    EXPECT_EQ(again->trace_json, candidate.trace_json);
  }
}

TEST_P(SpaceTest, AnchorsGetARegisterTile) {
  const TuneTask task = TaskOf(GetParam().text);
  const std::vector<MeasureCandidate> candidates = MakeRandomSearch(task, /*seed=*/3)->Propose(1);
  ASSERT_FALSE(candidates.empty());
  const int64_t registers = RegistersNeeded(candidates[0].func, task.target);
  EXPECT_EQ(registers > 0, GetParam().has_tile) << Print(candidates[0].func);
  EXPECT_LE(registers, 32);
}

TEST_P(SpaceTest, TheDefaultScheduleIsParallelAndVectorized) {
  const PrimFunc func = Parse(GetParam().text);
  const StatusOr<Schedule> schedule = DefaultSchedule(func, Avx512());
  ASSERT_TRUE(schedule.ok()) << schedule.status().ToString();
  EXPECT_THAT(Print(schedule->func()), HasSubstr("T.parallel("));
  EXPECT_THAT(Print(schedule->func()), HasSubstr("T.vectorized("));
}

INSTANTIATE_TEST_SUITE_P(
    Workloads, SpaceTest,
    testing::Values(SpaceCase{"MatmulRelu", kMatmulRelu, true}, SpaceCase{"ConvBiasAddRelu", kConvBiasAddRelu, true},
                    SpaceCase{"MaxPool", kMaxPool, true}, SpaceCase{"Elementwise", kElementwise, false},
                    SpaceCase{"RowSums", kRowSums, true}, SpaceCase{"MatrixTimesVector", kMatrixTimesVector, true},
                    SpaceCase{"NormalizedRows", kNormalizedRows, true}, SpaceCase{"CentredRows", kCentredRows, true},
                    SpaceCase{"Depthwise14", kDepthwise14, true},
                    SpaceCase{"ProductWithTransposed", kProductWithTransposed, true},
                    SpaceCase{"ProductsOfReducedRows", kProductsOfReducedRows, true},
                    SpaceCase{"TransposedPlusBias", kTransposedPlusBias, false},
                    SpaceCase{"VectorTimesMatrix", kVectorTimesMatrix, true},
                    SpaceCase{"ColumnSums", kColumnSums, false}),
    [](const auto& info) { return info.param.name; });

// Rows of 14 elements in vectors of 16 lanes: the tile's rows are as long as a vector is.
TEST(Tiles, MayHaveRowsThatNoVectorFills) {
  const TuneTask task = TaskOf(kDepthwise14);
  EXPECT_THAT(task.sketches.at(0).trace.ToPython(), HasSubstr("sample_perfect_tile"));
  const std::string text = Print(MakeRandomSearch(task, 1)->Propose(1).at(0).func);
  EXPECT_THAT(text, HasSubstr("T.vectorized(16)"));
  EXPECT_THAT(text, HasSubstr("scope=\"register\""));
}

// An update of a tile of 2 rows, in vectors of 16 lanes on a processor of 32 registers.
struct PressureCase {
  const char* name;
  const char* loops;  // Around the update, each on a line.
  const char* update;
  int64_t expected;
};
class PressureTest : public testing::TestWithParam<PressureCase> {};

// Loops and what is in the block are lines with semicolons between.
std::string NestAround(const std::string& block, const char* loops_text, const char* update_text) {
  std::string text, indent = "    ";
  std::stringstream loops(loops_text), update(update_text);
  for (std::string line; std::getline(loops, line, ';'); indent += "    ") text += indent + line + ":\n";
  text += indent + "with T.block(\"" + block + "\"):\n";
  for (std::string line; std::getline(update, line, ';');) text += indent + "    " + line + "\n";
  return text;
}
constexpr char kTileInRegisters[] = R"(
@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32"), Y: T.Buffer((64, 64), "float32")):
    acc = T.alloc_buffer((64, 64), scope="register")
)";

TEST_P(PressureTest, CountsWhatIsAliveAtOnce) {
  const std::string text = kTileInRegisters + NestAround("update", GetParam().loops, GetParam().update);
  EXPECT_EQ(RegistersNeeded(Parse(text.c_str()), Avx512()), GetParam().expected) << text;
}
constexpr char kProduct[] =
    "vm, vn, vk = T.axis.remap(\"SSR\", [m, n, k]);acc[vm, vn] = acc[vm, vn] + A[vm, vk] * B[vk, vn]";
constexpr char kProductOfTwo[] =
    "vm = T.axis.spatial(64, m);vn = T.axis.spatial(64, n * 16 + l);vk = T.axis.reduce(64, k);"
    "acc[vm, vn] = acc[vm, vn] + A[vm, vk] * B[vk, vn]";
constexpr char kWindow[] =
    "vm, vn, vk = T.axis.remap(\"SSR\", [m, n, k]);acc[vm, vn] = acc[vm, vn] + A[vm + vk, vn] * B[vk, 0]";
constexpr char kApart[] =
    "vm, vn, vk = T.axis.remap(\"SSR\", [m, n, k]);acc[vm, vn] = acc[vm, vn] + A[vm + vk, vn * 2] * B[vk, 0]";
constexpr char kPart[] =
    "vm, vn, vk = T.axis.remap(\"SSR\", [m, n, k]);T.where(n < 14);acc[vm, vn] = acc[vm, vn] + A[vm + vk, vn] * B[vk, "
    "0]";
INSTANTIATE_TEST_SUITE_P(
    Updates, PressureTest,
    testing::Values(
        // Six accumulators, the vector of B, one broadcast of A at a time.
        PressureCase{"Column", "for k in range(64);for m in T.unroll(6);for n in T.vectorized(16)", kProduct, 8},
        // Twelve, both vectors of B, the broadcast.
        PressureCase{"Product",
                     "for k in range(64);for m in T.unroll(6);for n in T.unroll(2);for l in T.vectorized(16)",
                     kProductOfTwo, 15},
        // The next step's vectors and broadcast overlap.
        PressureCase{"Steps",
                     "for k in T.unroll(4);for m in T.unroll(6);for n in T.unroll(2);for l in T.vectorized(16)",
                     kProductOfTwo, 18},
        // Each row of A once, the broadcast of B by all.
        PressureCase{"OneTap", "for k in range(3);for m in T.unroll(4);for n in T.vectorized(16)", kWindow, 6},
        // Rows 1 to 4 of A are met by two taps or three.
        PressureCase{"Window", "for k in T.unroll(3);for m in T.unroll(4);for n in T.vectorized(16)", kWindow, 10},
        // Of 18 accumulators in 32 registers the taps are kept apart, and no row is met again.
        PressureCase{"LargeTile", "for k in T.unroll(3);for m in T.unroll(18);for n in T.vectorized(16)", kWindow, 21},
        PressureCase{"Apart", "for k in range(3);for m in T.unroll(4);for n in T.vectorized(16)", kApart, 8},
        PressureCase{"Masked", "for k in range(3);for m in T.unroll(4);for n in T.vectorized(16)", kPart, 7},
        PressureCase{"NoTile", "for k in range(3);for m in range(4);for n in T.vectorized(16)",
                     "vm, vn, vk = T.axis.remap(\"SSR\", [m, n, k]);Y[vm, vn] = A[vm, vn]", 0}),
    [](const auto& info) { return info.param.name; });

TEST(RegistersNeeded, IsOfTheTileThatNeedsMost) {
  const std::string six =
      NestAround("six", "for k in range(64);for m in T.unroll(6);for n in T.vectorized(16)", kProduct);
  const std::string two =
      NestAround("two", "for k in range(64);for m in T.unroll(2);for n in T.vectorized(16)", kProduct);
  EXPECT_EQ(RegistersNeeded(Parse((kTileInRegisters + six + two).c_str()), Avx512()), 8);
  EXPECT_EQ(RegistersNeeded(Parse((kTileInRegisters + two + six).c_str()), Avx512()), 8);
}

// 28 elements: whole vectors of 4, and two of 16, the last of them with 4 lanes left out.
TEST(Tiles, MayBeAsWideAsARegisterWhereWholeVectorsAreNot) {
  std::string text = kDepthwise14;
  for (const auto& [from, to] : {std::pair("14", "28"), std::pair("16", "30")})
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;) text.replace(at, 2, to);
  const TuneTask task = TaskOf(text.c_str());
  ASSERT_EQ(task.sketches.size(), 2u);
  EXPECT_THAT(task.sketches[0].trace.ToPython(), HasSubstr("[None, 4]"));
  EXPECT_THAT(task.sketches[1].trace.ToPython(), HasSubstr("[None, 16]"));
}

// The lanes of the second factor are rows apart: a copy of it, made per outer tile, has them side by side.
TEST(Tiles, MayReadACopyWhoseLanesAreNeighbours) {
  const TuneTask task = TaskOf(kProductWithTransposed);
  const std::string trace = task.sketches.at(0).trace.ToPython();
  EXPECT_THAT(trace, HasSubstr("sch.cache_read(block=b0, read_buffer_index=1, storage_scope=\"global\")"));
  EXPECT_THAT(trace, HasSubstr("sch.transform_layout("));
  int checked = 0;
  for (int seed = 0; seed < PropertyRuns(12, 3); ++seed) {
    const StatusOr<MeasureCandidate> candidate = MakeCandidate(task, task.sketches[0].trace, seed);
    if (!candidate.ok()) continue;
    ExpectSameBits(task.func, candidate->func);
    ++checked;
  }
  EXPECT_GT(checked, 0);
}

// 19 rows, which no tile of 4 to 16 divides, by columns that no vector does.
TEST(Tiles, MayEndBeforeTheLastOfTheirRows) {
  const TuneTask task = TaskOf(R"(
@T.prim_func
def main(A: T.Buffer((19, 24), "float32"), B: T.Buffer((24, 40), "float32"), Y: T.Buffer((19, 40), "float32")):
    for i, j, k in T.grid(19, 40, 24):
        with T.block("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vi, vj] = T.float32(0)
            Y[vi, vj] = Y[vi, vj] + A[vi, vk] * B[vk, vj]
)");
  int with_rows = 0;
  const int runs = PropertyRuns(60, 24);
  for (int seed = 0; seed < runs; ++seed) {
    for (const Sketch& sketch : task.sketches) {
      const StatusOr<MeasureCandidate> candidate = MakeCandidate(task, sketch.trace, seed);
      if (!candidate.ok()) continue;
      ExpectSameBits(task.func, candidate->func);
      with_rows += Print(candidate->func).find("T.where(") != std::string::npos;
    }
  }
  EXPECT_GT(with_rows, 0);
  EXPECT_THAT(task.sketches.at(0).trace.ToPython(), HasSubstr("sample_categorical(candidates=[4, 6, 8, 12, 14]"));
}

// The border of an image may be a guard where it is read, unless the guard asks the lanes.
TEST(Tiles, MayReadImagesWithoutACopyThatHasBorders) {
  std::string text = R"(
@T.prim_func
def main(A: T.Buffer((7, 7, 16), "float32"), W: T.Buffer((3, 3, 16), "float32"), Y: T.Buffer((7, 7, 16), "float32")):
    P = T.alloc_buffer((9, 9, 16), "float32")
    for y, x, c in T.grid(9, 9, 16):
        with T.block("pad"):
            vy, vx, vc = T.axis.remap("SSS", [y, x, c])
            P[vy, vx, vc] = T.if_then_else(1 <= vy and vy < 8 and 1 <= vx and vx < 8, A[vy - 1, vx - 1, vc], T.float32(0))
    for y, x, c, i, j in T.grid(7, 7, 16, 3, 3):
        with T.block("conv"):
            vy, vx, vc, vi, vj = T.axis.remap("SSSRR", [y, x, c, i, j])
            with T.init():
                Y[vy, vx, vc] = T.float32(0)
            Y[vy, vx, vc] = Y[vy, vx, vc] + P[vy + vi, vx + vj, vc] * W[vi, vj, vc]
)";
  const TuneTask task = TaskOf(text.c_str());
  ASSERT_EQ(task.sketches.size(), 3u);
  EXPECT_THAT(task.sketches[2].trace.ToPython(), HasSubstr("sch.compute_inline("));
  int checked = 0;
  for (int seed = 0; seed < PropertyRuns(12, 3); ++seed) {
    const StatusOr<MeasureCandidate> candidate = MakeCandidate(task, task.sketches[2].trace, seed);
    if (!candidate.ok()) continue;
    EXPECT_EQ(Print(candidate->func).find("\"pad\""), std::string::npos);
    ExpectSameBits(task.func, candidate->func);
    ++checked;
  }
  EXPECT_GT(checked, 0);
  text.replace(text.find("1 <= vy and"), 11, "1 <= vc and");
  EXPECT_EQ(TaskOf(text.c_str()).sketches.size(), 2u);
}

// A convolution of stride 2: the padded rows, or a copy where there is no padding, are laid out as their even and their
// odd elements; 13 of them leave a gap.
TEST(Tiles, MayReadRowsWhoseLanesAreApartByHalves) {
  for (const bool is_padded : {true, false}) {
    std::string text = R"(
@T.prim_func
def main(A: T.Buffer((1, 13, 13), "float32"), W: T.Buffer((16, 1, 3, 3), "float32"), Y: T.Buffer((16, 6, 6), "float32")):
    P = T.alloc_buffer((1, 13, 13), "float32")
    for c, y, x in T.grid(1, 13, 13):
        with T.block("pad"):
            vc, vy, vx = T.axis.remap("SSS", [c, y, x])
            P[vc, vy, vx] = T.if_then_else(1 <= vy and 1 <= vx, A[vc, vy - 1, vx - 1], T.float32(0))
    for f, y, x, c, i, j in T.grid(16, 6, 6, 1, 3, 3):
        with T.block("conv"):
            vf, vy, vx, vc, vi, vj = T.axis.remap("SSSRRR", [f, y, x, c, i, j])
            with T.init():
                Y[vf, vy, vx] = T.float32(0)
            Y[vf, vy, vx] = Y[vf, vy, vx] + P[vc, vy * 2 + vi, vx * 2 + vj] * W[vf, vc, vi, vj]
)";
    if (!is_padded) {
      text.erase(text.find("    P ="), text.find("    for f") - text.find("    P ="));
      text.replace(text.find("P[vc"), 1, "A");
    }
    const TuneTask task = TaskOf(text.c_str());
    const std::string trace = task.sketches.at(0).trace.ToPython();
    EXPECT_THAT(trace, HasSubstr("transform_layout"));
    EXPECT_EQ(trace.find("cache_read") == std::string::npos, is_padded);
    int checked = 0;
    for (int seed = 0; seed < PropertyRuns(6, 2); ++seed) {
      const StatusOr<MeasureCandidate> candidate = MakeCandidate(task, task.sketches[0].trace, seed);
      if (!candidate.ok()) continue;
      EXPECT_THAT(Print(candidate->func), HasSubstr("// 2"));
      ExpectSameBits(task.func, candidate->func);
      ++checked;
    }
    EXPECT_GT(checked, 0);
  }
}

// 111 columns of stride 2 leave lanes of the last vector out, and tiles of a row share a column: the copy by halves is
// made beforehand.
TEST(Tiles, MayReadHalvesOfRowsThatNoVectorFills) {
  const TuneTask task = TaskOf(R"(
@T.prim_func
def main(A: T.Buffer((3, 5, 223), "float32"), W: T.Buffer((16, 3, 3, 3), "float32"), Y: T.Buffer((16, 2, 111), "float32")):
    for f, y, x, c, i, j in T.grid(16, 2, 111, 3, 3, 3):
        with T.block("conv"):
            vf, vy, vx, vc, vi, vj = T.axis.remap("SSSRRR", [f, y, x, c, i, j])
            with T.init():
                Y[vf, vy, vx] = T.float32(0)
            Y[vf, vy, vx] = Y[vf, vy, vx] + A[vc, vy * 2 + vi, vx * 2 + vj] * W[vf, vc, vi, vj]
)");
  ASSERT_EQ(task.sketches.size(), 1u);
  const std::string trace = task.sketches[0].trace.ToPython();
  EXPECT_THAT(trace, HasSubstr("sch.cache_read"));
  EXPECT_EQ(trace.find("sch.compute_at("), std::string::npos) << trace;
  int checked = 0;
  for (int seed = 0; seed < PropertyRuns(4, 1); ++seed) {
    const StatusOr<MeasureCandidate> candidate = MakeCandidate(task, task.sketches[0].trace, seed);
    if (!candidate.ok()) continue;
    ExpectSameBits(task.func, candidate->func);
    ++checked;
  }
  EXPECT_GT(checked, 0);
}

struct PackCase {
  const char* name;
  const char *a, *b;  // Reads, of 64 rows of A by `columns` of B and 64 steps.
  int64_t columns;
  std::vector<std::array<int64_t, 3>> expected;  // Read, dimension of its lanes, how far they are apart.
  bool helps = true;
};
class ReadsToPackTest : public testing::TestWithParam<PackCase> {};
TEST_P(ReadsToPackTest, NamesWhatIsFarApartAndUsedOften) {
  const PackCase& c = GetParam();
  const std::string n = std::to_string(c.columns);
  const PrimFunc func =
      Parse((R"(
@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, )" +
             n + R"(), "float32"), D: T.Buffer(()" + n + R"(, 64), "float32"), Y: T.Buffer((64, )" + n +
             R"(), "float32")):
    for i, j, k in T.grid(64, )" +
             n + R"(, 64):
        with T.block("sum"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vi, vj] = T.float32(0)
            Y[vi, vj] = Y[vi, vj] + )" +
             c.a + " * " + c.b + "\n")
                .c_str());
  const Schedule schedule = *Schedule::Create(func);
  const auto packed = ReadsToPack(schedule.BlockOf(schedule.FindBlock("sum")), /*iter=*/1, /*lanes=*/16, 256 << 10);
  ASSERT_EQ(packed.has_value(), c.helps);
  std::vector<std::array<int64_t, 3>> found;
  if (packed)
    for (const auto& [read, dim, apart] : *packed)
      found.push_back({static_cast<int64_t>(read), static_cast<int64_t>(dim), apart});
  EXPECT_EQ(found, c.expected);
}
INSTANTIATE_TEST_SUITE_P(Reads, ReadsToPackTest,
                         testing::Values(PackCase{"Transposed", "A[vi, vk]", "D[vj, vk]", 64, {{1, 0, 1}}},
                                         PackCase{"SmallRows", "A[vi, vk]", "B[vk, vj]", 64, {}},
                                         PackCase{"LargeRows", "A[vi, vk]", "B[vk, vj]", 1024, {{1, 1, 1}}},
                                         PackCase{"UsedOnce", "A[vi, vk]", "B[vi, vj]", 1024, {}},
                                         PackCase{"Apart", "A[vi, vk]", "B[vk, vj * 2 + 1]", 31, {{1, 1, 2}}},
                                         PackCase{"ApartAndUsedOnce", "A[vi, vk]", "B[vi, vj * 2 + 1]", 31, {}},
                                         PackCase{"Window", "A[vi, vk]", "D[vj // 2, vk]", 64, {}, false}),
                         [](const auto& info) { return info.param.name; });

class RowsTest : public testing::TestWithParam<SpaceCase> {};

TEST_P(RowsTest, KeepTheBitsByAnyNumberOfAccumulators) {
  const TuneTask task = TaskOf(GetParam().text);
  const std::vector<MeasureCandidate> candidates = MakeRandomSearch(task, /*seed=*/5)->Propose(PropertyRuns(16, 15));
  EXPECT_GE(candidates.size(), 2u) << "there is something to choose";
  for (const MeasureCandidate& candidate : candidates) ExpectSameBits(task.func, candidate.func);
  ExpectSameBits(task.func, DefaultSchedule(task.func, task.target)->func());
}

TEST_P(RowsTest, AreReadOnceByVectors) {
  const std::string text = Print(DefaultSchedule(Parse(GetParam().text), Avx512())->func());
  EXPECT_EQ(text.find("T.parallel("), text.rfind("T.parallel(")) << "one nest\n" << text;
  EXPECT_THAT(text, HasSubstr("scope=\"register\""));
}

// The text with rows of another length.
std::string OfLength(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;) text.replace(at, from.size(), to);
  return text;
}
const std::string kRowSumsOf161 = OfLength(kRowSums, "160", "161"),
                  kCentredRowsOf104 = OfLength(kCentredRows, "128", "104"),
                  kNormalizedRowsOf45 = OfLength(kNormalizedRows, "192", "45");

INSTANTIATE_TEST_SUITE_P(Workloads, RowsTest,
                         testing::Values(SpaceCase{"RowSumsOf161", kRowSumsOf161.c_str(), true},
                                         SpaceCase{"CentredRowsOf104", kCentredRowsOf104.c_str(), true},
                                         SpaceCase{"NormalizedRowsOf45", kNormalizedRowsOf45.c_str(), true},
                                         SpaceCase{"RowSums", kRowSums, true},
                                         SpaceCase{"MatrixTimesVector", kMatrixTimesVector, true},
                                         SpaceCase{"NormalizedRows", kNormalizedRows, true},
                                         SpaceCase{"CentredRows", kCentredRows, true}),
                         [](const auto& info) { return info.param.name; });

constexpr char kReducedSquares[] = R"(
@T.prim_func
def main(X: T.Buffer((6, 64), "float32"), S: T.Buffer((6,), "float32")):
    D = T.alloc_buffer((6, 64))
    for i, k in T.grid(6, 64):
        with T.block("square"):
            vi, vk = T.axis.remap("SS", [i, k])
            D[vi, vk] = X[vi, vk] * X[vi, vk]
    for i, k in T.grid(6, 64):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + D[vi, vk]
)";

TEST(AutoInline, PutsWhatAReductionUsesOnceIntoIt) {
  Schedule schedule = *Schedule::Create(Parse(kReducedSquares));
  ASSERT_TRUE(AutoInline(schedule).ok());
  EXPECT_EQ(schedule.FindBlock("square"), -1) << Print(schedule.func());
  ExpectSameBits(Parse(kReducedSquares), schedule.func());
}

// Used by six rows; much computed; a window that slides.
TEST(AutoInline, ComputesNothingTwiceForAReduction) {
  for (const auto& [from, to] :
       {std::pair("D[vi, vk]", "D[0, vk]"), std::pair("= X[vi, vk] * X", "= T.exp(X[vi, vk]) * X"),
        std::pair("D[vi, vk]", "D[vi, vk // 2 + vi]")}) {
    std::string text = kReducedSquares;
    text.replace(text.rfind(from), std::string_view(from).size(), to);
    Schedule schedule = *Schedule::Create(Parse(text.c_str()));
    ASSERT_TRUE(AutoInline(schedule).ok());
    EXPECT_GE(schedule.FindBlock("square"), 0) << Print(schedule.func());
  }
}

// Each of several rows has its own sums, which are written out.
TEST(Rows, MayBeSeveralAtOnce) {
  const TuneTask task = TaskOf(kCentredRows);
  ASSERT_EQ(task.sketches.size(), 2u);
  EXPECT_THAT(task.sketches[1].trace.ToPython(), HasSubstr("candidates=[2]"));  // Of 6 rows.
  const StatusOr<MeasureCandidate> candidate = MakeCandidate(task, task.sketches[1].trace, /*seed=*/1);
  ASSERT_TRUE(candidate.ok()) << candidate.status().ToString();
  EXPECT_THAT(Print(candidate->func), HasSubstr("for ax0 in T.unroll(2):"));
  EXPECT_THAT(ScheduleRows(*std::make_unique<Schedule>(*Schedule::Create(Parse(kRowSums))), Avx512(),
                           Accumulators::kFixed, RowsAtOnce::kSeveral)
                  .message(),
              HasSubstr("it reduces; one row at once"));
}

// A tile that does not stay in registers is refused, and the schedule of what nobody has tuned must build.
TEST(Rows, PromiseNoRegistersWhereMuchIsComputed) {
  std::string text = kRowSums;
  text.replace(text.find("+ A[vi, vj, vk]"), 15, "+ T.exp(A[vi, vj, vk])");
  const std::string scheduled = Print(DefaultSchedule(Parse(text.c_str()), Avx512())->func());
  EXPECT_THAT(scheduled, HasSubstr("T.vectorized(16)"));
  EXPECT_EQ(scheduled.find("register\""), std::string::npos) << scheduled;
}

// A mask register is what lanes that are left out cost.
TEST(Rows, LeaveLanesOfTheLastVectorOut) {
  const std::string text = Print(DefaultSchedule(Parse(kCentredRowsOf104.c_str()), Avx512())->func());
  EXPECT_THAT(text, HasSubstr("T.vectorized(16)"));
  EXPECT_THAT(text, HasSubstr("< 104)"));
}

TEST(Rows, AreLeftAloneWhereNoVectorDividesThemAndNoneHasAMask) {
  const Target avx2 = *Target::Parse("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3 -num-cores=4");
  Schedule schedule = *Schedule::Create(Parse(kRowSumsOf161.c_str()));
  EXPECT_THAT(ScheduleRows(schedule, avx2, Accumulators::kFixed, RowsAtOnce::kOne).message(),
              HasSubstr("no block reduces neighbours"));
  EXPECT_TRUE(DefaultSchedule(Parse(kRowSumsOf161.c_str()), avx2).ok());
  Schedule even = *Schedule::Create(Parse(kCentredRowsOf104.c_str()));
  EXPECT_TRUE(ScheduleRows(even, avx2, Accumulators::kFixed, RowsAtOnce::kOne).ok());
  EXPECT_EQ(Print(even.func()).find("T.where"), std::string::npos) << "8 lanes divide 104";
}

// Each step adds to all sums of a task before the next one, and the bits stay.
// Rows of a block by both products and what is between them, in one task; by one row at once and by several.
TEST(ChainTiles, KeepTheBits) {
  const TuneTask task = TaskOf(kProductsOfReducedRows);
  ASSERT_EQ(task.sketches.size(), 2u);
  for (const Sketch& sketch : task.sketches) {
    int tried = 0;
    for (uint64_t seed = 0; seed < 40 && tried < PropertyRuns(6, 2); ++seed) {
      const StatusOr<MeasureCandidate> candidate = MakeCandidate(task, sketch.trace, seed);
      if (!candidate.ok()) continue;
      ++tried;
      SCOPED_TRACE(seed);
      ExpectSameBits(task.func, candidate->func);
    }
    EXPECT_GT(tried, 0) << sketch.trace.ToPython();
  }
}

std::vector<Schedule> ChainsOf(const std::string& text) {
  Schedule inlined = *Schedule::Create(Parse(text.c_str()));
  CHECK(AutoInline(inlined).ok());
  return ChainTiles(inlined, Avx512());
}

TEST(ChainTiles, MakePanelsAndThenEverythingElseInOneNest) {
  const std::vector<Schedule> chains = ChainsOf(kProductsOfReducedRows);
  ASSERT_EQ(chains.size(), 2u);
  for (const Schedule& chain : chains) {
    EXPECT_EQ(chain.ChildBlocksOf(chain.LoopsOf(chain.FindBlock("mixed_update")).front()).size() + 1,
              chain.ChildBlocksOf(chain.RootRow()).size());
    EXPECT_THAT(Print(chain.func()), HasSubstr("turned = T.alloc_buffer((2, 2, 16, 16)"));
  }
}

// Nothing turns them, and what makes them does not.
TEST(ChainTiles, MakePanelsOfWeightsAsTheyCome) {
  Schedule direct = *Schedule::Create(Parse(kProductsOfReducedRows));
  ASSERT_TRUE(ComputeInline(direct, *GetBlock(direct, "turned", "main")).ok());
  const std::vector<Schedule> chains = ChainTiles(direct, Avx512());
  ASSERT_EQ(chains.size(), 2u);
  EXPECT_THAT(Print(chains[0].func()), HasSubstr("K_global = T.alloc_buffer((2, 2, 16, 16)"));
  ExpectSameBits(Parse(kProductsOfReducedRows), chains[0].func());

  std::string scaled = OfLength(kProductsOfReducedRows, "K[vb, vj, vk]", "K[vb, vk, vj] * T.float32(2)");
  scaled = OfLength(scaled, "K: T.Buffer((2, 32, 16)", "K: T.Buffer((2, 16, 32)");
  ASSERT_EQ(ChainsOf(scaled).size(), 2u);
  ExpectSameBits(Parse(scaled.c_str()), ChainsOf(scaled)[1].func());
}

// Rows that no vector fills; a last product that takes rows from before the reductions; none that follows.
TEST(ChainTiles, AreOfRowsByWholeVectorsThatTheLastProductTakes) {
  const std::string text = kProductsOfReducedRows;
  EXPECT_TRUE(ChainsOf(OfLength(text, ", 32", ", 39")).empty());
  EXPECT_TRUE(ChainsOf(OfLength(text, "R[vb, vi, vk] * V", "S[vb, vi, vk] * V")).empty());
  EXPECT_TRUE(ChainsOf(kNormalizedRows).empty());
}

TEST(ReductionTiles, WalkThroughTheInputAsItLies) {
  const TuneTask task = TaskOf(kColumnSums);
  ASSERT_EQ(task.sketches.size(), 1u);
  for (const MeasureCandidate& candidate : MakeRandomSearch(task, /*seed=*/5)->Propose(PropertyRuns(8, 2))) {
    ExpectSameBits(task.func, candidate.func);
    EXPECT_THAT(Print(candidate.func), HasSubstr("for k_0, j_0_1 in T.grid("));
  }
}

// The border is guarded where it is read, and no copy of the image is made.
TEST(WindowTiles, ReadTheImageWithoutACopy) {
  const TuneTask task = TaskOf(kMaxPoolInBlocks);
  ASSERT_EQ(task.sketches.size(), 1u);
  for (const MeasureCandidate& candidate : MakeRandomSearch(task, /*seed=*/5)->Propose(PropertyRuns(16, 15))) {
    ExpectSameBits(task.func, candidate.func);
    const std::string text = Print(candidate.func);
    EXPECT_EQ(text.find("\"pad_temp\""), std::string::npos) << text;
    EXPECT_THAT(text, HasSubstr("T.vectorized(16)"));
  }
}

TEST(WindowTiles, LeaveAloneWhatPadsNothing) {
  EXPECT_TRUE(WindowTiles(*Schedule::Create(Parse(kMaxPool)), Avx512()).empty());
  EXPECT_TRUE(WindowTiles(*Schedule::Create(Parse(kColumnSums)), Avx512()).empty());
}

// Squares of 16 of the 32 rows and 48 columns, each made of rows: no lane is loaded by itself.
TEST(TransposedTiles, AreSquaresThatRegistersTurn) {
  const TuneTask task = TaskOf(kTransposedPlusBias);
  ASSERT_EQ(task.sketches.size(), 1u);
  for (const MeasureCandidate& candidate : MakeRandomSearch(task, /*seed=*/5)->Propose(PropertyRuns(8, 2))) {
    ExpectSameBits(task.func, candidate.func);
    const std::string lowered = Print(*Lower(candidate.func));
    EXPECT_THAT(lowered, HasSubstr("T.Shuffle(["));
    EXPECT_EQ(lowered.find(", 32, 16)"), std::string::npos) << "lanes 32 apart\n" << lowered;
  }
}

// 64 bytes in a vector are more rows than there are registers.
TEST(TransposedTiles, AreOfSixteenRowsAtMost) {
  std::string text = kTransposedPlusBias;
  for (const auto& [from, to] : {std::pair("float32", "int8"), std::pair("48", "64"), std::pair("32", "64")})
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += 2)
      text.replace(at, std::string_view(from).size(), to);
  const TuneTask task = TaskOf(text.c_str());
  ASSERT_EQ(task.sketches.size(), 1u);
  const std::vector<MeasureCandidate> candidates = MakeRandomSearch(task, /*seed=*/5)->Propose(1);
  ASSERT_EQ(candidates.size(), 1u);
  ExpectSameBits(task.func, candidates[0].func);
  EXPECT_THAT(Print(*Lower(candidates[0].func)), HasSubstr("T.int8x16 = T.Shuffle(["));
}

TEST(TransposedTiles, AreLeftAloneWhereNoSquareDividesBothSides) {
  std::string text = kTransposedPlusBias;
  for (size_t at = 0; (at = text.find("48", at)) != std::string::npos;) text.replace(at, 2, "49");
  EXPECT_TRUE(TransposedTiles(*Schedule::Create(Parse(text.c_str())), Avx512()).empty());
}

TEST(RandomSearch, ProposesNothingTwice) {
  const TuneTask task = TaskOf(kElementwise);
  const auto search = MakeRandomSearch(task, 1);
  std::vector<MeasureCandidate> all = search->Propose(PropertyRuns(50, 6));
  const size_t first = all.size();
  EXPECT_GE(first, 1u);
  for (const MeasureCandidate& more : search->Propose(PropertyRuns(50, 6))) {
    for (size_t i = 0; i < first; ++i) EXPECT_NE(more.trace_digest, all[i].trace_digest);
  }
}

struct LanesCase {
  int64_t extent;
  Vectors vectors;
  int64_t expected;
};
class ChooseLanesTest : public testing::TestWithParam<LanesCase> {};
TEST_P(ChooseLanesTest, PrefersWholeVectorsOrOne) {
  EXPECT_EQ(ChooseLanes(GetParam().extent, GetParam().vectors), GetParam().expected);
}
constexpr Vectors kAvx512{16, 16}, kAvx2{8, 16}, kNeon{4, 16};
INSTANTIATE_TEST_SUITE_P(Extents, ChooseLanesTest,
                         testing::Values(LanesCase{64, kAvx512, 16}, LanesCase{56, kAvx512, 8},
                                         LanesCase{28, kAvx512, 4}, LanesCase{17, kAvx512, 16},
                                         LanesCase{14, kAvx512, 16},  // One vector.
                                         LanesCase{12, kAvx512, 16}, LanesCase{7, kAvx512, 8}, LanesCase{8, kAvx512, 8},
                                         LanesCase{4, kAvx512, 4}, LanesCase{2, kAvx512, 1}, LanesCase{56, kAvx2, 8},
                                         LanesCase{16, kAvx2, 8}, LanesCase{14, kAvx2, 16}, LanesCase{12, kAvx2, 16},
                                         LanesCase{7, kAvx2, 8}, LanesCase{17, kAvx2, 8}, LanesCase{14, kNeon, 16},
                                         LanesCase{12, kNeon, 4}, LanesCase{7, kNeon, 8}, LanesCase{17, kNeon, 4}));

TEST(CheckConstraints, CountsWhatUnrollingWritesOutBelowConditions) {
  const StatusOr<Schedule> candidate = Schedule::Create(Parse(R"(
@T.prim_func
def main(A: T.Buffer((701,), "float32"), B: T.Buffer((701,), "float32"), n: T.int32):
    for i in T.unroll(701):
        if i < n:
            with T.block("copy"):
                vi = T.axis.spatial(701, i)
                B[vi] = A[vi]
)"));
  ASSERT_TRUE(candidate.ok()) << candidate.status().ToString();
  EXPECT_THAT(CheckConstraints(*candidate, Avx512()).message(),
              HasSubstr("unrolling writes out 701 stores, at most 600 are allowed"));
}

}  // namespace
}  // namespace lathe
