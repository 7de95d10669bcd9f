// include/lathe/client.h over gRPC.
#include "include/lathe/client.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>

#include "proto/lathe/v1/schedule.grpc.pb.h"
#include "proto/lathe/v1/tuning.grpc.pb.h"

namespace lathe::client {
namespace {

constexpr int kMaxMessageBytes = 4 << 20;
constexpr auto kResumeInterval = std::chrono::milliseconds(200);
constexpr const char* kServiceConfig = R"({"methodConfig": [{
  "name": [{"service": "lathe.v1.TuningService"}, {"service": "lathe.v1.ScheduleService"}],
  "retryPolicy": {"maxAttempts": 4, "initialBackoff": "0.1s", "maxBackoff": "2s", "backoffMultiplier": 2,
                  "retryableStatusCodes": ["UNAVAILABLE"]}}]})";

constexpr const char* kServerHost = "server.lathe";  // The name in a server's certificate, wherever it is.

bool IsOnThisMachine(const std::string& server) {
  for (const char* begin : {"unix:", "localhost:", "[::1]:"})
    if (server.starts_with(begin)) return true;
  return server.starts_with("127.") && server.find_first_not_of("0123456789.:") == std::string::npos;
}

std::shared_ptr<grpc::ChannelCredentials> CredentialsOf(const std::string& server, const std::string& token) {
  const size_t certificate = token.find("-----BEGIN CERTIFICATE-----");
  if (server.starts_with("unix:") || certificate == std::string::npos)
    return IsOnThisMachine(server) ? grpc::InsecureChannelCredentials() : nullptr;
  const std::string secret = token.substr(0, token.find_first_of(" \r\n"));
  return grpc::CompositeChannelCredentials(
      grpc::SslCredentials({.pem_root_certs = token.substr(certificate), .pem_private_key = {}, .pem_cert_chain = {}}),
      grpc::AccessTokenCredentials(secret));
}

std::string TokenOf(const Options& options) {
  const char* variable = std::getenv("LATHE_TOKEN");
  return options.token.empty() && variable != nullptr ? variable : options.token;
}

// Without credentials every call over it fails.
std::shared_ptr<grpc::Channel> Connect(const std::string& server,
                                       const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetServiceConfigJSON(kServiceConfig);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  arguments.SetSslTargetNameOverride(kServerHost);
  return grpc::CreateCustomChannel(server, credentials, arguments);
}

std::string HexOf(const std::string& bytes) {
  std::string text;
  char digits[3];
  for (const char byte : bytes) {
    std::snprintf(digits, sizeof(digits), "%02x", static_cast<unsigned>(static_cast<unsigned char>(byte)));
    text += digits;
  }
  return text;
}

// The 32 bytes of 64 hex digits; nullopt of anything else.
std::optional<std::string> BytesOf(const std::string& text) {
  if (text.size() != 64) return std::nullopt;
  std::string bytes;
  for (size_t i = 0; i < text.size(); i += 2) {
    char* end = nullptr;
    const std::string pair = text.substr(i, 2);
    const long byte = std::strtol(pair.c_str(), &end, 16);
    if (*end != '\0' || std::isxdigit(static_cast<unsigned char>(pair[0])) == 0) return std::nullopt;
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

std::string RandomId() {
  std::random_device device;
  char text[33];
  std::snprintf(text, sizeof(text), "%08x%08x%08x%08x", device(), device(), device(), device());
  return text;
}

std::optional<double> Known(double ns) { return ns > 0 ? std::optional(ns) : std::nullopt; }

Task ToTask(const v1::Task& message) {
  return {.id = message.id(),
          .name = message.name(),
          .workload = HexOf(message.key().workload()),
          .target = message.key().target(),
          .state = static_cast<JobState>(message.state()),
          .trials_known = message.trials_known(),
          .trial_budget = message.trial_budget(),
          .best_ns = Known(message.best_ns()),
          .untuned_ns = Known(message.untuned_ns())};
}

Job ToJob(const v1::Job& message) {
  Job job{.id = message.id(),
          .name = message.name(),
          .detail = message.detail(),
          .request_id = message.request_id(),
          .state = static_cast<JobState>(message.state()),
          .tasks = {}};
  for (const v1::Task& task : message.tasks()) job.tasks.push_back(ToTask(task));
  return job;
}

Update ToUpdate(const v1::WatchJobResponse& message) {
  Update update{.cursor = message.cursor(), .events = {}, .job = ToJob(message.job())};
  for (const v1::JobEvent& event : message.events())
    update.events.push_back({event.cursor(), event.at_unix_ns(), event.subject_id(), event.kind(), event.detail()});
  return update;
}

Best ToBest(const v1::BestAnswer& message) {
  return {.lookup = static_cast<Lookup>(message.lookup()),
          .explanation = message.explanation(),
          .workload = HexOf(message.key().workload()),
          .target = message.key().target(),
          .median_ns = Known(message.record().timings().median_ns()),
          .trace = message.record().trace_json()};
}

v1::SubmitJobRequest ToMessage(const JobRequest& request) {
  v1::SubmitJobRequest message;
  message.set_request_id(request.request_id.empty() ? RandomId() : request.request_id);
  message.set_name(request.name);
  message.set_target(request.target);
  message.set_device_key(request.device);
  message.set_trials(request.trials);
  message.set_trials_per_task(request.trials_per_task);
  message.set_time_limit_ns(request.time_limit.count());
  message.set_seed(request.seed);
  message.set_space(request.space);
  for (const TaskSpec& task : request.tasks) {
    v1::TaskSpec& spec = *message.add_tasks();
    spec.set_workload(task.workload);
    spec.set_name(task.name);
    spec.set_weight(task.weight);
    spec.set_trial_budget(task.trials);
  }
  return message;
}

}  // namespace

struct Client::Parts {
  Parts(std::string address, const Options& given)
      : server(std::move(address)),
        options(given),
        credentials(CredentialsOf(server, TokenOf(given))),
        channel(Connect(server, credentials)),
        tuning(channel),
        schedules(channel) {}

  Error ErrorOf(const char* call, const grpc::Status& status) const {
    if (credentials == nullptr)
      return {grpc::StatusCode::INVALID_ARGUMENT,
              std::string(call) + " at " + server +
                  ": beyond this machine everything is encrypted, which takes what `lathe token create` printed, token "
                  "and certificate; give it as Options::token or in LATHE_TOKEN"};
    return {static_cast<int>(status.error_code()), std::string(call) + " at " + server + ": " + status.error_message()};
  }
  template <typename Stub, typename Request, typename Response>
  std::optional<Error> Call(const char* what, Stub& stub,
                            grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                            const Request& request, Response& response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + options.deadline);
    const grpc::Status status = (stub.*method)(&context, request, &response);
    return status.ok() ? std::nullopt : std::optional(ErrorOf(what, status));
  }
  // One stream; `consume` returns whether it wants more.
  grpc::Status WatchOnce(const v1::WatchJobRequest& request,
                         const std::function<bool(const v1::WatchJobResponse&)>& consume) {
    grpc::ClientContext context;
    const auto reader = tuning.WatchJob(&context, request);
    v1::WatchJobResponse update;
    bool wants_more = true;
    while (wants_more && reader->Read(&update)) wants_more = consume(update);
    if (wants_more) return reader->Finish();
    context.TryCancel();
    reader->Finish();
    return grpc::Status::OK;
  }

  const std::string server;
  const Options options;
  const std::shared_ptr<grpc::ChannelCredentials> credentials;
  const std::shared_ptr<grpc::Channel> channel;
  v1::TuningService::Stub tuning;
  v1::ScheduleService::Stub schedules;
};

Client::Client(const std::string& server, const Options& options) : parts_(std::make_unique<Parts>(server, options)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

Result<Job> Client::Submit(const JobRequest& request) {
  v1::SubmitJobResponse response;
  auto error =
      parts_->Call("submit job", parts_->tuning, &v1::TuningService::Stub::SubmitJob, ToMessage(request), response);
  if (error) return *std::move(error);
  return ToJob(response.job());
}

Result<Job> Client::GetJob(int64_t job_id) {
  v1::GetJobRequest request;
  request.set_job_id(job_id);
  v1::GetJobResponse response;
  auto error = parts_->Call("get job", parts_->tuning, &v1::TuningService::Stub::GetJob, request, response);
  if (error) return *std::move(error);
  return ToJob(response.job());
}

Result<Job> Client::Cancel(int64_t job_id, const std::string& reason) {
  v1::CancelJobRequest request;
  request.set_job_id(job_id);
  request.set_reason(reason);
  v1::CancelJobResponse response;
  auto error = parts_->Call("cancel job", parts_->tuning, &v1::TuningService::Stub::CancelJob, request, response);
  if (error) return *std::move(error);
  return ToJob(response.job());
}

Result<Job> Client::Watch(int64_t job_id, const std::function<bool(const Update&)>& consume, int64_t after) {
  v1::WatchJobRequest request;
  request.set_job_id(job_id);
  request.set_after_cursor(after);
  Job last;
  auto give_up = std::chrono::steady_clock::now() + parts_->options.patience;
  while (true) {
    const grpc::Status status = parts_->WatchOnce(request, [&](const v1::WatchJobResponse& message) {
      const Update update = ToUpdate(message);
      request.set_after_cursor(update.cursor);
      last = update.job;
      give_up = std::chrono::steady_clock::now() + parts_->options.patience;
      return consume(update);
    });
    if (status.ok()) return last;
    const bool is_lost = status.error_code() == grpc::StatusCode::UNAVAILABLE;
    if (!is_lost || std::chrono::steady_clock::now() >= give_up) return parts_->ErrorOf("watch job", status);
    std::this_thread::sleep_for(kResumeInterval);
  }
}

Result<std::vector<Best>> Client::QueryBest(std::span<const std::string> workloads, const std::string& target,
                                            const std::string& device) {
  v1::QueryBestRequest request;
  for (const std::string& workload : workloads) {
    v1::BestQuery& query = *request.add_queries();
    query.set_target(target);
    query.set_device_key(device);
    if (const std::optional<std::string> digest = BytesOf(workload))
      query.set_digest(*digest);
    else
      query.set_text(workload);
  }
  v1::QueryBestResponse response;
  auto error = parts_->Call("query best", parts_->schedules, &v1::ScheduleService::Stub::QueryBest, request, response);
  if (error) return *std::move(error);
  std::vector<Best> answers;
  for (const v1::BestAnswer& answer : response.answers()) answers.push_back(ToBest(answer));
  return answers;
}

}  // namespace lathe::client
