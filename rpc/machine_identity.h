// How a machine becomes part of a farm, and stays it: by a code once, by its certificate from then on
// (docs/decisions/0061-identity.md). Its key is made here and leaves this machine never.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "rpc/endpoint.h"
#include "rpc/tls.h"
#include "support/certificate.h"
#include "support/credential.h"
#include "support/status.h"

namespace lathe {

// What a machine that has joined knows. One file of mode 0600 (docs/formats/identity_file.md).
struct MachineIdentity {
  KeyAndCertificate own;
  std::string authority_pem;
  Endpoint farm;  // Where it joined, and asks for further certificates.

  // kNotFound where there is no file.
  static StatusOr<MachineIdentity> Read(const std::string& path);
  Status Write(const std::string& path) const;  // Whole or not at all.
  StatusOr<CertificateFacts> Facts() const { return ReadCertificate(own.certificate_pem); }
};

// These two block for at most `limit`; any thread.
// With the code of an invitation; makes the key. kUnauthenticated or kPermissionDenied with the server's words; also
// when the server is not of the farm that the code names, which is then told nothing.
StatusOr<MachineIdentity> JoinFarm(const Endpoint& farm, const InvitationCode& code, const CertificateSubject& machine,
                                   std::chrono::nanoseconds limit);
// The same machine with a new key and certificate.
StatusOr<MachineIdentity> RenewIdentity(const MachineIdentity& identity, std::chrono::nanoseconds limit);

// That a machine without an identity may dial `server`: one on this machine. Else Unauthenticated, with how to join;
// `join` is the command, "lathe worker join".
Status CheckMayDialUnknown(const Endpoint& server, const CertificateSubject& machine, const char* join);

// When a further certificate should be asked for: two thirds of its time are over.
int64_t RenewalDueUnixNs(const Validity& validity);

// Renews and writes the file anew if that is due at `now`; whether it did.
StatusOr<bool> RenewIfDue(const std::string& path, int64_t now_unix_ns, std::chrono::nanoseconds limit);

// Looks after an identity file while it lives, on a thread of its own.
class IdentityKeeper {
 public:
  IdentityKeeper(std::string path, std::function<void(std::string)> log);
  ~IdentityKeeper();  // May wait for an answer from the farm, 20 s at most.
  IdentityKeeper(const IdentityKeeper&) = delete;

 private:
  void Keep();

  const std::string path_;
  const std::function<void(std::string)> log_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::thread thread_;  // Last: it uses all of the above.
};

}  // namespace lathe
