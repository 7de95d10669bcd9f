#include "compiler/te/compute_builder.h"

#include <gmock/gmock.h>

#include "compiler/interpreter/interpreter.h"
#include "compiler/ir/structural.h"
#include "compiler/script/parser.h"
#include "compiler/script/printer.h"

namespace lathe::te {
namespace {

PrimFunc RowSums() {
  ComputeBuilder builder;
  const Buffer a = builder.Input("A", {4, 3}, DataType::Float(32));
  const Buffer doubled = builder.Compute("T_double", {4, 3}, [&](const Axes& at) { return Load(a, at) + Load(a, at); });
  const Buffer sum = builder.Reduce("T_sum", {4}, {3}, Combiner::kSum,
                                    [&](const Axes& at, const Axes& k) { return Load(doubled, {at[0], k[0]}); });
  return builder.Build("row_sums", sum);
}

TEST(ComputeBuilder, MakesOneBlockPerBufferAndAllocatesWhatLiesBetween) {
  const StatusOr<PrimFunc> expected = ParsePrimFunc(R"(@T.prim_func
def row_sums(A: T.Buffer((4, 3), "float32"), T_sum: T.Buffer((4,), "float32")):
    T_double = T.alloc_buffer((4, 3))
    for ax0, ax1 in T.grid(4, 3):
        with T.block("T_double"):
            v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
            T_double[v_ax0, v_ax1] = A[v_ax0, v_ax1] + A[v_ax0, v_ax1]
    for ax0, k0 in T.grid(4, 3):
        with T.block("T_sum"):
            v_ax0, v_k0 = T.axis.remap("SR", [ax0, k0])
            with T.init():
                T_sum[v_ax0] = T.float32(0)
            T_sum[v_ax0] = T_sum[v_ax0] + T_double[v_ax0, v_k0]
)",
                                                    "expected.py");
  ASSERT_TRUE(expected.ok()) << expected.status().ToString();
  EXPECT_TRUE(StructuralEqual(RowSums(), *expected)) << Print(RowSums());
}

TEST(ComputeBuilder, MakesFunctionsThatRun) {
  std::vector<lathe::Tensor> args = {
      lathe::Tensor::FromDoubles(DataType::Float(32), {4, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
      lathe::Tensor::Uninitialized(DataType::Float(32), {4})};
  const Status status = Interpret(RowSums(), args);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_THAT(args[1].ToDoubles(), testing::ElementsAre(12, 30, 48, 66));
}

TEST(ComputeBuilder, TakesTensorsWithoutDimensions) {
  ComputeBuilder builder;
  const Buffer a = builder.Input("A", {}, DataType::Float(32));
  const PrimFunc func = builder.Build(
      "square", builder.Compute("T_square", {}, [&](const Axes& at) { return Load(a, at) * Load(a, at); }));
  std::vector<lathe::Tensor> args = {lathe::Tensor::FromDoubles(DataType::Float(32), {}, {3}),
                                     lathe::Tensor::Uninitialized(DataType::Float(32), {})};
  const Status status = Interpret(func, args);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_THAT(args[1].ToDoubles(), testing::ElementsAre(9));
}

TEST(ComputeBuilder, TakesReductionsOverNothing) {
  ComputeBuilder builder;
  const Buffer a = builder.Input("A", {2}, DataType::Float(32));
  const PrimFunc func = builder.Build("same", builder.Reduce("T_sum", {2}, {}, Combiner::kSum,
                                                             [&](const Axes& at, const Axes&) { return Load(a, at); }));
  std::vector<lathe::Tensor> args = {lathe::Tensor::FromDoubles(DataType::Float(32), {2}, {3, 4}),
                                     lathe::Tensor::Uninitialized(DataType::Float(32), {2})};
  const Status status = Interpret(func, args);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_THAT(args[1].ToDoubles(), testing::ElementsAre(3, 4));
}

}  // namespace
}  // namespace lathe::te
