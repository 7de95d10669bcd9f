#include "tuner/service/grpc_status.h"

#include <fmt/format.h>

namespace lathe {
namespace {

constexpr size_t kLongestMessage = 4096;

// gRPC's own words; a server that is there may talk of connections too.
bool IsUnreachable(const std::string& words) {
  return words.find("failed to connect") != std::string::npos ||
         words.find("connections to all backends failing") != std::string::npos;
}

}  // namespace

grpc::Status ToGrpcStatus(const Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return {static_cast<grpc::StatusCode>(status.code()), status.message().substr(0, kLongestMessage)};
}

Status NobodyAnswers(const std::string& call) {
  return Unavailable(
      fmt::format("{}: nobody answers there; start one with `lathe up`, and give its port for clients, not that for "
                  "devices; a farm with an authority wants --token-file",
                  call));
}

Status FromGrpcStatus(const grpc::Status& status, const std::string& call) {
  if (status.ok()) return OkStatus();
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    return DeadlineExceeded(fmt::format("{}: no answer in time; is the server overloaded or stopped?", call));
  }
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE && IsUnreachable(status.error_message())) {
    return NobodyAnswers(call);
  }
  if (status.error_code() == grpc::StatusCode::CANCELLED) {  // Not by us: a server that stops cuts its calls.
    return Unavailable(fmt::format("{}: the server ended the call before it was answered; ask again", call));
  }
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
    return Unimplemented(fmt::format("{}: this server does not know the call; upgrade it", call));
  }
  const int code = status.error_code() >= 0 && status.error_code() <= static_cast<int>(StatusCode::kUnauthenticated)
                       ? status.error_code()
                       : static_cast<int>(StatusCode::kUnknown);
  return Status(static_cast<StatusCode>(code),
                status.error_message().empty() ? call + ": failed without a word" : status.error_message());
}

}  // namespace lathe
