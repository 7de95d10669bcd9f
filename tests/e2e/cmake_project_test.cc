// A CMake project of somebody else's that builds a network with lathe_add_module, against an install tree: from a pack,
// without a database or server.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <onnx/onnx_pb.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/network.h"
#include "tests/e2e/install_tree.h"
#include "tests/e2e/random_records.h"
#include "tests/e2e/small_model.h"
#include "tests/reference/compare.h"
#include "tests/support/temporary_folder.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kTarget = "auto -num-cores=1";

std::string Read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void Write(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

// A copy of examples/cmake in a folder of its own.
struct Project {
  fs::path source, build;

  ProgramRun Configure(const std::string& generator, std::vector<std::string> flags = {}) const {
    flags.insert(flags.begin(), {LATHE_CMAKE, "-S", source, "-B", build, "-G", generator,
                                 "-DCMAKE_PREFIX_PATH=" + InstallTree(), fmt::format("-DLATHE_TARGET={}", kTarget)});
    return RunProgram(flags);
  }
  ProgramRun Build() const { return RunProgram({LATHE_CMAKE, "--build", build}); }
  std::string Artifact() const { return Read(build / "small.so"); }
  void Touch(const std::string& name) const { fs::last_write_time(source / name, fs::file_time_type::clock::now()); }
};

class CMakeProjectTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    setenv("LATHE_DB", (folder / "none.db").c_str(), 1);
    setenv("HOME", folder.path().c_str(), 1);
    std::ofstream file(folder / "model.onnx", std::ios::binary);
    ASSERT_TRUE(SmallModel().SerializeToOstream(&file));
  }
  // A pack with schedules drawn by `seed`, of the whole network or its first kernel.
  std::string PackOf(uint64_t seed, bool is_short = false) {
    const std::string model = folder / "packed.onnx", database = folder / fmt::format("{}.db", seed),
                      pack = folder / fmt::format("{}.pack", seed);
    std::ofstream(model, std::ios::binary) << SmallModel(is_short).SerializeAsString();
    const Target target = *Target::Parse(kTarget);
    const auto network = LoadNetwork(model, {}, target, /*opt_level=*/3);
    EXPECT_TRUE(network.ok()) << network.status().ToString();
    const Status written = WriteRandomRecords(*network, target, seed, /*per_task=*/2, database);
    EXPECT_TRUE(written.ok()) << written.ToString();
    const ProgramRun run =
        RunProgram({"lathe", "db", "pack", model, "--target", kTarget, "--db", database, "-o", pack});
    EXPECT_EQ(run.code, 0) << run.err;
    return Read(pack);
  }
  Project MakeProject(const std::string& name, const std::string& pack) {
    const Project project{folder / name, folder / (name + "/out")};
    fs::create_directories(project.source);
    fs::copy(LATHE_SOURCE_DIR "/examples/cmake", project.source);
    fs::copy(folder / "model.onnx", project.source);
    Write(project.source / "best.pack", pack);
    return project;
  }
  Project BuildOrDie(const std::string& name, const std::string& pack, const std::vector<std::string>& flags = {}) {
    const Project project = MakeProject(name, pack);
    const ProgramRun configured = project.Configure(GetParam(), flags);
    EXPECT_EQ(configured.code, 0) << configured.err;
    const ProgramRun built = project.Build();
    EXPECT_EQ(built.code, 0) << built.out << built.err;
    EXPECT_THAT(built.out, HasSubstr("HIT"));
    EXPECT_THAT(built.out + built.err, Not(HasSubstr("MISS")));
    return project;
  }
  // The program's numbers, of the network inside of it and of the file, are those of the reference.
  static void ExpectRight(const Project& project) {
    for (const std::vector<std::string>& arguments : {std::vector<std::string>{project.build / "classify"},
                                                      {project.build / "classify", project.build / "small.so"}}) {
      const ProgramRun run = RunProgram(arguments);
      ASSERT_EQ(run.code, 0) << run.err;
      std::istringstream text(run.out);
      const std::vector<double> values(std::istream_iterator<double>(text), {});
      ASSERT_EQ(values.size(), 4u) << run.out;
      EXPECT_EQ(reference::Compare("y", reference::Tensor::Floats({1, 4}, values),
                                   (*reference::Evaluate(SmallModel(), {SmallPicture()}))[0], {1e-4, 1e-5})
                    .message(),
                "");
    }
  }

  TemporaryFolder folder;
};

TEST_P(CMakeProjectTest, GivesTheSameBytesInAnotherFolder) {
  const std::string pack = PackOf(3);
  const Project one = BuildOrDie("one", pack),
                two = BuildOrDie("a/much longer/name", pack, {"-DLathe_HOST_TOOLS=" + InstallTree() + "/bin"});
  ExpectRight(one);
  ExpectRight(two);
  EXPECT_FALSE(one.Artifact().empty());
  EXPECT_TRUE(one.Artifact() == two.Artifact());
}

TEST_P(CMakeProjectTest, CompilesAgainOnlyWhatChanged) {
  const std::string pack = PackOf(3);
  const Project project = BuildOrDie("project", pack);
  const auto artifact_time = [&] { return fs::last_write_time(project.build / "small.so"); };
  const auto program_time = [&] { return fs::last_write_time(project.build / "classify"); };
  const std::string first = project.Artifact();
  const auto compiled_at = artifact_time(), linked_at = program_time();
  const ProgramRun again = project.Build();
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.out + again.err, Not(HasSubstr("KERNEL")));

  // Newer files with the same contents: asked once, not compiled.
  project.Touch("best.pack");
  project.Touch("model.onnx");
  const ProgramRun touched = project.Build();
  EXPECT_EQ(touched.code, 0) << touched.err;
  EXPECT_THAT(touched.out + touched.err, HasSubstr("small.so: up to date"));
  EXPECT_EQ(artifact_time(), compiled_at);
  EXPECT_EQ(program_time(), linked_at);
  EXPECT_THAT(project.Build().out, Not(HasSubstr("KERNEL")));

  // Other schedules: other bytes, and a program with them.
  const std::string other = PackOf(4);
  ASSERT_NE(other, pack);
  Write(project.source / "best.pack", other);
  EXPECT_EQ(project.Build().code, 0);
  EXPECT_FALSE(project.Artifact() == first);
  EXPECT_NE(program_time(), linked_at);
  ExpectRight(project);
  // And back: the first bytes again.
  Write(project.source / "best.pack", pack);
  EXPECT_EQ(project.Build().code, 0);
  EXPECT_TRUE(project.Artifact() == first);
  // What somebody damaged is made again.
  Write(project.build / "small.so", "no artifact");
  project.Touch("best.pack");
  EXPECT_EQ(project.Build().code, 0);
  EXPECT_TRUE(project.Artifact() == first);
}

TEST_P(CMakeProjectTest, FailsOnAMissWhereAskedAndSaysWhatTunesIt) {
  const Project project = MakeProject("project", PackOf(3, /*is_short=*/true));
  ASSERT_EQ(project.Configure(GetParam(), {"-DMODULE_OPTIONS=FAIL_ON_MISS"}).code, 0);
  const ProgramRun failed = project.Build();
  EXPECT_NE(failed.code, 0);
  const std::string said = failed.out + failed.err;
  EXPECT_THAT(said, HasSubstr("1 of 2 kernels have no schedule"));
  EXPECT_THAT(said, testing::ContainsRegex("MISS [a-z_0-9]+ [0-9a-f]+: not tuned"));
  EXPECT_THAT(said, testing::ContainsRegex(
                        "`lathe tune .*/project/model.onnx --target .* --tasks [a-z_0-9]+` tunes it, then `lathe "
                        "db pack .*/model.onnx --target .* -o .*/project/best.pack`"));
  EXPECT_FALSE(fs::exists(project.build / "small.so"));
  EXPECT_NE(project.Build().code, 0) << "the second time it passed";

  // Where it is not asked, the default schedule is taken, and said.
  ASSERT_EQ(project.Configure(GetParam(), {"-DMODULE_OPTIONS="}).code, 0);
  const ProgramRun built = project.Build();
  EXPECT_EQ(built.code, 0) << built.err;
  EXPECT_THAT(built.out + built.err, HasSubstr("1 of 2 kernels with known schedules"));
  ExpectRight(project);
}

// A database is asked in each build; what it does not know it has been told afterwards.
TEST_P(CMakeProjectTest, AsksADatabaseInEachBuild) {
  (void)PackOf(3, /*is_short=*/true);
  const std::string database = folder / "3.db";
  const Project project = MakeProject("project", "no pack");
  ASSERT_EQ(project.Configure(GetParam(), {"-DLATHE_SCHEDULES=DATABASE;" + database}).code, 0);
  const ProgramRun missed = project.Build();
  EXPECT_EQ(missed.code, 0) << missed.err;
  EXPECT_THAT(missed.out + missed.err, HasSubstr("1 MISS: not tuned"));
  EXPECT_THAT(RunProgram({"lathe", "asked", "--db", database}).out, HasSubstr("model.onnx"));
  const auto linked_at = fs::last_write_time(project.build / "classify");
  const ProgramRun again = project.Build();
  EXPECT_THAT(again.out + again.err, HasSubstr("small.so: up to date"));
  EXPECT_EQ(fs::last_write_time(project.build / "classify"), linked_at);

  (void)PackOf(3);  // Into the same database.
  const ProgramRun hit = project.Build();
  EXPECT_EQ(hit.code, 0) << hit.err;
  EXPECT_THAT(hit.out + hit.err, HasSubstr("2 of 2 kernels with known schedules"));
  EXPECT_NE(fs::last_write_time(project.build / "classify"), linked_at);
  EXPECT_EQ(RunProgram({"lathe", "asked", "--db", database}).out, "");
  ExpectRight(project);
}

TEST_P(CMakeProjectTest, RefusesWhatIsNotAModule) {
  const Project project = MakeProject("project", "no pack");
  const auto error_of = [&](const std::string& options) {
    const ProgramRun run = project.Configure(GetParam(), {"-DMODULE_OPTIONS=" + options});
    EXPECT_NE(run.code, 0) << options;
    return run.err;
  };
  EXPECT_THAT(error_of("SERVER;here:1"), HasSubstr("one of PACK, DATABASE and SERVER required, 2 given"));
  EXPECT_THAT(error_of("FAIL_ON_MISSES"), HasSubstr("unknown arguments \"FAIL_ON_MISSES\""));
  ASSERT_EQ(project.Configure(GetParam(), {"-DMODULE_OPTIONS="}).code, 0);
  const ProgramRun run = project.Build();
  EXPECT_NE(run.code, 0);
  EXPECT_THAT(run.out + run.err, HasSubstr("best.pack"));
}

INSTANTIATE_TEST_SUITE_P(Generators, CMakeProjectTest, testing::Values("Ninja", "Unix Makefiles"),
                         [](const auto& info) { return std::string(info.param) == "Ninja" ? "Ninja" : "Make"; });

}  // namespace
}  // namespace lathe
