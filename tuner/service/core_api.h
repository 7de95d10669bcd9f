// Answers the calls of lathe.v1 from a TuningCore: decode, ask, encode. Used by the gRPC shells and, without a server,
// by the command line.
#pragma once

#include <memory>

#include "support/clock.h"
#include "tuner/job/job_report.h"
#include "tuner/service/api.h"
#include "tuner/service/principal.h"
#include "tuner/service/tuning_core.h"

namespace lathe {

class CoreApi : public TuningApi, public ScheduleApi, public FarmApi, public IdentityApi {
 public:
  // Answers an admin. `poll` is how long WatchJob waits before it looks for news again.
  explicit CoreApi(TuningCore& core, Duration poll = std::chrono::milliseconds(100), Clock& clock = SystemClock())
      : core_(core), poll_(poll), clock_(clock), facts_(std::make_shared<WorkloadFactsCache>()) {}
  // The same for somebody else. Whether they may make the call at all is the caller's to know (call_guard.h); here is
  // decided what they may do by it: a submitter cancels what they submitted.
  CoreApi As(Principal principal) const {
    CoreApi api = *this;
    api.principal_ = std::move(principal);
    return api;
  }

  StatusOr<v1::SubmitJobResponse> SubmitJob(const v1::SubmitJobRequest& request) override;
  StatusOr<v1::GetJobResponse> GetJob(const v1::GetJobRequest& request) override;
  StatusOr<v1::ListJobsResponse> ListJobs(const v1::ListJobsRequest& request) override;
  StatusOr<v1::CancelJobResponse> CancelJob(const v1::CancelJobRequest& request) override;
  StatusOr<v1::WhyJobResponse> WhyJob(const v1::WhyJobRequest& request) override;
  StatusOr<v1::ListTrialsResponse> ListTrials(const v1::ListTrialsRequest& request) override;
  StatusOr<v1::ExplainTrialResponse> ExplainTrial(const v1::ExplainTrialRequest& request) override;
  StatusOr<v1::ExplainTaskResponse> ExplainTask(const v1::ExplainTaskRequest& request) override;
  Status WatchJob(const v1::WatchJobRequest& request, const UpdateConsumer& consume) override;

  StatusOr<v1::QueryBestResponse> QueryBest(const v1::QueryBestRequest& request) override;
  StatusOr<v1::ListBestResponse> ListBest(const v1::ListBestRequest& request) override;
  StatusOr<v1::FindWorkloadResponse> FindWorkload(const v1::FindWorkloadRequest& request) override;
  StatusOr<v1::ListWorkloadsResponse> ListWorkloads(const v1::ListWorkloadsRequest& request) override;
  StatusOr<v1::ImportRecordsResponse> ImportRecords(const v1::ImportRecordsRequest& request) override;
  StatusOr<v1::ReportAskedResponse> ReportAsked(const v1::ReportAskedRequest& request) override;
  StatusOr<v1::ListAskedResponse> ListAsked(const v1::ListAskedRequest& request) override;

  StatusOr<v1::ListDevicesResponse> ListDevices(const v1::ListDevicesRequest& request) override;
  StatusOr<v1::GetDeviceResponse> GetDevice(const v1::GetDeviceRequest& request) override;
  StatusOr<v1::DrainDeviceResponse> DrainDevice(const v1::DrainDeviceRequest& request) override;
  StatusOr<v1::ReserveDeviceResponse> ReserveDevice(const v1::ReserveDeviceRequest& request) override;
  StatusOr<v1::ReleaseDeviceResponse> ReleaseDevice(const v1::ReleaseDeviceRequest& request) override;
  StatusOr<v1::ListWorkersResponse> ListWorkers(const v1::ListWorkersRequest& request) override;

  StatusOr<v1::InviteResponse> Invite(const v1::InviteRequest& request) override;
  StatusOr<v1::ListInvitationsResponse> ListInvitations(const v1::ListInvitationsRequest& request) override;
  StatusOr<v1::ListCertificatesResponse> ListCertificates(const v1::ListCertificatesRequest& request) override;
  StatusOr<v1::RevokeCertificatesResponse> RevokeCertificates(const v1::RevokeCertificatesRequest& request) override;
  StatusOr<v1::CreateTokenResponse> CreateToken(const v1::CreateTokenRequest& request) override;
  StatusOr<v1::ListTokensResponse> ListTokens(const v1::ListTokensRequest& request) override;
  StatusOr<v1::RevokeTokenResponse> RevokeToken(const v1::RevokeTokenRequest& request) override;

  // What WatchJob would hand over next, without waiting for it.
  struct Updates {
    v1::WatchJobResponse response;
    bool has_news = false;
    bool is_last = false;  // The job has ended, and this holds its last event.
  };
  StatusOr<Updates> NextUpdates(const v1::WatchJobRequest& request, bool is_first);
  Duration poll() const { return poll_; }
  Store& store() { return core_.store(); }

 private:
  v1::Job SummariseJob(const JobRow& row);
  StatusOr<v1::Job> DescribeJob(const JobRow& row);
  // What takes longer to find out: untuned times and operation counts.
  Status AddReport(v1::Job& job);
  StatusOr<v1::Task> DescribeTask(const TaskRow& row);
  Status CheckMayCancel(int64_t job_id);
  Status CheckPriority(int priority) const;
  StatusOr<v1::Device> FindDevice(const std::string& name);
  Petitioner Asking() const;

  TuningCore& core_;
  const Duration poll_;
  Clock& clock_;
  std::shared_ptr<WorkloadFactsCache> facts_;
  Principal principal_;
};

}  // namespace lathe
