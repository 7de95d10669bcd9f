// The begin of a call in the service shells: who calls, whether they may, and only then the answer. For the gRPC shells
// only.
#pragma once

#include <grpcpp/grpcpp.h>

#include "tuner/service/call_guard.h"
#include "tuner/service/call_pool.h"
#include "tuner/service/core_api.h"
#include "tuner/service/grpc_status.h"

namespace lathe {

CallFacts CallFactsOf(const grpc::CallbackServerContext& context);

// What every shell of a service needs; all of it outlives the shell.
struct ServiceParts {
  CoreApi& api;
  CallGuard& guard;
  CallPool& pool;
};

// `then` gets the principal, or why it is refused: on the pool, or at once where nothing has to be looked up. gRPC
// keeps the context until Finish.
template <typename Then>
void WhenAdmitted(CallGuard& guard, CallPool& pool, const grpc::CallbackServerContext& context, std::string_view rpc,
                  Then then) {
  CallFacts facts = CallFactsOf(context);
  if (!guard.NeedsStore(facts)) return then(guard.Admit(facts, rpc));
  pool.Run([&guard, rpc, facts = std::move(facts), then = std::move(then)] { then(guard.Admit(facts, rpc)); });
}

// One unary call: `answer` is called with a CoreApi of the principal and returns StatusOr<Response>; the status goes
// out through ToGrpcStatus. gRPC keeps context, request and response until Finish. `rpc` is a literal.
template <typename Response, typename Answer>
grpc::ServerUnaryReactor* AnswerUnary(const ServiceParts& parts, std::string_view rpc,
                                      grpc::CallbackServerContext* context, Response* response, Answer answer) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  parts.pool.Run([&parts, rpc, context, reactor, response, answer = std::move(answer)] {
    const StatusOr<Principal> principal = parts.guard.Admit(CallFactsOf(*context), rpc);
    if (!principal.ok()) return reactor->Finish(ToGrpcStatus(principal.status()));
    CoreApi api = parts.api.As(*principal);
    StatusOr<Response> result = answer(api);
    if (result.ok()) *response = *std::move(result);
    reactor->Finish(ToGrpcStatus(result.status()));
  });
  return reactor;
}

}  // namespace lathe
