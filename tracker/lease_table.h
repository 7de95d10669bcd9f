// Who holds which device, and who waits in line. Time comes in with the event; a grant is answered only after
// PersistGrant has been committed. Pure, not thread-safe; tests take microseconds.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "support/clock.h"
#include "support/status.h"
#include "tracker/device_registry.h"
#include "tracker/lease_store.h"

namespace lathe {

inline constexpr Duration kLeaseTtl = std::chrono::seconds(30);
inline constexpr Duration kLeaseRenewEvery = std::chrono::seconds(10);
inline constexpr Duration kGrantRetryAfter = std::chrono::seconds(1);  // After the store failed.

// Events. All but GrantCommitted come from holders, may arrive twice, late or never.
struct LeaseRequested {
  std::string request_id, key;
};  // Asked again: the same lease, or the same place in line.
struct RequestWithdrawn {
  std::string request_id;
};  // Also ends the lease if it has been granted meanwhile.
struct LeaseRenewed {
  std::string device;
  int64_t epoch;
};
struct LeaseReleased {
  std::string device;
  int64_t epoch;
};
struct GrantCommitted {
  std::string device;
  std::string request_id;
  Status status;
  int64_t epoch = 0;
};  // epoch if status is OK.
struct DeviceGone {
  std::string device;
  std::string reason;
};  // Its lease ends.
struct TimePassed {};  // Also: a device may have become free.
using LeaseEvent =
    std::variant<LeaseRequested, RequestWithdrawn, LeaseRenewed, LeaseReleased, GrantCommitted, DeviceGone, TimePassed>;

// Actions, to be done in order.
struct PersistGrant {
  LeaseRecord lease;
  int64_t epoch_floor;
};  // Answered by the event GrantCommitted.
struct PersistRenewal {
  std::string device;
  int64_t epoch;
};
struct PersistEnd {
  std::string device;
  int64_t epoch;
  LeaseEnd why;
};
struct AnswerGranted {
  LeaseRecord lease;
};  // Renew within kLeaseTtl.
struct AnswerRenewed {
  std::string device;
  int64_t epoch;
};
struct AnswerEnded {
  std::string device;
  int64_t epoch;
  std::string request_id, reason;
};  // To the holder, who did not end it.
using LeaseAction = std::variant<PersistGrant, PersistRenewal, PersistEnd, AnswerGranted, AnswerRenewed, AnswerEnded>;

class LeaseTable {
 public:
  // `devices` must outlive the table.
  explicit LeaseTable(const DeviceRegistry& devices) : devices_(devices) {}

  // Leases of the store, at start: live for kLeaseTtl from `now`, so that their holders can come back.
  void Restore(const std::vector<LeaseRecord>& leases, TimePoint now);
  std::vector<LeaseAction> Step(const LeaseEvent& event, TimePoint now);
  std::optional<TimePoint> NextDeadline() const;

  const LeaseRecord* LeaseOf(const std::string& device) const;
  // One sentence for a request in line: `needs device key "pi4"; known keys: "local" (2, 1 leased)`. Empty if it does
  // not wait.
  std::string WhyWaiting(const std::string& request_id) const;

 private:
  struct Lease {
    LeaseRecord record;
    TimePoint expires;
  };
  struct Waiting {
    std::string request_id, key;
  };  // In line, oldest first, over all keys.
  struct PendingGrant {
    Waiting request;
    bool is_withdrawn = false;
  };
  using Actions = std::vector<LeaseAction>;

  void On(const LeaseRequested& event, TimePoint now, Actions& actions);
  void On(const RequestWithdrawn& event, TimePoint now, Actions& actions);
  void On(const LeaseRenewed& event, TimePoint now, Actions& actions);
  void On(const LeaseReleased& event, TimePoint now, Actions& actions);
  void On(const GrantCommitted& event, TimePoint now, Actions& actions);
  void On(const DeviceGone& event, TimePoint now, Actions& actions);
  void On(const TimePassed& event, TimePoint now, Actions& actions);
  // It is not lost, and still what the request asks for.
  bool CanHave(const Waiting& request, const std::string& device) const;
  void End(const std::string& device, LeaseEnd why, const std::string& reason, Actions& actions);
  void GrantWhatIsFree(TimePoint now, Actions& actions);
  std::optional<std::string> FreeDevice(const std::string& key, TimePoint now) const;
  std::string KnownKeys() const;

  const DeviceRegistry& devices_;
  std::map<std::string, Lease> leases_;          // By device.
  std::map<std::string, PendingGrant> pending_;  // By device: sent to the store, not committed yet.
  std::map<std::string, TimePoint> retry_at_;    // By device, after the store failed.
  std::map<std::string, TimePoint> free_since_;  // By device; the one that rested longest goes first.
  std::vector<Waiting> line_;
};

}  // namespace lathe
