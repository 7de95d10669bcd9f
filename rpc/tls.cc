#include "rpc/tls.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <boost/asio/ssl/context.hpp>

#include "support/status_macros.h"

namespace lathe {
namespace {

namespace asio = boost::asio;

Status Refused(const char* what, const boost::system::error_code& error) {
  return InvalidArgument(fmt::format("prepare TLS: {}: {}", what, error.message()));
}

}  // namespace

TlsContext::TlsContext(bool is_server)
    : is_server_(is_server),
      context_(std::make_unique<asio::ssl::context>(is_server ? asio::ssl::context::tls_server
                                                              : asio::ssl::context::tls_client)) {
  SSL_CTX* raw = context_->native_handle();
  SSL_CTX_set_min_proto_version(raw, TLS1_3_VERSION);
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(raw, 0);  // A resumed session would not show its certificate again.
  // Takes whatever is shown; TlsPeer is judged after the handshake.
  SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, [](int, X509_STORE_CTX*) { return 1; });
}

TlsContext::~TlsContext() = default;

Status TlsContext::Use(const KeyAndCertificate& own, const std::string& authority_pem) {
  if (own.certificate_pem.empty()) return OkStatus();
  boost::system::error_code error;
  const std::string chain = own.certificate_pem + authority_pem;
  context_->use_certificate_chain(asio::buffer(chain), error);
  if (error) return Refused("the own certificate", error);
  context_->use_private_key(asio::buffer(own.key_pem), asio::ssl::context::pem, error);
  if (error) return Refused("the own key", error);
  return OkStatus();
}

StatusOr<std::shared_ptr<TlsContext>> TlsContext::ForServer(const KeyAndCertificate& own,
                                                            const std::string& authority_pem) {
  const std::shared_ptr<TlsContext> made(new TlsContext(true));
  RETURN_IF_ERROR(made->Use(own, authority_pem));
  return made;
}

StatusOr<std::shared_ptr<TlsContext>> TlsContext::ForClient(const KeyAndCertificate& own) {
  const std::shared_ptr<TlsContext> made(new TlsContext(false));
  RETURN_IF_ERROR(made->Use(own, ""));
  return made;
}

Status CheckServer(const TlsPeer& server, const std::string& authority_pem, const std::string& own_certificate_pem,
                   int64_t now_unix_ns) {
  if (server.certificate_pem.empty())
    return Unauthenticated("connect: the server shows no certificate; is this the farm's own port?");
  ASSIGN_OR_RETURN(const CertificateFacts facts, ReadCertificate(server.certificate_pem));
  int64_t now = std::max(now_unix_ns, facts.validity.not_before_unix_ns);
  if (!own_certificate_pem.empty()) {
    ASSIGN_OR_RETURN(const CertificateFacts own, ReadCertificate(own_certificate_pem));
    now = std::max(now, own.validity.not_before_unix_ns);
  }
  return VerifyCertificate(authority_pem, server.certificate_pem, Role::kServer, now).status();
}

Status CheckServerByDigest(const TlsPeer& server, const Digest& authority, int64_t now_unix_ns) {
  if (server.authority_pem.empty())
    return Unauthenticated("join: the server does not show its authority; is this the device port of a Lathe server?");
  ASSIGN_OR_RETURN(const Digest shown, CertificateDigest(server.authority_pem));
  if (shown != authority)
    return Unauthenticated(
        "join: the code is of another farm than this server, or somebody stands between; ask for a code of this farm "
        "(lathe invite), and check HOST:PORT");
  return CheckServer(server, server.authority_pem, "", now_unix_ns);
}

}  // namespace lathe
