#include "compiler/target/cpu_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/codegen/llvm/machine_code.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"

namespace lathe {
namespace {

std::vector<std::string> FeaturesByLlvm(const llvm::MCSubtargetInfo& cpu, Target::Arch arch) {
  std::vector<std::string> features;
  for (const FeatureRow& row : FeatureRows())
    if (row.arch == arch && cpu.checkFeatures("+" + std::string(row.name))) features.emplace_back(row.name);
  std::sort(features.begin(), features.end());
  return features;
}

// Of the CPUs of one architecture for LLVM, those that artifacts are for: with 64 bits, or with NEON.
bool RunsKernels(const llvm::MCSubtargetInfo& cpu, Target::Arch arch) {
  if (arch == Target::Arch::kX86_64) return cpu.checkFeatures("+64bit") && cpu.getCPU() != "generic";
  return arch == Target::Arch::kAArch64 || cpu.checkFeatures("+aclass,+vfp3");
}

class CpuTableTest : public testing::TestWithParam<const char*> {};
TEST_P(CpuTableTest, HasEveryCpuOfLlvmWithItsFeatures) {
  const std::string text = std::string("llvm -num-cores=1 -mtriple=") + GetParam();
  const Target base = *Target::Parse(text);
  const auto machine = MakeTargetMachine(base);
  for (const llvm::SubtargetSubTypeKV& cpu : (*machine)->getMCSubtargetInfo()->getAllProcessorDescriptions()) {
    const std::unique_ptr<llvm::MCSubtargetInfo> one(
        (*machine)->getTarget().createMCSubtargetInfo(base.triple(), cpu.Key, LlvmFeatures(base)));
    if (!RunsKernels(*one, base.arch())) continue;
    const StatusOr<Target> target = Target::Parse(text + " -mcpu=" + cpu.Key);
    ASSERT_TRUE(target.ok()) << target.status().ToString();
    EXPECT_EQ(target->features(), FeaturesByLlvm(*one, base.arch())) << cpu.Key;
  }
}
INSTANTIATE_TEST_SUITE_P(Triples, CpuTableTest,
                         testing::Values("x86_64-linux-gnu", "aarch64-linux-gnu", "armv7-linux-gnueabihf"),
                         [](const auto& info) { return std::string(info.param).substr(0, 3); });

}  // namespace
}  // namespace lathe
