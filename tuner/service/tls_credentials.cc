#include "tuner/service/tls_credentials.h"

#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

namespace lathe {
namespace {

constexpr unsigned kLookSeconds = 10;

}  // namespace

std::shared_ptr<grpc::ServerCredentials> ServerCredentials(const std::string& folder) {
  const std::string own = folder + "/server.pem";
  grpc::experimental::TlsServerCredentialsOptions options(
      std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(own, own, folder + "/authority.pem",
                                                                           kLookSeconds));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY);
  return grpc::experimental::TlsServerCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> ChannelCredentials(const ConnectionSecurity& security) {
  const std::string& own = security.identity_path;
  if (own.empty())
    return grpc::SslCredentials(
        {.pem_root_certs = security.authority_pem, .pem_private_key = {}, .pem_cert_chain = {}});
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(
      std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(own, own, own, kLookSeconds));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  return grpc::experimental::TlsCredentials(options);
}

std::optional<CertificateFacts> CertificateOf(const grpc::AuthContext& context) {
  for (const grpc::string_ref& pem : context.FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME)) {
    StatusOr<CertificateFacts> facts = ReadCertificate({pem.data(), pem.size()});
    if (facts.ok()) return *std::move(facts);
  }
  return std::nullopt;
}

}  // namespace lathe
