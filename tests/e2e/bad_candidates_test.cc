// Candidates that hang, crash, take memory without end, or do so to their compiler: each costs one trial, named for
// what it is.
#include <nlohmann/json.hpp>

#include "tests/e2e/farm_processes.h"

namespace lathe {
namespace {

using testing::HasSubstr;

class BadCandidatesTest : public FarmTest {
 protected:
  // Programs look for their companions beside themselves: a folder with a builder that follows `plan`.
  void SetUp() override {
    const std::string bin = LATHE_BIN_DIR, odd = ODD_DIR;
    std::filesystem::create_directories(programs);
    for (const char* name : {"lathe", "lathe-runner", "lathe-evaluate", "lathe-search"})
      std::filesystem::copy_file(bin + "/" + name, programs + "/" + name);
    for (const auto& entry : std::filesystem::directory_iterator(odd)) {
      if (entry.is_regular_file())
        std::filesystem::copy_file(entry.path(), programs + "/" + entry.path().filename().string());
    }
  }
  void Plan(const std::vector<std::string>& words) {
    std::ofstream plan(programs + "/plan");
    for (const std::string& word : words) plan << word << "\n";
  }
  nlohmann::json Run(std::vector<std::string> arguments) {
    arguments[0] = programs + "/lathe";
    ChildProcess child(arguments, folder / "tune.log");
    const std::string text = child.ReadAll();
    EXPECT_EQ(child.Wait(), 0) << text;
    return nlohmann::json::parse(text, nullptr, false);
  }
  // State and words of the job's failures, words first in order of state.
  std::multimap<std::string, std::string> Failures() {
    std::multimap<std::string, std::string> failures;
    const nlohmann::json trials = Run({"lathe", "trials", "1", "--failed", "--json", "--db", database});
    for (const auto& trial : trials["trials"]) failures.emplace(trial["state"], trial["error"]);
    return failures;
  }

  std::string programs = folder / "programs";
};

TEST_F(BadCandidatesTest, CostOneTrialEachNamedForWhatItIs) {
  constexpr int64_t kBudget = 24;
  Plan({"ok", "spin", "ok", "hang", "segv", "ok", "ill", "abort", "scratch", "ok", "mapping", "hog"});
  std::ofstream(folder / "matmul.py") << MatmulText("matmul", 32);
  const nlohmann::json result = Run({"lathe", "tune", folder / "matmul.py", "--db", database, "--trials",
                                     std::to_string(kBudget), "--cpus", "0", "--slots", "2", "--json"});
  EXPECT_EQ(result["state"], "DONE") << result;
  EXPECT_EQ(result["trials_measured"], kBudget);
  EXPECT_EQ(result["tasks"][0]["trials"], kBudget);
  EXPECT_GT(result["tasks"][0]["best_ms"], 0);
  CheckBooks(database, 1, kBudget);

  const auto failures = Failures();
  const auto words = [&](const std::string& state) {
    std::string all;
    const auto [begin, end] = failures.equal_range(state);
    for (auto it = begin; it != end; ++it) all += it->second + "\n";
    return all;
  };
  EXPECT_EQ(failures.size(), 8u);
  EXPECT_EQ(failures.count("RUN_TIMEOUT"), 1u);
  EXPECT_THAT(words("RUN_TIMEOUT"), HasSubstr("not done after the wall limit of 16 s"));
  EXPECT_EQ(failures.count("CRASH"), 2u);
  EXPECT_THAT(words("CRASH"), testing::AllOf(HasSubstr("SIGSEGV at address 0x40"), HasSubstr("SIGILL")));
  EXPECT_EQ(failures.count("OUT_OF_MEMORY"), 2u);
  EXPECT_THAT(words("OUT_OF_MEMORY"),
              testing::AllOf(HasSubstr("out of scratch memory"), HasSubstr("refused allocation")));
  EXPECT_EQ(failures.count("BUILD_TIMEOUT"), 1u);
  EXPECT_THAT(words("BUILD_TIMEOUT"), HasSubstr("longer than 30 s"));
  EXPECT_EQ(failures.count("BUILD_ERROR"), 2u);
  EXPECT_THAT(words("BUILD_ERROR"), testing::AllOf(HasSubstr("builder died with SIGABRT: LLVM ERROR: Cannot select"),
                                                   HasSubstr("its limit is 4096 MiB")));
}

TEST_F(BadCandidatesTest, OfWholeTasksFailTheJobWithTheirReasons) {
  Plan(std::vector<std::string>(64, "segv"));
  std::ofstream(folder / "matmul.py") << MatmulText("matmul", 32);
  ChildProcess tune(
      {programs + "/lathe", "tune", folder / "matmul.py", "--db", database, "--trials", "5", "--cpus", "0", "--json"},
      folder / "tune.log");
  const nlohmann::json result = nlohmann::json::parse(tune.ReadAll(), nullptr, false);
  EXPECT_EQ(tune.Wait(), 1);
  EXPECT_EQ(result["state"], "FAILED") << result;
  EXPECT_THAT(result["detail"].get<std::string>(),
              testing::AllOf(HasSubstr("no candidate could be timed"), HasSubstr("5 x CRASH: "), HasSubstr("SIGSEGV")));
  EXPECT_EQ(result["tasks"][0]["failures"]["CRASH"], 5);
  EXPECT_EQ(result["tasks"][0]["best_ms"], nullptr);
}

}  // namespace
}  // namespace lathe
