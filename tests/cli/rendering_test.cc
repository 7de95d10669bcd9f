// Tables, times, failure groups, and what doctor makes of a machine.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "cli/explanation.h"
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

v1::TaskExplanation SomeExplanation() {
  v1::TaskExplanation told;
  told.set_name("matmul<1>");
  told.mutable_key()->set_workload(std::string(32, '\x5a'));
  told.mutable_key()->set_target("llvm");
  told.set_flops(100'000);
  told.set_floor_ns(800);
  told.set_untuned_ns(4000);
  told.set_best_ns(1000);
  told.set_best_final_ns(1020);
  told.set_best_after(3);
  told.set_bound_by("compute");
  told.set_compute_share(0.9);
  for (const double ns : {4000.0, 0.0, 1000.0, 2000.0}) told.add_result_ns(ns);
  v1::SketchStory& sketch = *told.add_sketches();
  sketch.set_made_by("templates: dense");
  sketch.set_choices(1500);
  sketch.set_accepted(0.25);
  sketch.set_trials(4);
  sketch.set_best_ns(1000);
  v1::ModelRound& round = *told.add_rounds();
  round.set_trials(4);
  round.set_pairs(5);
  round.set_pairs_right(4);
  round.set_regret_at_1(0.5);
  round.set_rows(4);
  v1::DecisionStory& decision = *told.add_decisions();
  decision.set_name("tile of loop \"i\" of \"C\", factor 3 of 3");
  decision.set_chosen("4");
  decision.set_share(0.75);
  for (const auto& [value, ns] : {std::pair("4", 1000.0), std::pair("8", 1500.0)}) {
    v1::ValueStory& one = *decision.add_values();
    one.set_value(value);
    one.set_best_ns(ns);
    one.set_trials(2);
  }
  v1::NeighbourStory& neighbour = *told.add_neighbours();
  neighbour.set_name("tile of loop \"i\" of \"C\"");
  neighbour.set_chosen("[16, 1, 4]");
  neighbour.set_other("[8, 2, 4]");
  neighbour.set_median_ns(1031);
  return told;
}

TEST(Explanation, SaysWhyTheBestIsTheBest) {
  EXPECT_EQ(RenderExplanation(SomeExplanation()), R"(matmul<1>  5a5a5a5a5a5a  llvm
  best 1.00 us (1.02 us when measured again): 100 GFLOP/s, 80 % of the device's peak
  untuned 4.00 us: 4.00 x
  estimated to be bound by compute; arithmetic needs 90 % of its cycles
  4 results
  the best was result 3
SKETCH  CHOICES  ACCEPTED  RESULTS     BEST  SPACE
   0 *  1.5e+03      25 %        4  1.00 us  templates: dense
  how the model ranked each batch before it learned from it
RESULTS  PAIRS RIGHT  REGRET AT 1  AT 8  ROWS  TREES  DRAFT
      4    80 % of 5         50 %   0 %     4      0   0.00
  what mattered: share of the variance of log time, and the fastest with each value
     75 %  tile of loop "i" of "C", factor 3 of 3: 4 is best; 4: +0.0 % (2 results), 8: +50.0 % (2 results)
  one decision away from the best
      +3.1 %  tile of loop "i" of "C": [8, 2, 4] instead of [16, 1, 4]
)");
}

TEST(Explanation, DrawsHowASearchConverged) {
  v1::TaskExplanation nothing;
  nothing.set_name("nothing");
  const std::vector<v1::TaskExplanation> tasks{SomeExplanation(), nothing};
  const std::string svg = DrawConvergence(tasks);
  EXPECT_THAT(svg, testing::StartsWith("<svg xmlns="));
  EXPECT_THAT(svg, HasSubstr(">matmul&lt;1&gt;</text>"));
  EXPECT_THAT(svg, testing::Not(HasSubstr("nothing"))) << "nothing was measured of it";
  EXPECT_THAT(svg, HasSubstr(">untuned</text>"));
  size_t dots = 0;
  for (size_t at = svg.find("<circle"); at != std::string::npos; at = svg.find("<circle", at + 1)) ++dots;
  EXPECT_EQ(dots, 3u);
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
  EXPECT_EQ(*ParseDuration("90d"), std::chrono::hours(24 * 90));
  for (const char* bad : {"", "m", "10 parsecs", "-3s", "nan"}) {
    EXPECT_THAT(ParseDuration(bad).status().message(), HasSubstr("write a number and ms, s, m, h or d")) << bad;
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
