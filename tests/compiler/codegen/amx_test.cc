// Products in the tile registers of AMX: the code has its instructions, and computes what the interpreter does. Where
// the processor has no AMX its instructions are emulated one by one.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstdlib>

#include "compiler/interpreter/interpreter.h"
#include "compiler/lower.h"
#include "compiler/schedule/amx_intrin.h"
#include "compiler/script/parser.h"
#include "runtime/artifact.h"
#include "runtime/cpu_features.h"
#include "tests/compiler/codegen/amx_kernels.h"

namespace lathe {
namespace {

using testing::HasSubstr;
using testing::Not;

// Two by two tiles of sums over three steps, whose rows and columns are not next to each other in memory; the factor's
// columns are in panels.
PrimFunc TiledProduct(const AmxProduct& product, int rows, int depth) {
  const AmxIntrins intrins = AmxIntrinsFor(product, rows, depth);
  return *ParsePrimFunc(fmt::format(R"(
@T.prim_func
def main(A: T.Buffer(({m}, {k}), "{a}"), B: T.Buffer((2, {groups}, 16, {parts}), "{b}"), C: T.Buffer(({m}, 40), "{c}")):
    S = T.alloc_buffer(({m}, 32), "{c}", scope="amx.tmm")
    for i_0 in T.unroll(2):
        for j_0 in T.unroll(2):
            with T.block("zero_o"):
                vi_o, vj_o = T.axis.remap("SS", [i_0, j_0])
                T.block_attr({{"meta_schedule.auto_tensorize": "{zero}"}})
                for i_1, j_1 in T.grid({rows}, 16):
                    with T.block("zero"):
                        vi, vj = T.axis.remap("SS", [i_1, j_1])
                        S[vi_o * {rows} + vi, vj_o * 16 + vj] = T.{c}(0)
    for k_0 in range(3):
        for i_0 in T.unroll(2):
            for j_0 in T.unroll(2):
                with T.block("multiply_o"):
                    vi_o, vj_o, vk_o = T.axis.remap("SSR", [i_0, j_0, k_0])
                    T.block_attr({{"meta_schedule.auto_tensorize": "{multiply}"}})
                    for i_1, j_1, k_1 in T.grid({rows}, 16, {depth}):
                        with T.block("multiply"):
                            vi, vj, vk = T.axis.remap("SSR", [i_1, j_1, k_1])
                            S[vi_o * {rows} + vi, vj_o * 16 + vj] = S[vi_o * {rows} + vi, vj_o * 16 + vj] + T.Cast("{c}", A[vi_o * {rows} + vi, vk_o * {depth} + vk]) * T.Cast("{c}", B[vj_o, vk_o * {steps} + vk // {parts}, vj, vk % {parts}])
    for i_0 in T.unroll(2):
        for j_0 in T.unroll(2):
            with T.block("store_o"):
                vi_o, vj_o = T.axis.remap("SS", [i_0, j_0])
                T.block_attr({{"meta_schedule.auto_tensorize": "{store}"}})
                for i_1, j_1 in T.grid({rows}, 16):
                    with T.block("store"):
                        vi, vj = T.axis.remap("SS", [i_1, j_1])
                        C[vi_o * {rows} + vi, vj_o * 16 + vj] = S[vi_o * {rows} + vi, vj_o * 16 + vj]
)",
                                    fmt::arg("m", 2 * rows), fmt::arg("k", 3 * depth),
                                    fmt::arg("a", product.a.ToString()), fmt::arg("b", product.b.ToString()),
                                    fmt::arg("c", product.c.ToString()), fmt::arg("groups", 3 * depth / product.parts),
                                    fmt::arg("parts", product.parts), fmt::arg("rows", rows), fmt::arg("depth", depth),
                                    fmt::arg("steps", depth / product.parts), fmt::arg("zero", intrins.zero),
                                    fmt::arg("multiply", intrins.multiply), fmt::arg("store", intrins.store)),
                        "product.py");
}

class AmxTest : public testing::TestWithParam<const AmxProduct*> {};
TEST_P(AmxTest, ComputesWhatTheLoopsDo) {
  if (DetectHost().triple != "x86_64-linux-gnu" || !HostHasCpuFeature("avx2")) GTEST_SKIP() << "needs AVX2";
  Random random(11);
  for (const auto& [rows, depth] : {std::pair(16, 16 * GetParam()->parts), {7, 5 * GetParam()->parts}}) {
    const PrimFunc func = TiledProduct(*GetParam(), rows, depth);
    const StatusOr<PrimFunc> lowered = Lower(func);
    ASSERT_TRUE(lowered.ok()) << lowered.status().ToString();
    const std::vector<Tensor> before = RandomFactors(func, random);
    std::vector<Tensor> expected = before, by_lowered = before;
    ASSERT_EQ(Interpret(func, expected), OkStatus());
    ASSERT_EQ(Interpret(*lowered, by_lowered), OkStatus());
    EXPECT_EQ(BytesOf(by_lowered[2]), BytesOf(expected[2]));
    for (const char* target : {kWithTiles, "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3 -num-cores=1"}) {
      const StatusOr<LoadedKernels> kernels = LoadedKernels::Make({&*lowered, 1}, *Target::Parse(target));
      ASSERT_TRUE(kernels.ok()) << kernels.status().ToString();
      const AmxEmulator emulator;
      EXPECT_EQ(RunProduct(*kernels, before), BytesOf(expected[2])) << target << ", rows " << rows;
      if (HostHasCpuFeature("amx-tile")) continue;  // Nothing to emulate.
      EXPECT_EQ(AmxEmulator::num_products(), target == kWithTiles ? 2 * 2 * 3 : 0);
      EXPECT_FALSE(AmxEmulator::is_configured());
    }
  }
}

TEST_P(AmxTest, IsInTheCode) {
  const PrimFunc lowered = *Lower(TiledProduct(*GetParam(), 16, 16 * GetParam()->parts));
  const StatusOr<std::string> code = PrintCode({&lowered, 1}, *Target::Parse(kWithTiles), CodeText::kAssembly);
  ASSERT_TRUE(code.ok()) << code.status().ToString();
  const std::string mnemonic(GetParam()->instruction);
  const auto count = [&](const std::string& what) {
    int found = 0;
    for (size_t at = code->find(what); at != std::string::npos; at = code->find(what, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count(mnemonic), 4);
  EXPECT_EQ(count("tileloadd"), 4);  // Each factor's two, once.
  EXPECT_EQ(count("tilezero"), 4);
  EXPECT_EQ(count("tilestored"), 4);
  EXPECT_EQ(count("ldtilecfg"), 1);
  EXPECT_EQ(count("tilerelease"), 1);
  EXPECT_LT(code->find("ldtilecfg"), code->find("tilezero"));
  EXPECT_GT(code->find("tilerelease"), code->rfind("tilestored"));
}
std::vector<const AmxProduct*> Products() {
  std::vector<const AmxProduct*> products;
  for (const AmxProduct& product : AmxProducts()) products.push_back(&product);
  return products;
}
INSTANTIATE_TEST_SUITE_P(All, AmxTest, testing::ValuesIn(Products()),
                         [](const auto& info) { return std::string(info.param->instruction); });

// A product in a loop of its own, of which a tile is made in each iteration; rows of the result from `first` on.
std::string Nest(const char* loop, int first) {
  return fmt::format(R"(
    for o in {loop}(2):
        with T.block("zero{n}_o"):
            T.block_attr({{"meta_schedule.auto_tensorize": "amx_tilezero_16x16_int32"}})
            for i, j in T.grid(16, 16):
                with T.block("zero{n}"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    S{n}[vi, vj] = 0
        for k_0 in range(2):
            with T.block("multiply{n}_o"):
                vo, vk_o = T.axis.remap("SR", [o, k_0])
                T.block_attr({{"meta_schedule.auto_tensorize": "amx_tdpbusd_16x16x64"}})
                for i, j, k in T.grid(16, 16, 64):
                    with T.block("multiply{n}"):
                        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                        S{n}[vi, vj] = S{n}[vi, vj] + T.Cast("int32", A[vo * 16 + vi, vk_o * 64 + vk]) * T.Cast("int32", B[vk_o * 16 + vk // 4, vj, vk % 4])
        with T.block("store{n}_o"):
            vo = T.axis.spatial(2, o)
            T.block_attr({{"meta_schedule.auto_tensorize": "amx_tilestored_16x16_int32"}})
            for i, j in T.grid(16, 16):
                with T.block("store{n}"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vo * 16 + vi + {n}, vj] = S{n}[vi, vj])",
                     fmt::arg("loop", loop), fmt::arg("n", first));
}

StatusOr<PrimFunc> ThreeNests(const char* middle_loop) {
  const std::string text = R"(
@T.prim_func
def main(A: T.Buffer((32, 128), "uint8"), B: T.Buffer((32, 16, 4), "int8"), C: T.Buffer((96, 16), "int32")):
    S0 = T.alloc_buffer((16, 16), "int32", scope="amx.tmm")
    S32 = T.alloc_buffer((16, 16), "int32", scope="amx.tmm")
    S64 = T.alloc_buffer((16, 16), "int32", scope="amx.tmm"))" +
                           Nest("range", 0) + Nest(middle_loop, 32) + Nest("range", 64);
  return ParsePrimFunc(text, "nests.py");
}

// The body of the parallel loop in the middle configures and releases the tiles of the thread that calls it.
TEST(Amx, GoesOnBehindAParallelLoop) {
  if (DetectHost().triple != "x86_64-linux-gnu" || !HostHasCpuFeature("avx2")) GTEST_SKIP() << "needs AVX2";
  const PrimFunc serial = *ThreeNests("range"), lowered = *Lower(*ThreeNests("T.parallel"));
  Random random(3);
  std::vector<Tensor> expected = RandomFactors(serial, random);
  const std::vector<Tensor> before = expected;
  ASSERT_EQ(Interpret(serial, expected), OkStatus());
  const StatusOr<LoadedKernels> kernels = LoadedKernels::Make({&lowered, 1}, *Target::Parse(kWithTiles));
  ASSERT_TRUE(kernels.ok()) << kernels.status().ToString();
  const AmxEmulator emulator;
  EXPECT_EQ(RunProduct(*kernels, before), BytesOf(expected[2]));
  EXPECT_FALSE(AmxEmulator::is_configured());
  EXPECT_EQ(AmxEmulator::num_products(), HostHasCpuFeature("amx-tile") ? 0 : 3 * 2 * 2);
}

std::vector<std::string> FeaturesOf(const PrimFunc& lowered, const char* target) {
  const StatusOr<CompiledModule> module = CompileModule({&lowered, 1}, {}, *Target::Parse(target));
  EXPECT_TRUE(module.ok()) << module.status().ToString();
  char path[] = "/tmp/lathe-amx-XXXXXX";
  const int fd = mkstemp(path);
  EXPECT_EQ(write(fd, module->bytes.data(), module->bytes.size()), static_cast<ssize_t>(module->bytes.size()));
  close(fd);
  const auto meta = ReadArtifactMeta(path);
  unlink(path);
  EXPECT_TRUE(meta.ok()) << meta.error().message;
  return meta->features;
}

TEST(Amx, IsAskedForByCodeThatUsesIt) {
  const PrimFunc with_tiles = *Lower(TiledProduct(AmxProducts()[0], 16, 64));
  const PrimFunc without = *Lower(*ParsePrimFunc(R"(
@T.prim_func
def main(A: T.Buffer((4,), "float32")):
    for i in range(4):
        A[i] = T.float32(1)
)",
                                                 "case.py"));
  EXPECT_THAT(FeaturesOf(with_tiles, kWithTiles), testing::IsSupersetOf({"amx-int8", "amx-tile"}));
  EXPECT_THAT(FeaturesOf(without, kWithTiles), testing::Each(Not(HasSubstr("amx"))));
}

struct AmxErrorCase {
  const char *name, *body, *message;
};
class AmxErrorTest : public testing::TestWithParam<AmxErrorCase> {};
TEST_P(AmxErrorTest, SaysWhatCannotBeDone) {
  const PrimFunc func = *ParsePrimFunc(fmt::format(R"(
@T.prim_func
def main(A: T.Buffer((1024,), "uint8"), B: T.Buffer((1024,), "int8"), C: T.Buffer((256,), "int32")):
    S = T.alloc_buffer((2048,), "int32", scope="amx.tmm")
{})",
                                                   GetParam().body),
                                       "case.py");
  const PrimFunc lowered = *Lower(func);
  const StatusOr<std::string> code = PrintCode({&lowered, 1}, *Target::Parse(kWithTiles), CodeText::kAssembly);
  EXPECT_THAT(code.status().message(), HasSubstr(GetParam().message));
}
// Products as the tensor intrinsic leaves them.
const char kProductAndLoad[] = R"(
    with T.attr(0, "pragma_amx", "tdpbusd"):
        for i, j, k, part in T.grid(16, 16, 16, 4):
            S[i * 16 + j] = S[i * 16 + j] + T.Cast("int32", A[i * 64 + k * 4 + part]) * T.Cast("int32", B[k * 64 + j * 4 + part])
    C[0] = S[0]
)";
const char kTwoShapes[] = R"(
    with T.attr(0, "pragma_amx", "tdpbusd"):
        for i, j, k, part in T.grid(16, 16, 16, 4):
            S[i * 16 + j] = S[i * 16 + j] + T.Cast("int32", A[i * 64 + k * 4 + part]) * T.Cast("int32", B[k * 64 + j * 4 + part])
    with T.attr(0, "pragma_amx", "tdpbusd"):
        for i, j, k, part in T.grid(8, 16, 16, 4):
            S[i * 16 + j] = S[i * 16 + j] + T.Cast("int32", A[i * 64 + k * 4 + part]) * T.Cast("int32", B[k * 64 + j * 4 + part])
)";
const char kNotUnrolled[] = R"(
    for t in range(2):
        with T.attr(0, "pragma_amx", "tdpbusd"):
            for i, j, k, part in T.grid(16, 16, 16, 4):
                S[t * 256 + i * 16 + j] = S[t * 256 + i * 16 + j] + T.Cast("int32", A[i * 64 + k * 4 + part]) * T.Cast("int32", B[k * 64 + j * 4 + part])
)";
const char kTooMany[] = R"(
    for t in T.unroll(5):
        with T.attr(0, "pragma_amx", "tdpbusd"):
            for i, j, k, part in T.grid(16, 16, 16, 4):
                S[t * 256 + i * 16 + j] = S[t * 256 + i * 16 + j] + T.Cast("int32", A[i * 64 + k * 4 + part]) * T.Cast("int32", B[k * 64 + j * 4 + part])
)";
const char kColumnsApart[] = R"(
    with T.attr(0, "pragma_amx", "tdpbusd"):
        for i, j, k, part in T.grid(16, 16, 16, 4):
            S[i * 16 + j] = S[i * 16 + j] + T.Cast("int32", A[i * 64 + k * 4 + part]) * T.Cast("int32", B[k * 32 + j * 2 + part])
)";
const char kOnes[] = R"(
    with T.attr(0, "pragma_amx", "tilezero"):
        for i, j in T.grid(16, 16):
            S[i * 16 + j] = 1
    C[0] = S[0]
)";
const char kOtherSigns[] = R"(
    with T.attr(0, "pragma_amx", "tdpbssd"):
        for i, j, k, part in T.grid(16, 16, 16, 4):
            S[i * 16 + j] = S[i * 16 + j] + T.Cast("int32", A[i * 64 + k * 4 + part]) * T.Cast("int32", B[k * 64 + j * 4 + part])
)";
INSTANTIATE_TEST_SUITE_P(
    All, AmxErrorTest,
    testing::Values(AmxErrorCase{"SumsElsewhere", kProductAndLoad,
                                 "\"S\" is in tile registers, which only AMX's tensor intrinsics"},
                    AmxErrorCase{"TwoShapes", kTwoShapes, "tiles of two shapes in one function"},
                    AmxErrorCase{"NotUnrolled", kNotUnrolled, "\"S\" is indexed by a loop; unroll it"},
                    AmxErrorCase{"ZerosThatAreOnes", kOnes, "what stands for tilezero stores no zeros"},
                    AmxErrorCase{"OtherSigns", kOtherSigns, "\"tdpbssd\" is no instruction of AMX on these types"},
                    AmxErrorCase{"TooMany", kTooMany, "more than 4 tiles of sums at a time"},
                    AmxErrorCase{"ColumnsApart", kColumnsApart, "does not touch \"B\" by rows of neighbours"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lathe
