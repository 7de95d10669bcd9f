// The Store: the only authority for jobs, trials, leases, devices and records.
//
// Each verb is one transaction: when it returns OK, what it did survives `kill -9` and power loss; when it returns an
// error, nothing of it happened. Claims, AdvanceTrials, CommitBuilds of artifacts, RegisterDevice, Heartbeat,
// RenewLease, EndLease and Forget survive `kill -9` only: lost with the power, they are repeated harmlessly, and a
// trial waits for the disk once, at its record. Verbs that take many do each for itself, with an answer of its own, in
// one turn of the writer. Verbs may be called from any thread. They draw no random numbers. A repeated verb is
// harmless: by request id, by attempt, by epoch or by result key. Time is the Store's own (store_time.h): callers give
// durations, and read stamps for display only.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "support/clock.h"
#include "tuner/database/retention.h"
#include "tuner/database/rows.h"

namespace lathe {

inline constexpr int kMostCertificates = 4;  // Of one machine, in force at once.
inline constexpr Duration kLongestInvitation = std::chrono::hours(24 * 7);
inline constexpr Duration kLongestToken = std::chrono::hours(24 * 366);

class Store {
 public:
  virtual ~Store() = default;

  // --- Workloads and blobs ------------------------------------------------------------------------------------------
  // Stores the text unless the digest has one already; returns what is stored, which is *the* workload from then on.
  virtual StatusOr<Workload> PutWorkload(const Workload& workload) = 0;
  virtual StatusOr<Workload> GetWorkload(const Digest& digest) = 0;
  // All digests that start with these hex digits (8 to 64 of them), at most 10.
  virtual StatusOr<std::vector<Digest>> FindWorkloads(std::string_view hex_prefix) = 0;
  // In the order of their digests, from the first one after `after`.
  virtual StatusOr<std::vector<Workload>> ListWorkloads(const std::optional<Digest>& after, int limit) = 0;

  // Those of these blobs that the database knows: artifacts of trials that are open, or were not long ago.
  virtual StatusOr<std::vector<Digest>> FindBlobs(std::span<const Digest> digests) = 0;

  // --- Jobs and tasks -----------------------------------------------------------------------------------------------
  // A known request id returns its job; kAlreadyExists if that job was asked for in other words.
  virtual StatusOr<CreatedJob> CreateJob(const NewJob& job) = 0;
  virtual StatusOr<JobRow> GetJob(int64_t job_id) = 0;
  virtual StatusOr<std::vector<JobRow>> ListJobs(const Page& page) = 0;  // Oldest first.
  virtual StatusOr<std::vector<TaskRow>> ListTasks(int64_t job_id) = 0;  // As asked for: without finals.
  virtual StatusOr<TaskRow> GetTask(int64_t task_id) = 0;
  // A terminal state is never left: kFailedPrecondition. The same state again only changes `detail`.
  virtual Status SetJobState(int64_t job_id, JobState state, std::string_view detail) = 0;
  virtual Status SetTaskState(int64_t task_id, JobState state) = 0;
  // The job, its open tasks and its open trials become CANCELLED. A job that has ended stays as it is.
  virtual StatusOr<JobRow> CancelJob(int64_t job_id, std::string_view reason) = 0;
  // Those of these that are open become CANCELLED, whoever holds them; what their holders say later is late.
  virtual Status CancelTrials(std::span<const int64_t> trial_ids) = 0;
  // Trials of the job that nobody holds (PROPOSED, BUILD_QUEUED, BUILT, MEAS_QUEUED) become CANCELLED; returns their
  // ids. The job goes on.
  virtual StatusOr<std::vector<int64_t>> CancelWaitingTrials(int64_t job_id) = 0;

  // --- Trials -------------------------------------------------------------------------------------------------------
  // One id per new trial; nullopt where the task has that trace already. `initial` is PROPOSED or BUILD_QUEUED.
  virtual StatusOr<std::vector<std::optional<int64_t>>> ProposeTrials(int64_t task_id, std::span<const NewTrial> trials,
                                                                      TrialState initial) = 0;
  // The next round of finals of an open task: one trial per finalist, MEAS_QUEUED if its module is known, else
  // BUILD_QUEUED. It spends no budget and is no trial of the task in any count. Left out of the answer: what the round
  // has already.
  virtual StatusOr<std::vector<TrialRow>> BeginFinalRound(int64_t task_id, int64_t round,
                                                          std::span<const NewFinalist> finalists) = 0;
  // The winner of the task's finals becomes the best of its key, whatever was before. False: nobody won; a best that
  // failed there gives way to the best screened candidate that did not.
  virtual StatusOr<bool> DecideFinals(int64_t task_id) = 0;
  // The moves that nobody else decides: PROPOSED -> BUILD_QUEUED, BUILT -> MEAS_QUEUED, ASSIGNED -> RUNNING. False
  // unless the trial is under this very attempt.
  virtual std::vector<StatusOr<bool>> AdvanceTrials(std::span<const AttemptFence> fences, TrialState to) = 0;
  StatusOr<bool> AdvanceTrial(const AttemptFence& fence, TrialState to) {
    return AdvanceTrials(std::span(&fence, 1), to).front();
  }
  // The oldest waiting trials that pass the filter, at most `most`, each now BUILDING with attempt + 1.
  virtual StatusOr<std::vector<TrialRow>> ClaimBuilds(std::string_view worker, int64_t slot, const TrialFilter& filter,
                                                      int64_t most) = 0;
  StatusOr<std::optional<TrialRow>> ClaimForBuild(std::string_view worker, int64_t slot, const TrialFilter& filter);
  // An artifact goes on to MEAS_QUEUED (or BUILT, if asked for); a failure becomes a record.
  virtual std::vector<StatusOr<CommitAnswer>> CommitBuilds(std::span<const BuildReport> results,
                                                           TrialState after_success) = 0;
  StatusOr<CommitAnswer> CommitBuild(const BuildReport& result, TrialState after_success) {
    return CommitBuilds(std::span(&result, 1), after_success).front();
  }
  // For each, the oldest trial waiting for a device of its class, now ASSIGNED with attempt + 1; nullopt if none waits.
  // kFailedPrecondition unless the lease (device, epoch) has not ended; whether it has run out is its holder's to know.
  virtual std::vector<StatusOr<std::optional<TrialRow>>> ClaimMeasurements(std::span<const MeasureClaim> claims) = 0;
  StatusOr<std::optional<TrialRow>> ClaimForMeasure(int64_t device_id, int64_t epoch, const TrialFilter& filter);
  // Counts if (attempt, device, epoch, module) is the attempt under way; kept as a late record if it was one; else
  // nothing. Where the disk fails it may have happened: said again, it is a DUPLICATE then.
  virtual StatusOr<CommitAnswer> CommitResult(const RunResult& result) = 0;
  // The attempt ended without telling anything about the candidate: back to its queue, up to three times. kDeviceLost
  // blames the module if it was RUNNING, as LoseDevice does.
  virtual StatusOr<CommitAnswer> FailAttempt(const AttemptFence& fence, InfraFailure failure,
                                             std::string_view error) = 0;
  // Every trial that this worker is building counts one infrastructure failure; returns their ids.
  virtual StatusOr<std::vector<int64_t>> LoseWorker(std::string_view worker) = 0;
  virtual StatusOr<TrialRow> GetTrial(int64_t trial_id) = 0;
  // In order. Those of jobs that ended long ago are forgotten (retention.h).
  virtual StatusOr<std::vector<AttemptRow>> ListAttempts(int64_t trial_id) = 0;
  virtual StatusOr<std::vector<TrialRow>> ListTrials(const TrialFilter& filter, const Page& page) = 0;
  virtual StatusOr<TaskCounts> CountTrials(int64_t task_id) = 0;

  // What a search says of its model; the round with the same `trials` again replaces what was said.
  virtual Status RecordModelRound(int64_t task_id, const ModelRound& round) = 0;
  virtual StatusOr<std::vector<ModelRound>> ListModelRounds(int64_t task_id) = 0;  // By their `trials`.

  // --- What builds asked for and did not get ------------------------------------------------------------------------
  // Counts each once more. Of one that is known the text stays; network and weight are those of who asked last. Beyond
  // kMostAsked those go that nobody asked for for the longest time.
  virtual Status RecordAsked(std::span<const AskedWorkload> asked) = 0;
  // Those that there still is no best record for, of this target (empty: of all), in the order in which they first
  // came.
  virtual StatusOr<std::vector<AskedRow>> ListAsked(std::string_view target, const Page& page) = 0;

  // --- Devices and leases -------------------------------------------------------------------------------------------
  virtual StatusOr<DeviceRow> RegisterDevice(const NewDevice& device) = 0;
  virtual Status Heartbeat(int64_t device_id) = 0;
  virtual StatusOr<std::vector<DeviceRow>> ListDevices() = 0;
  // What it is from now on, however often it registers. `by`: whose doing it is, for the event.
  virtual Status SetDeviceService(int64_t device_id, const ServiceState& service, std::string_view by) = 0;
  virtual Status SetDeviceHealth(int64_t device_id, const HealthRow& health) = 0;
  // What the device has measured since counts no more: those records become late, and what was the best by them is
  // decided anew. Returns how many there are.
  virtual StatusOr<int64_t> DistrustRecords(int64_t device_id, int64_t since_unix_ns) = 0;
  // Ends the device's lease if there is one (REVOKED, or EXPIRED if it had run out), raises its epoch to
  // max(epoch, epoch_floor) + 1 and lends it for `ttl`, all in one transaction. Where the disk fails it may have
  // happened.
  virtual StatusOr<LeaseRow> GrantLease(int64_t device_id, std::string_view holder, Duration ttl,
                                        int64_t epoch_floor) = 0;
  // For another `ttl` from now. kFailedPrecondition once the lease has ended. One that ran out and that nobody ended is
  // in force again: its holder, or the server itself, was stopped.
  virtual StatusOr<LeaseRow> RenewLease(int64_t device_id, int64_t epoch, Duration ttl) = 0;
  // RELEASED or REVOKED: trials still assigned under it return to their queue, uncounted. EXPIRED: they count an
  // infrastructure failure. Ending a lease that has ended changes nothing.
  virtual Status EndLease(int64_t device_id, int64_t epoch, LeaseState end) = 0;
  // The device is gone: its lease is revoked, its trials count an infrastructure failure, and the modules that were
  // RUNNING are blamed: lost with a second device, a module is POISON wherever it waits. Returns the trials' ids.
  virtual StatusOr<std::vector<int64_t>> LoseDevice(int64_t device_id) = 0;
  virtual StatusOr<std::vector<LeaseRow>> ListGrantedLeases() = 0;

  // --- Records ------------------------------------------------------------------------------------------------------
  // Exact key -> newest older codegen or policy version (STALE) -> MISS. One answer per key, in order.
  virtual StatusOr<std::vector<BestAnswer>> QueryBest(std::span<const TuningKey> keys) = 0;
  // Every best record of a workload, whatever its target and versions. Without samples.
  virtual StatusOr<std::vector<TuningRecord>> ListBest(const Digest& workload) = 0;
  // What is known under a key, in order of commit, without samples. WholeHistory reads all pages.
  virtual StatusOr<std::vector<TuningRecord>> History(const TuningKey& key, const Page& page) = 0;
  // The same records without what is long; then those of these ids, in their order, without samples.
  virtual StatusOr<std::vector<RecordOutcome>> ListOutcomes(const TuningKey& key, const Page& page) = 0;
  virtual StatusOr<std::vector<TuningRecord>> ReadRecords(std::span<const int64_t> ids) = 0;
  // Of one trace likewise, all of it.
  virtual StatusOr<std::vector<TuningRecord>> RecordsOf(const TuningKey& key, const Digest& trace) = 0;
  // Those that the trial left, in order of commit, without samples.
  virtual StatusOr<std::vector<TuningRecord>> RecordsOfTrial(int64_t trial_id) = 0;
  // Of each of these trials, what the record says that counted; nullopt without one, or without a time.
  virtual StatusOr<std::vector<std::optional<double>>> MediansOf(std::span<const int64_t> trial_ids) = 0;
  // Traces that have a record under the key that was in time, whichever job made it: what a budget need not pay again.
  virtual StatusOr<std::vector<Digest>> MeasuredTraces(const TuningKey& key) = 0;
  virtual StatusOr<int64_t> CountMeasured(const TuningKey& key) = 0;
  virtual StatusOr<std::vector<TuningRecord>> ListRecords(const Page& page) = 0;  // With samples, in order of commit.
  // Merges by result key; returns how many were new. Their workloads are stored already.
  virtual StatusOr<int64_t> ImportRecords(std::span<const TuningRecord> records) = 0;
  // Merges by workload, trace, source and target; returns how many were new. Their workloads are stored already.
  virtual StatusOr<int64_t> ImportForeign(std::span<const ForeignTrace> traces) = 0;
  // Fastest first by what their writers measured, then those that nobody did. At most `limit`.
  virtual StatusOr<std::vector<ForeignTrace>> ListForeign(const Digest& workload, int limit) = 0;

  // --- Who may do what (docs/decisions/0061-identity.md)
  // -------------------------------------------------------------- Of a code or a token the Store is given the SHA-256.
  // `by`: whose doing it is, in words for the event that each change writes. Made again, an invitation, certificate or
  // token is the one that is there.
  virtual StatusOr<InvitationRow> Invite(const NewInvitation& invitation, std::string_view by) = 0;
  virtual StatusOr<std::vector<InvitationRow>> ListInvitations(const Page& page) = 0;
  // The invitation is taken and the certificate known, or neither. kUnauthenticated: there is no such invitation, it
  // was taken or has expired. kPermissionDenied: it is for another role or name. kAlreadyExists: it names nobody, and
  // another machine has a certificate of that name; where it does name the machine, certificates of before are revoked.
  virtual StatusOr<CertificateRow> TakeInvitation(const Digest& code, const NewCertificate& certificate) = 0;
  // A further certificate of a machine whose `former` one is in force and stays so. kUnauthenticated if it is not;
  // kResourceExhausted for more than kMostCertificates in force.
  virtual StatusOr<CertificateRow> RenewCertificate(const CertificateSerial& former,
                                                    const NewCertificate& certificate) = 0;
  // Nullopt: this farm knows no such serial number, and whoever shows it is refused.
  virtual StatusOr<std::optional<CertificateRow>> FindCertificate(const CertificateSerial& serial) = 0;
  virtual StatusOr<std::vector<CertificateRow>> ListCertificates(const Page& page) = 0;
  // Every certificate that the machine of this one has, expired ones left out: a key that was stolen may have been
  // renewed. Returns those that were in force; none if all had been revoked. kNotFound for a serial nobody has.
  virtual StatusOr<std::vector<CertificateRow>> RevokeCertificates(const CertificateSerial& serial,
                                                                   std::string_view by) = 0;
  virtual StatusOr<TokenRow> CreateToken(const NewToken& token, std::string_view by) = 0;
  // Nullopt: unknown. One that is expired or revoked is found; its standing says so.
  virtual StatusOr<std::optional<TokenRow>> FindToken(const Digest& secret) = 0;
  virtual StatusOr<std::vector<TokenRow>> ListTokens(const Page& page) = 0;
  virtual StatusOr<TokenRow> RevokeToken(int64_t token_id, std::string_view by) = 0;
  // An event, for the people who look after the farm. Survives `kill -9` only.
  virtual Status RecordRefusal(std::string_view words) = 0;

  // --- Retention (retention.h decides, prune.h asks) ----------------------------------------------------------------
  // The next rows of a kind that may go one day, oldest first.
  virtual StatusOr<RetentionFacts> ListRetentionFacts(RetentionKind kind, const std::optional<RetentionFact>& after,
                                                      int limit) = 0;
  // Forgets those of these rows that nobody needs by now; returns how many. `judged_to`: samples of records up to this
  // one are not asked for again. Survives `kill -9` only: lost with the power, it is repeated.
  virtual StatusOr<int64_t> Forget(RetentionKind kind, std::span<const RetentionFact> rows,
                                   std::optional<int64_t> judged_to) = 0;

  // --- Watching -----------------------------------------------------------------------------------------------------
  // Events after the cursor, oldest first; of one job or of all.
  virtual StatusOr<std::vector<EventRow>> ReadEvents(int64_t after_cursor, std::optional<int64_t> job_id,
                                                     int limit) = 0;
  virtual StatusOr<StoreStats> Stats() = 0;
};

// The trials that pass the filter, oldest first, read page by page: one that changes meanwhile may be seen either way.
Status ForEachTrial(Store& store, const TrialFilter& filter, const std::function<void(const TrialRow&)>& visit);
// Everything known under a key, best first: OK, NOISY, CENSORED by median, then failures; equal ones by age. Without
// samples. Read page by page, so that no read holds the others up.
StatusOr<std::vector<TuningRecord>> WholeHistory(Store& store, const TuningKey& key);

// As WholeHistory where there are at most `most` records. Where there are more, some of them, in little memory: all
// rounds of finals, those of `also`, the fastest, and as many of the others, evenly over the time in which they came.
struct PartOfHistory {
  std::vector<TuningRecord> records;
  bool is_whole = true;
};
using OutcomeFilter = std::function<bool(const RecordOutcome&)>;  // Whether it counts.
StatusOr<PartOfHistory> SomeHistory(Store& store, const TuningKey& key, size_t most, const std::optional<Digest>& also,
                                    const OutcomeFilter& filter);

}  // namespace lathe
