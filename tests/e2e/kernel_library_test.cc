// lathe compile FUNC.py: a library with a C header, called by a C program (examples/kernel).
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/e2e/install_tree.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;
using testing::ContainsRegex;
using testing::HasSubstr;

class KernelLibraryTest : public testing::Test {
 protected:
  void SetUp() override { setenv("LATHE_DB", (folder / "none.db").c_str(), 1); }
  ProgramRun Compile(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"lathe", "compile", kernels, "-o", library});
    return RunProgram(more);
  }

  TemporaryFolder folder;
  std::string kernels = LATHE_SOURCE_DIR "/examples/kernel/kernels.py", library = folder / "libkernels.so",
              header = folder / "libkernels.h";
};

TEST_F(KernelLibraryTest, ServesAProgramInC) {
  const ProgramRun compiled = Compile({"--json"});
  ASSERT_EQ(compiled.code, 0) << compiled.err;
  const nlohmann::json report = nlohmann::json::parse(compiled.out);
  ASSERT_EQ(report["kernels"].size(), 2u);
  EXPECT_EQ(report["kernels"][0]["name"], "matmul");
  EXPECT_EQ(report["kernels"][0]["schedule"], "MISS");
  EXPECT_EQ(report["header"], header);
  const std::string program = folder / "program", prefix = InstallTree();
  const ProgramRun linked = RunProgram(
      {LATHE_CC, "-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror", "-I" + prefix + "/include",
       "-I" + folder.path(), LATHE_SOURCE_DIR "/examples/kernel/main.c", library, "-L" + prefix + "/" LATHE_LIB,
       "-llathe_runtime", "-lm", "-Wl,-rpath," + prefix + "/" LATHE_LIB, "-o", program});
  ASSERT_EQ(linked.code, 0) << linked.err;
  const ProgramRun run = RunProgram({program});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out, "right\nscale: a pointer is not aligned to 64 bytes\n");
}

TEST_F(KernelLibraryTest, HasAHeaderForCxxAndForOtherMachines) {
  ASSERT_EQ(Compile({"--target", "raspberry-pi/4b-aarch64"}).code, 0);
  const std::string source = folder / "program.cc";
  std::ofstream(source) << "#include \"libkernels.h\"\nint main() { return matmul == nullptr; }\n";
  const ProgramRun checked = RunProgram({LATHE_CXX, "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                                         "-Wno-address", "-I" + InstallTree() + "/include", source});
  EXPECT_EQ(checked.code, 0) << checked.err;
}

TEST_F(KernelLibraryTest, IsTheSameBytesAndIsNotBuiltTwice) {
  const std::string report = folder / "kernels.json";
  ASSERT_EQ(Compile({"--report", report}).code, 0);
  const auto written = fs::last_write_time(library);
  const ProgramRun again = Compile({"--report", report});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("up to date"));
  EXPECT_EQ(fs::last_write_time(library), written);
}

TEST_F(KernelLibraryTest, SaysWhatTunesAMissAndRefusesFlagsOfNetworks) {
  const ProgramRun missed = Compile({"--fail-on-miss"});
  EXPECT_EQ(missed.code, 3);
  EXPECT_THAT(missed.err,
              ContainsRegex("2 of 2 kernels have no schedule .*MISS matmul .*`lathe tune .*kernels.py --target .*"));
  EXPECT_FALSE(fs::exists(library));
  EXPECT_FALSE(fs::exists(header));
  EXPECT_EQ(Compile({"--input-shape", "x=1"}).code, 2);
  EXPECT_THAT(Compile({"--winograd"}).err, HasSubstr("--winograd is of networks"));
}

}  // namespace
}  // namespace lathe
