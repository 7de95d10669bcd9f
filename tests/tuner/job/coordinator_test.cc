#include "tuner/job/coordinator.h"

#include <fmt/format.h>

#include "tests/property_runs.h"
#include "tests/tuner/job/fake_farm.h"
#include "tests/tuner/job/faulty_store.h"
#include "tuner/database/finals.h"
#include "tuner/job/best_check.h"
#include "tuner/job/job_report.h"
#include "tuner/job/job_search.h"
#include "tuner/search/adapt_trace.h"
#include "tuner/search/decisions.h"

namespace lathe {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

// Every record of a search, with the invariants that hold whatever happened.
std::vector<TuningRecord> RecordsOf(FakeFarm& farm) {
  std::vector<TuningRecord> records = *farm.store().ListRecords({0, 10000});
  std::erase_if(records, [](const TuningRecord& record) { return record.final_round > 0; });
  std::set<Digest> traces;
  for (const TuningRecord& record : records) {
    if (!record.late && record.status != TrialState::kNoisy) {
      EXPECT_TRUE(traces.insert(record.trace_digest).second) << "a trace was recorded twice";
    }
  }
  return records;
}

TEST(Coordinator, MeasuresAJobToItsBudget) {
  FakeFarm farm;
  farm.AddDevice("d1");
  const int64_t job = farm.Submit(40);
  ASSERT_TRUE(farm.WaitFor(job));
  EXPECT_EQ(farm.store().GetJob(job)->state, JobState::kDone) << farm.store().GetJob(job)->detail;
  EXPECT_THAT(farm.CountStates(job), ElementsAre(Pair("OK", 40)));
  EXPECT_EQ(RecordsOf(farm).size(), 40u);
  const JobReport report = *MakeJobReport(farm.store(), job);
  EXPECT_EQ(report.measured, 40);
  EXPECT_EQ(report.tasks[0].state, JobState::kDone);
  EXPECT_GT(report.tasks[0].untuned_ns, 0) << "the default schedule is the first trial";
  EXPECT_LE(report.tasks[0].best_ns, report.tasks[0].untuned_ns);
  EXPECT_EQ(report.tasks[0].flops, 2.0 * 64 * 64 * 64);
  const JobProgress progress = *farm.coordinator().Progress(job);
  EXPECT_EQ(progress.measured, 40);
  EXPECT_EQ(progress.latencies.result_to_commit_ns.size(), 40u);
  EXPECT_GT(progress.shares.total(), Duration(0));
}

// Draws at random and says after each tenth result that it has learned from ten.
class SaysItLearns : public SearchStrategy {
 public:
  SaysItLearns(const TuneTask& task, uint64_t seed, ModelReportSink sink)
      : random_(MakeRandomSearch(task, seed)), sink_(std::move(sink)) {}
  std::vector<MeasureCandidate> Propose(int count) override { return random_->Propose(count); }
  std::vector<MeasureCandidate> Adopt(std::span<const ScheduleTrace> traces, int count) override {
    return random_->Adopt(traces, count);
  }
  void Observe(const MeasuredCandidate& measured) override {
    random_->Observe(measured);
    if (++results_ % 10 != 0) return;
    sink_({.before = {.pairs = 45, .pairs_right = 36, .regret_at_1 = 0.25, .regret_at_8 = 0.125},
           .batch = 10,
           .rows = results_,
           .refitted = true,
           .trees = 18,
           .draft_weight = 0.5});
  }
  void Recall(std::span<const MeasuredCandidate> measured) override {
    for (const MeasuredCandidate& one : measured) Observe(one);
  }
  void Exclude(std::vector<Digest> traces) override { random_->Exclude(std::move(traces)); }

 private:
  std::unique_ptr<SearchStrategy> random_;
  ModelReportSink sink_;
  size_t results_ = 0;
};

TEST(Coordinator, KeepsHowTheModelRankedWhatItHadNotSeen) {
  FakeFarm farm({.searches = []() -> StrategyFactory {
    return [](const TuneTask& task, uint64_t seed, ModelReportSink sink) {
      return std::make_unique<SaysItLearns>(task, seed, std::move(sink));
    };
  }});
  farm.AddDevice("d1");
  ASSERT_TRUE(farm.WaitFor(farm.Submit(20)));
  const int64_t task = farm.store().ListTasks(farm.store().ListJobs({})->front().id)->front().id;
  farm.Until([&] { return farm.store().ListModelRounds(task)->size() == 2; });
  ModelRound expected{.trials = 10,
                      .batch = 10,
                      .rows = 10,
                      .pairs = 45,
                      .pairs_right = 36,
                      .regret_at_1 = 0.25,
                      .regret_at_8 = 0.125,
                      .refitted = true,
                      .trees = 18,
                      .draft_weight = 0.5};
  std::vector<ModelRound> rounds = *farm.store().ListModelRounds(task);
  for (ModelRound& round : rounds) EXPECT_GT(std::exchange(round.at_unix_ns, 0), 0);
  EXPECT_EQ(rounds[0], expected);
  expected.trials = expected.rows = 20;
  EXPECT_EQ(rounds[1], expected);
  // A search that begins again is told what is known, and says nothing of that.
  ASSERT_TRUE(farm.WaitFor(farm.Submit(25, "request-2")));
  for (const ModelRound& round : *farm.store().ListModelRounds(farm.store().ListTasks(2)->front().id))
    EXPECT_GT(round.trials, 20);
}

TuningRecord BestOf(FakeFarm& farm, int64_t job) {
  const TuningKey key = farm.store().ListTasks(job)->front().key;
  return *(*farm.store().QueryBest(std::vector{key}))[0].record;
}

bool IsFinal(const v1::MeasureSpec& spec) { return spec.policy().min_batch_ns() == FinalPolicy().min_batch_ns; }

// The slower a schedule is, the luckier its short measurement: all of them within what such measurements spread by.
PretendedRun LuckyOnce(const v1::MeasureSpec& spec) {
  const double truth = 1000 + static_cast<double>(static_cast<uint8_t>(spec.module().digest()[0]) % 16);
  return {.median_ns = IsFinal(spec) ? truth : 2000 - truth, .half_width_ns = 20};
}

TEST(Coordinator, MeasuresTheBestAgainInTurnsBeforeOneIsBest) {
  FakeFarm farm;
  std::vector<std::string> finals;  // Modules in the order of their measurements.
  std::set<uint64_t> seeds;
  farm.AddDevice("d1", [&](const v1::MeasureSpec& spec) {
    if (IsFinal(spec)) {
      finals.push_back(spec.module().digest());
      EXPECT_EQ(spec.incumbent_ns(), 0) << "nobody is given up on the way";
    }
    seeds.insert(spec.seed());
    return LuckyOnce(spec);
  });
  const int64_t job = farm.Submit(40);
  ASSERT_TRUE(farm.WaitFor(job));
  ASSERT_EQ(finals.size(), kMostFinalists * kFinalRounds);
  const auto round = [&](size_t i) {
    const auto begin = finals.begin() + static_cast<ptrdiff_t>(i * kMostFinalists);
    return std::set<std::string>(begin, begin + kMostFinalists);
  };
  EXPECT_EQ(round(0).size(), kMostFinalists);
  EXPECT_EQ(round(1), round(0));
  EXPECT_EQ(round(2), round(0));
  EXPECT_EQ(seeds.size(), 2u) << "the finals have inputs of their own";
  const TuningRecord best = BestOf(farm, job);
  EXPECT_GT(best.final_round, 0);
  for (const TuningRecord& record : *farm.store().ListRecords({0, 1000})) {
    if (record.final_round > 0) {
      EXPECT_LE(best.timings->median_ns, record.timings->median_ns);
    }
  }
  EXPECT_THAT(farm.CountStates(job), ElementsAre(Pair("OK", 40))) << "finals are no trials of the task";
  EXPECT_EQ(farm.coordinator().Progress(job)->measured, 40);
  EXPECT_EQ(MakeJobReport(farm.store(), job)->tasks[0].best_ns, best.timings->median_ns);
}

TEST(Coordinator, ChecksWhatIsDecidedByOneMeasurement) {
  FakeFarm farm;
  farm.AddDevice("d1", LuckyOnce);
  const int64_t known = farm.Submit(12, "a");
  ASSERT_TRUE(farm.WaitFor(known));
  const TuningRecord best = BestOf(farm, known);
  const size_t before = farm.store().ListRecords({0, 1000})->size();
  const int64_t again = farm.Submit(12, "b");
  ASSERT_TRUE(farm.WaitFor(again));
  const std::vector<TuningRecord> records = *farm.store().ListRecords({0, 1000});
  ASSERT_EQ(records.size(), before + 1);
  EXPECT_EQ(records.back().trace_digest, best.trace_digest);
  EXPECT_EQ(records.back().final_round, kCheckRound);
  EXPECT_EQ(BestOf(farm, again).id, best.id) << "it holds";
  EXPECT_THAT(farm.CountStates(again), testing::IsEmpty());
  EXPECT_EQ(farm.store().GetJob(again)->detail, "");
}

TEST(Coordinator, SearchesAnewWhereTheBestNoLongerHolds) {
  FakeFarm farm;
  std::atomic<double> slower = 1;
  farm.AddDevice("d1", [&](const v1::MeasureSpec& spec) {
    PretendedRun run = LuckyOnce(spec);
    run.median_ns *= slower;
    return run;
  });
  const int64_t known = farm.Submit(12, "a");
  ASSERT_TRUE(farm.WaitFor(known));
  const TuningRecord before = BestOf(farm, known);
  slower = 2;
  const int64_t anew = farm.Submit(10, "b");
  ASSERT_TRUE(farm.WaitFor(anew));
  EXPECT_EQ(farm.store().GetJob(anew)->state, JobState::kDone);
  EXPECT_THAT(
      farm.store().GetJob(anew)->detail,
      testing::AllOf(HasSubstr("task \"matmul\" was searched anew: its best takes"), HasSubstr("recorded are")));
  EXPECT_THAT(farm.CountStates(anew), ElementsAre(Pair("OK", 10))) << "with its whole budget";
  const TuningRecord best = BestOf(farm, anew);
  EXPECT_GT(best.id, before.id);
  EXPECT_GE(best.timings->median_ns, 2000) << "what was measured before is no longer true";
  // Now it is decided again.
  const int64_t third = farm.Submit(10, "c");
  ASSERT_TRUE(farm.WaitFor(third));
  EXPECT_THAT(farm.CountStates(third), testing::IsEmpty());
}

TEST(Coordinator, TakesBackWhatIsWrongOnOtherInputs) {
  FakeFarm farm;
  std::set<std::string> wrong;
  farm.AddDevice("d1", [&](const v1::MeasureSpec& spec) {
    if (IsFinal(spec) && wrong.size() < kMostFinalists) wrong.insert(spec.module().digest());
    if (!IsFinal(spec) || !wrong.contains(spec.module().digest())) return LuckyOnce(spec);
    return PretendedRun{.status = v1::MEASURE_STATUS_WRONG_RESULT, .message = "off by one at 3"};
  });
  const int64_t job = farm.Submit(40);
  ASSERT_TRUE(farm.WaitFor(job));
  EXPECT_EQ(wrong.size(), kMostFinalists) << "all of the first finalists";
  const TuningRecord best = BestOf(farm, job);
  EXPECT_GT(best.final_round, 0) << "others took their places";
  EXPECT_FALSE(wrong.contains(std::string(best.module_digest->raw())));
}

TEST(Coordinator, RefusesATimeThatTheMachineCannotReach) {
  FakeFarm farm;
  std::atomic<int> runs = 0;
  const auto device = [&](const v1::MeasureSpec&) { return PretendedRun{.median_ns = runs++ == 2 ? 600.0 : 5000.0}; };
  farm.AddDevice("d1", device, "local", 100);  // 64 x 64 x 64 products and sums in 5,243 ns.
  const int64_t job = farm.Submit(6);
  ASSERT_TRUE(farm.WaitFor(job));
  EXPECT_THAT(farm.CountStates(job), ElementsAre(Pair("OK", 5), Pair("WRONG_RESULT", 1)));
  EXPECT_EQ(BestOf(farm, job).timings->median_ns, 5000);
  for (const TuningRecord& record : RecordsOf(farm)) {
    if (record.status == TrialState::kWrongResult) {
      EXPECT_EQ(
          record.error,
          "a call took 600 ns; its 5.24e+05 operations take 5.24e+03 ns at the peak that the device measured, and "
          "no schedule skips more than 7 of 8 of them");
    }
  }
}

TEST(Coordinator, CountsWhatTheDatabaseHoldsAlready) {
  FakeFarm farm;
  farm.AddDevice("d1", LuckyOnce);
  ASSERT_TRUE(farm.WaitFor(farm.Submit(12, "a")));
  const int64_t same = farm.Submit(12, "b");
  ASSERT_TRUE(farm.WaitFor(same));
  EXPECT_THAT(farm.CountStates(same), testing::IsEmpty());
  EXPECT_EQ(farm.store().GetJob(same)->state, JobState::kDone);
  const int64_t larger = farm.Submit(20, "c");
  ASSERT_TRUE(farm.WaitFor(larger));
  EXPECT_THAT(farm.CountStates(larger), ElementsAre(Pair("OK", 8)));
  JobRequest fresh = farm.RequestFor(5, "d");
  fresh.spec.is_fresh = true;
  const int64_t anew = farm.Submit(fresh);
  ASSERT_TRUE(farm.WaitFor(anew));
  EXPECT_THAT(farm.CountStates(anew), ElementsAre(Pair("OK", 5)));
}

// A loop split by `factor`, which no sketch does so.
ForeignTrace ForeignSplit(int factor, std::optional<double> median_ns) {
  const PrimFunc func = *ParsePrimFunc(kMatmulText, "matmul.py");
  Schedule schedule = *Schedule::Create(func);
  const StatusOr<ScheduleTrace> trace = ScheduleTrace::FromPython(fmt::format(
      "b0 = sch.get_block(\"C\")\nl1, l2, l3 = sch.get_loops(b0)\nl4, l5 = sch.split(l1, [None, {}])\n", factor));
  EXPECT_TRUE(trace->Replay(schedule).ok());
  const std::string json = schedule.trace().ToJson();
  return {WorkloadDigest(func), Sha256(json), json, "tvm", "llvm", median_ns};
}

TEST(Coordinator, TriesForeignSchedulesFirstAndBelievesOnlyItsOwnMeasurements) {
  FakeFarm farm;
  const std::vector foreign{ForeignSplit(4, 0.5), ForeignSplit(8, std::nullopt)};
  std::vector<ForeignTrace> bad{{foreign[0].workload, Sha256("[[],[]"), "[[],[]", "tvm", "llvm", 0.1}};
  const PrimFunc func = *ParsePrimFunc(kMatmulText, "matmul.py");
  ASSERT_TRUE(farm.store().PutWorkload({WorkloadDigest(func), func.name, kMatmulText}).ok());
  ASSERT_EQ(*farm.store().ImportForeign(foreign), 2);
  ASSERT_EQ(*farm.store().ImportForeign(bad), 1);
  farm.AddDevice("d1");
  const int64_t job = farm.Submit(12);
  ASSERT_TRUE(farm.WaitFor(job));
  const std::vector<TuningRecord> records = RecordsOf(farm);
  const auto is_measured = [&](const ForeignTrace& trace) {
    return std::any_of(records.begin(), records.end(),
                       [&](const TuningRecord& record) { return record.trace_digest == trace.trace_digest; });
  };
  EXPECT_TRUE(is_measured(foreign[0]));
  EXPECT_TRUE(is_measured(foreign[1]));
  EXPECT_EQ(records.size(), 12u) << "what cannot be read costs no trial";
  EXPECT_GE(MakeJobReport(farm.store(), job)->tasks[0].best_ns, 1000) << "0.5 ns is nobody's measurement here";
}

// The product of fake_farm.h with `rows` of them.
std::string ProductText(int rows) {
  return fmt::format(R"(
@T.prim_func
def matmul(A: T.Buffer(({0}, 64), "float32"), B: T.Buffer((64, 64), "float32"), C: T.Buffer(({0}, 64), "float32")):
    for i, j, k in T.grid({0}, 64, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)",
                     rows);
}

// Whether the job measured what `best` is for its own workload.
bool HasMeasured(FakeFarm& farm, int64_t job, const TuningRecord& best) {
  const TuningKey key = farm.store().ListTasks(job)->front().key;
  const StatusOr<ScheduleTrace> adapted =
      AdaptTrace(*LoadTuneTask(farm.store(), key), *ScheduleTrace::FromJson(best.trace_json));
  EXPECT_TRUE(adapted.ok()) << adapted.status().message();
  const std::vector<Digest> measured = *farm.store().MeasuredTraces(key);
  return std::ranges::count(measured, Sha256(adapted->ToJson())) > 0;
}

TEST(Coordinator, BeginsWithTheSchedulesOfTheNearestWorkload) {
  FakeFarm farm;
  farm.AddDevice("d1");
  const int64_t known = farm.Submit(20, "a");
  ASSERT_TRUE(farm.WaitFor(known));
  const int64_t near = farm.Submit(farm.RequestFor(5, "b", ProductText(192)));
  ASSERT_TRUE(farm.WaitFor(near));
  EXPECT_TRUE(HasMeasured(farm, near, BestOf(farm, known)));
  EXPECT_THAT(farm.CountStates(near), ElementsAre(Pair("OK", 5)));
  JobRequest fresh = farm.RequestFor(5, "c", ProductText(320));
  fresh.spec.is_fresh = true;
  const int64_t anew = farm.Submit(fresh);
  ASSERT_TRUE(farm.WaitFor(anew));
  EXPECT_FALSE(HasMeasured(farm, anew, BestOf(farm, known))) << "what the database knows does not guide";
}

TEST(Coordinator, FailsATaskThatNoTemplateFits) {
  FakeFarm farm;
  farm.AddDevice("d1");
  JobRequest request = farm.RequestFor(6, "a", R"(@T.prim_func
def twice(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.block("B"):
            vi = T.axis.spatial(64, i)
            B[vi] = A[vi] * T.float32(2)
)");
  request.spec.space = "templates";
  const int64_t job = farm.Submit(request);
  ASSERT_TRUE(farm.WaitFor(job));
  EXPECT_EQ(farm.store().GetJob(job)->state, JobState::kFailed);
  EXPECT_THAT(farm.store().GetJob(job)->detail, HasSubstr("no template for @twice"));
}

TEST(Coordinator, ReturnsTheSameJobForTheSameRequest) {
  FakeFarm farm({.has_worker = false});
  const int64_t job = farm.Submit(4, "a");
  EXPECT_EQ(farm.Submit(4, "a"), job);
  EXPECT_THAT(farm.coordinator().SubmitJob(farm.RequestFor(5, "a")).status().message(),
              HasSubstr("use a new request id"));
}

TEST(Coordinator, SaysWhichDeviceAJobWaitsFor) {
  FakeFarm farm;
  farm.AddDevice("d1", ByTrialId, "rpi4");
  const int64_t job = farm.Submit(4);
  farm.Until([&] { return !farm.coordinator().Progress(job)->waits_for.empty(); });
  EXPECT_THAT(farm.coordinator().Progress(job)->waits_for,
              testing::AllOf(HasSubstr("\"local\""), HasSubstr("\"rpi4\"")));
  EXPECT_EQ(farm.store().GetJob(job)->detail, farm.coordinator().Progress(job)->waits_for);
  farm.AddDevice("d2");
  ASSERT_TRUE(farm.WaitFor(job));
  EXPECT_THAT(farm.CountStates(job), ElementsAre(Pair("OK", 4)));
}

TEST(Coordinator, SaysThatNobodyBuilds) {
  FakeFarm farm({.has_worker = false});
  farm.AddDevice("d1");
  const int64_t job = farm.Submit(4);
  farm.Until([&] { return !farm.coordinator().Progress(job)->waits_for.empty(); });
  EXPECT_EQ(farm.coordinator().Progress(job)->waits_for,
            "a worker: none is connected; start one with `lathe worker --connect HOST:PORT`");
}

TEST(Coordinator, FailsAJobWhoseCandidatesAllFailAndGroupsTheReasons) {
  FakeFarm farm({.build = [](const BuildRequest&) {
    return BuildFailed{BuildFailed::Kind::kCandidate, "register tile of 17 vectors does not fit 16"};
  }});
  farm.AddDevice("d1");
  const int64_t job = farm.Submit(6);
  ASSERT_TRUE(farm.WaitFor(job));
  const JobRow row = *farm.store().GetJob(job);
  EXPECT_EQ(row.state, JobState::kFailed);
  EXPECT_THAT(row.detail, HasSubstr("6 x BUILD_ERROR: register tile of 17 vectors does not fit 16"));
  EXPECT_THAT(farm.CountStates(job), ElementsAre(Pair("BUILD_ERROR", 6)));
}

TEST(Coordinator, FailsATaskThatHasNoReference) {
  FakeFarm farm({.reference = [](uint64_t) -> Status {
    return FailedPrecondition("compute the float64 reference of matmul: ended by SIGSEGV");
  }});
  farm.AddDevice("d1");
  const int64_t job = farm.Submit(6);
  ASSERT_TRUE(farm.WaitFor(job));
  EXPECT_EQ(farm.store().GetJob(job)->state, JobState::kFailed);
  EXPECT_THAT(farm.store().GetJob(job)->detail, HasSubstr("ended by SIGSEGV"));
}

// A full disk says nothing about the task: it is prepared when there is room again, as are its finalists.
TEST(Coordinator, WaitsWhereTheDiskIsFullWhenAReferenceIsBuilt) {
  constexpr char kWords[] = "build the float64 reference of matmul: write build/1.so: No space left on device";
  constexpr uint64_t kOfSearch = 1, kOfFinals = 2;  // Seeds of inputs.
  std::atomic<uint64_t> full_for = kOfSearch;
  FakeClock clock;
  FakeFarm farm({.reference = [&](uint64_t seed) -> Status {
                   if (full_for == seed) return ResourceExhausted(kWords);
                   return OkStatus();
                 },
                 .clock = &clock});
  farm.AddDevice("d1");
  const int64_t job = farm.Submit(6);
  const auto trouble = [&] { return farm.coordinator().CurrentTrouble(); };
  farm.UntilInTime(clock, [&] { return !trouble().empty() || IsTerminal(farm.store().GetJob(job)->state); });
  EXPECT_EQ(farm.store().GetJob(job)->state, JobState::kRunning) << farm.store().GetJob(job)->detail;
  EXPECT_EQ(trouble(), std::string("prepare task \"matmul\": ") + kWords);
  EXPECT_THAT(farm.coordinator().Why(job)->reasons.front(), HasSubstr(kWords));
  full_for = kOfFinals;
  farm.UntilInTime(clock, [&] { return farm.CountStates(job)["OK"] == 6; });
  farm.UntilInTime(clock, [&] { return !trouble().empty() || IsTerminal(farm.store().GetJob(job)->state); });
  EXPECT_EQ(trouble(), std::string("choose finalists of task \"matmul\": ") + kWords);
  full_for = 0;
  farm.UntilInTime(clock, [&] { return IsTerminal(farm.store().GetJob(job)->state); });
  EXPECT_EQ(farm.store().GetJob(job)->state, JobState::kDone) << farm.store().GetJob(job)->detail;
  EXPECT_GT(BestOf(farm, job).final_round, 0);
  EXPECT_EQ(trouble(), "");
}

// What is open from before a restart is given to nobody until its task is prepared, and counts no failure meanwhile.
TEST(Coordinator, LeavesOpenTrialsAloneUntilTheirTaskCanBePrepared) {
  std::atomic<bool> is_full = false;
  FakeClock clock;
  FakeFarm farm({.database = "t.db",
                 .reference = [&](uint64_t) -> Status {
                   if (is_full) return ResourceExhausted("the disk is full");
                   return OkStatus();
                 },
                 .clock = &clock});
  const int64_t job = farm.Submit(6);
  farm.Until([&] { return farm.CountStates(job)["MEAS_QUEUED"] > 1; });
  farm.Stop();
  is_full = true;
  farm.Start();
  farm.AddDevice("d1");
  farm.UntilInTime(clock, [&] { return !farm.coordinator().CurrentTrouble().empty(); });
  EXPECT_GT(farm.CountStates(job)["MEAS_QUEUED"], 1);
  is_full = false;
  farm.UntilInTime(clock, [&] { return IsTerminal(farm.store().GetJob(job)->state); });
  EXPECT_THAT(farm.CountStates(job), ElementsAre(Pair("OK", 6)));
  for (const TrialRow& trial : *farm.store().ListTrials({.job_id = job}, {0, 10})) EXPECT_EQ(trial.infra_failures, 0);
}

TEST(Coordinator, CostsOneTrialForEachKindOfBadKernel) {
  std::atomic<int> builds = 0;
  FakeFarm farm({.build = [&builds](const BuildRequest& request) -> BuildOutcome {
    switch (builds++) {
      case 1:
        return BuildFailed{BuildFailed::Kind::kTimeout, "build took longer than 30 s"};
      case 2:
        return BuildFailed{BuildFailed::Kind::kCandidate, "builder died with SIGABRT: LLVM ERROR"};
      default:
        return TextModule(request);
    }
  }});
  const std::map<int, v1::MeasureStatus> bad{{4, v1::MEASURE_STATUS_CRASH},
                                             {5, v1::MEASURE_STATUS_RUN_TIMEOUT},
                                             {6, v1::MEASURE_STATUS_OUT_OF_MEMORY},
                                             {7, v1::MEASURE_STATUS_WRONG_RESULT},
                                             {8, v1::MEASURE_STATUS_INVALID}};
  std::atomic<int> runs = 0;
  farm.AddDevice("d1", [&](const v1::MeasureSpec& spec) {
    const auto it = bad.find(++runs);
    return it == bad.end() ? ByTrialId(spec) : PretendedRun{.status = it->second, .message = "its own words"};
  });
  const int64_t job = farm.Submit(16);
  ASSERT_TRUE(farm.WaitFor(job));
  EXPECT_EQ(farm.store().GetJob(job)->state, JobState::kDone);
  EXPECT_THAT(farm.CountStates(job),
              ElementsAre(Pair("BUILD_ERROR", 1), Pair("BUILD_TIMEOUT", 1), Pair("CRASH", 2), Pair("OK", 9),
                          Pair("OUT_OF_MEMORY", 1), Pair("RUN_TIMEOUT", 1), Pair("WRONG_RESULT", 1)));
  EXPECT_EQ(farm.coordinator().Progress(job)->failed, 7);
}

TEST(Coordinator, MeasuresANoisyTrialTwiceAndThenBelievesIt) {
  FakeFarm farm;
  farm.AddDevice("d1", [](const v1::MeasureSpec&) { return PretendedRun{.status = v1::MEASURE_STATUS_NOISY}; });
  const int64_t job = farm.Submit(3);
  ASSERT_TRUE(farm.WaitFor(job));
  EXPECT_THAT(farm.CountStates(job), ElementsAre(Pair("NOISY", 3)));
  EXPECT_EQ(RecordsOf(farm).size(), 6u);
}

TEST(Coordinator, MeasuresAJobWhoseResultsAreOfEveryKind) {
  for (const uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    FakeFarm farm;
    farm.AddDevice("d1", [&](const v1::MeasureSpec& spec) {
      Random random(seed * 1000 + static_cast<uint64_t>(spec.trial_id() * 10 + spec.attempt()));
      PretendedRun run = ByTrialId(spec);
      run.takes = milliseconds(random.Below(3));
      const uint64_t kind = random.Below(10);
      if (kind < 4) run.status = v1::MEASURE_STATUS_NOISY;
      if (kind == 4) run.status = v1::MEASURE_STATUS_CRASH;
      if (kind == 5) run.status = v1::MEASURE_STATUS_CENSORED;
      return run;
    });
    const int budget = PropertyRuns(90);  // Fewer than a plateau is long.
    const int64_t job = farm.Submit(budget);
    ASSERT_TRUE(farm.WaitFor(job));
    int64_t trials = 0;
    for (const auto& [state, count] : farm.CountStates(job)) {
      EXPECT_THAT(state, testing::AnyOf("OK", "NOISY", "CRASH", "CENSORED"));
      trials += count;
    }
    EXPECT_EQ(trials, budget);
  }
}

TEST(Coordinator, CancelsAJobInTheMiddle) {
  FakeFarm farm;
  farm.AddDevice("d1", [](const v1::MeasureSpec& spec) {
    PretendedRun run = ByTrialId(spec);
    run.takes = milliseconds(5);
    return run;
  });
  const int64_t job = farm.Submit(5000);
  farm.Until([&] { return farm.coordinator().Progress(job)->measured >= 5; });
  EXPECT_EQ(farm.coordinator().CancelJob(job, "no longer needed")->state, JobState::kCancelled);
  EXPECT_TRUE(farm.WaitFor(job));
  EXPECT_EQ(farm.store().GetJob(job)->detail, "no longer needed");
  for (const auto& [state, count] : farm.CountStates(job)) EXPECT_THAT(state, testing::AnyOf("OK", "CANCELLED"));
  farm.Until([&] { return farm.store().ListGrantedLeases()->empty(); });  // The device is free again.
  const int64_t next =
      farm.Submit(farm.RequestFor(3 + farm.coordinator().Progress(job)->tasks[0].counted + 1, "after"));
  EXPECT_TRUE(farm.WaitFor(next));
}

TEST(Coordinator, StopsWhenItsTimeIsUp) {
  FakeClock clock;
  FakeFarm farm({.clock = &clock});
  farm.AddDevice("d1");
  JobRequest request = farm.RequestFor(100'000, "a");
  request.spec.time_limit = std::chrono::seconds(70);
  const int64_t job = farm.Submit(request);
  const auto measure = [&](int64_t trials) {
    farm.Until([&] { return farm.coordinator().Progress(job)->measured >= trials; });
  };
  measure(3);
  for (int step = 1; step <= 20; ++step) {  // It goes on as long as there is time; leases are renewed meanwhile.
    farm.Advance(clock, milliseconds(step < 20 ? 3000 : 2999));
    measure(farm.coordinator().Progress(job)->measured + 3);
  }
  farm.Advance(clock, milliseconds(1));  // The seventh part that is left is for the finalists.
  farm.UntilInTime(clock, [&] { return IsTerminal(farm.store().GetJob(job)->state); });
  EXPECT_EQ(farm.store().GetJob(job)->state, JobState::kDone);
  EXPECT_EQ(farm.store().GetJob(job)->detail, "its time was up");
  EXPECT_GT(BestOf(farm, job).final_round, 0);
  for (const auto& [state, count] : farm.CountStates(job)) EXPECT_THAT(state, testing::AnyOf("OK", "CANCELLED"));
}

// The case that a slow machine made of the one above: nothing was measured in time.
TEST(Coordinator, FailsAJobWhoseTimeIsUpBeforeAnythingWasMeasured) {
  FakeClock clock;
  FakeFarm farm({.has_worker = false, .clock = &clock});
  JobRequest request = farm.RequestFor(10, "a");
  request.spec.time_limit = milliseconds(500);
  const int64_t job = farm.Submit(request);
  farm.Advance(clock, milliseconds(500));
  ASSERT_TRUE(farm.WaitFor(job));
  EXPECT_EQ(farm.store().GetJob(job)->state, JobState::kFailed);
  EXPECT_THAT(farm.store().GetJob(job)->detail, HasSubstr("no candidate could be timed"));
}

TEST(Coordinator, SaysThatADeviceGivesUpOneTrialAfterTheOther) {
  constexpr char kWords[] = "write blobs/ab: No space left on device";
  std::atomic<bool> is_full = true;
  FakeClock clock;
  FakeFarm farm({.clock = &clock});
  farm.AddDevice("d1", [&](const v1::MeasureSpec& spec) {
    return is_full ? PretendedRun{.status = v1::MEASURE_STATUS_INFRA_FAILED, .message = kWords} : ByTrialId(spec);
  });
  const int64_t job = farm.Submit(6);
  const auto trials = [&] { return *farm.store().ListTrials({.job_id = job}, {0, 100}); };
  farm.Until([&] {
    const std::vector<TrialRow> all = trials();
    return std::count_if(all.begin(), all.end(), [](const TrialRow& trial) { return trial.infra_failures > 0; }) > 1;
  });
  EXPECT_EQ(farm.coordinator().CurrentTrouble(), "") << "once is no trouble yet";
  farm.UntilInTime(clock, [&] { return !farm.coordinator().CurrentTrouble().empty(); });  // They are tried again.
  EXPECT_EQ(farm.coordinator().CurrentTrouble(), std::string("measure at device d1: ") + kWords);
  is_full = false;
  farm.UntilInTime(clock, [&] { return IsTerminal(farm.store().GetJob(job)->state); });
  EXPECT_EQ(farm.coordinator().CurrentTrouble(), "");
  EXPECT_THAT(farm.CountStates(job), ElementsAre(Pair("OK", 6)));
}

TEST(Coordinator, HasJobsWaitForTheirTurn) {
  std::atomic<bool> may_end = false;
  FakeFarm farm({.most_jobs = 1});
  farm.AddDevice("d1", [&](const v1::MeasureSpec& spec) {
    PretendedRun run = ByTrialId(spec);
    run.may_end = [&] { return may_end.load(); };
    return run;
  });
  const auto other = [](const char* size) {
    std::string text = kMatmulText;
    for (size_t at = text.find("64"); at != std::string::npos; at = text.find("64", at)) text.replace(at, 2, size);
    return text;
  };
  const int64_t first = farm.Submit(farm.RequestFor(4, "a"));
  const int64_t second = farm.Submit(farm.RequestFor(4, "b", other("48")));
  const int64_t third = farm.Submit(farm.RequestFor(4, "c", other("32")));
  EXPECT_EQ(farm.coordinator().Progress(third)->waits_for, "its turn: 1 jobs are at work, 1 wait before it");
  EXPECT_EQ(farm.coordinator().Progress(third)->row.state, JobState::kQueued);
  ASSERT_TRUE(farm.coordinator().CancelJob(second, "not wanted").ok());
  ASSERT_TRUE(farm.WaitFor(second));
  may_end = true;
  ASSERT_TRUE(farm.WaitFor(first));
  ASSERT_TRUE(farm.WaitFor(third));
  EXPECT_THAT(farm.CountStates(third), ElementsAre(Pair("OK", 4)));
  EXPECT_EQ(farm.store().GetJob(second)->state, JobState::kCancelled);
}

TEST(Coordinator, BuildsEqualCandidatesOfTwoJobsOnce) {
  std::atomic<bool> may_build = false;
  std::mutex mutex;
  std::map<std::string, int> builds;  // By trace.
  FakeFarm farm({.build =
                     [&](const BuildRequest& request) {
                       {
                         const std::lock_guard lock(mutex);
                         ++builds[request.trace_json];
                       }
                       while (!may_build) std::this_thread::sleep_for(std::chrono::milliseconds(1));
                       return TextModule(request);
                     },
                 .slots = 1});
  JobRequest first = farm.RequestFor(1, "a"), second = farm.RequestFor(1, "b");
  first.spec.is_fresh = second.spec.is_fresh = true;
  const int64_t one = farm.Submit(first), two = farm.Submit(second);
  farm.Until([&] { return farm.CountStates(one)["BUILDING"] == 1 && farm.CountStates(two)["BUILDING"] == 1; });
  may_build = true;
  farm.AddDevice("d1");
  ASSERT_TRUE(farm.WaitFor(one));
  ASSERT_TRUE(farm.WaitFor(two));
  EXPECT_THAT(farm.CountStates(one), ElementsAre(Pair("OK", 1)));
  EXPECT_THAT(farm.CountStates(two), ElementsAre(Pair("OK", 1)));
  EXPECT_THAT(builds, ElementsAre(Pair(testing::_, 1))) << "both began with the schedule as it is written";
  const std::optional<FarmStatistics> counted = farm.coordinator().Statistics(kHangGuard);
  ASSERT_TRUE(counted.has_value());
  EXPECT_EQ(counted->counters.builds_merged, 1);
  EXPECT_EQ(counted->counters.builds.at(TrialState::kBuilt), 2);
  EXPECT_GE(counted->counters.measurements.at(TrialState::kOk), 2);
}

TEST(Coordinator, LetsTwoJobsShareADevice) {
  std::atomic<bool> both_wait = false;  // The first does not get through before the second wants the device.
  FakeFarm farm;
  farm.AddDevice("d1", [&](const v1::MeasureSpec& spec) {
    PretendedRun run = ByTrialId(spec);
    run.may_end = [&] { return both_wait.load(); };
    return run;
  });
  std::string other = kMatmulText;
  for (size_t at = other.find("64"); at != std::string::npos; at = other.find("64", at)) other.replace(at, 2, "48");
  const int64_t first = farm.Submit(farm.RequestFor(60, "a"));
  const int64_t second = farm.Submit(farm.RequestFor(60, "b", other));
  farm.Until([&] { return farm.CountStates(second).contains("MEAS_QUEUED"); });
  both_wait = true;
  ASSERT_TRUE(farm.WaitFor(first));
  ASSERT_TRUE(farm.WaitFor(second));
  EXPECT_THAT(farm.CountStates(first), ElementsAre(Pair("OK", 60)));
  EXPECT_THAT(farm.CountStates(second), ElementsAre(Pair("OK", 60)));
  int64_t epochs = 0;
  for (const DeviceRow& device : *farm.store().ListDevices()) epochs = std::max(epochs, device.epoch);
  EXPECT_GE(epochs, 4) << "each got its turn more than once";
}

TEST(Coordinator, UsesEveryDeviceOfTheKey) {
  std::atomic<int> by_first = 0, by_second = 0;
  FakeFarm farm({.slots = 4});
  const auto counts_in = [&](std::atomic<int>& count) {
    return [&](const v1::MeasureSpec& spec) {
      ++count;
      PretendedRun run = ByTrialId(spec);
      run.may_end = [&] { return by_first > 0 && by_second > 0; };  // Nobody does it all before the other is there.
      return run;
    };
  };
  farm.AddDevice("d1", counts_in(by_first));
  farm.AddDevice("d2", counts_in(by_second));
  const int64_t job = farm.Submit(80);
  ASSERT_TRUE(farm.WaitFor(job));
  EXPECT_THAT(farm.CountStates(job), ElementsAre(Pair("OK", 80)));
  EXPECT_GT(by_first, 0);
  EXPECT_GT(by_second, 0);
}

PretendedRun InTwoMilliseconds(const v1::MeasureSpec& spec) {
  PretendedRun run = ByTrialId(spec);
  run.takes = milliseconds(2);
  return run;
}

// The coordinator goes away at any moment and another one is started on the same file, with the same worker and device
// names.
TEST(Coordinator, GoesOnWhereTheLastOneStopped) {
  FakeFarm farm({.database = "t.db"});
  const auto add_device = [&] { farm.AddDevice("d1", InTwoMilliseconds); };
  add_device();
  const int64_t job = farm.Submit(120);
  for (const int64_t measured : {3, 10, 11, 30, 60, 90}) {
    farm.Until([&] {
      const StatusOr<JobReport> report = MakeJobReport(farm.store(), job);
      return report.ok() && report->measured >= measured;
    });
    farm.Stop();
    farm.Start();
    add_device();
  }
  ASSERT_TRUE(farm.WaitFor(job));
  EXPECT_EQ(farm.store().GetJob(job)->state, JobState::kDone) << farm.store().GetJob(job)->detail;
  EXPECT_THAT(farm.CountStates(job), ElementsAre(Pair("OK", 120)));
  RecordsOf(farm);
}

// The sketches of each space that have records.
std::set<std::string> SpacesMeasured(FakeFarm& farm) {
  std::set<std::string> found;
  const TuningKey key = farm.store().ListTasks(1)->front().key;
  for (const char* space : {"rules", "sketches", "templates"}) {
    const TuneTask task = *LoadTuneTask(farm.store(), key, space);
    for (const TuningRecord& record : RecordsOf(farm)) {
      const ScheduleTrace trace = *ScheduleTrace::FromJson(record.trace_json);
      if (FindSketch(task.sketches, trace) >= 0) found.insert(space);
    }
  }
  return found;
}

// One space after the other, stopped in the middle of each; what the second one makes is the fastest.
TEST(Coordinator, SearchesTheSpaceThatItsJobNamesAndTakesTheBestOfAll) {
  FakeFarm farm({.database = "t.db"});
  std::atomic<double> median_ns = 3000;
  const auto add_device = [&] {
    farm.AddDevice(
        "d1", [&](const v1::MeasureSpec&) { return PretendedRun{.median_ns = median_ns, .takes = milliseconds(2)}; });
  };
  int64_t budget = 0;
  for (const auto& [space, ns] :
       {std::pair("rules", 3000), std::pair("templates", 1500), std::pair("rules,sketches", 2500)}) {
    median_ns = ns;
    add_device();
    JobRequest request = farm.RequestFor(budget += 20, space);
    request.spec.space = space;
    const int64_t job = farm.Submit(request);
    farm.Until([&] { return RecordsOf(farm).size() + 12 >= static_cast<size_t>(budget); });
    farm.Stop();
    farm.Start();
    add_device();
    ASSERT_TRUE(farm.WaitFor(job));
    EXPECT_EQ(farm.store().GetJob(job)->state, JobState::kDone) << farm.store().GetJob(job)->detail;
    EXPECT_EQ(JobSpec::FromJson(farm.store().GetJob(job)->spec)->space, space);
    EXPECT_EQ(SpacesMeasured(farm).contains("sketches"), std::string(space).ends_with("sketches")) << space;
    EXPECT_EQ(SpacesMeasured(farm).contains("templates"), budget > 20) << space;
    farm.RemoveDevices();
  }
  const TuningKey key = farm.store().ListTasks(1)->front().key;
  const std::vector<BestAnswer> best = *farm.store().QueryBest(std::span(&key, 1));
  const TuneTask templates = *LoadTuneTask(farm.store(), key, "templates");
  EXPECT_GE(FindSketch(templates.sketches, *ScheduleTrace::FromJson(best[0].record->trace_json)), 0);
}

TEST(Coordinator, GoesOnWithTheFinalsWhereTheLastOneStopped) {
  FakeFarm farm({.database = "t.db"});
  const auto add_device = [&] {
    farm.AddDevice("d1", [](const v1::MeasureSpec& spec) {
      PretendedRun run = LuckyOnce(spec);
      run.takes = milliseconds(IsFinal(spec) ? 20 : 0);
      return run;
    });
  };
  const auto rounds = [&] {
    std::map<Digest, std::set<int64_t>> rounds;
    for (const TuningRecord& record : *farm.store().ListRecords({0, 1000}))
      if (record.final_round > 0 && !record.late) rounds[record.trace_digest].insert(record.final_round);
    return rounds;
  };
  add_device();
  const int64_t job = farm.Submit(20);
  for (const size_t measured : {1, 4}) {
    farm.Until([&] { return rounds().size() >= measured; });
    farm.Stop();
    farm.Start();
    add_device();
  }
  ASSERT_TRUE(farm.WaitFor(job));
  EXPECT_GT(BestOf(farm, job).final_round, 0);
  EXPECT_EQ(rounds().size(), kMostFinalists) << "the same finalists";
  for (const auto& [trace, measured] : rounds()) EXPECT_THAT(measured, ElementsAre(1, 2, 3));
  EXPECT_THAT(farm.CountStates(job), ElementsAre(Pair("OK", 20)));
}

TEST(Coordinator, SurvivesADeviceThatComesAndGoes) {
  FakeFarm farm;
  const auto add_device = [&] { farm.AddDevice("d1", InTwoMilliseconds); };
  add_device();
  const int64_t job = farm.Submit(60);
  for (const int64_t measured : {5, 15, 30}) {
    farm.Until([&] { return farm.coordinator().Progress(job)->measured >= measured; });
    farm.RemoveDevices();
    add_device();
  }
  ASSERT_TRUE(farm.WaitFor(job));
  EXPECT_THAT(farm.CountStates(job), ElementsAre(Pair("OK", 60)));
}

TEST(Coordinator, CountsATrialThatItsDeviceDiedOf) {
  FakeFarm farm;
  farm.AddDevice("d1", [](const v1::MeasureSpec&) { return PretendedRun{.may_end = [] { return false; }}; });
  const int64_t job = farm.Submit(1);
  const auto trial = [&] { return farm.store().ListTrials({.job_id = job}, {0, 1})->at(0); };
  farm.Until([&] { return farm.CountStates(job).contains("RUNNING"); });
  EXPECT_EQ(trial().infra_failures, 0);
  farm.RemoveDevices();
  farm.AddDevice("d1");
  ASSERT_TRUE(farm.WaitFor(job));
  EXPECT_EQ(trial().state, TrialState::kOk);
  EXPECT_EQ(trial().infra_failures, 1);
}

// A server that was stopped for longer than a device may be silent: it did not listen, so nobody was silent.
TEST(Coordinator, BlamesNobodyForAPauseOfItsOwn) {
  FakeClock clock;
  FakeFarm farm({.clock = &clock});
  std::atomic<bool> may_end = false;
  farm.AddDevice("d1", [&](const v1::MeasureSpec&) { return PretendedRun{.may_end = [&] { return may_end.load(); }}; });
  const int64_t job = farm.Submit(5);
  for (int pause = 1; pause <= 2; ++pause) {  // Lost with a second device, a module would be POISON.
    farm.Until([&] { return farm.CountStates(job)["RUNNING"] == 1; });
    farm.Advance(clock, std::chrono::seconds(31));
  }
  may_end = true;
  ASSERT_TRUE(farm.WaitFor(job));
  EXPECT_THAT(farm.CountStates(job), ElementsAre(Pair("OK", 5)));
  for (const TrialRow& trial : *farm.store().ListTrials({.job_id = job}, {0, 10})) EXPECT_EQ(trial.infra_failures, 0);
}

// A device is lost while the disk is full: what follows from that happens when there is room again.
TEST(Coordinator, GivesALostDevicesTrialsBackWhenTheStoreWorksAgain) {
  FakeClock clock;
  std::atomic<bool> is_full = false;
  FakeFarm farm({.wrap = [&](std::unique_ptr<Store> store) -> std::unique_ptr<Store> {
                   return std::make_unique<FaultyStore>(std::move(store), [&](std::string_view verb) {
                     const bool ends = verb == "LoseDevice" || verb == "EndLease" || verb == "GrantLease";
                     return is_full && ends ? ResourceExhausted("disk is full") : OkStatus();
                   });
                 },
                 .clock = &clock});
  farm.AddDevice("d1", [](const v1::MeasureSpec&) { return PretendedRun{.may_end = [] { return false; }}; });
  const int64_t job = farm.Submit(1);
  farm.Until([&] { return farm.CountStates(job)["RUNNING"] == 1; });
  farm.RemoveDevices();
  is_full = true;
  for (int step = 0; step < 10; ++step) farm.Advance(clock, std::chrono::seconds(4));
  EXPECT_EQ(farm.CountStates(job)["RUNNING"], 1) << "it could not be written";
  farm.AddDevice("d2");
  is_full = false;
  farm.UntilInTime(clock, [&] { return IsTerminal(farm.store().GetJob(job)->state); });
  EXPECT_EQ(farm.store().GetJob(job)->state, JobState::kDone) << farm.store().GetJob(job)->detail;
  EXPECT_EQ(farm.store().ListTrials({.job_id = job}, {0, 1})->at(0).infra_failures, 1);
}

TEST(Coordinator, StartsWithoutAJobThatItCannotRead) {
  FakeFarm farm({.database = "t.db"});
  const JobRequest request = farm.RequestFor(4, "good");
  farm.Stop();
  {
    const auto store = *SqliteStore::Open(farm.folder() + "/t.db");
    ASSERT_TRUE(store->PutWorkload(request.tasks[0].workload).ok());
    const TuningKey key = KeyFor(request.tasks[0].workload.digest, request.tasks[0].target, "local");
    ASSERT_TRUE(store->CreateJob({"bad", "bad", "no spec", {{key, "matmul", 1, 4}}}).ok());
  }
  farm.Start();
  EXPECT_EQ(farm.store().GetJob(1)->state, JobState::kFailed);
  EXPECT_THAT(farm.store().GetJob(1)->detail, HasSubstr("its spec is not this program's; submit it again"));
  farm.AddDevice("d1");
  EXPECT_TRUE(farm.WaitFor(farm.Submit(request)));
}

TEST(Coordinator, TakesATimeLimitBeyondAllClocksForNone) {
  FakeClock clock;
  FakeFarm farm({.clock = &clock});
  farm.AddDevice("d1");
  JobRequest request = farm.RequestFor(4, "a");
  request.spec.time_limit = Duration::max();
  const int64_t job = farm.Submit(request);
  ASSERT_TRUE(farm.WaitFor(job));
  EXPECT_EQ(JobSpec::FromJson(farm.store().GetJob(job)->spec)->time_limit, kLongestTimeLimit);
}

TEST(Coordinator, RefusesARequestThatMakesNoSense) {
  FakeFarm farm({.has_worker = false});
  JobRequest bad_key = farm.RequestFor(4, "a");
  bad_key.device_key = "No Such Key!";
  EXPECT_THAT(farm.coordinator().SubmitJob(bad_key).status().message(), HasSubstr("device key"));
  JobRequest empty = farm.RequestFor(4, "b");
  empty.tasks.clear();
  EXPECT_THAT(farm.coordinator().SubmitJob(empty).status().message(), HasSubstr("no tasks"));
  v1::SynchronizeRequest nameless;
  EXPECT_THAT(farm.coordinator().Synchronize(nameless).status().message(), HasSubstr("worker name"));
  EXPECT_THAT(farm.coordinator().StoreArtifact(Sha256("a"), "b").message(), HasSubstr("another digest"));
}

}  // namespace
}  // namespace lathe
