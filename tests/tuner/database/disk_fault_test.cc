// One history of a job, with the disk failing or the power cut at every operation on the disk in turn: whatever was
// acknowledged is there afterwards, nothing is there twice, and the file is whole.
#include <atomic>
#include <future>
#include <limits>
#include <set>

#include "fault_vfs.h"
#include "store_testing.h"
#include "support/sqlite.h"
#include "tests/property_runs.h"
#include "tuner/database/prune.h"
#include "tuner/database/upkeep.h"

namespace lathe {
namespace {

using S = TrialState;

// What was answered OK and survives the power.
struct Acknowledged {
  int64_t job_id = 0, epoch = 0;
  std::vector<int64_t> trials, records;
  bool is_job_done = false;
  bool is_joined = false, is_revoked = false, has_token = false;
  int64_t forgotten = 0;  // Rows; of them it does not matter whether they came back with the power.
};

class NoFiles : public BlobFiles {
 public:
  std::vector<BlobFile> ListFiles() override { return {}; }
  bool DeleteUnused(const BlobFile&) override { return false; }
};

// The history. Each verb is repeated until it succeeds or, once `may_go_on` says so, the history ends there.
class History {
 public:
  History(Store& store, FakeClock& clock, Acknowledged& acknowledged, std::function<bool()> may_go_on)
      : store_(store), clock_(clock), acknowledged_(acknowledged), may_go_on_(std::move(may_go_on)) {}

  Status Run() {
    RETURN_IF_ERROR(Do([&] { return store_.PutWorkload(MakeWorkload()); }).status());
    const NewJob job{"request-1", "net", kJobSpec, {{MakeKey(), "conv", 2, 64}}};
    ASSIGN_OR_RETURN(const CreatedJob created, Do([&] { return store_.CreateJob(job); }));
    acknowledged_.job_id = created.job.id;
    ASSIGN_OR_RETURN(const std::vector<TaskRow> tasks, Do([&] { return store_.ListTasks(created.job.id); }));
    task_id_ = tasks.front().id;
    ASSIGN_OR_RETURN(const DeviceRow device, Do([&] { return store_.RegisterDevice({"rpi4-01", "rpi4", "{}", 0}); }));
    device_id_ = device.id;
    RETURN_IF_ERROR(Lease());
    RETURN_IF_ERROR(Propose(5));
    for (size_t i = 0; i < 2; ++i) RETURN_IF_ERROR(Measure(acknowledged_.trials[i], 1000.0 - static_cast<double>(i)));
    RETURN_IF_ERROR(FailBuild(acknowledged_.trials[2]));
    RETURN_IF_ERROR(LoseDeviceWith(acknowledged_.trials[3]));
    RETURN_IF_ERROR(Lease());
    RETURN_IF_ERROR(Measure(acknowledged_.trials[3], 500));
    RETURN_IF_ERROR(Do([&] { return store_.EndLease(device_id_, epoch_, LeaseState::kReleased); }));
    RETURN_IF_ERROR(Do([&] { return store_.CancelWaitingTrials(created.job.id); }).status());
    RETURN_IF_ERROR(Do([&] { return store_.SetJobState(created.job.id, JobState::kDone, ""); }));
    acknowledged_.is_job_done = true;
    RETURN_IF_ERROR(ComeAndGo());
    return Forget();
  }

  static NewCertificate Joining() {
    return {*CertificateSerial::FromBytes("0123456789abcdef"),
            {Role::kDevice, "rpi4-01"},
            {kNow, std::numeric_limits<int64_t>::max()}};
  }

 private:
  template <typename Verb>
  auto Do(const Verb& verb) -> decltype(verb()) {
    for (;;) {
      auto answer = verb();
      if (StatusOf(answer).ok() || !may_go_on_()) return answer;
    }
  }
  static const Status& StatusOf(const Status& status) { return status; }
  template <typename T>
  static const Status& StatusOf(const StatusOr<T>& answer) {
    return answer.status();
  }

  Status Lease() {
    ASSIGN_OR_RETURN(const LeaseRow lease, Do([&]() -> StatusOr<LeaseRow> {
                       // A grant whose answer was lost stands; as after a restart, it is ended first.
                       if (epoch_ != 0 || acknowledged_.epoch != 0)
                         RETURN_IF_ERROR(store_.EndLease(device_id_, acknowledged_.epoch, LeaseState::kRevoked));
                       return store_.GrantLease(device_id_, "job", std::chrono::seconds(1000), 0);
                     }));
    epoch_ = acknowledged_.epoch = lease.epoch;
    return OkStatus();
  }

  Status Propose(int count) {
    std::vector<NewTrial> trials;
    for (int n = 0; n < count; ++n) trials.push_back(MakeTrial(n));
    ASSIGN_OR_RETURN(const auto ids, Do([&] { return store_.ProposeTrials(task_id_, trials, S::kBuildQueued); }));
    for (const auto& id : ids) acknowledged_.trials.push_back(id.value_or(0));
    return OkStatus();
  }

  StatusOr<TrialRow> Build(int64_t trial) {
    ASSIGN_OR_RETURN(const auto claim, Do([&] { return store_.ClaimForBuild("worker-1", 0, {.trial_id = trial}); }));
    if (!claim) return InternalError("nothing to build");
    return *claim;
  }

  Status MakeModule(int64_t trial) {
    ASSIGN_OR_RETURN(const TrialRow row, Do([&] { return store_.GetTrial(trial); }));
    if (row.module_digest) return OkStatus();  // Measured again.
    ASSIGN_OR_RETURN(const TrialRow claim, Build(trial));
    const BuildReport report{trial, claim.attempt, BuiltArtifact{Sha256(fmt::format("module {}", trial)), 100}, "{}"};
    return Do([&] { return store_.CommitBuild(report, S::kMeasureQueued); }).status();
  }

  StatusOr<TrialRow> Start(int64_t trial) {
    RETURN_IF_ERROR(MakeModule(trial));
    clock_.Advance(std::chrono::seconds(100));  // Whatever waits after a failure may go on.
    ASSIGN_OR_RETURN(const auto claim,
                     Do([&] { return store_.ClaimForMeasure(device_id_, epoch_, {.trial_id = trial}); }));
    if (!claim) return InternalError("nothing to measure");
    RETURN_IF_ERROR(Do([&] { return store_.AdvanceTrial(Scene::FenceOf(*claim), S::kRunning); }).status());
    return *claim;
  }

  Status Measure(int64_t trial, double median_ns) {
    ASSIGN_OR_RETURN(const TrialRow claim, Start(trial));
    const RunResult result{claim.id, claim.attempt,          device_id_, epoch_, *claim.module_digest,
                           S::kOk,   MakeTimings(median_ns), "{}"};
    ASSIGN_OR_RETURN(const CommitAnswer answer, Do([&] { return store_.CommitResult(result); }));
    acknowledged_.records.push_back(answer.record_id.value_or(0));
    return OkStatus();
  }

  Status FailBuild(int64_t trial) {
    ASSIGN_OR_RETURN(const TrialRow claim, Build(trial));
    const BuildReport report{trial, claim.attempt, BuildFailure{S::kBuildError, "no register left"}, "{}"};
    ASSIGN_OR_RETURN(const CommitAnswer answer, Do([&] { return store_.CommitBuild(report, S::kMeasureQueued); }));
    acknowledged_.records.push_back(answer.record_id.value_or(0));
    return OkStatus();
  }

  // A machine joins and is shut out again; a person comes.
  Status ComeAndGo() {
    const NewInvitation invitation{Sha256("code"), Role::kDevice, "", std::chrono::hours(24)};
    RETURN_IF_ERROR(Do([&] { return store_.Invite(invitation, "a test"); }).status());
    RETURN_IF_ERROR(Do([&] { return store_.TakeInvitation(invitation.code, Joining()); }).status());
    acknowledged_.is_joined = true;
    const NewToken token{Sha256("token"), "ada", Role::kViewer, std::chrono::hours(24)};
    RETURN_IF_ERROR(Do([&] { return store_.CreateToken(token, "a test"); }).status());
    acknowledged_.has_token = true;
    RETURN_IF_ERROR(Do([&] { return store_.RevokeCertificates(Joining().serial, "a test"); }).status());
    acknowledged_.is_revoked = true;
    return OkStatus();
  }

  // All that the job left behind but its records, in steps of two rows.
  Status Forget() {
    clock_.Advance(std::chrono::hours(24 * 100));
    NoFiles no_files;
    ASSIGN_OR_RETURN(const PruneReport report, Do([&] { return Prune(store_, no_files, {.rows_at_once = 2}); }));
    acknowledged_.forgotten = report.total();
    return OkStatus();
  }

  Status LoseDeviceWith(int64_t trial) {
    RETURN_IF_ERROR(Start(trial).status());
    return Do([&] { return store_.LoseDevice(device_id_); }).status();
  }

  Store& store_;
  FakeClock& clock_;
  Acknowledged& acknowledged_;
  const std::function<bool()> may_go_on_;
  int64_t task_id_ = 0, device_id_ = 0, epoch_ = 0;
};

class DiskFaultTest : public testing::Test {
 protected:
  FakeClock clock_{kNow};
  // The history with the n-th operation on the disk failing; what was acknowledged.
  Acknowledged Live(int64_t n, DiskFault fault) {
    Acknowledged acknowledged;
    vfs_.Arm(n, fault);
    const auto may_go_on = [&] { return fault == DiskFault::kFull && ++failures_ < 100; };
    StatusOr<std::unique_ptr<SqliteStore>> store = SqliteStore::Open(path_, clock_);
    if (!store.ok() && may_go_on()) store = SqliteStore::Open(path_, clock_);
    if (!store.ok()) return acknowledged;
    status_ = History(**store, clock_, acknowledged, may_go_on).Run();
    return acknowledged;
  }

  void CheckIsWhole() {
    auto db = *sqlite::Connection::Open(path_, sqlite::Connection::Mode::kReadWrite);
    EXPECT_EQ(*db->First<std::string>("PRAGMA integrity_check"), "ok");
    EXPECT_EQ(*db->First<std::string>("PRAGMA foreign_key_check"), std::nullopt);
  }

  void CheckHolds(Store& store, const Acknowledged& wanted) {
    if (wanted.job_id == 0) return;
    const StatusOr<JobRow> job = store.GetJob(wanted.job_id);
    ASSERT_TRUE(job.ok()) << job.status().ToString();
    EXPECT_TRUE(!wanted.is_job_done || job->state == JobState::kDone);
    std::map<int64_t, int> records_of_trial;
    std::set<int64_t> records;
    for (const TuningRecord& record : *store.ListRecords({0, 1000})) {
      EXPECT_EQ(++records_of_trial[record.trial_id.value_or(0)], 1) << "a record of trial " << *record.trial_id;
      records.insert(record.id);
    }
    for (const int64_t record : wanted.records) EXPECT_TRUE(records.contains(record)) << "record " << record;
    std::set<Digest> traces;
    int64_t done = 0;
    for (const TrialRow& trial : *store.ListTrials({}, {0, 1000})) {
      EXPECT_TRUE(traces.insert(trial.trace_digest).second) << "trial " << trial.id;
      EXPECT_EQ(HasRecord(trial.state), records_of_trial.contains(trial.id)) << "trial " << trial.id;
      done += SpendsBudget(trial.state) ? 1 : 0;
    }
    for (const int64_t trial : wanted.trials) EXPECT_TRUE(store.GetTrial(trial).ok()) << "trial " << trial;
    EXPECT_EQ(store.CountTrials(1)->trials_done, done);
    EXPECT_EQ(*store.CountMeasured(MakeKey()), done);
    EXPECT_EQ(store.MeasuredTraces(MakeKey())->size(), static_cast<size_t>(done));
    const auto devices = *store.ListDevices();
    if (wanted.epoch > 0) {
      ASSERT_EQ(devices.size(), 1u);
      EXPECT_GE(devices.front().epoch, wanted.epoch) << "an epoch that a device was told is never given again";
    }
    EXPECT_LE(store.ListGrantedLeases()->size(), 1u);
    CheckKnowsWho(store, wanted);
  }

  void CheckKnowsWho(Store& store, const Acknowledged& wanted) {
    const std::optional<CertificateRow> certificate = *store.FindCertificate(History::Joining().serial);
    const std::vector<InvitationRow> invitations = *store.ListInvitations({});
    EXPECT_GE(certificate.has_value(), wanted.is_joined);
    EXPECT_LE(invitations.size(), 1u);
    const bool is_taken = !invitations.empty() && invitations.front().standing == Standing::kTaken;
    EXPECT_EQ(is_taken, certificate.has_value()) << "taken and joined, or neither";
    EXPECT_TRUE(!wanted.is_revoked || certificate->standing == Standing::kRevoked);
    EXPECT_GE(store.FindToken(Sha256("token"))->has_value(), wanted.has_token);
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_ / "tuning.db";
  FaultVfs vfs_;
  Status status_;
  int failures_ = 0;
};

void RemoveDatabase(const std::string& path) {
  for (const char* end : {"", "-wal", "-shm", "-journal", ".lock"}) std::filesystem::remove(path + end);
}

TEST_F(DiskFaultTest, TheHistoryRunsToItsEndOnAGoodDisk) {
  const Acknowledged acknowledged = Live(0, DiskFault::kFull);
  EXPECT_TRUE(status_.ok()) << status_.ToString();
  EXPECT_TRUE(acknowledged.is_job_done);
  EXPECT_EQ(acknowledged.records.size(), 4u);
  EXPECT_GT(acknowledged.forgotten, 20);
  EXPECT_GT(vfs_.operations(), 100);
  CheckIsWhole();
  CheckHolds(**SqliteStore::Open(path_, clock_), acknowledged);
}

// Records wait for the disk; whoever decides what comes next does not wait with them.
TEST_F(DiskFaultTest, ARecordsWaitForTheDiskHoldsNobodyElseUp) {
  const auto store = *SqliteStore::Open(path_, clock_);
  Scene scene(*store);
  scene.Lease(1'000'000 * kSecond);
  const RunResult result = scene.ResultOf(scene.Run(scene.Build(1)), 100);
  std::promise<void> syncs, may_go_on;
  std::atomic<bool> is_first = true;
  vfs_.OnSync([&, go_on = may_go_on.get_future().share()] {
    if (is_first.exchange(false)) syncs.set_value();
    go_on.wait();
  });
  std::future<StatusOr<CommitAnswer>> commit =
      std::async(std::launch::async, [&] { return store->CommitResult(result); });
  syncs.get_future().wait();
  EXPECT_TRUE(store->Heartbeat(scene.device_id).ok());
  EXPECT_EQ(scene.StateOf(result.trial_id), S::kOk) << "it is there for everybody in this process";
  EXPECT_EQ(commit.wait_for(Duration(0)), std::future_status::timeout) << "and not answered before it is on the disk";
  may_go_on.set_value();
  EXPECT_EQ(commit.get()->ack, Ack::kAccepted);
  vfs_.OnSync({});
}

TEST_F(DiskFaultTest, ARecordThatTheDiskRefusedIsSaidAgain) {
  const auto store = *SqliteStore::Open(path_, clock_);
  Scene scene(*store);
  scene.Lease(1'000'000 * kSecond);
  const RunResult result = scene.ResultOf(scene.Run(scene.Build(1)), 100);
  std::atomic<bool> is_first = true;
  vfs_.OnSync([&] {
    if (is_first.exchange(false)) vfs_.Arm(1, DiskFault::kFull);
  });
  const auto refused = store->CommitResult(result);
  EXPECT_EQ(refused.code(), StatusCode::kUnavailable);
  EXPECT_THAT(refused.status().message(), testing::HasSubstr("sync the log of " + path_ + ": "));
  vfs_.OnSync({});
  EXPECT_EQ(store->CommitResult(result)->ack, Ack::kDuplicate);
  EXPECT_EQ(scene.StateOf(result.trial_id), S::kOk);
}

// All operations in turn or, with fewer runs than there are, some of them, evenly spread.
std::vector<int64_t> Places(int64_t operations, int runs) {
  std::vector<int64_t> places;
  for (int i = 0; i < runs; ++i) places.push_back(1 + operations * i / runs);
  return places;
}

struct FaultCase {
  const char* name;
  DiskFault fault;
  bool keeps_some;  // Of what was not synced.
  int one_in;       // Operations that are tried.
};
class EveryDiskFaultTest : public DiskFaultTest, public testing::WithParamInterface<FaultCase> {};

TEST_P(EveryDiskFaultTest, LosesNothingThatWasAcknowledgedAndDoublesNothing) {
  (void)Live(0, GetParam().fault);
  const int64_t operations = vfs_.operations();
  const uint64_t seed = SeedsToTry(1).first;
  int failed = 0;
  for (const int64_t n : Places(operations, PropertyRuns(static_cast<int>(operations) / GetParam().one_in))) {
    SCOPED_TRACE(fmt::format("LATHE_SEED={}, operation {} of {}", seed, n, operations));
    RemoveDatabase(path_);
    failures_ = 0;
    const Acknowledged acknowledged = Live(n, GetParam().fault);
    failed += vfs_.has_failed() ? 1 : 0;
    Random random(Random::Mix(seed ^ static_cast<uint64_t>(n)));
    if (GetParam().fault == DiskFault::kPowerCut) vfs_.Restart(GetParam().keeps_some ? &random : nullptr);
    if (GetParam().fault == DiskFault::kFull) {
      EXPECT_TRUE(acknowledged.is_job_done) << status_.ToString();
    }
    vfs_.Arm(0, GetParam().fault);
    {
      auto store = SqliteStore::Open(path_, clock_);
      ASSERT_TRUE(store.ok()) << store.status().ToString();
      CheckHolds(**store, acknowledged);
      Scene again(**store, 1, "request-2");  // And it goes on.
      EXPECT_TRUE((*store)->ListTasks(again.job_id).ok());
      NoFiles no_files;
      EXPECT_TRUE(Prune(**store, no_files, {}).ok());
      CheckHolds(**store, acknowledged);
    }
    CheckIsWhole();
    EXPECT_THAT(VerifyDatabase(path_)->problems, testing::IsEmpty());
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(failed, 0);
  RecordProperty("operations", static_cast<int>(operations));
}

INSTANTIATE_TEST_SUITE_P(Faults, EveryDiskFaultTest,
                         testing::Values(FaultCase{"Full", DiskFault::kFull, false, 3},
                                         FaultCase{"PowerCut", DiskFault::kPowerCut, false, 1},
                                         FaultCase{"PowerCutWithSomeOfTheRest", DiskFault::kPowerCut, true, 3}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lathe
