// Concatenations and splits that copy nothing give what copies would: random networks against the reference evaluator.
#include <gmock/gmock.h>

#include "compiler/relax/visitor.h"
#include "tests/compiler/import/onnx/run_network.h"
#include "tests/compiler/import/onnx/slice_network.h"
#include "tests/property_runs.h"
#include "tests/reference/compare.h"
#include "tests/reference/evaluate.h"

namespace lathe {
namespace {

struct Copies {
  size_t in_main = 0, in_plan = 0;
};

Copies CountCopies(const relax::IRModule& module) {
  const auto is_copy = [](const std::string& kernel) {
    return kernel.starts_with("concatenate") || kernel.starts_with("strided_slice");
  };
  Copies copies;
  relax::VisitBindings(*module.FindFunction("main"), [&](const relax::Binding& binding) {
    const relax::Call* call = binding.value.As<relax::Call>();
    const relax::GlobalVar* kernel = call == nullptr ? nullptr : call->args[0].As<relax::GlobalVar>();
    copies.in_main += kernel != nullptr && is_copy(kernel->name) ? 1 : 0;
  });
  const StatusOr<relax::ExecutorPlan> plan = relax::MakeExecutorPlan(module);
  for (const relax::PlanCall& call : plan->calls) copies.in_plan += is_copy(call.kernel) ? 1 : 0;
  return copies;
}

TEST(Slices, KeepRandomNetworksRight) {
  constexpr uint64_t kSeed = 36;
  Copies total;
  for (uint64_t round = 0; round < static_cast<uint64_t>(PropertyRuns(300)); ++round) {
    Random random(Random::Mix(kSeed * 1'000'003 + round));
    const onnx::ModelProto model = RandomSliceNetwork(random);
    SCOPED_TRACE("seed " + std::to_string(kSeed) + " round " + std::to_string(round));
    reference::Dims dims;
    for (const auto& dim : model.graph().input(0).type().tensor_type().shape().dim()) dims.push_back(dim.dim_value());
    std::vector<double> values(static_cast<size_t>(reference::Product(dims)));
    for (double& value : values) value = static_cast<float>(random.Unit() - 0.5);
    const std::vector<reference::Tensor> inputs = {reference::Tensor::Floats(dims, values)};
    const auto expected = reference::Evaluate(model, inputs);
    ASSERT_TRUE(expected.ok()) << expected.status().ToString();
    const auto module = ImportAndOptimize(model, {.opt_level = random.Below(4) == 0 ? 0 : 3});
    ASSERT_TRUE(module.ok()) << module.status().ToString();
    const auto actual = RunPlan(*module, inputs);
    ASSERT_TRUE(actual.ok()) << actual.status().ToString();
    ASSERT_EQ(reference::CompareAll(*actual, *expected, {1e-4, 1e-5}).message(), "")
        << model.ShortDebugString().substr(0, 2000);
    const Copies copies = CountCopies(*module);
    total.in_main += copies.in_main;
    total.in_plan += copies.in_plan;
  }
  std::printf("%zu concatenations and slices, %zu of them copied\n", total.in_main, total.in_plan);
  if (!AllRuns(300)) return;
  EXPECT_LT(total.in_plan, total.in_main * 3 / 4);
  EXPECT_GT(total.in_plan, total.in_main / 10);
}

}  // namespace
}  // namespace lathe
