// What a C header says of kernels, and which it refuses. That C compilers take it and the kernels run:
// tests/e2e/kernel_library_test.cc.
#include "tuner/build/kernel_header.h"

#include <gmock/gmock.h>

#include "compiler/script/parser.h"

namespace lathe {
namespace {

using testing::HasSubstr;

StatusOr<std::string> HeaderOf(const std::string& script) {
  const StatusOr<IRModule> module = ParseModule(script, "test.py");
  EXPECT_TRUE(module.ok()) << module.status().ToString();
  return KernelHeader(module->prim_funcs, "llvm -mcpu=cortex-a72", "my-kernels");
}

constexpr const char* kScale = R"(
@T.prim_func
def scale(double: T.Buffer((4, 8), "float32"), alpha: T.float32, n: T.int32, out: T.Buffer((4, 8), "float16")):
    for i, j in T.grid(4, 8):
        with T.block("out"):
            vi, vj = T.axis.remap("SS", [i, j])
            out[vi, vj] = T.Cast("float16", double[vi, vj] * alpha * T.Cast("float32", n))
)";

TEST(KernelHeader, GivesEachParameterItsTypeInC) {
  const StatusOr<std::string> header = HeaderOf(kScale);
  ASSERT_TRUE(header.ok()) << header.status().ToString();
  EXPECT_THAT(*header, HasSubstr("kernels for \"llvm -mcpu=cortex-a72\""));
  EXPECT_THAT(*header, HasSubstr("#ifndef LATHE_KERNELS_my_kernels_H_"));
  EXPECT_THAT(*header, HasSubstr("static inline int32_t scale(const LatheContext* context, const float* double_, float "
                                 "alpha, int32_t n, uint16_t* out) {"));
  EXPECT_THAT(*header,
              HasSubstr("/* double_: float32 [4, 8]; alpha: float32; n: int32; out: float16 [4, 8], written */"));
  EXPECT_THAT(*header, HasSubstr("  memcpy(&scalars[0], &alpha, sizeof(alpha));\n  scalars[1] = (int64_t)n;\n"));
  EXPECT_THAT(*header, HasSubstr("return lathe_kernel_0_scale(context, buffers, scalars);"));
}

TEST(KernelHeader, RefusesWhatCHasNoPlainTypeFor) {
  const auto message = [](const std::string& script) { return HeaderOf(script).status().message(); };
  EXPECT_THAT(message(R"(
@T.prim_func
def copy(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi]
)"),
              HasSubstr("header of @copy: \"n\" is an extent that is no number; give it one"));
  EXPECT_THAT(message(R"(
@T.prim_func
def copy(a: T.handle, B: T.Buffer((8,), "float32")):
    A = T.match_buffer(a, (8, 8), "float32", strides=(16, 1))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi, 0]
)"),
              HasSubstr("header of @copy: parameter \"A\" has strides or an offset; a compact one is required"));
}

}  // namespace
}  // namespace lathe
