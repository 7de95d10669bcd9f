#include "tuner/search/workload_shape.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "compiler/script/parser.h"

namespace lathe {
namespace {

using testing::ElementsAre;

TEST(WorkloadShape, LeavesOutIntegersAndNothingElse) {
  const WorkloadShape shape =
      ShapeOfText(R"((for 0:int32 64:int32 v12 serial {"step -7\" 9":-7} x3ff8:float32 b0[3]))");
  EXPECT_THAT(shape.integers, ElementsAre(0, 64, -7, 3));
  EXPECT_EQ(shape.structure, Sha256(R"((for #:int32 #:int32 v12 serial {"step -7\" 9":#} x3ff8:float32 b0[#]))"));
}

PrimFunc ProductOf(int m, int n, int k, std::string_view dtype = "float32", std::string_view name = "matmul") {
  const std::string text = fmt::format(R"(
@T.prim_func
def {4}(A: T.Buffer(({0}, {2}), "{3}"), B: T.Buffer(({2}, {1}), "{3}"), C: T.Buffer(({0}, {1}), "{3}")):
    for i, j, k in T.grid({0}, {1}, {2}):
        with T.block("{4}"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.{3}(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)",
                                       m, n, k, dtype, name);
  StatusOr<PrimFunc> func = ParsePrimFunc(text, "product.py");
  CHECK(func.ok()) << func.status().message();
  return *std::move(func);
}

TEST(WorkloadShape, IsThatOfAllExtents) {
  const WorkloadShape shape = ShapeOf(ProductOf(64, 64, 64));
  EXPECT_EQ(ShapeDistance(shape, ShapeOf(ProductOf(64, 64, 64, "float32", "other"))), 0) << "names do not count";
  const std::optional<double> near = ShapeDistance(shape, ShapeOf(ProductOf(64, 64, 128)));
  const std::optional<double> far = ShapeDistance(shape, ShapeOf(ProductOf(512, 64, 128)));
  ASSERT_TRUE(near && far);
  EXPECT_GT(*near, 0);
  EXPECT_GT(*far, *near);
  EXPECT_EQ(ShapeDistance(shape, ShapeOf(ProductOf(64, 64, 64, "float64"))), std::nullopt) << "types do";
}

TEST(WorkloadShape, HasADistanceThatIsTheSameBothWays) {
  const WorkloadShape a = ShapeOfText("1 2 -4 0"), b = ShapeOfText("1 5 4 3");
  EXPECT_EQ(ShapeDistance(a, b), ShapeDistance(b, a));
  EXPECT_DOUBLE_EQ(*ShapeDistance(a, b), 1 + 1 + 2) << "3 to 6, another sign, 1 to 4";
  EXPECT_EQ(ShapeDistance(a, ShapeOfText("1 2 -4")), std::nullopt);
}

}  // namespace
}  // namespace lathe
