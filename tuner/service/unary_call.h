// One unary call of a service shell: the answer is made on the pool, its status goes out through ToGrpcStatus. For the
// gRPC shells only.
#pragma once

#include <grpcpp/grpcpp.h>

#include "tuner/service/call_pool.h"
#include "tuner/service/grpc_status.h"

namespace lathe {

// `answer` is called with no argument and returns StatusOr<Response>. gRPC keeps context, request and response until
// Finish.
template <typename Response, typename Answer>
grpc::ServerUnaryReactor* AnswerUnary(CallPool& pool, grpc::CallbackServerContext* context, Response* response,
                                      Answer answer) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  pool.Run([reactor, response, answer = std::move(answer)] {
    StatusOr<Response> result = answer();
    if (result.ok()) *response = *std::move(result);
    reactor->Finish(ToGrpcStatus(result.status()));
  });
  return reactor;
}

}  // namespace lathe
