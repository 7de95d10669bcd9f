// Kernels compiled for a Cortex-A72 compute what the interpreter computes: on qemu's emulation of one, with default and
// with random schedules.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <onnx/onnx_pb.h>

#include <cmath>

#include "compiler/codegen/llvm/compile_module.h"
#include "compiler/import/onnx/import_onnx.h"
#include "compiler/interpreter/interpreter.h"
#include "compiler/lower.h"
#include "compiler/relax/extract_tasks.h"
#include "compiler/relax/pipeline.h"
#include "compiler/script/parser.h"
#include "deploy/demo/resnet18.h"
#include "support/random.h"
#include "support/status_macros.h"
#include "tests/e2e/guest_kernel.h"
#include "tuner/search/search_strategy.h"
#include "tuner/search/untuned_schedule.h"
#include "tuner/space/default_schedule.h"

namespace lathe {
namespace {

constexpr int kCandidatesPerTask = 4;

Target CortexA72() { return *Target::Parse("llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72 -num-cores=4"); }

std::vector<Tensor> RandomArguments(const PrimFunc& func, Random random) {
  std::vector<Tensor> args;
  for (const Param& param : ParamsOf(func)) {
    const Buffer& buffer = std::get<Buffer>(param);
    Tensor tensor = Tensor::Zeros(buffer->dtype, *ConstantShape(buffer->shape));
    std::vector<double> values(static_cast<size_t>(tensor.NumElements()));
    for (double& value : values) value = 2 * random.Unit() - 1;
    args.push_back(Tensor::FromDoubles(tensor.dtype, tensor.shape, values));
  }
  return args;
}

StatusOr<std::vector<double>> RunOnGuest(const PrimFunc& scheduled, const Target& target, std::vector<Tensor> args) {
  ASSIGN_OR_RETURN(const PrimFunc lowered, Lower(scheduled));
  ASSIGN_OR_RETURN(const CompiledModule module, CompileModule({&lowered, 1}, {}, target));
  std::vector<std::vector<std::byte>> buffers;
  for (const Tensor& tensor : args) buffers.push_back(tensor.data);
  RETURN_IF_ERROR(RunGuestKernel(module.bytes, "lathe_kernel_0_" + lowered.name, buffers));
  args.back().data = buffers.back();
  return args.back().ToDoubles();
}

// The last parameter is the output. Counts what was run.
void ExpectSameOnGuest(const PrimFunc& func, uint64_t seed, int& num_run) {
  const Target target = CortexA72();
  const std::vector<Tensor> args = RandomArguments(func, Random(seed));
  std::vector<Tensor> reference = args;
  InterpreterOptions options;
  options.check_races = false;
  ASSERT_EQ(Interpret(func, reference, options), OkStatus());
  const std::vector<double> expected = reference.back().ToDoubles();
  double largest = 0;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  const auto expect_same = [&](const PrimFunc& scheduled, const std::string& what) {
    const StatusOr<std::vector<double>> actual = RunOnGuest(scheduled, target, args);
    if (actual.status().message().find("candidate is invalid") != std::string::npos)
      return;  // A tile that spills is no schedule.
    ++num_run;
    ASSERT_TRUE(actual.ok()) << func.name << ", " << what << ": " << actual.status().ToString();
    double worst = 0;
    for (size_t i = 0; i < expected.size(); ++i)
      worst = std::max(worst, std::isnan((*actual)[i]) ? INFINITY : std::abs((*actual)[i] - expected[i]));
    EXPECT_LE(worst, 1e-5 * largest) << func.name << ", " << what;
  };
  for (const auto make : {DefaultSchedule, UntunedSchedule}) {
    const StatusOr<Schedule> untuned = make(func, target);
    ASSERT_TRUE(untuned.ok()) << untuned.status().ToString();
    expect_same(untuned->func(), make == DefaultSchedule ? "default schedule" : "untuned schedule");
  }
  TuneTask task{{}, func, target, {}, 0};
  const auto sketches = MakePostOrderApply()->Generate(func, target);
  ASSERT_TRUE(sketches.ok()) << sketches.status().ToString();
  task.sketches = *sketches;
  for (const MeasureCandidate& candidate : MakeRandomSearch(task, seed)->Propose(kCandidatesPerTask)) {
    expect_same(candidate.func, fmt::format("seed {}, trace {}", candidate.seed, candidate.trace_json));
  }
}

TEST(AArch64, MatmulComputesWhatTheInterpreterComputes) {
  if (QemuAArch64().empty()) GTEST_SKIP() << "no qemu-aarch64-static; apt-get install qemu-user-static";
  const StatusOr<PrimFunc> func = ParsePrimFunc(R"(
@T.prim_func
def matmul(A: T.Buffer((24, 40), "float32"), B: T.Buffer((40, 36), "float32"), C: T.Buffer((24, 36), "float32")):
    for i, j, k in T.grid(24, 36, 40):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)",
                                                "matmul.py");
  ASSERT_TRUE(func.ok()) << func.status().ToString();
  int num_run = 0;
  ExpectSameOnGuest(*func, /*seed=*/1, num_run);
  EXPECT_GT(num_run, 1);
}

TEST(AArch64, SoftmaxComputesWhatTheInterpreterComputes) {
  if (QemuAArch64().empty()) GTEST_SKIP() << "no qemu-aarch64-static; apt-get install qemu-user-static";
  const StatusOr<PrimFunc> func = ParsePrimFunc(R"(
@T.prim_func
def softmax(A: T.Buffer((5, 37), "float32"), B: T.Buffer((5, 37), "float32")):
    with T.block("root"):
        e = T.alloc_buffer((5, 37), "float32")
        s = T.alloc_buffer((5,), "float32")
        for i, j in T.grid(5, 37):
            with T.block("e"):
                vi, vj = T.axis.remap("SS", [i, j])
                e[vi, vj] = T.exp(A[vi, vj])
        for i, j in T.grid(5, 37):
            with T.block("s"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    s[vi] = T.float32(0)
                s[vi] = s[vi] + e[vi, vj]
        for i, j in T.grid(5, 37):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = e[vi, vj] / s[vi]
)",
                                                "softmax.py");
  ASSERT_TRUE(func.ok()) << func.status().ToString();
  int num_run = 0;
  ExpectSameOnGuest(*func, /*seed=*/2, num_run);
  EXPECT_GT(num_run, 0);
}

// Convolutions with bias, residual and relu, pools and the dense layer, with weights laid out for this target's
// vectors.
TEST(AArch64, TasksOfANetworkComputeWhatTheInterpreterComputes) {
  if (QemuAArch64().empty()) GTEST_SKIP() << "no qemu-aarch64-static; apt-get install qemu-user-static";
  const auto model = demo::BuildResNet18({.width = 0.125, .image = 32});
  ASSERT_TRUE(model.ok());
  const auto imported = ImportOnnxBytes(model->SerializeAsString(), "resnet18");
  ASSERT_TRUE(imported.ok()) << imported.status().ToString();
  const auto network = relax::OptimizeForTuning(*imported, CortexA72().register_file().lanes(32));
  ASSERT_TRUE(network.ok()) << network.status().ToString();
  const auto tasks = relax::ExtractTasks(*network);
  ASSERT_TRUE(tasks.ok()) << tasks.status().ToString();
  int num_run = 0;
  for (size_t i = 0; i < tasks->size() && !testing::Test::HasFailure(); ++i)
    ExpectSameOnGuest((*tasks)[i].func, /*seed=*/100 + i, num_run);
  EXPECT_GT(num_run, static_cast<int>(tasks->size()) * (1 + kCandidatesPerTask) / 2);
}

}  // namespace
}  // namespace lathe
