// Decides at the begin of each call who makes it and whether they may (docs/decisions/0061-identity.md).
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "support/certificate.h"
#include "support/clock.h"
#include "tuner/database/store.h"
#include "tuner/service/principal.h"

namespace lathe {

// What a call shows of its caller. Nothing of it is believed yet, but `certificate`: the handshake has verified that.
struct CallFacts {
  std::string peer;           // Where from, as gRPC writes it: "unix:", "ipv4:127.0.0.1:1234".
  std::string authorization;  // The metadata of that name: "Bearer TOKEN"; empty: none.
  std::optional<CertificateFacts> certificate;
};

// How many refusals become events: what a stranger can make us write is bounded. Pure.
class RefusalLimit {
 public:
  static constexpr int kPerMinute = 30;
  // The words to write now; nullopt: too many were in this minute. The first after such a minute says how many.
  std::optional<std::string> Admit(std::string_view words, TimePoint now);

 private:
  std::optional<TimePoint> minute_;
  int written_ = 0;
  int64_t left_out_ = 0;
};

// Thread-safe.
class CallGuard {
 public:
  // `store` and `clock` must outlive the guard. Without `requires_identity` everybody who reaches the server is its
  // admin, as over a Unix socket always.
  CallGuard(Store& store, bool requires_identity, Clock& clock = SystemClock())
      : store_(store), requires_identity_(requires_identity), clock_(clock) {}

  // Whether Admit asks the Store, and so must not run on a thread that many wait for.
  bool NeedsStore(const CallFacts& facts) const { return !IsOurOwn(facts); }
  // kUnauthenticated: nobody knows who calls. kPermissionDenied: it is known, and may not. Both become events.
  StatusOr<Principal> Admit(const CallFacts& facts, std::string_view rpc);
  // Likewise of what only the request shows.
  Status Refuse(const CallFacts& facts, const Status& why);

 private:
  bool IsOurOwn(const CallFacts& facts) const;
  StatusOr<Principal> Identify(const CallFacts& facts, std::string_view rpc);
  StatusOr<Principal> IdentifyPerson(std::string_view authorization, std::string_view rpc);
  StatusOr<Principal> IdentifyMachine(const CertificateFacts& certificate, std::string_view rpc);

  Store& store_;
  const bool requires_identity_;
  Clock& clock_;
  std::mutex mutex_;
  RefusalLimit limit_;  // Guarded by mutex_.
};

// kPermissionDenied where a machine speaks for another: a certificate acts for its name only.
Status CheckActsFor(const Principal& principal, std::string_view name);

}  // namespace lathe
