#include "tests/compiler/codegen/register_tile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/codegen/llvm/compile_module.h"
#include "compiler/lower.h"
#include "compiler/script/parser.h"

namespace lathe {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Target Avx512() { return *Target::Parse("llvm -mcpu=x86-64-v4 -mtriple=x86_64-linux-gnu -num-cores=1"); }
Target Avx2() { return *Target::Parse("llvm -mcpu=x86-64-v3 -mtriple=x86_64-linux-gnu -num-cores=1"); }
Target Neon() { return *Target::Parse("raspberry-pi/4b-aarch64"); }

std::string Compile(const PrimFunc& func, const Target& target) {
  const StatusOr<CompiledModule> module = CompileModule({&func, 1}, {}, target);
  return module.ok() ? "ok" : module.status().ToString();
}

struct TileCase {
  const char* name;
  Target (*target)();
  TileShape shape;
};
class GoodTileTest : public testing::TestWithParam<TileCase> {};
TEST_P(GoodTileTest, StaysInRegisters) {
  EXPECT_EQ(Compile(RegisterTileMatmul(GetParam().shape), GetParam().target()), "ok");
}
INSTANTIATE_TEST_SUITE_P(Shapes, GoodTileTest,
                         testing::Values(TileCase{"Avx512_14x32", Avx512, {14, 2, 16, 256}},
                                         TileCase{"Avx512_6x64", Avx512, {6, 4, 16, 256}},
                                         TileCase{"Avx512_12x32AsOneVector", Avx512, {12, 1, 32, 256}},
                                         TileCase{"Avx512_16x16", Avx512, {16, 1, 16, 64}},
                                         TileCase{"Avx2_6x16", Avx2, {6, 2, 8, 256}},
                                         TileCase{"Avx2_4x24", Avx2, {4, 3, 8, 256}},
                                         TileCase{"Neon_8x8", Neon, {8, 2, 4, 256}},
                                         TileCase{"Neon_8x12", Neon, {8, 3, 4, 256}}),
                         [](const auto& info) { return info.param.name; });

class LargeTileTest : public testing::TestWithParam<TileCase> {};
TEST_P(LargeTileTest, IsAnInvalidCandidate) {
  EXPECT_THAT(Compile(RegisterTileMatmul(GetParam().shape), GetParam().target()),
              testing::AllOf(HasSubstr("FAILED_PRECONDITION"), HasSubstr("register tile \"acc\" spills"),
                             HasSubstr("candidate is invalid")));
}
INSTANTIATE_TEST_SUITE_P(Shapes, LargeTileTest,
                         testing::Values(TileCase{"Avx512_20x32", Avx512, {20, 2, 16, 256}},
                                         TileCase{"Avx512_8x64", Avx512, {8, 4, 16, 256}},
                                         TileCase{"Avx2_8x16", Avx2, {8, 2, 8, 256}},
                                         TileCase{"Neon_12x12", Neon, {12, 3, 4, 256}}),
                         [](const auto& info) { return info.param.name; });

TEST(RegisterTileTest, IsTheCodeThatWasMeasuredWhateverItIsDeployedWith) {
  const PrimFunc measured = RegisterTileMatmul({14, 2, 16, 256});
  PrimFunc spills = RegisterTileMatmul({20, 2, 16, 256});  // Generated twice, the second time in another order.
  spills.name = "spills";
  const StatusOr<std::string> alone = PrintCode({&measured, 1}, Avx512(), CodeText::kAssembly);
  const StatusOr<std::string> both = PrintCode(std::vector{measured, spills}, Avx512(), CodeText::kAssembly);
  ASSERT_TRUE(alone.ok() && both.ok());
  EXPECT_THAT(*both, testing::StartsWith(*alone));
}

TEST(RegisterTileTest, IsRefusedWhenItsIndexIsALoopVariable) {
  EXPECT_THAT(Compile(RegisterTileMatmul({6, 4, 16, 256}, /*unrolls_rows=*/false), Avx512()),
              HasSubstr("register tile \"acc\" stays in memory"));
}

TEST(RegisterTileTest, ThatSpillsIsAWarningWhereThereIsNoOtherSchedule) {
  for (const PrimFunc& func :
       {RegisterTileMatmul({8, 2, 8, 256}), RegisterTileMatmul({6, 2, 8, 256}, /*unrolls_rows=*/false)}) {
    EXPECT_THAT(Compile(func, Avx2()), HasSubstr("candidate is invalid"));
    const StatusOr<CompiledModule> module = CompileModule({&func, 1}, {}, Avx2(), {.refuses_spills = false});
    ASSERT_TRUE(module.ok()) << module.status().ToString();
    EXPECT_THAT(module->warnings, testing::Contains(testing::AllOf(HasSubstr("register tile \"acc\""),
                                                                   Not(HasSubstr("candidate is invalid")))));
  }
}

TEST(RegisterTileTest, IsRefusedWithoutAConstantSize) {
  Var n("n");
  const Buffer tile = MakeBuffer("acc", {n}, DataType::Float(32), "register");
  const PrimFunc func = MakePrimFunc("main", {n}, AllocBuffer{tile, Evaluate{0}});
  EXPECT_THAT(Compile(func, Avx512()), HasSubstr("register tile \"acc\" has no constant size"));
}

TEST(RegisterTileTest, FoldsBroadcastsIntoTheMultiplication) {
  const PrimFunc func = RegisterTileMatmul({24, 1, 16, 64});
  const StatusOr<std::string> code = PrintCode({&func, 1}, Avx512(), CodeText::kAssembly);
  ASSERT_TRUE(code.ok()) << code.status().ToString();
  EXPECT_THAT(*code, HasSubstr("{1to16}"));
  EXPECT_THAT(*code, HasSubstr("vfmadd231ps"));
}

// Four rows of 14: the tile has whole vectors, so neither a blend keeps lanes of an accumulator nor does the tile, or a
// pointer of one of its constants, go through memory.
TEST(RegisterTileTest, FillsRowsThatNoVectorFills) {
  const PrimFunc scheduled = *ParsePrimFunc(R"(
@T.prim_func
def main(A: T.Buffer((16, 16), "float32"), W: T.Buffer((3, 3), "float32"), Y: T.Buffer((14, 14), "float32")):
    for y in range(7):
        with T.decl_buffer((2, 14), "float32", scope="register") as acc:
            for r in T.unroll(2):
                for x in T.vectorized(16):
                    if x < 14:
                        acc[r, x] = T.float32(0)
            for i in range(3):
                for j in T.unroll(3):
                    for r in T.unroll(2):
                        for x in T.vectorized(16):
                            if x < 14:
                                acc[r, x] = acc[r, x] + A[y * 2 + r + i, x + j] * W[i, j]
            for r in T.unroll(2):
                for x in T.vectorized(16):
                    if x < 14:
                        Y[y * 2 + r, x] = acc[r, x]
)",
                                            "workload.py");
  const PrimFunc func = *Lower(scheduled);
  for (const Target& target : {Avx512(), Avx2()}) {
    EXPECT_EQ(Compile(func, target), "ok");
    const std::string code = *PrintCode({&func, 1}, target, CodeText::kAssembly);
    for (const char* slow : {"blend", "expand", "(%rsp)"}) EXPECT_THAT(code, Not(HasSubstr(slow)));
  }
}

// Each row of the image may be outside of it, and nobody knows before the kernel runs: the load then reads a zero of
// the module, so that the tile has no branches, around which its accumulators would be spilled.
TEST(RegisterTileTest, GuardedLoadsNeedNoBranch) {
  const PrimFunc func = *Lower(*ParsePrimFunc(R"(
@T.prim_func
def main(X: T.Buffer((40, 64), "float32"), W: T.Buffer((64, 32), "float32"), Y: T.Buffer((40, 32), "float32")):
    for y in T.parallel(5):
        with T.decl_buffer((8, 32), "float32", scope="register") as acc:
            for r in T.unroll(8):
                for x in T.vectorized(32):
                    acc[r, x] = T.float32(0)
            for c in range(64):
                for r in T.unroll(8):
                    for x in T.vectorized(32):
                        acc[r, x] = acc[r, x] + T.if_then_else(y * 8 + r < 37 and 3 <= y * 8 + r, X[y * 8 + r - 3, c], T.float32(0)) * W[c, x]
            for r in T.unroll(8):
                for x in T.vectorized(32):
                    Y[y * 8 + r, x] = acc[r, x]
)",
                                              "workload.py"));
  EXPECT_EQ(Compile(func, Avx512()), "ok");
  EXPECT_THAT(*PrintCode({&func, 1}, Avx512(), CodeText::kAssembly), HasSubstr("cmov"));
}

// Each value at the border of the image is a branch of its own. LLVM sinks the products before a branch behind it, and
// then all of their factors live at once.
TEST(RegisterTileTest, StaysInRegistersBetweenBranches) {
  const PrimFunc scheduled = *ParsePrimFunc(R"(
@T.prim_func
def main(X: T.Buffer((16, 14, 14), "float32"), W: T.Buffer((16, 3, 3, 32), "float32"), Y: T.Buffer((32, 14, 14), "float32")):
    for p in T.parallel(98):
        with T.decl_buffer((2, 32), "float32", scope="register") as acc:
            for x in T.unroll(2):
              for o in T.unroll(2):
                for lane in T.vectorized(16):
                    acc[x, o * 16 + lane] = T.float32(0)
            for c, i, j in T.grid(8, 3, 3):
                for c_1 in T.unroll(2):
                    for x in T.unroll(2):
                        for o in T.unroll(2):
                            for lane in T.vectorized(16):
                                acc[x, o * 16 + lane] = acc[x, o * 16 + lane] + T.if_then_else(1 <= p // 7 + i and p // 7 + i < 15 and 1 <= p % 7 * 2 + x + j and p % 7 * 2 + x + j < 15, X[c * 2 + c_1, p // 7 + i - 1, p % 7 * 2 + x + j - 1], T.float32(0)) * W[c * 2 + c_1, i, j, o * 16 + lane]
            for x in T.unroll(2):
                for o in T.unroll(2):
                    for lane in T.vectorized(16):
                        Y[o * 16 + lane, p // 7, p % 7 * 2 + x] = acc[x, o * 16 + lane]
)",
                                            "workload.py");
  EXPECT_EQ(Compile(*Lower(scheduled), Avx512()), "ok");
}

}  // namespace
}  // namespace lathe
