#include "tuner/feature/feature_extractor.h"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

#include "compiler/script/parser.h"
#include "tuner/feature/draft_estimate.h"

namespace lathe {
namespace {

// A 64 x 64 x 64 product in tiles of 4 x 32 with the sums in registers; 8 x 2 tiles in parallel.
constexpr char kTiledMatmul[] = R"(
@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32"), C: T.Buffer((64, 64), "float32")):
    acc = T.alloc_buffer((64, 64), scope="register")
    for fused in T.parallel(32):
        for i_i in T.unroll(4):
            for j_i in T.unroll(2):
                for j_v in T.vectorized(16):
                    with T.block("init"):
                        vi = T.axis.spatial(64, fused // 2 * 4 + i_i)
                        vj = T.axis.spatial(64, fused % 2 * 32 + j_i * 16 + j_v)
                        acc[vi, vj] = T.float32(0)
        for k in range(64):
            for i_i in T.unroll(4):
                for j_i in T.unroll(2):
                    for j_v in T.vectorized(16):
                        with T.block("update"):
                            vi = T.axis.spatial(64, fused // 2 * 4 + i_i)
                            vj = T.axis.spatial(64, fused % 2 * 32 + j_i * 16 + j_v)
                            vk = T.axis.reduce(64, k)
                            acc[vi, vj] = acc[vi, vj] + A[vi, vk] * B[vk, vj]
        for i_i in T.unroll(4):
            for j_i in T.unroll(2):
                for j_v in T.vectorized(16):
                    with T.block("write"):
                        vi = T.axis.spatial(64, fused // 2 * 4 + i_i)
                        vj = T.axis.spatial(64, fused % 2 * 32 + j_i * 16 + j_v)
                        C[vi, vj] = acc[vi, vj]
)";

constexpr char kNaiveMatmul[] = R"(
@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32"), C: T.Buffer((64, 64), "float32")):
    for i, j, k in T.grid(64, 64, 64):
        with T.block("update"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)";

// A third of the last tile of 48 lies outside of 128.
constexpr char kGuarded[] = R"(
@T.prim_func
def main(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
    for i_0 in range(3):
        for i_1 in range(48):
            with T.block("copy"):
                vi = T.axis.spatial(128, i_0 * 48 + i_1)
                T.where(i_0 * 48 + i_1 < 128)
                B[vi] = A[vi] * T.float32(2)
)";

PrimFunc Parse(const char* text) {
  StatusOr<PrimFunc> func = ParsePrimFunc(text, "scheduled.py");
  CHECK(func.ok()) << func.status().ToString();
  return *std::move(func);
}
Target TargetOf(const char* text) {
  StatusOr<Target> target = Target::Parse(text);
  CHECK(target.ok()) << target.status().message();
  return *std::move(target);
}
Target Avx512() { return TargetOf("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4 -num-cores=8"); }
double Column(const FeatureRow& row, std::string_view name) {
  const std::vector<std::string>& names = FeatureNames();
  const auto found = std::find(names.begin(), names.end(), name);
  CHECK(found != names.end()) << "no column " << name;
  return row[found - names.begin()];
}
double Unlog(double value) { return std::round(std::exp2(value) - 1); }

TEST(FeatureNames, OneEachForEveryColumn) {
  const std::vector<std::string>& names = FeatureNames();
  EXPECT_EQ(names.size(), static_cast<size_t>(kFeatureCount));
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  EXPECT_EQ(names[kDraftColumn], "draft.cycles");
}

TEST(FeatureNames, AreTheTableOfTheFormatPage) {
  std::ifstream file(LATHE_SOURCE_DIR "/docs/formats/features.md");
  std::vector<std::string> documented;
  std::string line;
  bool states_version = false;
  while (std::getline(file, line)) {
    states_version =
        states_version || line.find("(version " + std::to_string(kFeatureVersion) + ")") != std::string::npos;
    std::istringstream cells(line);
    std::string bar, number, bar2, name;
    if (cells >> bar >> number >> bar2 >> name && bar == "|" && !number.empty() && std::isdigit(number[0]) &&
        name.front() == '`') {
      documented.push_back(name.substr(1, name.size() - 2));
    }
  }
  EXPECT_TRUE(states_version);
  EXPECT_EQ(documented, FeatureNames());
}

TEST(ExtractFeatures, OfATiledMatmul) {
  const FeatureRow row = ExtractFeatures(Parse(kTiledMatmul), Avx512());
  ASSERT_EQ(row.size(), static_cast<size_t>(kFeatureCount));
  EXPECT_EQ(Unlog(Column(row, "anchor.arithmetic.mul_add")), 64 * 64 * 64);
  EXPECT_EQ(Unlog(Column(row, "anchor.arithmetic.mul")), 0);
  EXPECT_EQ(Unlog(Column(row, "anchor.loops.parallel.product")), 32);
  EXPECT_EQ(Unlog(Column(row, "anchor.loops.unrolled.product")), 8);
  EXPECT_EQ(Unlog(Column(row, "anchor.loops.reduce.serial_product")), 64);
  EXPECT_EQ(Unlog(Column(row, "anchor.tile.accumulators")), 8);
  EXPECT_EQ(Unlog(Column(row, "anchor.tile.registers_needed")), 11);  // 8 sums, 2 vectors of B, one broadcast of A.
  EXPECT_EQ(Unlog(Column(row, "anchor.tile.loads")), 6);              // 4 broadcasts, 2 vectors.
  EXPECT_EQ(Unlog(Column(row, "anchor.tile.stores")), 0);
  EXPECT_FLOAT_EQ(Column(row, "anchor.tile.lanes_used"), 1);
  EXPECT_FLOAT_EQ(Column(row, "anchor.tile.useful"), 1);
  EXPECT_FLOAT_EQ(Column(row, "anchor.parallel.speedup_share"), 1);
  EXPECT_EQ(Column(row, "others.count"), 2);
  EXPECT_EQ(Unlog(Column(row, "function.allocated_bytes")), 0);  // Registers are no memory.
}

TEST(ExtractFeatures, IsTheSameEachTime) {
  const PrimFunc func = Parse(kTiledMatmul);
  EXPECT_EQ(ExtractFeatures(func, Avx512()), ExtractFeatures(Parse(kTiledMatmul), Avx512()));
}

TEST(ExtractFeatures, SeesTheTarget) {
  const PrimFunc func = Parse(kTiledMatmul);
  const FeatureRow small =
      ExtractFeatures(func, TargetOf("llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72 -num-cores=4"));
  EXPECT_EQ(Unlog(Column(small, "anchor.tile.accumulators")), 32);  // 16 lanes are four registers of 128 bits.
  EXPECT_GT(Column(small, "draft.cycles"), Column(ExtractFeatures(func, Avx512()), "draft.cycles"));
}

TEST(ExtractFeatures, AGuardedTailIsWaste) {
  EXPECT_NEAR(Column(ExtractFeatures(Parse(kGuarded), Avx512()), "anchor.tile.useful"), 128.0 / 144, 1e-6);
}

TEST(ExtractFeatures, TheDraftPrefersTilesToNaiveLoops) {
  const FeatureRow tiled = ExtractFeatures(Parse(kTiledMatmul), Avx512()),
                   naive = ExtractFeatures(Parse(kNaiveMatmul), Avx512());
  EXPECT_GT(Column(naive, "draft.cycles"), Column(tiled, "draft.cycles") + 5);
}

TEST(ExtractFeatures, OfAFunctionThatStoresNothing) {
  const PrimFunc nothing = MakePrimFunc("nothing", {}, Evaluate{Expr(0)});
  const FeatureRow row = ExtractFeatures(nothing, Avx512());
  ASSERT_EQ(row.size(), static_cast<size_t>(kFeatureCount));
  for (float value : row) EXPECT_TRUE(std::isfinite(value));
}

TEST(NestFootprints, CountLinesPerLevelAndCache) {
  LoopNests nests = CollectLoopNests(Parse(kNaiveMatmul));
  ASSERT_EQ(nests.stores.size(), 1u);
  const StoreNest& nest = nests.stores[0];
  ASSERT_EQ(nest.accesses.size(), 3u);  // C, A, B.
  const NestFootprints footprints(nests.space, nest);
  EXPECT_EQ(footprints.At(1, 3).elements, 1);
  EXPECT_EQ(footprints.At(1, 2).lines, 4);               // A row of A: 256 bytes.
  EXPECT_EQ(footprints.At(2, 2).lines, 64);              // A column of B.
  EXPECT_EQ(footprints.At(2, 1).lines, 256);             // All of B.
  EXPECT_EQ(footprints.LinesThrough(1 << 20), 3 * 256);  // Everything fits: each line once.
  // What fits 8 KiB is one dot product: B comes again for each (i, j), a row of A once for each i.
  EXPECT_EQ(footprints.LinesThrough(2, 8192), 64 * 64 * 64);
  EXPECT_EQ(footprints.LinesThrough(1, 8192), 4 * 64);
}

}  // namespace
}  // namespace lathe
