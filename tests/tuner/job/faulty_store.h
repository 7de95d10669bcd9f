// A store that fails when a test says so, before anything was written.
#pragma once

#include <functional>
#include <memory>

#include "tuner/database/store.h"

namespace lathe {

class FaultyStore : public Store {
 public:
  // Before each verb, by its name, on the thread that calls it; what is not OK is the verb's answer.
  using Before = std::function<Status(std::string_view verb)>;
  FaultyStore(std::unique_ptr<Store> store, Before before)
      : owned_(std::move(store)), store_(owned_.get()), before_(std::move(before)) {}
  FaultyStore(Store& store, Before before) : store_(&store), before_(std::move(before)) {}

  StatusOr<Workload> PutWorkload(const Workload& workload) override {
    return Try("PutWorkload", [&] { return store_->PutWorkload(workload); });
  }
  StatusOr<Workload> GetWorkload(const Digest& digest) override {
    return Try("GetWorkload", [&] { return store_->GetWorkload(digest); });
  }
  StatusOr<std::vector<Digest>> FindWorkloads(std::string_view hex_prefix) override {
    return Try("FindWorkloads", [&] { return store_->FindWorkloads(hex_prefix); });
  }
  StatusOr<std::vector<Workload>> ListWorkloads(const std::optional<Digest>& after, int limit) override {
    return Try("ListWorkloads", [&] { return store_->ListWorkloads(after, limit); });
  }
  StatusOr<std::vector<Digest>> FindBlobs(std::span<const Digest> digests) override {
    return Try("FindBlobs", [&] { return store_->FindBlobs(digests); });
  }
  StatusOr<CreatedJob> CreateJob(const NewJob& job) override {
    return Try("CreateJob", [&] { return store_->CreateJob(job); });
  }
  StatusOr<JobRow> GetJob(int64_t job_id) override {
    return Try("GetJob", [&] { return store_->GetJob(job_id); });
  }
  StatusOr<std::vector<JobRow>> ListJobs(const Page& page) override {
    return Try("ListJobs", [&] { return store_->ListJobs(page); });
  }
  StatusOr<std::vector<TaskRow>> ListTasks(int64_t job_id) override {
    return Try("ListTasks", [&] { return store_->ListTasks(job_id); });
  }
  StatusOr<TaskRow> GetTask(int64_t task_id) override {
    return Try("GetTask", [&] { return store_->GetTask(task_id); });
  }
  Status SetJobState(int64_t job_id, JobState state, std::string_view detail) override {
    return Try("SetJobState", [&] { return store_->SetJobState(job_id, state, detail); });
  }
  Status SetTaskState(int64_t task_id, JobState state) override {
    return Try("SetTaskState", [&] { return store_->SetTaskState(task_id, state); });
  }
  StatusOr<JobRow> CancelJob(int64_t job_id, std::string_view reason) override {
    return Try("CancelJob", [&] { return store_->CancelJob(job_id, reason); });
  }
  Status CancelTrials(std::span<const int64_t> trial_ids) override {
    return Try("CancelTrials", [&] { return store_->CancelTrials(trial_ids); });
  }
  StatusOr<std::vector<int64_t>> CancelWaitingTrials(int64_t job_id) override {
    return Try("CancelWaitingTrials", [&] { return store_->CancelWaitingTrials(job_id); });
  }
  StatusOr<std::vector<std::optional<int64_t>>> ProposeTrials(int64_t task_id, std::span<const NewTrial> trials,
                                                              TrialState initial) override {
    return Try("ProposeTrials", [&] { return store_->ProposeTrials(task_id, trials, initial); });
  }
  StatusOr<std::vector<TrialRow>> BeginFinalRound(int64_t task_id, int64_t round,
                                                  std::span<const NewFinalist> finalists) override {
    return Try("BeginFinalRound", [&] { return store_->BeginFinalRound(task_id, round, finalists); });
  }
  StatusOr<bool> DecideFinals(int64_t task_id) override {
    return Try("DecideFinals", [&] { return store_->DecideFinals(task_id); });
  }
  std::vector<StatusOr<bool>> AdvanceTrials(std::span<const AttemptFence> fences, TrialState to) override {
    return TryEach("AdvanceTrials", fences.size(), [&] { return store_->AdvanceTrials(fences, to); });
  }
  StatusOr<std::vector<TrialRow>> ClaimBuilds(std::string_view worker, int64_t slot, const TrialFilter& filter,
                                              int64_t most) override {
    return Try("ClaimBuilds", [&] { return store_->ClaimBuilds(worker, slot, filter, most); });
  }
  std::vector<StatusOr<CommitAnswer>> CommitBuilds(std::span<const BuildReport> results,
                                                   TrialState after_success) override {
    return TryEach("CommitBuilds", results.size(), [&] { return store_->CommitBuilds(results, after_success); });
  }
  std::vector<StatusOr<std::optional<TrialRow>>> ClaimMeasurements(std::span<const MeasureClaim> claims) override {
    return TryEach("ClaimMeasurements", claims.size(), [&] { return store_->ClaimMeasurements(claims); });
  }
  StatusOr<CommitAnswer> CommitResult(const RunResult& result) override {
    return Try("CommitResult", [&] { return store_->CommitResult(result); });
  }
  StatusOr<CommitAnswer> FailAttempt(const AttemptFence& fence, InfraFailure failure, std::string_view error) override {
    return Try("FailAttempt", [&] { return store_->FailAttempt(fence, failure, error); });
  }
  StatusOr<std::vector<int64_t>> LoseWorker(std::string_view worker) override {
    return Try("LoseWorker", [&] { return store_->LoseWorker(worker); });
  }
  StatusOr<TrialRow> GetTrial(int64_t trial_id) override {
    return Try("GetTrial", [&] { return store_->GetTrial(trial_id); });
  }
  StatusOr<std::vector<TrialRow>> ListTrials(const TrialFilter& filter, const Page& page) override {
    return Try("ListTrials", [&] { return store_->ListTrials(filter, page); });
  }
  StatusOr<TaskCounts> CountTrials(int64_t task_id) override {
    return Try("CountTrials", [&] { return store_->CountTrials(task_id); });
  }
  Status RecordModelRound(int64_t task_id, const ModelRound& round) override {
    return Try("RecordModelRound", [&] { return store_->RecordModelRound(task_id, round); });
  }
  StatusOr<std::vector<ModelRound>> ListModelRounds(int64_t task_id) override {
    return Try("ListModelRounds", [&] { return store_->ListModelRounds(task_id); });
  }
  Status RecordAsked(std::span<const AskedWorkload> asked) override {
    return Try("RecordAsked", [&] { return store_->RecordAsked(asked); });
  }
  StatusOr<std::vector<AskedRow>> ListAsked(std::string_view target, const Page& page) override {
    return Try("ListAsked", [&] { return store_->ListAsked(target, page); });
  }
  StatusOr<DeviceRow> RegisterDevice(const NewDevice& device) override {
    return Try("RegisterDevice", [&] { return store_->RegisterDevice(device); });
  }
  Status Heartbeat(int64_t device_id) override {
    return Try("Heartbeat", [&] { return store_->Heartbeat(device_id); });
  }
  StatusOr<std::vector<DeviceRow>> ListDevices() override {
    return Try("ListDevices", [&] { return store_->ListDevices(); });
  }
  StatusOr<LeaseRow> GrantLease(int64_t device_id, std::string_view holder, Duration ttl,
                                int64_t epoch_floor) override {
    return Try("GrantLease", [&] { return store_->GrantLease(device_id, holder, ttl, epoch_floor); });
  }
  StatusOr<LeaseRow> RenewLease(int64_t device_id, int64_t epoch, Duration ttl) override {
    return Try("RenewLease", [&] { return store_->RenewLease(device_id, epoch, ttl); });
  }
  Status EndLease(int64_t device_id, int64_t epoch, LeaseState end) override {
    return Try("EndLease", [&] { return store_->EndLease(device_id, epoch, end); });
  }
  StatusOr<std::vector<AttemptRow>> ListAttempts(int64_t trial_id) override { return store_->ListAttempts(trial_id); }
  StatusOr<std::vector<TuningRecord>> RecordsOfTrial(int64_t trial_id) override {
    return store_->RecordsOfTrial(trial_id);
  }
  Status SetDeviceHealth(int64_t device_id, const HealthRow& health) override {
    return Try("SetDeviceHealth", [&] { return store_->SetDeviceHealth(device_id, health); });
  }
  StatusOr<int64_t> DistrustRecords(int64_t device_id, int64_t since_unix_ns) override {
    return Try("DistrustRecords", [&] { return store_->DistrustRecords(device_id, since_unix_ns); });
  }
  Status SetDeviceService(int64_t device_id, const ServiceState& service, std::string_view by) override {
    return Try("SetDeviceService", [&] { return store_->SetDeviceService(device_id, service, by); });
  }
  StatusOr<std::vector<int64_t>> LoseDevice(int64_t device_id) override {
    return Try("LoseDevice", [&] { return store_->LoseDevice(device_id); });
  }
  StatusOr<std::vector<LeaseRow>> ListGrantedLeases() override {
    return Try("ListGrantedLeases", [&] { return store_->ListGrantedLeases(); });
  }
  StatusOr<std::vector<BestAnswer>> QueryBest(std::span<const TuningKey> keys) override {
    return Try("QueryBest", [&] { return store_->QueryBest(keys); });
  }
  StatusOr<std::vector<TuningRecord>> ListBest(const Digest& workload) override {
    return Try("ListBest", [&] { return store_->ListBest(workload); });
  }
  StatusOr<std::vector<TuningRecord>> History(const TuningKey& key, const Page& page) override {
    return Try("History", [&] { return store_->History(key, page); });
  }
  StatusOr<std::vector<RecordOutcome>> ListOutcomes(const TuningKey& key, const Page& page) override {
    return Try("ListOutcomes", [&] { return store_->ListOutcomes(key, page); });
  }
  StatusOr<std::vector<TuningRecord>> ReadRecords(std::span<const int64_t> ids) override {
    return Try("ReadRecords", [&] { return store_->ReadRecords(ids); });
  }
  StatusOr<std::vector<TuningRecord>> RecordsOf(const TuningKey& key, const Digest& trace) override {
    return Try("RecordsOf", [&] { return store_->RecordsOf(key, trace); });
  }
  StatusOr<std::vector<std::optional<double>>> MediansOf(std::span<const int64_t> trial_ids) override {
    return Try("MediansOf", [&] { return store_->MediansOf(trial_ids); });
  }
  StatusOr<std::vector<Digest>> MeasuredTraces(const TuningKey& key) override {
    return Try("MeasuredTraces", [&] { return store_->MeasuredTraces(key); });
  }
  StatusOr<int64_t> CountMeasured(const TuningKey& key) override {
    return Try("CountMeasured", [&] { return store_->CountMeasured(key); });
  }
  StatusOr<std::vector<TuningRecord>> ListRecords(const Page& page) override {
    return Try("ListRecords", [&] { return store_->ListRecords(page); });
  }
  StatusOr<int64_t> ImportRecords(std::span<const TuningRecord> records) override {
    return Try("ImportRecords", [&] { return store_->ImportRecords(records); });
  }
  StatusOr<int64_t> ImportForeign(std::span<const ForeignTrace> traces) override {
    return Try("ImportForeign", [&] { return store_->ImportForeign(traces); });
  }
  StatusOr<std::vector<ForeignTrace>> ListForeign(const Digest& workload, int limit) override {
    return Try("ListForeign", [&] { return store_->ListForeign(workload, limit); });
  }
  StatusOr<InvitationRow> Invite(const NewInvitation& invitation, std::string_view by) override {
    return Try("Invite", [&] { return store_->Invite(invitation, by); });
  }
  StatusOr<std::vector<InvitationRow>> ListInvitations(const Page& page) override {
    return Try("ListInvitations", [&] { return store_->ListInvitations(page); });
  }
  StatusOr<CertificateRow> TakeInvitation(const Digest& code, const NewCertificate& certificate) override {
    return Try("TakeInvitation", [&] { return store_->TakeInvitation(code, certificate); });
  }
  StatusOr<CertificateRow> RenewCertificate(const CertificateSerial& former,
                                            const NewCertificate& certificate) override {
    return Try("RenewCertificate", [&] { return store_->RenewCertificate(former, certificate); });
  }
  StatusOr<std::optional<CertificateRow>> FindCertificate(const CertificateSerial& serial) override {
    return Try("FindCertificate", [&] { return store_->FindCertificate(serial); });
  }
  StatusOr<std::vector<CertificateRow>> ListCertificates(const Page& page) override {
    return Try("ListCertificates", [&] { return store_->ListCertificates(page); });
  }
  StatusOr<std::vector<CertificateRow>> RevokeCertificates(const CertificateSerial& serial,
                                                           std::string_view by) override {
    return Try("RevokeCertificates", [&] { return store_->RevokeCertificates(serial, by); });
  }
  StatusOr<TokenRow> CreateToken(const NewToken& token, std::string_view by) override {
    return Try("CreateToken", [&] { return store_->CreateToken(token, by); });
  }
  StatusOr<std::optional<TokenRow>> FindToken(const Digest& secret) override {
    return Try("FindToken", [&] { return store_->FindToken(secret); });
  }
  StatusOr<std::vector<TokenRow>> ListTokens(const Page& page) override {
    return Try("ListTokens", [&] { return store_->ListTokens(page); });
  }
  StatusOr<TokenRow> RevokeToken(int64_t token_id, std::string_view by) override {
    return Try("RevokeToken", [&] { return store_->RevokeToken(token_id, by); });
  }
  Status RecordRefusal(std::string_view words) override {
    return Try("RecordRefusal", [&] { return store_->RecordRefusal(words); });
  }
  StatusOr<RetentionFacts> ListRetentionFacts(RetentionKind kind, const std::optional<RetentionFact>& after,
                                              int limit) override {
    return Try("ListRetentionFacts", [&] { return store_->ListRetentionFacts(kind, after, limit); });
  }
  StatusOr<int64_t> Forget(RetentionKind kind, std::span<const RetentionFact> rows,
                           std::optional<int64_t> judged_to) override {
    return Try("Forget", [&] { return store_->Forget(kind, rows, judged_to); });
  }
  StatusOr<std::vector<EventRow>> ReadEvents(int64_t after_cursor, std::optional<int64_t> job_id, int limit) override {
    return Try("ReadEvents", [&] { return store_->ReadEvents(after_cursor, job_id, limit); });
  }
  StatusOr<StoreStats> Stats() override {
    return Try("Stats", [&] { return store_->Stats(); });
  }

 private:
  template <typename Verb>
  auto Try(std::string_view name, Verb verb) -> decltype(verb()) {
    const Status status = before_(name);
    if (!status.ok()) return status;
    return verb();
  }
  template <typename Verb>
  auto TryEach(std::string_view name, size_t count, Verb verb) -> decltype(verb()) {
    const Status status = before_(name);
    if (!status.ok()) return decltype(verb())(count, status);
    return verb();
  }

  const std::unique_ptr<Store> owned_;
  Store* const store_;
  const Before before_;
};

}  // namespace lathe
