#include "tuner/measure/golden.h"

#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "rpc/device_message.h"
#include "runner/runner_process.h"
#include "tests/support/hang_guard.h"
#include "tests/support/temporary_folder.h"
#include "tuner/worker/process_builder.h"

namespace lathe {
namespace {

TEST(Golden, HasATargetForEachArchitectureOfDevicesThatWeGenerateCodeFor) {
  EXPECT_EQ(GoldenTarget("x86_64"), "llvm -mcpu=x86-64 -mtriple=x86_64-linux-gnu -num-cores=1");
  EXPECT_EQ(GoldenTarget("aarch64"), "llvm -mcpu=generic -mtriple=aarch64-linux-gnu -num-cores=1");
  EXPECT_TRUE(GoldenTarget("armv7l").has_value());
  EXPECT_EQ(GoldenTarget("riscv64"), std::nullopt);
  EXPECT_EQ(GoldenTarget(""), std::nullopt);
}

TEST(Golden, IsASpecThatDevicesTake) {
  const TrialRow trial{.id = -5, .attempt = 1, .epoch = 3, .module_digest = Sha256("module")};
  const v1::MeasureSpec spec = MakeMeasureSpec(Golden().measurement, trial, 100, 0);
  EXPECT_TRUE(CheckMeasureSpec(spec).ok()) << CheckMeasureSpec(spec).message();
  EXPECT_EQ(spec.trial_id(), -5);
}

// Built by the builder of workers and run by the runner of devices; `change` is done to what is right.
RunReport RunGolden(double change) {
  const TemporaryFolder folder;
  const auto builder =
      *MakeProcessBuilders({.program = LATHE_BIN_DIR "/lathe-builder", .scratch_directory = folder / "build"})();
  const BuildOutcome built = builder->Build({.workload_text = Golden().workload.text,
                                             .trace_json = Golden().trace_json,
                                             .target = *GoldenTarget("x86_64"),
                                             .refuses_spills = false});
  const auto* module = std::get_if<BuiltModule>(&built);
  EXPECT_NE(module, nullptr);
  if (module == nullptr) return {};
  std::string reference = Golden().reference;
  double first = 0;
  std::memcpy(&first, reference.data(), sizeof(first));
  first += change;
  std::memcpy(reference.data(), &first, sizeof(first));
  std::ofstream(folder / "golden.so", std::ios::binary) << module->bytes;
  std::ofstream(folder / "golden.ref", std::ios::binary) << reference;
  auto process = RunnerProcess::Spawn({.program = LATHE_BIN_DIR "/lathe-runner"});
  EXPECT_TRUE(process.ok());
  RunSpec spec{.artifact_path = folder / "golden.so",
               .kernel_name = "golden",
               .reference_path = folder / "golden.ref",
               .tolerances = Golden().measurement.reference.tolerances,
               .input_seed = Golden().measurement.seed};
  spec.policy = Golden().measurement.policy;
  EXPECT_TRUE((*process)->Start(spec).ok());
  (*process)->Wait(RunnerProcess::State::kFinished, kHangGuard);
  return (*process)->outcome().report;
}

TEST(Golden, IsRightOnThisMachineAndADifferenceIsSeen) {
#ifndef __x86_64__
  GTEST_SKIP() << "built for x86_64";
#endif
  const RunReport right = RunGolden(0);
  EXPECT_TRUE(right.status == RunStatus::kOk || right.status == RunStatus::kNoisy) << right.message;
  EXPECT_GT(right.measured.statistics.median, 1000) << "long enough to be timed";
  EXPECT_LT(right.measured.statistics.median, 10'000'000);
  EXPECT_EQ(RunGolden(0.01).status, RunStatus::kWrongResult);
}

}  // namespace
}  // namespace lathe
