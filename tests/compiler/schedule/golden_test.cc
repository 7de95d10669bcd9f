// Runs every file of tests/golden/schedule: the calls after "# apply:" on function `before`, which must give function
// `expected`, or fail as a line "# fails: message" says and change nothing. LATHE_UPDATE_GOLDEN=1 rewrites what is
// expected; the reviewer reads the result.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "compiler/ir/structural.h"
#include "compiler/schedule/schedule.h"
#include "compiler/script/parser.h"
#include "compiler/script/printer.h"
#include "tests/compiler/schedule/soundness.h"

namespace lathe {
namespace {

struct Golden {
  std::string path, head, calls, fails, body;  // `head` is all up to and including the line before the functions.
};

Golden ReadGolden(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  Golden golden{.path = path};
  bool in_body = false;
  for (std::string line; std::getline(text, line);) {
    if (in_body) {
      golden.body += line + "\n";
      continue;
    }
    golden.head += line + "\n";
    in_body = line.starts_with("# before");
    if (line.starts_with("# fails: "))
      golden.fails = line.substr(9);
    else if (!line.starts_with("#"))
      golden.calls += line + "\n";
  }
  return golden;
}

std::vector<std::string> GoldenFiles() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(LATHE_SOURCE_DIR "/tests/golden/schedule")) {
    if (entry.path().extension() == ".py") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

void Update(const Golden& golden, const PrimFunc& before, PrimFunc actual) {
  actual.name = "expected";
  std::ofstream(golden.path) << golden.head << Print(before) << Print(actual);
}

class ScheduleGoldenTest : public testing::TestWithParam<std::string> {};

TEST_P(ScheduleGoldenTest, GivesWhatIsExpected) {
  const Golden golden = ReadGolden(GetParam());
  const StatusOr<IRModule> module = ParseModule(golden.body, golden.path);
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  const PrimFunc* before = module->Find("before");
  ASSERT_NE(before, nullptr);
  const StatusOr<ScheduleTrace> trace = ScheduleTrace::FromPython(golden.calls);
  ASSERT_TRUE(trace.ok()) << trace.status().ToString();
  StatusOr<Schedule> schedule = Schedule::Create(*before);
  ASSERT_TRUE(schedule.ok()) << schedule.status().ToString();
  const Status status = ApplyStepByStep(*trace, *schedule);
  if (!golden.fails.empty()) {
    EXPECT_THAT(status.message(), testing::HasSubstr(golden.fails));
    return;
  }
  ASSERT_TRUE(status.ok()) << status.ToString();
  if (std::getenv("LATHE_UPDATE_GOLDEN") != nullptr) return Update(golden, *before, schedule->func());
  const PrimFunc* expected = module->Find("expected");
  ASSERT_NE(expected, nullptr) << "run with LATHE_UPDATE_GOLDEN=1, then read the result";
  EXPECT_TRUE(StructuralEqual(schedule->func(), *expected)) << "got:\n"
                                                            << Print(schedule->func()) << "\nexpected:\n"
                                                            << Print(*expected);
}

INSTANTIATE_TEST_SUITE_P(Files, ScheduleGoldenTest, testing::ValuesIn(GoldenFiles()),
                         [](const auto& info) { return std::filesystem::path(info.param).stem().string(); });

}  // namespace
}  // namespace lathe
