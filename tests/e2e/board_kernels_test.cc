// Kernels compiled for boards compute what the interpreter computes: on qemu's emulation of their CPUs, 64 and 32 bit,
// with default and with random schedules.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <onnx/onnx_pb.h>

#include <cmath>
#include <cstring>

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
  RETURN_IF_ERROR(RunGuestKernel(target, module.bytes, "lathe_kernel_0_" + lowered.name, buffers));
  args.back().data = buffers.back();
  return args.back().ToDoubles();
}

// The last parameter is the output. Counts what was run.
void ExpectSameOnGuest(const PrimFunc& func, const Target& target, uint64_t seed, int& num_run) {
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

class BoardKernels : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (QemuFor(target_).empty()) GTEST_SKIP() << "no emulator; apt-get install qemu-user-static";
  }
  const Target target_ = *Target::Parse(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Targets, BoardKernels,
                         testing::Values("raspberry-pi/4b-aarch64", "raspberry-pi/4b-armv7", "raspberry-pi/2b-armv7"),
                         [](const auto& info) {
                           std::string name;
                           for (const char c : std::string_view(info.param).substr(13)) name += c == '-' ? '_' : c;
                           return name;
                         });

TEST_P(BoardKernels, MatmulComputesWhatTheInterpreterComputes) {
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
  ExpectSameOnGuest(*func, target_, /*seed=*/1, num_run);
  EXPECT_GT(num_run, 1);
}

TEST_P(BoardKernels, SoftmaxComputesWhatTheInterpreterComputes) {
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
  ExpectSameOnGuest(*func, target_, /*seed=*/2, num_run);
  EXPECT_GT(num_run, 0);
}

// Convolutions with bias, residual and relu, pools and the dense layer, with weights laid out for this target's
// vectors.
TEST_P(BoardKernels, TasksOfANetworkComputeWhatTheInterpreterComputes) {
  const auto model = demo::BuildResNet18({.width = 0.125, .image = 32});
  ASSERT_TRUE(model.ok());
  const auto imported = ImportOnnxBytes(model->SerializeAsString(), "resnet18");
  ASSERT_TRUE(imported.ok()) << imported.status().ToString();
  const auto network = relax::OptimizeForTuning(*imported, target_.register_file().lanes(32));
  ASSERT_TRUE(network.ok()) << network.status().ToString();
  const auto tasks = relax::ExtractTasks(*network);
  ASSERT_TRUE(tasks.ok()) << tasks.status().ToString();
  int num_run = 0;
  for (size_t i = 0; i < tasks->size() && !testing::Test::HasFailure(); ++i)
    ExpectSameOnGuest((*tasks)[i].func, target_, /*seed=*/100 + i, num_run);
  EXPECT_GT(num_run, static_cast<int>(tasks->size()) * (1 + kCandidatesPerTask) / 2);
}

// What a 32-bit processor has no instructions for, on numbers at the edges of its two halves; exactly.
struct WideCase {
  const char *name, *in, *out, *expression;
};
constexpr WideCase kWideCases[] = {
    {"truncdiv", "int64", "int64", "T.truncdiv(A[i], B[i])"},
    {"truncmod", "int64", "int64", "T.truncmod(A[i], B[i])"},
    {"floordiv", "int64", "int64", "A[i] // B[i]"},
    {"floormod", "int64", "int64", "A[i] % B[i]"},
    {"unsigned_div", "uint64", "uint64", "T.truncdiv(A[i], B[i])"},
    {"unsigned_mod", "uint64", "uint64", "T.truncmod(A[i], B[i])"},
    {"narrow_div", "int32", "int32", "T.truncdiv(A[i], B[i])"},
    {"narrow_mod", "uint32", "uint32", "T.truncmod(A[i], B[i])"},
    {"times", "int64", "int64", "A[i] * B[i]"},
    {"to_float", "int64", "float32", "T.Cast(\"float32\", A[i])"},
    {"to_double", "int64", "float64", "T.Cast(\"float64\", A[i])"},
    {"unsigned_to_float", "uint64", "float32", "T.Cast(\"float32\", A[i])"},
    {"unsigned_to_double", "uint64", "float64", "T.Cast(\"float64\", A[i])"},
    {"from_float", "int64", "int64", "T.Cast(\"int64\", T.Cast(\"float32\", A[i] // T.int64(3)))"},
    {"from_double", "int64", "int64", "T.Cast(\"int64\", T.Cast(\"float64\", A[i] // T.int64(3)))"},
    {"halves", "int64", "float32", "T.Cast(\"float32\", T.Cast(\"float16\", T.Cast(\"float32\", A[i] % B[i])))"},
    {"remainder", "int64", "float64", "T.fmod(T.Cast(\"float64\", A[i]), T.Cast(\"float64\", B[i]))"},
    {"smaller", "int64", "float32", "T.min(T.Cast(\"float32\", A[i]), T.Cast(\"float32\", B[i]))"},
    {"larger", "int64", "float64", "T.max(T.Cast(\"float64\", A[i]), T.Cast(\"float64\", B[i]))"},
    {"floor", "int64", "float32", "T.floor(T.Cast(\"float32\", A[i]) * T.float32(0.37))"},
};

std::vector<int64_t> WideNumbers(Random random, bool is_divisor) {
  std::vector<int64_t> numbers = {
      1, 2, 3, 7, 1 << 20, (int64_t{1} << 32) - 1, int64_t{1} << 32, (int64_t{1} << 53) + 1};
  for (int i = 0; i < 56; ++i) {
    const auto number = static_cast<int64_t>(random.Next() >> (1 + random.Next() % 62));
    numbers.push_back(i % 2 == 0 ? number : -number);
  }
  for (int64_t& number : numbers) number |= is_divisor ? 1 : 0;
  return numbers;
}

TEST_P(BoardKernels, ComputeWithNumbersOfTwoRegisters) {
  for (const WideCase& wide : kWideCases) {
    const StatusOr<PrimFunc> func = ParsePrimFunc(fmt::format(R"(
@T.prim_func
def {0}(A: T.Buffer((64,), "{1}"), B: T.Buffer((64,), "{1}"), C: T.Buffer((64,), "{2}")):
    for i in T.serial(64):
        C[i] = {3}
)",
                                                              wide.name, wide.in, wide.out, wide.expression),
                                                  "wide.py");
    ASSERT_TRUE(func.ok()) << func.status().ToString();
    std::vector<Tensor> args;
    for (const Param& param : ParamsOf(*func)) {
      const Buffer& buffer = std::get<Buffer>(param);
      args.push_back(Tensor::Zeros(buffer->dtype, {64}));
    }
    for (size_t i = 0; i < 2; ++i) {
      const std::vector<int64_t> numbers = WideNumbers(Random(7 + i), i == 1);
      for (size_t k = 0; k < numbers.size(); ++k)
        std::memcpy(args[i].data.data() + k * args[i].data.size() / 64, &numbers[k], args[i].data.size() / 64);
    }
    std::vector<Tensor> reference = args;
    ASSERT_EQ(Interpret(*func, reference, {}), OkStatus()) << wide.name;
    const StatusOr<std::vector<double>> actual = RunOnGuest(*func, target_, args);
    ASSERT_TRUE(actual.ok()) << wide.name << ": " << actual.status().ToString();
    EXPECT_THAT(*actual, testing::Pointwise(testing::NanSensitiveDoubleEq(), reference.back().ToDoubles()))
        << wide.name;
  }
}

}  // namespace
}  // namespace lathe
