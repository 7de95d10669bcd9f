#include "compiler/target/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "compiler/target/cpu_table.h"
#include "compiler/target/micro_arch.h"

namespace lathe {
namespace {

using ::testing::HasSubstr;

const HostFacts kHost{.triple = "x86_64-linux-gnu",
                      .features = {"avx", "avx2", "sse2", "sse3", "sse4.1", "sse4.2", "ssse3"},
                      .num_cores = 6};

std::string Canonical(std::string_view text) {
  const StatusOr<Target> target = Target::Parse(text, kHost);
  return target.ok() ? target->ToString() : target.status().ToString();
}

TEST(TargetTest, WritesOneTextForEveryWayToSayTheSame) {
  const std::string expected =
      "llvm -mcpu=cascadelake -mattr=+avx512ifma,-clflushopt -mtriple=x86_64-linux-gnu -num-cores=2";
  EXPECT_EQ(Canonical("llvm -mcpu=cascadelake -num-cores=2 -mattr=-clflushopt,+avx512ifma"), expected);
  EXPECT_EQ(Canonical("llvm -keys=cpu -mattr=+avx512ifma,+avx512vnni,-clflushopt  -mtriple=x86_64-unknown-linux-gnu "
                      "-mcpu=cascadelake -num-cores=2"),
            expected);
}

TEST(TargetTest, ReadsItsOwnTextOnAnyMachine) {
  for (const char* text : {"auto", "llvm", "llvm -mcpu=znver4 -mattr=-avx512f", "raspberry-pi/4b-aarch64",
                           "llvm -mcpu=neoverse-v1 -num-cores=8", "aws/cpu/c7g.large -num-cores=1"}) {
    const std::string once = Canonical(text);
    const StatusOr<Target> elsewhere =
        Target::Parse(once, HostFacts{.triple = "aarch64-linux-gnu", .features = {"neon"}, .num_cores = 1});
    ASSERT_TRUE(elsewhere.ok()) << elsewhere.status().ToString();
    EXPECT_EQ(elsewhere->ToString(), once);
  }
}

TEST(TargetTest, TakesMissingPartsFromTheHostAndTheCpu) {
  EXPECT_EQ(Canonical("llvm"), "llvm -mcpu=x86-64 -mtriple=x86_64-linux-gnu -num-cores=6");
  EXPECT_EQ(Canonical("llvm -mcpu=cortex-a72 -num-cores=4"),
            "llvm -mcpu=cortex-a72 -mtriple=aarch64-linux-gnu -num-cores=4");
}

TEST(TargetTest, KnowsOneCoreInItsTwoStates) {
  EXPECT_EQ(Canonical("raspberry-pi/4b-armv7"), "llvm -mcpu=cortex-a72 -mtriple=armv7-linux-gnueabihf -num-cores=4");
  EXPECT_EQ(Canonical("llvm -mtriple=armv8l-linux-gnueabihf -mcpu=cortex-a72 -num-cores=4 -mattr=+neon"),
            Canonical("raspberry-pi/4b-armv7"));
  EXPECT_EQ(Canonical("llvm -mcpu=cortex-a7 -num-cores=1"),
            "llvm -mcpu=cortex-a7 -mtriple=armv7-linux-gnueabihf -num-cores=1");
}

// A 32-bit system on a Raspberry Pi 4, as it describes itself.
TEST(TargetTest, TakesA32BitMachineByWhatItCallsItself) {
  const HostFacts pi{.triple = TripleOfMachine("armv7l"),
                     .features = {"crc", "fp-armv8", "hwdiv-arm", "neon", "vfp4"},
                     .num_cores = 4};
  const StatusOr<Target> target = Target::Parse("auto", pi);
  ASSERT_TRUE(target.ok()) << target.status().ToString();
  EXPECT_EQ(target->ToString(),
            "llvm -mcpu=generic -mattr=+crc,+fp-armv8,+hwdiv-arm,+vfp4 -mtriple=armv7-linux-gnueabihf -num-cores=4");
  EXPECT_EQ(Target::Parse(target->ToString(), kHost)->ToString(), target->ToString());
  EXPECT_EQ(TripleOfMachine("aarch64"), "aarch64-linux-gnu");
}

TEST(TargetTest, TakesNativeForThisMachineAndAttributesBesides) {
  EXPECT_EQ(Canonical("llvm -mcpu=native"),
            "llvm -mcpu=x86-64 -mattr=+avx,+avx2,+sse3,+sse4.1,+sse4.2,+ssse3 -mtriple=x86_64-linux-gnu -num-cores=6");
  EXPECT_EQ(Canonical("llvm -mcpu=native -mattr=-ssse3,+fma -num-cores=1"),
            "llvm -mcpu=x86-64 -mattr=+avx,+fma,+sse3,+sse4.1,+sse4.2,+ssse3 -mtriple=x86_64-linux-gnu -num-cores=1");
}

TEST(TargetTest, KnowsVersionsOfAnArchitectureAsWhatTheyHave) {
  EXPECT_EQ(Canonical("llvm -mcpu=cortex-a72 -mattr=+v8.2a,+dotprod,+aes -num-cores=4"),
            "llvm -mcpu=cortex-a72 -mattr=+dotprod,+lse,+rdm -mtriple=aarch64-linux-gnu -num-cores=4");
}

TEST(TargetTest, RemovesWhatDependsOnARemovedFeature) {
  const StatusOr<Target> target = Target::Parse("llvm -mcpu=znver4 -mattr=-avx512f", kHost);
  ASSERT_TRUE(target.ok());
  EXPECT_FALSE(target->Has("avx512vnni"));
  EXPECT_TRUE(target->Has("avx2"));
  EXPECT_EQ(target->register_file().vector_bits, 256);
}

TEST(TargetTest, AutoIsThisMachineAndItsFeatures) {
  const HostFacts host = DetectHost();
  const StatusOr<Target> target = Target::Parse("auto");
  ASSERT_TRUE(target.ok()) << target.status().ToString();
  for (const std::string& name : target->features()) EXPECT_THAT(host.features, testing::Contains(name));
  EXPECT_EQ(target->num_cores(), host.num_cores);
}

TEST(TargetTest, AutoDoesNotUseAFeatureWhoseGroundIsHidden) {
  const StatusOr<Target> target =
      Target::Parse("auto", HostFacts{.triple = "x86_64-linux-gnu", .features = {"avx512f", "sse2"}});
  ASSERT_TRUE(target.ok());
  EXPECT_THAT(target->features(), testing::ElementsAre("sse2"));
}

TEST(TargetTest, KnowsTheRegisterFile) {
  const RegisterFile avx512 = Target::Parse("llvm -mcpu=znver4", kHost)->register_file();
  EXPECT_EQ(avx512.lanes(32), 16);
  EXPECT_EQ(avx512.num_vector_registers, 32);
  EXPECT_TRUE(avx512.has_fma);
  const RegisterFile neon = Target::Parse("raspberry-pi/4b-aarch64", kHost)->register_file();
  EXPECT_EQ(neon.lanes(32), 4);
  EXPECT_EQ(neon.num_vector_registers, 32);
  EXPECT_FALSE(Target::Parse("llvm", kHost)->register_file().has_fma);
  const RegisterFile arm = Target::Parse("raspberry-pi/2b-armv7", kHost)->register_file();
  EXPECT_EQ(arm.num_vector_registers, 16);
  EXPECT_TRUE(arm.has_fma);
  EXPECT_FALSE(Target::Parse("llvm -mcpu=cortex-a9 -num-cores=1", kHost)->register_file().has_fma);
}

// Units are counted in vectors of the registers that the code uses.
struct CoreCase {
  const char *name, *target, *micro_arch;
  int fma_per_cycle;
  double loads_per_cycle;
};
class CoreTest : public testing::TestWithParam<CoreCase> {};
TEST_P(CoreTest, IsThatOfTheCpu) {
  const StatusOr<Target> target = Target::Parse(GetParam().target, kHost);
  ASSERT_TRUE(target.ok()) << target.status().ToString();
  EXPECT_EQ(target->micro_arch().name, GetParam().micro_arch);
  EXPECT_EQ(target->register_file().fma_per_cycle, GetParam().fma_per_cycle);
  EXPECT_EQ(target->micro_arch().loads.per_cycle(target->register_file().vector_bits), GetParam().loads_per_cycle);
}
INSTANTIATE_TEST_SUITE_P(Cpus, CoreTest,
                         testing::Values(CoreCase{"Level", "llvm -mcpu=x86-64-v4", "generic-x86-64-v4", 2, 2},
                                         CoreCase{"Oldest", "llvm", "generic-x86-64", 1, 2},
                                         CoreCase{"HalfVectors", "llvm -mcpu=znver4", "zen4", 1, 1},
                                         CoreCase{"WholeVectors", "llvm -mcpu=znver4 -mattr=-avx512f", "zen4", 2, 2},
                                         CoreCase{"Server", "llvm -mcpu=cascadelake", "skylake-server", 2, 2},
                                         CoreCase{"Alias", "llvm -mcpu=rocketlake", "ice-lake-server", 2, 2},
                                         CoreCase{"Board", "raspberry-pi/3b-aarch64", "cortex-a53", 1, 0.5},
                                         CoreCase{"Cloud", "aws/cpu/c7g.large", "neoverse-v1", 4, 3}),
                         [](const auto& info) { return info.param.name; });

TEST(CoreTable, HasARowForEachCpuAndNoneForNobody) {
  std::set<std::string_view> used;
  for (const CpuRow& cpu : CpuRows()) {
    EXPECT_NE(FindMicroArch(cpu.micro_arch), nullptr) << cpu.name;
    used.insert(cpu.micro_arch);
  }
  for (const MicroArch& row : MicroArchs()) EXPECT_TRUE(used.contains(row.name)) << row.name;
}

struct TuningCase {
  const char *name, *target, *cpu;
};
class TuningCpuTest : public testing::TestWithParam<TuningCase> {};
// On any machine: it follows from the text, and the text from what the machine can do.
TEST_P(TuningCpuTest, IsWhatTheFeaturesAreKnownBy) {
  const StatusOr<Target> named = Target::Parse(GetParam().target, kHost);
  ASSERT_TRUE(named.ok()) << named.status().ToString();
  HostFacts host{.triple = named->triple(), .features = named->features(), .num_cores = 1};
  std::erase_if(host.features, [](const std::string& feature) { return feature.starts_with("amx"); });
  const Target machine = *Target::Parse("auto", host), elsewhere = *Target::Parse(machine.ToString(), kHost);
  EXPECT_EQ(machine.tuning_cpu(), GetParam().cpu) << machine.ToString();
  EXPECT_EQ(machine.ToString().find(GetParam().cpu) == std::string::npos, machine.cpu() != GetParam().cpu);
  EXPECT_EQ(&elsewhere.micro_arch(), &machine.micro_arch());
}
INSTANTIATE_TEST_SUITE_P(Machines, TuningCpuTest,
                         testing::Values(TuningCase{"Zen5", "llvm -mcpu=znver5", "znver5"},
                                         TuningCase{"Zen4", "llvm -mcpu=znver4", "znver4"},
                                         TuningCase{"SapphireRapids", "llvm -mcpu=sapphirerapids", "sapphirerapids"},
                                         TuningCase{"IceLake", "llvm -mcpu=icelake-server", "icelake-server"},
                                         TuningCase{"CooperLake", "llvm -mcpu=cooperlake", "cascadelake"},
                                         TuningCase{"SkylakeX", "llvm -mcpu=skylake-avx512", "skylake-avx512"},
                                         TuningCase{"AlderLake", "llvm -mcpu=alderlake", "alderlake"},
                                         TuningCase{"Zen3IsLikeHaswell", "llvm -mcpu=znver3", "x86-64-v3"},
                                         TuningCase{"NeoverseV1", "llvm -mcpu=neoverse-v1 -num-cores=1", "neoverse-v1"},
                                         TuningCase{"NeoverseN1IsLikeCortexA76", "llvm -mcpu=neoverse-n1 -num-cores=1",
                                                    "generic"}),
                         [](const auto& info) { return info.param.name; });

struct BadTarget {
  const char* name;
  const char* text;
  const char* message;
};
class TargetErrorTest : public testing::TestWithParam<BadTarget> {};
TEST_P(TargetErrorTest, SaysWhatIsWrongAndWhatToWrite) {
  const StatusOr<Target> target = Target::Parse(GetParam().text, kHost);
  ASSERT_FALSE(target.ok());
  EXPECT_THAT(target.status().message(), HasSubstr(GetParam().message));
}
INSTANTIATE_TEST_SUITE_P(
    Texts, TargetErrorTest,
    testing::Values(
        BadTarget{"Empty", " ", "empty; write \"auto\""},
        BadTarget{"Kind", "lllvm -mcpu=znver4", "unknown kind or tag \"lllvm\"; known: auto, llvm, raspberry-pi"},
        BadTarget{"OtherDevice", "cuda -arch=sm_90", "for CPUs only"},
        BadTarget{"Option", "llvm -mpcu=znver4", "unknown option \"-mpcu\""},
        BadTarget{"NoValue", "llvm -mcpu", "option \"-mcpu\" has no value"},
        BadTarget{"Cpu", "llvm -mcpu=zenver4", "-mcpu=zenver4 is not a known CPU of x86_64-linux-gnu; near: znver"},
        BadTarget{"Feature", "llvm -mattr=+avx1024", "-mattr=+avx1024: unknown feature"},
        BadTarget{"NoSign", "llvm -mattr=avx2", "write +name or -name"},
        BadTarget{"Cores", "llvm -num-cores=0", "not a number from 1 to 4096"},
        BadTarget{"CoresOfAnotherMachine", "llvm -mcpu=cortex-a72", "add -num-cores=N"},
        BadTarget{"Arch", "llvm -mtriple=sparc64-linux-gnu", "architecture \"sparc64\" is not one of"},
        BadTarget{"System", "llvm -mtriple=x86_64-windows-msvc", "artifacts are ELF for Linux"},
        BadTarget{"NativeElsewhere", "llvm -mcpu=native -mtriple=aarch64-linux-gnu", "-mcpu=native is this machine"},
        BadTarget{"AutoWithCpu", "auto -mcpu=znver4", "leave out -mcpu and -mattr"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lathe
