// TLS 1.3 between machines of a farm: what a side shows, and what it was shown. Certificates of the other side are not
// judged here; whoever gets the TlsPeer does (support/certificate.h), so that a refusal has words. OpenSSL's headers
// stay inside.
#pragma once

#include <memory>
#include <string>

#include "support/certificate.h"
#include "support/status.h"

namespace boost::asio::ssl {
class context;
}

namespace lathe {

// What the other side has shown, in PEM. It has the key of its certificate; nothing else is known.
struct TlsPeer {
  std::string certificate_pem;  // Empty: none.
  std::string authority_pem;    // The end of its chain: whom it says it is signed by. Empty: it did not say.
};

// Immutable; any thread. Shared by the links that began with it.
class TlsContext {
 public:
  // Shows `own` and the authority behind it; asks for a certificate, and lets in who shows none.
  static StatusOr<std::shared_ptr<TlsContext>> ForServer(const KeyAndCertificate& own,
                                                         const std::string& authority_pem);
  // Shows `own`; nothing if that is empty (a machine that joins).
  static StatusOr<std::shared_ptr<TlsContext>> ForClient(const KeyAndCertificate& own);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;

  bool is_server() const { return is_server_; }
  boost::asio::ssl::context& context() const { return *context_; }  // For rpc/device_link.cc.

 private:
  explicit TlsContext(bool is_server);
  Status Use(const KeyAndCertificate& own, const std::string& authority_pem);

  const bool is_server_;
  const std::unique_ptr<boost::asio::ssl::context> context_;
};

// Judges what a server has shown to a machine of the farm of `authority_pem`, in which the machine has `own`. A machine
// whose clock stands before what the certificates say (a board without a battery) believes the certificates.
// Unauthenticated says what is wrong and what to do.
Status CheckServer(const TlsPeer& server, const std::string& authority_pem, const std::string& own_certificate_pem,
                   int64_t now_unix_ns);
// The same for a machine that joins by a code: it knows the authority by its digest.
Status CheckServerByDigest(const TlsPeer& server, const Digest& authority, int64_t now_unix_ns);

}  // namespace lathe
