// What the Store's tests share: sample rows, a folder that goes away, and trials walked to where a test wants them.
#pragma once

#include <fmt/core.h>
#include <gmock/gmock.h>

#include "tests/support/fake_clock.h"
#include "tests/support/temporary_folder.h"
#include "tuner/database/sqlite_store.h"

namespace lathe {

inline constexpr int64_t kSecond = 1'000'000'000;
inline constexpr int64_t kNow = 1'700'000'000 * kSecond;
// As tuner/job writes it; opaque to a store.
inline constexpr char kJobSpec[] = R"({"fresh":false,"seed":1,"time_limit_ns":0,"total_trials":64})";

inline Workload MakeWorkload(int n = 0) {
  return {Sha256(fmt::format("workload {}", n)), fmt::format("matmul_{}", n), fmt::format("text {}", n)};
}
inline TuningKey MakeKey(int workload = 0) {
  return {MakeWorkload(workload).digest, "llvm -mcpu=cortex-a72 -num-cores=4", "rpi4", "warm-weights", {19, 3}, 7};
}
inline NewTrial MakeTrial(int n) {
  const std::string json = fmt::format("[\"trace\", {}]", n);
  return {Sha256(json), json, 0.5 + n, static_cast<uint64_t>(n) * 0x9e3779b97f4a7c15u};
}
inline Timings MakeTimings(double median_ns) {
  return {median_ns,
          median_ns * 0.9,
          median_ns * 1.2,
          median_ns * 0.01,
          median_ns * 0.98,
          median_ns * 1.02,
          3,
          {median_ns * 0.9, median_ns, median_ns * 1.2},
          1e-6};
}

struct StoreKind {
  const char* name;
  StatusOr<std::unique_ptr<SqliteStore>> (*open)(const std::string& path, Clock& clock);
};
inline const StoreKind kStoreKinds[] = {
    {"Memory", [](const std::string&, Clock& clock) { return SqliteStore::OpenInMemory(clock); }},
    {"File", [](const std::string& path, Clock& clock) { return SqliteStore::Open(path, clock); }}};

class EveryStoreTest : public testing::TestWithParam<StoreKind> {
 protected:
  TemporaryFolder folder_;
  FakeClock clock_{kNow};
  std::unique_ptr<Store> owner_ = *GetParam().open(folder_ / "tuning.db", clock_);
  Store& store_ = *owner_;
};

// Whether a trial that is open needs the blob: then its row does not go, however old it is.
inline bool IsReferenced(Store& store, const Digest& blob) {
  const bool is_known = !store.FindBlobs(std::vector{blob})->empty();
  const RetentionFacts facts = *store.ListRetentionFacts(RetentionKind::kBlobs, std::nullopt, 1'000'000);
  return is_known && std::ranges::none_of(facts.rows, [&](const RetentionFact& row) { return row.blob == blob; });
}

// A store with one job of one task and one device under lease; steps that a test does not care about succeed or fail
// it.
class Scene {
 public:
  explicit Scene(Store& store, int workload = 0, std::string request_id = "request-1") : store(store) {
    EXPECT_TRUE(store.PutWorkload(MakeWorkload(workload)).ok());
    job_id = store.CreateJob({request_id, "net", kJobSpec, {{MakeKey(workload), "conv", 2, 64}}})->job.id;
    task_id = store.ListTasks(job_id)->front().id;
    device_id = store.RegisterDevice({"rpi4-01", "rpi4", "{}", 0})->id;
  }
  int64_t Lease(int64_t ttl = 30 * kSecond) {
    const auto lease = store.GrantLease(device_id, "job", Duration(ttl), 0);
    EXPECT_TRUE(lease.ok()) << lease.status().ToString();
    return epoch = lease->epoch;
  }
  int64_t Propose(int n) {
    const std::vector<NewTrial> trials{MakeTrial(n)};
    return (*store.ProposeTrials(task_id, trials, TrialState::kBuildQueued))[0].value();
  }
  // Walks a new trial to the state after its build.
  int64_t Build(int n, const std::string& module = "") {
    const int64_t id = Propose(n);
    const TrialRow claim = **store.ClaimForBuild("worker-1", 0, {.trial_id = id});
    const Digest digest = Sha256(module.empty() ? fmt::format("module {}", n) : module);
    EXPECT_TRUE(
        store.CommitBuild({id, claim.attempt, BuiltArtifact{digest, 100}, "{}"}, TrialState::kMeasureQueued).ok());
    return id;
  }
  TrialRow Claim(int64_t trial_id) {
    const auto claim = store.ClaimForMeasure(device_id, epoch, {.trial_id = trial_id});
    EXPECT_TRUE(claim.ok()) << claim.status().ToString();
    EXPECT_TRUE(claim->has_value()) << "trial " << trial_id << " does not wait for a device";
    return **claim;
  }
  static AttemptFence FenceOf(const TrialRow& claim) {
    return {claim.id, claim.attempt, claim.device_id.value_or(0), claim.epoch.value_or(0)};
  }
  TrialRow Run(int64_t trial_id) {
    EXPECT_TRUE(*store.AdvanceTrial(FenceOf(Claim(trial_id)), TrialState::kRunning));
    return *store.GetTrial(trial_id);
  }
  RunResult ResultOf(const TrialRow& claim, double median_ns, TrialState outcome = TrialState::kOk) {
    RunResult result{claim.id,
                     claim.attempt,
                     *claim.device_id,
                     *claim.epoch,
                     *claim.module_digest,
                     outcome,
                     std::nullopt,
                     "{\"governor\":\"performance\"}"};
    if (HasTimings(outcome))
      result.timings = MakeTimings(median_ns);
    else
      result.error = "segmentation fault";
    return result;
  }
  // A whole trial.
  CommitAnswer Measure(int n, double median_ns, TrialState outcome = TrialState::kOk) {
    if (epoch == 0) Lease(1'000'000 * kSecond);
    const auto answer = store.CommitResult(ResultOf(Run(Build(n)), median_ns, outcome));
    EXPECT_TRUE(answer.ok()) << answer.status().ToString();
    return *answer;
  }
  TrialState StateOf(int64_t trial_id) { return store.GetTrial(trial_id)->state; }
  TaskCounts Counts() { return *store.CountTrials(task_id); }

  Store& store;
  int64_t job_id = 0, task_id = 0, device_id = 0, epoch = 0;
};

}  // namespace lathe
