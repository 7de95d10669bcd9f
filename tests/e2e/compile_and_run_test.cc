// `lathe compile` and `lathe run` by hand: flags, reports, and everything that a user can hand them by mistake.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <onnx/onnx_pb.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/network.h"
#include "runtime/cpu_features.h"
#include "tests/e2e/program_run.h"
#include "tests/e2e/random_records.h"
#include "tests/e2e/small_model.h"
#include "tests/reference/evaluate.h"
#include "tests/reference/tensor_io.h"
#include "tests/support/temporary_folder.h"
#include "tuner/database/sqlite_store.h"
#include "tuner/job/job_spec.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class CompileAndRunTest : public testing::Test {
 protected:
  void SetUp() override {
    setenv("LATHE_DB", (folder / "none.db").c_str(), 1);
    setenv("LATHE_CPU_LOCKS", (folder / "locks").c_str(), 1);
    WriteModel(SmallModel());
    x = SmallPicture();
    fs::create_directory(data);
    Save(x, "input_0.pb");
  }
  void WriteModel(const onnx::ModelProto& proto) {
    std::ofstream file(model, std::ios::binary);
    ASSERT_TRUE(proto.SerializeToOstream(&file));
  }
  void Write(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }
  std::string Read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  void Save(const reference::Tensor& tensor, const std::string& name) {
    ASSERT_TRUE(reference::SaveTensor(tensor, name, data + "/" + name).ok());
  }
  reference::Tensor Expected() { return (*reference::Evaluate(SmallModel(), {x}))[0]; }

  ProgramRun Compile(std::vector<std::string> flags = {}) {
    flags.insert(flags.begin(), {"lathe", "compile", model, "-o", artifact});
    return RunProgram(flags);
  }
  void CompileOrDie() {
    const ProgramRun run = Compile();
    ASSERT_EQ(run.code, 0) << run.err;
  }
  ProgramRun Run(std::vector<std::string> flags = {}) {
    flags.insert(flags.begin(), {"lathe", "run", artifact});
    return RunProgram(flags);
  }
  // One line on stderr that starts and goes on like this; nothing on stdout.
  static void ExpectError(const ProgramRun& run, int code, const std::string& start, const std::string& words) {
    EXPECT_EQ(run.code, code) << run.err;
    EXPECT_EQ(run.out, "");
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    EXPECT_THAT(run.err, StartsWith("lathe: " + start));
    EXPECT_THAT(run.err, HasSubstr(words));
  }

  TemporaryFolder folder;
  std::string model = folder / "model.onnx", artifact = folder / "network.so", data = folder / "data";
  reference::Tensor x;
};

TEST_F(CompileAndRunTest, SaysForEachKernelWhetherItsScheduleIsKnown) {
  const ProgramRun untuned = Compile();
  EXPECT_EQ(untuned.code, 0) << untuned.err;
  EXPECT_THAT(untuned.out, HasSubstr("MISS"));
  EXPECT_THAT(untuned.err, HasSubstr("0 of 2 kernels with known schedules, the others by default ones"));

  // The database knows the shorter network only.
  const Target target = *Target::Parse("auto");
  WriteModel(SmallModel(/*is_short=*/true));
  const auto network = LoadNetwork(model, {}, target, /*opt_level=*/3);
  ASSERT_TRUE(network.ok()) << network.status().ToString();
  const Status written = WriteRandomRecords(*network, target, /*seed=*/3, /*per_task=*/2, folder / "some.db");
  ASSERT_TRUE(written.ok()) << written.ToString();
  WriteModel(SmallModel());
  const ProgramRun run = Compile({"--db", folder / "some.db", "--json"});
  ASSERT_EQ(run.code, 0) << run.err;
  const nlohmann::json kernels = nlohmann::json::parse(run.out)["kernels"];
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0]["schedule"], "HIT");
  EXPECT_EQ(kernels[1]["schedule"], "MISS");
  EXPECT_THAT(run.err, HasSubstr("1 of 2 kernels with known schedules"));
  // Records hold for the very target.
  const ProgramRun other = Compile({"--db", folder / "some.db", "--target", "auto -num-cores=3"});
  EXPECT_THAT(other.err, HasSubstr("0 of 2 kernels with known schedules"));
  EXPECT_THAT(other.err, HasSubstr(fmt::format("1 MISS: not tuned\n1 MISS: tuned for \"{}\"\n", target.ToString())));
  EXPECT_EQ(kernels[1]["why"], "not tuned");
  Save(Expected(), "output_0.pb");
  EXPECT_EQ(Run({"--data", data}).code, 0);
}

TEST_F(CompileAndRunTest, BuildsAgainWhereTheReportIsNoProof) {
  const std::string report = folder / "network.json";
  ASSERT_EQ(Compile({"--report", report}).code, 0);
  const std::string whole = Read(report), built = Read(artifact);
  EXPECT_THAT(Compile({"--report", report}).err, HasSubstr("up to date"));
  const std::string inputs = nlohmann::json::parse(whole)["inputs"];
  const std::vector<std::string> no_proof = {"",
                                             "no JSON",
                                             "[]",
                                             "{}",
                                             R"({"inputs": 3, "digest": 4, "kernels": 5})",
                                             whole.substr(0, whole.size() / 2),
                                             fmt::format(R"({{"inputs": "{}", "digest": [], "kernels": []}})", inputs),
                                             fmt::format(R"({{"inputs": "{}", "kernels": [1, {{}}]}})", inputs)};
  for (const std::string& text : no_proof) {
    Write(report, text);
    Write(artifact, "somebody's");
    const ProgramRun run = Compile({"--report", report});
    EXPECT_EQ(run.code, 0) << text << ": " << run.err;
    EXPECT_THAT(run.err, Not(HasSubstr("up to date"))) << text;
    EXPECT_TRUE(Read(artifact) == built) << text;
    EXPECT_EQ(Read(report), whole) << text;
  }
}

TEST_F(CompileAndRunTest, RunTimesEachKernelOnDemand) {
  CompileOrDie();
  const ProgramRun plain = Run({"--repeat", "3"}), table = Run({"--repeat", "3", "--kernels"});
  ASSERT_EQ(table.code, 0) << table.err;
  EXPECT_EQ(std::count(plain.out.begin(), plain.out.end(), '\n'), 1) << plain.out;
  EXPECT_EQ(std::count(table.out.begin(), table.out.end(), '\n'), 3) << table.out;
  const nlohmann::json json = nlohmann::json::parse(Run({"--repeat", "3", "--kernels", "--json"}).out);
  ASSERT_EQ(json["kernels"].size(), 2u) << json;
  double sum_ns = 0;
  for (const auto& call : json["kernels"]) {
    EXPECT_THAT(table.out, HasSubstr("  " + call["kernel"].get<std::string>() + "\n"));
    EXPECT_GT(call["median_ns"], 0);
    sum_ns += call["median_ns"].get<double>();
  }
  EXPECT_LE(sum_ns, 3 * 1e6 * json["median_ms"].get<double>());  // Medians of one each: no sum of one inference.
  EXPECT_FALSE(nlohmann::json::parse(Run({"--json"}).out).contains("kernels"));
}

TEST_F(CompileAndRunTest, TuneNamesTheTargetThatItMeasured) {
  const std::string database = folder / "part.db";
  const ProgramRun tune =
      RunProgram({"lathe", "tune", model, "--trials", "2", "--target", "auto -num-cores=1", "--db", database});
  ASSERT_EQ(tune.code, 0) << tune.err;
  if (AvailableCpus().size() > 1) {
    EXPECT_THAT(tune.err, HasSubstr("-o network.so --target \"auto -num-cores=1\" --db " + database));
  }
  EXPECT_THAT(Compile({"--db", database, "--target", "auto -num-cores=1"}).err, Not(HasSubstr(": 0 of 2 kernels")));
}

TEST_F(CompileAndRunTest, ShowPrintsTheNetworkItsTasksAndWhatIsKnown) {
  const ProgramRun nothing = RunProgram({"lathe", "show", model});
  EXPECT_EQ(nothing.code, 0) << nothing.err;
  EXPECT_THAT(nothing.out, HasSubstr("R.call_tir"));
  EXPECT_THAT(nothing.out, HasSubstr("@T.prim_func"));
  EXPECT_THAT(nothing.out, HasSubstr("no schedule is known"));

  const Target target = *Target::Parse("auto");
  const auto network = LoadNetwork(model, {}, target, /*opt_level=*/3);
  ASSERT_TRUE(network.ok()) << network.status().ToString();
  const Status written = WriteRandomRecords(*network, target, /*seed=*/3, /*per_task=*/1, folder / "some.db");
  ASSERT_TRUE(written.ok()) << written.ToString();
  const ProgramRun run = RunProgram({"lathe", "show", model, "--db", folder / "some.db", "--json"});
  ASSERT_EQ(run.code, 0) << run.err;
  const nlohmann::json shown = nlohmann::json::parse(run.out);
  EXPECT_THAT(shown["network"].get<std::string>(), HasSubstr("R.function"));
  ASSERT_EQ(shown["workloads"].size(), 2u);
  EXPECT_EQ(shown["workloads"][0]["weight"], 1);
  EXPECT_EQ(shown["workloads"][0]["best"].size(), 1u);
}

TEST_F(CompileAndRunTest, CompilesWithTheSchedulesThatTheUserGives) {
  const Target target = *Target::Parse("auto");
  const auto network = LoadNetwork(model, {}, target, /*opt_level=*/3);
  ASSERT_TRUE(network.ok()) << network.status().ToString();
  const Status written = WriteRandomRecords(*network, target, /*seed=*/3, /*per_task=*/2, folder / "some.db");
  ASSERT_TRUE(written.ok()) << written.ToString();
  const ProgramRun shown = RunProgram({"lathe", "show", model, "--db", folder / "some.db", "--schedules"});
  ASSERT_EQ(shown.code, 0) << shown.err;
  EXPECT_EQ(std::count(shown.out.begin(), shown.out.end(), '('), std::count(shown.out.begin(), shown.out.end(), ')'));
  std::ofstream(folder / "given.py") << shown.out;
  const ProgramRun run = Compile({"--schedules", folder / "given.py", "--json"});
  ASSERT_EQ(run.code, 0) << run.err;
  for (const auto& kernel : nlohmann::json::parse(run.out)["kernels"]) EXPECT_EQ(kernel["schedule"], "GIVEN");
  Save(Expected(), "output_0.pb");
  EXPECT_EQ(Run({"--data", data}).code, 0);
}

TEST_F(CompileAndRunTest, RefusesGivenSchedulesThatAreOfNoUse) {
  const std::string given = folder / "given.py";
  const auto kernels = nlohmann::json::parse(Compile({"--json"}).out)["kernels"];
  fs::remove(artifact);
  const auto name = kernels[0]["name"].get<std::string>();
  std::ofstream(given) << "def " << name << "(sch):\n    b0 = sch.get_block(name=\"no_such_block\")\n";
  const ProgramRun unknown_block = Compile({"--schedules", given});
  ExpectError(unknown_block, 1, "compile " + artifact + ": given schedule of " + name, "no_such_block");
  EXPECT_FALSE(fs::exists(artifact));
  std::ofstream(given) << "def other(sch):\n    pass\n";
  ExpectError(Compile({"--schedules", given}), 2, "read " + given + ": \"other\" is no kernel of the network",
              "its kernels: " + name);
}

TEST_F(CompileAndRunTest, AScheduleThatDoesNotBuildAnyMoreGivesWayToTheDefaultOne) {
  const Target target = *Target::Parse("auto");
  const auto network = LoadNetwork(model, {}, target, /*opt_level=*/3);
  ASSERT_TRUE(network.ok()) << network.status().ToString();
  const Status written = WriteRandomRecords(*network, target, /*seed=*/3, /*per_task=*/1, folder / "old.db");
  ASSERT_TRUE(written.ok()) << written.ToString();
  {
    const auto store = SqliteStore::Open(folder / "old.db");
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    const Digest workload = (*store)->ListWorkloads(std::nullopt, 1)->at(0).digest;
    const std::string trace = R"([[["GetBlock",[],["no_such_block","main"],["b0"]]],[]])";
    const Timings timings{.median_ns = 1, .min_ns = 1, .p90_ns = 1, .ci_low_ns = 1, .ci_high_ns = 1, .runs = 1};
    const std::vector<TuningRecord> records = {{.result_key = Sha256("old"),
                                                .key = KeyFor(workload, target.ToString(), "local"),
                                                .trace_digest = Sha256(trace),
                                                .trace_json = trace,
                                                .timings = timings}};
    const auto imported = (*store)->ImportRecords(records);
    ASSERT_TRUE(imported.ok()) << imported.status().ToString();
  }
  const ProgramRun run = Compile({"--db", folder / "old.db"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("the known schedule does not build any more"));
  EXPECT_THAT(run.err, HasSubstr("no_such_block"));
  EXPECT_THAT(run.err, HasSubstr("1 of 2 kernels with known schedules"));
  EXPECT_TRUE(fs::exists(artifact));
  EXPECT_FALSE(fs::exists(artifact + ".kernel.part"));
}

TEST_F(CompileAndRunTest, ComparesWithExpectedOutputsAndSaysWhereTheyDiffer) {
  CompileOrDie();
  ProgramRun run = Run({"--data", data});
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.err, HasSubstr("holds 0 of 1 expected outputs (output_0.pb ...)"));

  reference::Tensor expected = Expected();
  Save(expected, "output_0.pb");
  run = Run({"--data", data, "--json"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(nlohmann::json::parse(run.out)["checked_outputs"], 1);

  expected.floats[2] += 0.5;
  expected.floats[3] -= 0.01;
  Save(expected, "output_0.pb");
  run = Run({"--data", data});
  ExpectError(run, 1, "compare " + data + ": output \"y\": 2 of 4 elements differ; the worst, at [0, 2], is ",
              "it differs by 0.5, ");
  EXPECT_EQ(Run({"--data", data, "--atol", "0.6"}).code, 0);
  EXPECT_EQ(Run({"--data", data, "--rtol", "10"}).code, 0);
  Save(reference::Tensor::Floats({4}, expected.floats), "output_0.pb");
  ExpectError(Run({"--data", data}), 1, "compare ", "output \"y\": float32 (1, 4), float32 (4) expected");
}

TEST_F(CompileAndRunTest, RefusesDataThatDoesNotFit) {
  CompileOrDie();
  ExpectError(Run({"--data", folder / "nowhere"}), 3, "read " + (folder / "nowhere"), "no input_0.pb in it");
  Save(reference::Tensor::Floats({1, 3, 8, 4}, std::vector<double>(96, 1)), "input_0.pb");
  ExpectError(Run({"--data", data}), 2,
              "run: ", "input_0.pb is float32 (1, 3, 8, 4), the network's input \"x\" is float32 (1, 3, 8, 8)");
  Save(reference::Tensor::Ints({1, 3, 8, 8}, std::vector<int64_t>(192, 1), reference::DataType::kInt32), "input_0.pb");
  ExpectError(Run({"--data", data}), 2, "run: ", "input_0.pb is int32 (1, 3, 8, 8)");
  Save(x, "input_0.pb");
  Save(x, "input_1.pb");
  ExpectError(Run({"--data", data}), 2, "run: ", "holds 2 inputs (input_0.pb ...), the network has 1");
  fs::remove(data + "/input_1.pb");
  const std::string good = Read(data + "/input_0.pb");
  for (const std::string& bad : {good.substr(0, good.size() / 2), std::string(), std::string("no tensor at all")}) {
    Write(data + "/input_0.pb", bad);
    ExpectError(Run({"--data", data}), 2, "read " + data + "/input_0.pb: ", "");
  }
}

TEST_F(CompileAndRunTest, RunsOnRandomInputsAsOftenAndOnAsManyThreadsAsAsked) {
  CompileOrDie();
  ProgramRun run = Run({"--repeat", "5", "--threads", "3", "--json"});
  ASSERT_EQ(run.code, 0) << run.err;
  const nlohmann::json json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["repeat"], 5);
  EXPECT_EQ(json["threads"], 3);
  EXPECT_GT(json["median_ms"], 0);
  EXPECT_EQ(json["checked_outputs"], 0);
  EXPECT_EQ(json["outputs"][0]["name"], "y");
  EXPECT_EQ(json["outputs"][0]["shape"], (std::vector<int>{1, 4}));
  EXPECT_THAT(Run({"--repeat", "2", "--threads", "1"}).out, HasSubstr("per inference (median of 2, 1 thread)"));
  EXPECT_EQ(Run({"--repeat", "0"}).code, 2);
  EXPECT_EQ(Run({"--threads", "-1"}).code, 2);
  ExpectError(Run({"--threads", "100000"}), 2, "start 100000 threads", "1 to 1024 required");
}

TEST_F(CompileAndRunTest, TimesWarmInferencesOnTheThreadsThatItWasCompiledFor) {
  CompileOrDie();
  ProgramRun run = Run({"--json"});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(nlohmann::json::parse(run.out)["threads"], Target::Parse("auto")->num_cores());
  EXPECT_GE(nlohmann::json::parse(run.out)["repeat"], 5);
  ASSERT_EQ(Compile({"--target", "auto -num-cores=1"}).code, 0);
  EXPECT_EQ(nlohmann::json::parse(Run({"--json"}).out)["threads"], 1);
}

TEST_F(CompileAndRunTest, RefusesToRunWhatIsNoCompiledNetwork) {
  ExpectError(Run(), 3, "run " + artifact + ": open artifact ", "No such file");
  fs::create_directory(artifact);
  ExpectError(Run(), 2, "run " + artifact + ": ", "not an ELF file; give a shared object made by `lathe compile`");
  fs::remove(artifact);
  Write(artifact, "not ours");
  ExpectError(Run(), 2, "run " + artifact + ": ", "not an ELF file");
  Write(artifact, Read("/proc/self/exe"));
  ExpectError(Run(), 2, "run " + artifact + ": ",
              "no section .lathe.meta; give a shared object made by `lathe compile`");
}

TEST_F(CompileAndRunTest, RefusesTruncatedArtifacts) {
  CompileOrDie();
  const std::string good = Read(artifact);
  for (size_t size = 0; size < good.size(); size += good.size() / 12 + 1) {
    SCOPED_TRACE(fmt::format("{} of {} bytes", size, good.size()));
    Write(artifact, good.substr(0, size));
    const ProgramRun run = Run();
    EXPECT_TRUE(run.code == 1 || run.code == 2) << run.code;
    ExpectError(run, run.code, "run " + artifact + ": ", "");
  }
  Write(artifact, good.substr(0, good.size() - 1));
  ExpectError(Run(), 1, "run " + artifact + ": ", "");
}

TEST_F(CompileAndRunTest, RefusesArtifactsOfAnotherMachine) {
  const ProgramRun compiled = Compile({"--target", "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72 -num-cores=4"});
  ASSERT_EQ(compiled.code, 0) << compiled.err;
  ExpectError(Run(), 1, "run " + artifact + ": load artifact: ",
              "built for aarch64, this machine is x86-64; build for this device's target");
}

TEST_F(CompileAndRunTest, RefusesUnknownTargets) {
  ExpectError(Compile({"--target", "cuda"}), 1,
              "target \"cuda\": ", "this build generates code for CPUs only; use \"llvm\" or \"auto\"");
  for (const char* target :
       {"llvm -mcpu=pentium-75", "llvm -mtriple=riscv64-linux-gnu", "llvm -num-cores=0", "raspberry-pi/9", ""}) {
    SCOPED_TRACE(target);
    ExpectError(Compile({"--target", target}), 2, fmt::format("target \"{}\": ", target), "");
  }
  EXPECT_EQ(Compile({"--opt-level", "4"}).code, 2);
  EXPECT_FALSE(fs::exists(artifact));
}

TEST_F(CompileAndRunTest, RefusesModelsThatAreNone) {
  const auto expect_error = [&](int code, const std::string& words) {
    ExpectError(Compile(), code, "import " + model + ": ", words);
  };
  Write(model, "");
  expect_error(2, "no graph inside; the file is truncated or of another kind");
  Write(model, "no model at all");
  expect_error(2, "no valid ONNX model (15 bytes)");
  fs::remove(model);
  expect_error(3, "no such file");
  fs::create_directory(model);
  expect_error(2, "it is a folder");
}

TEST_F(CompileAndRunTest, RefusesModelsThatWouldTakeMemoryWithoutEnd) {
  for (const int64_t extent : {int64_t{1} << 30, int64_t{1} << 45}) {
    onnx::ModelProto hostile = SmallModel();
    reference::ToProto(reference::Tensor::Ints({1}, {extent}), "shape", *hostile.mutable_graph()->add_initializer());
    onnx::NodeProto& node = *hostile.mutable_graph()->add_node();
    node.set_op_type("ConstantOfShape");
    node.add_input("shape");
    node.add_output("huge");
    WriteModel(hostile);
    const ProgramRun run = Compile();
    ExpectError(run, 1 + (extent > INT32_MAX), "import " + model + ": ", "ConstantOfShape node \"huge\": ");
    EXPECT_LT(run.max_resident_bytes, int64_t{500} << 20);
  }
}

TEST_F(CompileAndRunTest, LeavesNothingBehindWhereItCannotWrite) {
  artifact = folder / "no/such/folder/network.so";
  ExpectError(Compile(), 1, "write " + artifact, "No such file or directory");
  artifact = folder / "taken";
  fs::create_directory(artifact);
  ExpectError(Compile(), 2, "write " + artifact, "a folder is there; name a file");
  artifact = model;
  ExpectError(Compile(), 2, "write " + model, "it is the model itself; name another file");
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(folder.path())) left.push_back(entry.path().filename());
  EXPECT_THAT(left, testing::UnorderedElementsAre("model.onnx", "data", "taken"));
}

TEST_F(CompileAndRunTest, RefusesDatabasesThatAreNone) {
  ExpectError(Compile({"--db", folder / "missing.db"}), 3, "open " + (folder / "missing.db"),
              "no such file; tune something first or check the path");
  Write(folder / "text.db", std::string(5000, 'x'));
  ExpectError(Compile({"--db", folder / "text.db"}), 1, "", folder / "text.db");
}

}  // namespace
}  // namespace lathe
