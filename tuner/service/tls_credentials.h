// The farm's certificates as gRPC's credentials. For the gRPC shells only.
#pragma once

#include <grpcpp/security/auth_context.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <optional>
#include <string>

#include "support/certificate.h"
#include "tuner/service/client.h"

namespace lathe {

// What a server with the authority at `folder` (authority.h) shows: its certificate as it lies there, looked at every
// ten seconds, so that a new one needs no restart. It asks for certificates of the authority and demands none: people
// have tokens.
std::shared_ptr<grpc::ServerCredentials> ServerCredentials(const std::string& folder);

// Trusts the authority alone, and shows the certificate of `security`'s identity file, as it is then, if it names one.
std::shared_ptr<grpc::ChannelCredentials> ChannelCredentials(const ConnectionSecurity& security);

// The certificate that the other end of a call has shown, verified by the handshake.
std::optional<CertificateFacts> CertificateOf(const grpc::AuthContext& context);

}  // namespace lathe
