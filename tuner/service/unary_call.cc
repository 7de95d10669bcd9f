#include "tuner/service/unary_call.h"

#include "tuner/service/tls_credentials.h"

namespace lathe {

CallFacts CallFactsOf(const grpc::CallbackServerContext& context) {
  CallFacts facts{.peer = context.peer(), .certificate = CertificateOf(*context.auth_context())};
  const auto found = context.client_metadata().find("authorization");
  if (found != context.client_metadata().end()) facts.authorization.assign(found->second.data(), found->second.size());
  return facts;
}

}  // namespace lathe
