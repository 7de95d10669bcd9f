// Status <-> grpc::Status. Codes have the same numbers. For the gRPC shells only.
#pragma once

#include <grpcpp/support/status.h>

#include "support/status.h"

namespace lathe {

// The only way from our errors to the wire. Messages are cut at 4 KiB: they travel in HTTP headers.
grpc::Status ToGrpcStatus(const Status& status);
// `call` says what was asked of whom, for errors that gRPC itself made ("list jobs at 127.0.0.1:7431").
Status FromGrpcStatus(const grpc::Status& status, const std::string& call);

Status NobodyAnswers(const std::string& call);

}  // namespace lathe
