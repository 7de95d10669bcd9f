// The Store in one SQLite file (docs/formats/database.md), or in memory for tests and throw-away tuning.
//
// One writer thread does all writes and checkpoints (group_writer.h); reads run on the caller's thread over a few
// read-only connections (reader_pool.h), which see every commit that has been answered. In memory, reads pass through
// the writer as well.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "support/status_macros.h"
#include "tuner/database/reader_pool.h"
#include "tuner/database/store.h"
#include "tuner/database/store_time.h"

namespace lathe {

namespace sqlite {
class Connection;
}
class GroupWriter;
class OwnerLock;
enum class Durability;

class SqliteStore : public Store {
 public:
  // `clock` must outlive the store. Owns the file until destroyed; creates it (not its folder) when missing. What a
  // kill or a power cut left is taken up from the WAL, whatever the size of the file; damage shows when it is read, or
  // by VerifyDatabase. kUnavailable while another process owns it, kFailedPrecondition for a newer schema or a file
  // that is not ours, kDataLoss.
  static StatusOr<std::unique_ptr<SqliteStore>> Open(const std::string& path, Clock& clock = SystemClock());
  // Beside the owner or without one. Verbs that write answer kFailedPrecondition.
  static StatusOr<std::unique_ptr<SqliteStore>> OpenReadOnly(const std::string& path);
  // The schema before this build's will do: for ListWorkloads, ListRecords and ListForeign only.
  static StatusOr<std::unique_ptr<SqliteStore>> OpenForMerge(const std::string& path);
  // Empty, or with what Image gave.
  static StatusOr<std::unique_ptr<SqliteStore>> OpenInMemory(Clock& clock = SystemClock(), std::string_view image = {});
  ~SqliteStore() override;
  // The whole database as the bytes of its file.
  StatusOr<std::string> Image();

  StatusOr<Workload> PutWorkload(const Workload& workload) override;
  StatusOr<Workload> GetWorkload(const Digest& digest) override;
  StatusOr<std::vector<Digest>> FindWorkloads(std::string_view hex_prefix) override;
  StatusOr<std::vector<Workload>> ListWorkloads(const std::optional<Digest>& after, int limit) override;
  StatusOr<std::vector<Digest>> FindBlobs(std::span<const Digest> digests) override;

  StatusOr<CreatedJob> CreateJob(const NewJob& job) override;
  StatusOr<JobRow> GetJob(int64_t job_id) override;
  StatusOr<std::vector<JobRow>> ListJobs(const Page& page) override;
  StatusOr<std::vector<TaskRow>> ListTasks(int64_t job_id) override;
  StatusOr<TaskRow> GetTask(int64_t task_id) override;
  Status SetJobState(int64_t job_id, JobState state, std::string_view detail) override;
  Status SetTaskState(int64_t task_id, JobState state) override;
  StatusOr<JobRow> CancelJob(int64_t job_id, std::string_view reason) override;
  Status CancelTrials(std::span<const int64_t> trial_ids) override;
  StatusOr<std::vector<int64_t>> CancelWaitingTrials(int64_t job_id) override;

  StatusOr<std::vector<std::optional<int64_t>>> ProposeTrials(int64_t task_id, std::span<const NewTrial> trials,
                                                              TrialState initial) override;
  std::vector<StatusOr<bool>> AdvanceTrials(std::span<const AttemptFence> fences, TrialState to) override;
  StatusOr<std::vector<TrialRow>> ClaimBuilds(std::string_view worker, int64_t slot, const TrialFilter& filter,
                                              int64_t most) override;
  StatusOr<std::vector<TrialRow>> BeginFinalRound(int64_t task_id, int64_t round,
                                                  std::span<const NewFinalist> finalists) override;
  StatusOr<bool> DecideFinals(int64_t task_id) override;
  std::vector<StatusOr<CommitAnswer>> CommitBuilds(std::span<const BuildReport> results,
                                                   TrialState after_success) override;
  std::vector<StatusOr<std::optional<TrialRow>>> ClaimMeasurements(std::span<const MeasureClaim> claims) override;
  StatusOr<CommitAnswer> CommitResult(const RunResult& result) override;
  StatusOr<CommitAnswer> FailAttempt(const AttemptFence& fence, InfraFailure failure, std::string_view error) override;
  StatusOr<std::vector<int64_t>> LoseWorker(std::string_view worker) override;
  StatusOr<TrialRow> GetTrial(int64_t trial_id) override;
  StatusOr<std::vector<AttemptRow>> ListAttempts(int64_t trial_id) override;
  StatusOr<std::vector<TuningRecord>> RecordsOfTrial(int64_t trial_id) override;
  StatusOr<std::vector<TrialRow>> ListTrials(const TrialFilter& filter, const Page& page) override;
  StatusOr<TaskCounts> CountTrials(int64_t task_id) override;
  Status RecordModelRound(int64_t task_id, const ModelRound& round) override;
  StatusOr<std::vector<ModelRound>> ListModelRounds(int64_t task_id) override;
  Status RecordAsked(std::span<const AskedWorkload> asked) override;
  StatusOr<std::vector<AskedRow>> ListAsked(std::string_view target, const Page& page) override;

  StatusOr<DeviceRow> RegisterDevice(const NewDevice& device) override;
  Status Heartbeat(int64_t device_id) override;
  StatusOr<std::vector<DeviceRow>> ListDevices() override;
  Status SetDeviceService(int64_t device_id, const ServiceState& service, std::string_view by) override;
  Status SetDeviceHealth(int64_t device_id, const HealthRow& health) override;
  StatusOr<int64_t> DistrustRecords(int64_t device_id, int64_t since_unix_ns) override;
  StatusOr<LeaseRow> GrantLease(int64_t device_id, std::string_view holder, Duration ttl, int64_t epoch_floor) override;
  StatusOr<LeaseRow> RenewLease(int64_t device_id, int64_t epoch, Duration ttl) override;
  Status EndLease(int64_t device_id, int64_t epoch, LeaseState end) override;
  StatusOr<std::vector<int64_t>> LoseDevice(int64_t device_id) override;
  StatusOr<std::vector<LeaseRow>> ListGrantedLeases() override;

  StatusOr<std::vector<BestAnswer>> QueryBest(std::span<const TuningKey> keys) override;
  StatusOr<std::vector<TuningRecord>> ListBest(const Digest& workload) override;
  StatusOr<std::vector<TuningRecord>> History(const TuningKey& key, const Page& page) override;
  StatusOr<std::vector<RecordOutcome>> ListOutcomes(const TuningKey& key, const Page& page) override;
  StatusOr<std::vector<TuningRecord>> ReadRecords(std::span<const int64_t> ids) override;
  StatusOr<std::vector<TuningRecord>> RecordsOf(const TuningKey& key, const Digest& trace) override;
  StatusOr<std::vector<std::optional<double>>> MediansOf(std::span<const int64_t> trial_ids) override;
  StatusOr<std::vector<Digest>> MeasuredTraces(const TuningKey& key) override;
  StatusOr<int64_t> CountMeasured(const TuningKey& key) override;
  StatusOr<std::vector<TuningRecord>> ListRecords(const Page& page) override;
  StatusOr<int64_t> ImportRecords(std::span<const TuningRecord> records) override;
  StatusOr<int64_t> ImportForeign(std::span<const ForeignTrace> traces) override;
  StatusOr<std::vector<ForeignTrace>> ListForeign(const Digest& workload, int limit) override;

  StatusOr<InvitationRow> Invite(const NewInvitation& invitation, std::string_view by) override;
  StatusOr<std::vector<InvitationRow>> ListInvitations(const Page& page) override;
  StatusOr<CertificateRow> TakeInvitation(const Digest& code, const NewCertificate& certificate) override;
  StatusOr<CertificateRow> RenewCertificate(const CertificateSerial& former,
                                            const NewCertificate& certificate) override;
  StatusOr<std::optional<CertificateRow>> FindCertificate(const CertificateSerial& serial) override;
  StatusOr<std::vector<CertificateRow>> ListCertificates(const Page& page) override;
  StatusOr<std::vector<CertificateRow>> RevokeCertificates(const CertificateSerial& serial,
                                                           std::string_view by) override;
  StatusOr<TokenRow> CreateToken(const NewToken& token, std::string_view by) override;
  StatusOr<std::optional<TokenRow>> FindToken(const Digest& secret) override;
  StatusOr<std::vector<TokenRow>> ListTokens(const Page& page) override;
  StatusOr<TokenRow> RevokeToken(int64_t token_id, std::string_view by) override;
  Status RecordRefusal(std::string_view words) override;

  StatusOr<RetentionFacts> ListRetentionFacts(RetentionKind kind, const std::optional<RetentionFact>& after,
                                              int limit) override;
  StatusOr<int64_t> Forget(RetentionKind kind, std::span<const RetentionFact> rows,
                           std::optional<int64_t> judged_to) override;

  StatusOr<std::vector<EventRow>> ReadEvents(int64_t after_cursor, std::optional<int64_t> job_id, int limit) override;
  StatusOr<StoreStats> Stats() override;

 private:
  using Operation = std::function<Status(sqlite::Connection&)>;
  SqliteStore(std::string path, Clock& clock);
  static StatusOr<std::unique_ptr<SqliteStore>> OpenReading(const std::string& path, int64_t oldest_schema);
  Status StartWriting(std::unique_ptr<sqlite::Connection> db);
  Status RunWrite(const Operation& operation, Durability durability);
  std::vector<Status> RunEach(std::span<const Operation> operations, Durability durability);
  Status RunDurable(const Operation& operation);
  Status RunDurableAfter(const Operation& operation);
  Status RunSoft(const Operation& operation);
  Status RunRead(const Operation& operation);
  Status RunReadOf(ReadKind kind, const Operation& operation);
  Status RunReadList(const Operation& operation);

  // `verb` takes a Connection and returns a Status or a StatusOr; these carry its result over the thread border.
  template <typename Verb>
  auto Carry(Status (SqliteStore::*run)(const Operation&), const Verb& verb)
      -> std::invoke_result_t<Verb, sqlite::Connection&> {
    using Result = std::invoke_result_t<Verb, sqlite::Connection&>;
    if constexpr (std::is_same_v<Result, Status>) {
      return (this->*run)(verb);
    } else {
      std::optional<Result> result;
      RETURN_IF_ERROR((this->*run)([&](sqlite::Connection& db) { return result.emplace(verb(db)).status(); }));
      return *std::move(result);
    }
  }
  // Survives power loss once answered.
  template <typename Verb>
  auto Write(const Verb& verb) {
    return Carry(&SqliteStore::RunDurable, verb);
  }
  // Likewise, and nobody else waits for the disk; answered with an error it may have happened.
  template <typename Verb>
  auto WriteAfter(const Verb& verb) {
    return Carry(&SqliteStore::RunDurableAfter, verb);
  }
  // Survives kill -9; after power loss it may not have happened.
  template <typename Verb>
  auto WriteSoft(const Verb& verb) {
    return Carry(&SqliteStore::RunSoft, verb);
  }
  // Each of many for itself, all handed to the writer at once.
  template <typename Item, typename Verb>
  auto WriteEach(std::span<const Item> items, Durability durability, const Verb& verb)
      -> std::vector<std::invoke_result_t<Verb, sqlite::Connection&, const Item&>> {
    std::vector<std::optional<std::invoke_result_t<Verb, sqlite::Connection&, const Item&>>> done(items.size());
    std::vector<Operation> operations;
    for (size_t i = 0; i < items.size(); ++i)
      operations.push_back([&, i](sqlite::Connection& db) { return done[i].emplace(verb(db, items[i])).status(); });
    const std::vector<Status> statuses = RunEach(operations, durability);
    std::vector<std::invoke_result_t<Verb, sqlite::Connection&, const Item&>> answers;
    for (size_t i = 0; i < items.size(); ++i) {
      if (statuses[i].ok())
        answers.push_back(*std::move(done[i]));
      else
        answers.emplace_back(statuses[i]);
    }
    return answers;
  }
  // Of what a key names: short.
  template <typename Verb>
  auto Read(const Verb& verb) {
    return Carry(&SqliteStore::RunRead, verb);
  }
  // Of as many rows as the caller asks for.
  template <typename Verb>
  auto ReadList(const Verb& verb) {
    return Carry(&SqliteStore::RunReadList, verb);
  }

  const std::string path_;
  StoreTime time_;
  bool in_memory_ = false, immutable_ = false;
  std::unique_ptr<OwnerLock> lock_;      // Outlives the writer.
  std::unique_ptr<GroupWriter> writer_;  // Null when opened read-only.
  ReaderPool readers_;
};

}  // namespace lathe
