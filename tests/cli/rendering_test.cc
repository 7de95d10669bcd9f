// Tables, times, failure groups, and what doctor makes of a machine.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "cli/machine_checks.h"
#include "cli/text_table.h"
#include "cli/time_text.h"
#include "tests/cli/cli_testing.h"

namespace lathe {
namespace {

using testing::HasSubstr;

TEST(TextTable, AlignsColumnsByWhatATerminalShows) {
  TextTable table({"NAME", ">N"});
  table.Add({"Jürgen", "7"});
  table.Add({"x", "1234"});
  EXPECT_EQ(table.Render(), "NAME       N\nJürgen     7\nx       1234\n");
}

TEST(TextTable, ShowsNoControlCharacters) {
  TextTable table({"NAME"});
  table.Add({"esc\x1b[31mred"});
  EXPECT_EQ(table.Render(), "NAME\nesc?[31mred\n");
}

TEST(TextTable, CutsLongTextAtACodePoint) {
  EXPECT_EQ(Shorten("üüüüüüüü", 6), "üüü...");
  EXPECT_EQ(Shorten("one\ntwo", 20), "one");
}

TEST(TimeText, KeepsThreeDigits) {
  EXPECT_EQ(FormatNs(0), "-");
  EXPECT_EQ(FormatNs(850), "850 ns");
  EXPECT_EQ(FormatNs(12'345), "12.3 us");
  EXPECT_EQ(FormatNs(4'560'000), "4.56 ms");
  EXPECT_EQ(FormatNs(2.5e11), "250 s");
  EXPECT_EQ(FormatAge(0, 300 * kSecond), "5 min ago");
}

TEST(TimeText, ReadsDurations) {
  EXPECT_EQ(*ParseDuration("10m"), std::chrono::minutes(10));
  EXPECT_EQ(*ParseDuration("1.5s"), std::chrono::milliseconds(1500));
  for (const char* bad : {"", "m", "10 parsecs", "-3s", "nan"}) {
    EXPECT_THAT(ParseDuration(bad).status().message(), HasSubstr("write a number and ms, s, m or h")) << bad;
  }
}

const Check* Find(const std::vector<Check>& checks, const std::string& name) {
  for (const Check& check : checks) {
    if (check.name == name) return &check;
  }
  return nullptr;
}

TEST(Doctor, ReadsAndJudgesAMachine) {
  const TemporaryFolder root;
  std::filesystem::create_directories(root / "sys/devices/system/cpu/cpu0/cpufreq");
  std::filesystem::create_directories(root / "sys/devices/system/cpu/smt");
  std::filesystem::create_directories(root / "proc");
  std::ofstream(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") << "powersave\n";
  std::ofstream(root / "sys/devices/system/cpu/smt/active") << "1\n";
  std::ofstream(root / "proc/loadavg") << "250.5 1 1 1/2 3\n";
  std::ofstream(root / "proc/meminfo") << "MemTotal: 8000000 kB\nMemFree: 1 kB\nMemAvailable: 1024000 kB\n";
  const MachineFacts facts = ReadMachine(root / "", root / "not/there/yet");
  EXPECT_EQ(facts.governor, "powersave");
  EXPECT_EQ(facts.memory_available_bytes, int64_t{1024000} * 1024);
  EXPECT_TRUE(facts.disk_free_bytes.has_value());
  const std::vector<Check> checks = JudgeMachine(facts);
  for (const char* name : {"governor", "smt", "load", "memory"})
    EXPECT_EQ(Find(checks, name)->verdict, Verdict::kWarning) << name;
  EXPECT_THAT(Find(checks, "governor")->finding, HasSubstr("powersave: the clock changes"));
  EXPECT_THAT(Find(checks, "memory")->finding, HasSubstr("1000 MiB"));
}

TEST(Doctor, SaysOkWhereNothingIsWrong) {
  MachineFacts facts{.num_cpus = 4,
                     .governor = "performance",
                     .smt_active = false,
                     .load_1min = 0.1,
                     .memory_available_bytes = int64_t{8} << 30,
                     .disk_free_bytes = int64_t{100} << 30};
  for (const Check& check : JudgeMachine(facts)) EXPECT_EQ(check.verdict, Verdict::kOk) << check.name;
  facts.disk_free_bytes = 100 << 20;
  EXPECT_EQ(Find(JudgeMachine(facts), "disk")->verdict, Verdict::kProblem);
}

TEST(Doctor, ReportsAsJson) {
  const TemporaryFolder folder;
  const VerbRun run = RunVerb({"doctor", "--quick", "--json", "--db", folder / "lathe.db"});
  EXPECT_THAT(run.out, HasSubstr("\"name\": \"governor\""));
  EXPECT_THAT(run.out, HasSubstr("none yet"));
}

}  // namespace
}  // namespace lathe
