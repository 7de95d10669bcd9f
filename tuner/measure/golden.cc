#include "tuner/measure/golden.h"

#include <fmt/format.h>

#include <vector>

#include "compiler/target/target.h"
#include "runner/input_generator.h"

namespace lathe {
namespace {

// One sum after the other, so that the latency of an addition says how long it takes; both operands stay in the first
// cache.
constexpr int kRows = 16, kTerms = 256;
constexpr uint64_t kSeed = 7;
constexpr double kTolerance = 1e-3;  // 256 products below 1, rounded to float32 in any order.
constexpr const char* kText = R"(
@T.prim_func
def golden(A: T.Buffer((16, 256), "float32"), B: T.Buffer((16, 256), "float32"), C: T.Buffer((16, 16), "float32")):
    for i, j, k in T.grid(16, 16, 256):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]
)";

double Input(uint32_t param, int64_t index) {
  return InputValue(kSeed, param, kFloat32, DefaultInputRange(kFloat32), index);
}

std::string RightOutputs() {
  std::vector<double> outputs;
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < kRows; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < kTerms; ++k) sum += Input(0, i * kTerms + k) * Input(1, j * kTerms + k);
      outputs.push_back(sum);
    }
  }
  return {reinterpret_cast<const char*>(outputs.data()), outputs.size() * sizeof(double)};
}

MeasurePolicy Policy() {
  MeasurePolicy policy = ScreenPolicy();
  policy.warmup_ns = 10'000'000;
  policy.min_batch_ns = 8'000'000;
  policy.max_repeats = 8;
  policy.budget_ns = 80'000'000;
  return policy;
}

GoldenKernel Make() {
  GoldenKernel golden{.workload = {Sha256(kText), "golden", kText},
                      .trace_json = "[[],[]]",
                      .reference = RightOutputs(),
                      .measurement = {.kernel = "golden", .seed = kSeed, .policy = Policy()}};
  golden.measurement.reference = {.blob = Sha256(golden.reference),
                                  .size_bytes = static_cast<int64_t>(golden.reference.size()),
                                  .tolerances = {kTolerance}};
  return golden;
}

}  // namespace

const GoldenKernel& Golden() {
  static const GoldenKernel golden = Make();
  return golden;
}

std::optional<std::string> GoldenTarget(std::string_view machine) {
  const std::string cpu = machine == "x86_64" ? "x86-64" : "generic";
  const StatusOr<Target> target =
      Target::Parse(fmt::format("llvm -mcpu={} -mtriple={} -num-cores=1", cpu, TripleOfMachine(machine)), HostFacts{});
  return target.ok() ? std::optional(target->ToString()) : std::nullopt;
}

}  // namespace lathe
