#include "compiler/builder/builder_process.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "runner/sandbox.h"
#include "runtime/kernel_abi.h"
#include "support/random.h"
#include "tests/property_runs.h"
#include "tests/support/hang_guard.h"

namespace lathe {
namespace {

using ::testing::HasSubstr;

constexpr Duration kLong = kHangGuard;

constexpr char kDouble[] = R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] * T.float32(2)
)";

class BuilderProcessTest : public testing::Test {
 protected:
  BuilderProcessTest() {
    char name[] = "/tmp/lathe-builder-test-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~BuilderProcessTest() override { std::filesystem::remove_all(folder_); }
  static std::string Program() { return std::string(LATHE_BIN_DIR) + "/lathe-builder"; }
  BuildSpec Spec(std::string text = kDouble) {
    return {.id = 7, .kernels = {{.text = std::move(text)}}, .target = "auto", .output_path = folder_ + "/out.so"};
  }
  std::string Script(const std::string& body) {
    const std::string path = folder_ + "/builder.sh";
    std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
    chmod(path.c_str(), 0755);
    return path;
  }
  static BuildError ErrorOf(const BuildResult& result) {
    const auto* error = std::get_if<BuildError>(&result.outcome);
    return error != nullptr ? *error : BuildError{.message = "the build succeeded"};
  }
  std::string folder_;
};

// Whoever finds a way into the compiler by what it compiles is no further than the folder.
TEST_F(BuilderProcessTest, OpensNothingOutsideItsFolder) {
  if ((OfferedConfinement() & kSandboxFiles) == 0) GTEST_SKIP() << "this kernel has no Landlock";
  std::filesystem::create_directory(folder_ + "/own");
  BuilderProcess builder({.program = Program(), .folder = folder_ + "/own"});
  BuildSpec spec = Spec();
  EXPECT_THAT(ErrorOf(builder.BuildAndWait(spec, kLong)).message, HasSubstr("Permission denied"));
  spec.output_path = folder_ + "/own/out.so";
  spec.sections = {{"lathe.graph", "/etc/passwd"}};
  EXPECT_THAT(ErrorOf(builder.BuildAndWait(spec, kLong)).message,
              HasSubstr("read section file /etc/passwd: Permission denied"));
  spec.sections.clear();
  const BuildResult result = builder.BuildAndWait(spec, kLong);
  EXPECT_NE(std::get_if<BuildArtifact>(&result.outcome), nullptr) << ErrorOf(result).message;
}

TEST_F(BuilderProcessTest, BuildsScheduledText) {
  BuilderProcess builder({.program = Program()});
  const BuildResult result = builder.BuildAndWait(Spec(), kLong);
  EXPECT_EQ(result.id, 7u);
  const auto* artifact = std::get_if<BuildArtifact>(&result.outcome);
  ASSERT_NE(artifact, nullptr) << ErrorOf(result).message;
  std::ifstream file(artifact->path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(bytes.size(), artifact->size_bytes);
  EXPECT_EQ(Sha256(bytes), artifact->digest);
  EXPECT_GT(artifact->times.generate.count(), 0);
  EXPECT_GE(builder.codegen_version(), 19000u);
  void* library = dlopen(artifact->path.c_str(), RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto kernel = reinterpret_cast<LatheKernel>(dlsym(library, "lathe_kernel_0_main"));
  alignas(64) float a[16], b[16];
  std::fill(a, a + 16, 3.0f);
  void* buffers[] = {a, b};
  const LatheContext context{};
  EXPECT_EQ(kernel(&context, buffers, nullptr), 0);
  EXPECT_EQ(b[15], 6);
  dlclose(library);
}

TEST_F(BuilderProcessTest, SchedulesAWorkloadByItsTrace) {
  BuilderProcess builder({.program = Program()});
  BuildSpec spec = Spec();
  spec.kernels[0].name = "renamed";
  spec.kernels[0].trace_json =
      R"([[["GetBlock",[],["B","main"],["b0"]],["GetLoops",["b0"],[],["l1"]],["Split",["l1",4,4],[1,0],["l2","l3"]],["Vectorize",["l3"],[],[]]],[]])";
  const BuildResult result = builder.BuildAndWait(spec, kLong);
  EXPECT_TRUE(std::holds_alternative<BuildArtifact>(result.outcome)) << ErrorOf(result).message;
  spec.kernels[0].trace_json = R"([[["GetBlock",[],["X","main"],["b0"]]],[]])";
  EXPECT_THAT(ErrorOf(builder.BuildAndWait(spec, kLong)).message, HasSubstr("X"));
  EXPECT_EQ(builder.num_starts(), 1);  // An error is an answer, not an accident.
}

TEST_F(BuilderProcessTest, PacksSectionsFromFiles) {
  BuilderProcess builder({.program = Program()});
  std::ofstream(folder_ + "/weights") << "the weights";
  BuildSpec spec = Spec();
  spec.sections = {{".lathe.const", folder_ + "/weights"}};
  const BuildResult result = builder.BuildAndWait(spec, kLong);
  ASSERT_TRUE(std::holds_alternative<BuildArtifact>(result.outcome)) << ErrorOf(result).message;
  std::ifstream file(spec.output_path, std::ios::binary);
  EXPECT_THAT(std::string((std::istreambuf_iterator<char>(file)), {}), HasSubstr("the weights"));
  spec.sections[0].path = folder_ + "/none";
  EXPECT_THAT(ErrorOf(builder.BuildAndWait(spec, kLong)).message, HasSubstr("read section file"));
}

TEST_F(BuilderProcessTest, RepeatsTheCompilersWords) {
  BuilderProcess builder({.program = Program()});
  BuildSpec spec = Spec("def nonsense(");
  const BuildError error = ErrorOf(builder.BuildAndWait(spec, kLong));
  EXPECT_EQ(BuildErrorName(error.kind), "BUILD_ERROR");
  EXPECT_EQ(error.code, StatusCode::kInvalidArgument);
  EXPECT_THAT(error.message, HasSubstr("kernel 0:"));
  spec = Spec();
  spec.target = "llvm -mcpu=z80";
  EXPECT_THAT(ErrorOf(builder.BuildAndWait(spec, kLong)).message, HasSubstr("-mcpu=z80 is not a known CPU"));
  spec = Spec();
  spec.output_path = folder_ + "/no/such/folder.so";
  const BuildError unwritten = ErrorOf(builder.BuildAndWait(spec, kLong));
  EXPECT_EQ(BuildErrorName(unwritten.kind), "OUTPUT_ERROR");
  EXPECT_THAT(unwritten.message, HasSubstr("choose another output path"));
}

TEST_F(BuilderProcessTest, NamesTheSignalOfADeadBuilderAndStartsAnother) {
  BuilderProcess builder({.program = Program()});
  ASSERT_TRUE(builder.Start().ok());
  ASSERT_EQ(kill(builder.pid(), SIGSTOP), 0);
  ASSERT_TRUE(builder.Send(Spec(), SystemClock().Now() + kLong).ok());
  EXPECT_THAT(builder.Send(Spec(), SystemClock().Now()).message(), HasSubstr("build 7 is under way"));
  kill(builder.pid(), SIGABRT);
  kill(builder.pid(), SIGCONT);
  std::optional<BuildResult> result;
  while (!(result = builder.Step(SystemClock().Now()))) {
  }
  EXPECT_EQ(ErrorOf(*result).message, "builder died with SIGABRT");
  EXPECT_EQ(BuildErrorName(ErrorOf(*result).kind), "BUILDER_DIED");
  EXPECT_TRUE(std::holds_alternative<BuildArtifact>(builder.BuildAndWait(Spec(), kLong).outcome));
  EXPECT_EQ(builder.num_starts(), 2);
}

TEST_F(BuilderProcessTest, KillsABuilderThatHangsAtTheDeadline) {
  BuilderProcess builder({.program = Program()});
  ASSERT_TRUE(builder.Start().ok());
  ASSERT_EQ(kill(builder.pid(), SIGSTOP), 0);
  const TimePoint deadline = SystemClock().Now() + kLong;
  ASSERT_TRUE(builder.Send(Spec(), deadline).ok());
  EXPECT_FALSE(builder.Step(deadline - std::chrono::seconds(1)).has_value());
  const std::optional<BuildResult> result = builder.Step(deadline);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(BuildErrorName(ErrorOf(*result).kind), "BUILD_TIMEOUT");
  EXPECT_EQ(builder.pid(), -1);
  EXPECT_TRUE(std::holds_alternative<BuildArtifact>(builder.BuildAndWait(Spec(), kLong).outcome));
}

TEST_F(BuilderProcessTest, ReplacesABuilderThatHasGrown) {
  BuilderProcess builder({.program = Program(), .restart_above_bytes = 1});
  EXPECT_TRUE(std::holds_alternative<BuildArtifact>(builder.BuildAndWait(Spec(), kLong).outcome));
  EXPECT_EQ(builder.pid(), -1);
  EXPECT_TRUE(std::holds_alternative<BuildArtifact>(builder.BuildAndWait(Spec(), kLong).outcome));
  EXPECT_EQ(builder.num_starts(), 2);
}

TEST_F(BuilderProcessTest, RepeatsLastWords) {
  BuilderProcess aborting({.program = Script("read x <&3; echo 'LLVM ERROR: Cannot select: t7' >&2; kill -ABRT $$")});
  EXPECT_EQ(ErrorOf(aborting.BuildAndWait(Spec(), kLong)).message,
            "builder died with SIGABRT: LLVM ERROR: Cannot select: t7");
  BuilderProcess starving({.program = Script("echo 'LLVM ERROR: out of memory' >&2; exit 1")});
  const BuildError memory = ErrorOf(starving.BuildAndWait(Spec(), kLong));
  EXPECT_EQ(BuildErrorName(memory.kind), "BUILDER_MEMORY");
  EXPECT_THAT(memory.message, HasSubstr("exited with code 1: LLVM ERROR: out of memory; its limit is 4096 MiB"));
  BuilderProcess talking({.program = Script("echo 'something else entirely' >&3; sleep 1000")});
  EXPECT_THAT(ErrorOf(talking.BuildAndWait(Spec(), kLong)).message, HasSubstr("builder sent nonsense and was killed"));
  BuilderProcess missing({.program = folder_ + "/none"});
  EXPECT_THAT(ErrorOf(missing.BuildAndWait(Spec(), kLong)).message, HasSubstr("is lathe installed whole?"));
}

TEST(BuilderMessageTest, SurvivesAnyBytes) {
  BuildSpec spec{
      .id = 3, .kernels = {{"n", "text", "[]"}}, .sections = {{".s", "/p"}}, .target = "auto", .output_path = "/o"};
  BuildResult result{.id = 3, .outcome = BuildArtifact{.path = "/o", .warnings = {"w"}}};
  for (const BuilderMessage& message :
       {BuilderMessage(spec), BuilderMessage(result), BuilderMessage(BuilderReady{1, 2})}) {
    const std::string frame = EncodeMessage(message);
    for (int seed = 0; seed < PropertyRuns(3000); ++seed) {
      Random random(seed);
      std::string bytes = frame;
      for (uint64_t n = random.Below(4); n > 0; --n)
        bytes[random.Below(bytes.size())] = static_cast<char>(random.Next());
      bytes.resize(random.Below(bytes.size() + 1));
      (void)TakeMessage(bytes);
    }
    std::string whole = frame;
    const StatusOr<std::optional<BuilderMessage>> back = TakeMessage(whole);
    ASSERT_TRUE(back.ok() && back->has_value());
    EXPECT_EQ(EncodeMessage(**back), frame);
    EXPECT_TRUE(whole.empty());
  }
  std::string huge("\xff\xff\xff\xff\x02", 5);
  EXPECT_THAT(TakeMessage(huge).status().message(), HasSubstr("at most"));
}

}  // namespace
}  // namespace lathe
