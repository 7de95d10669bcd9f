// The calls of lathe.v1 as C++ interfaces. CoreApi answers them in this process; ServerConnection (client.h) asks a
// server. A verb of the command line is written once, over these. Meanings of fields and errors: the .proto files and
// docs/formats/service_api.md.
#pragma once

#include <functional>

#include "proto/lathe/v1/farm.pb.h"
#include "proto/lathe/v1/identity.pb.h"
#include "proto/lathe/v1/schedule.pb.h"
#include "proto/lathe/v1/tuning.pb.h"
#include "support/status.h"

namespace lathe {

// All methods of the four are thread-safe, and harmless when repeated.
class TuningApi {
 public:
  virtual ~TuningApi() = default;
  virtual StatusOr<v1::SubmitJobResponse> SubmitJob(const v1::SubmitJobRequest& request) = 0;
  virtual StatusOr<v1::GetJobResponse> GetJob(const v1::GetJobRequest& request) = 0;
  virtual StatusOr<v1::ListJobsResponse> ListJobs(const v1::ListJobsRequest& request) = 0;
  virtual StatusOr<v1::CancelJobResponse> CancelJob(const v1::CancelJobRequest& request) = 0;
  virtual StatusOr<v1::WhyJobResponse> WhyJob(const v1::WhyJobRequest& request) = 0;
  virtual StatusOr<v1::ListTrialsResponse> ListTrials(const v1::ListTrialsRequest& request) = 0;
  virtual StatusOr<v1::ExplainTrialResponse> ExplainTrial(const v1::ExplainTrialRequest& request) = 0;
  virtual StatusOr<v1::ExplainTaskResponse> ExplainTask(const v1::ExplainTaskRequest& request) = 0;
  // Hands over what is new, until the job has ended or the consumer returns false; both are OK.
  using UpdateConsumer = std::function<bool(const v1::WatchJobResponse& update)>;
  virtual Status WatchJob(const v1::WatchJobRequest& request, const UpdateConsumer& consume) = 0;
};

class ScheduleApi {
 public:
  virtual ~ScheduleApi() = default;
  virtual StatusOr<v1::QueryBestResponse> QueryBest(const v1::QueryBestRequest& request) = 0;
  virtual StatusOr<v1::ListBestResponse> ListBest(const v1::ListBestRequest& request) = 0;
  virtual StatusOr<v1::FindWorkloadResponse> FindWorkload(const v1::FindWorkloadRequest& request) = 0;
  virtual StatusOr<v1::ListWorkloadsResponse> ListWorkloads(const v1::ListWorkloadsRequest& request) = 0;
  virtual StatusOr<v1::ImportRecordsResponse> ImportRecords(const v1::ImportRecordsRequest& request) = 0;
  virtual StatusOr<v1::ReportAskedResponse> ReportAsked(const v1::ReportAskedRequest& request) = 0;
  virtual StatusOr<v1::ListAskedResponse> ListAsked(const v1::ListAskedRequest& request) = 0;
};

class FarmApi {
 public:
  virtual ~FarmApi() = default;
  virtual StatusOr<v1::ListDevicesResponse> ListDevices(const v1::ListDevicesRequest& request) = 0;
  virtual StatusOr<v1::GetDeviceResponse> GetDevice(const v1::GetDeviceRequest& request) = 0;
  virtual StatusOr<v1::DrainDeviceResponse> DrainDevice(const v1::DrainDeviceRequest& request) = 0;
  virtual StatusOr<v1::ReserveDeviceResponse> ReserveDevice(const v1::ReserveDeviceRequest& request) = 0;
  virtual StatusOr<v1::ReleaseDeviceResponse> ReleaseDevice(const v1::ReleaseDeviceRequest& request) = 0;
  virtual StatusOr<v1::ListWorkersResponse> ListWorkers(const v1::ListWorkersRequest& request) = 0;
};

class IdentityApi {
 public:
  virtual ~IdentityApi() = default;
  virtual StatusOr<v1::InviteResponse> Invite(const v1::InviteRequest& request) = 0;
  virtual StatusOr<v1::ListInvitationsResponse> ListInvitations(const v1::ListInvitationsRequest& request) = 0;
  virtual StatusOr<v1::ListCertificatesResponse> ListCertificates(const v1::ListCertificatesRequest& request) = 0;
  virtual StatusOr<v1::RevokeCertificatesResponse> RevokeCertificates(const v1::RevokeCertificatesRequest& request) = 0;
  virtual StatusOr<v1::CreateTokenResponse> CreateToken(const v1::CreateTokenRequest& request) = 0;
  virtual StatusOr<v1::ListTokensResponse> ListTokens(const v1::ListTokensRequest& request) = 0;
  virtual StatusOr<v1::RevokeTokenResponse> RevokeToken(const v1::RevokeTokenRequest& request) = 0;
};

inline constexpr int kMaxMessageBytes = 4 << 20;            // Of any message of these services, on both ends.
inline constexpr size_t kPageBytes = kMaxMessageBytes / 2;  // A page of a list ends behind these.

}  // namespace lathe
