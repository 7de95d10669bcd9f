// Who holds which device, and who waits in line. Time comes in with the event; a grant is answered only after
// PersistGrant has been committed. Pure, not thread-safe; tests take microseconds.
//
// What is free goes to the request of the highest priority, which rises by one for each kAgeingStep of waiting; among
// equals to the user who has used devices least of late, then to the user's job that has, by weight; then to the oldest
// (fair_share.h).
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "support/clock.h"
#include "support/deadlines.h"
#include "support/status.h"
#include "tracker/device_registry.h"
#include "tracker/device_wish.h"
#include "tracker/fair_share.h"
#include "tracker/lease_store.h"

namespace lathe {

inline constexpr Duration kLeaseTtl = std::chrono::seconds(30);
inline constexpr Duration kLeaseRenewEvery = std::chrono::seconds(10);
inline constexpr Duration kGrantRetryAfter = std::chrono::seconds(1);  // After the store failed.
inline constexpr int kLowestPriority = -2, kHighestPriority = 2;       // 0 is what nobody asked for otherwise.
inline constexpr Duration kAgeingStep = std::chrono::minutes(5);
inline constexpr Duration kUsualStay = std::chrono::seconds(30);  // What a job keeps a device for, where others wait.
// Whoever waits for a reservation, or was granted one and has not heard of it, and does not ask again, has gone.
inline constexpr Duration kReservationPatience = std::chrono::seconds(20);

// Events. All but GrantCommitted come from holders, may arrive twice, late or never.
struct LeaseRequested {
  std::string request_id;
  DeviceWish wish;
  FairShare::Owner owner;
  int priority = 0;
  Duration lasts{};  // Of a reservation: from its grant on.
};  // Asked again: the same lease, or the same place in line.
struct RequestWithdrawn {
  std::string request_id;
};  // Also ends the lease if it has been granted meanwhile.
// Of a device that CanBeClaimed says so of, whatever its service: not in line, and before whoever is. If it cannot be
// had, or the store cannot write it, the answer is AnswerEnded.
struct LeaseClaimed {
  std::string device;
  std::string request_id;  // HealthCheckId
  Duration lasts{};
};
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
// What its holder knows of a lease.
struct HeldDevice {
  std::string device;
  bool has_begun = false;   // Something was measured under it, or is.
  bool has_stayed = false;  // It has had its turn: others come first now, if they have had less.
};
struct DevicesChanged {};  // One may have become free.
struct TimePassed {};
using LeaseEvent = std::variant<LeaseRequested, RequestWithdrawn, LeaseClaimed, LeaseRenewed, LeaseReleased,
                                GrantCommitted, DeviceGone, DevicesChanged, TimePassed>;

// Actions, to be done in order.
struct PersistGrant {
  LeaseRecord lease;
  int64_t epoch_floor;
  Duration ttl = kLeaseTtl;
};  // Answered by the event GrantCommitted.
struct PersistRenewal {
  std::string device;
  int64_t epoch;
  Duration ttl = kLeaseTtl;
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

  // Leases of the store, at start: live for kLeaseTtl from `now`, so that their holders can come back; reservations for
  // what remains.
  void Restore(const std::vector<LiveLease>& leases, TimePoint now);
  std::vector<LeaseAction> Step(const LeaseEvent& event, TimePoint now);
  std::optional<TimePoint> NextDeadline() const;

  const LeaseRecord* LeaseOf(const std::string& device) const;
  // It is there, and nobody has it or is about to.
  bool CanBeClaimed(const std::string& device) const;
  // When it runs out unless it is renewed.
  std::optional<TimePoint> ExpiryOf(const std::string& device) const;
  // One sentence for a request in line: `needs device key "pi4"; known keys: "local" (2, 1 leased)`. Empty if it does
  // not wait.
  std::string WhyWaiting(const std::string& request_id) const;
  // Requests by which this user has devices or waits for them.
  std::vector<std::string> ReservationsOf(std::string_view user) const;
  // Why somebody with this wish cannot have the device now; empty: they can.
  std::string WhyNotNow(const std::string& device, const DeviceWish& wish) const;
  // Devices of these whose holders shall give them back when what is at their hand is through: each for one request in
  // line, which gets it then. Said once.
  // A request of a higher priority than the lease's goes first, as soon as the holder has begun. A lease counts as what
  // its request had risen to, and as what it was asked with once it has had its turn: so a lower priority has a turn
  // now and then, not more. A request of an equal one goes first once the lease has had its turn, if its user (or job)
  // has had less; or at once, if its job has no device and the holder has as many for its weight without this one.
  std::vector<std::string> ChooseYields(const std::vector<HeldDevice>& held, TimePoint now);

 private:
  struct Request {
    std::string request_id;
    DeviceWish wish;
    FairShare::Owner owner;
    int priority = 0;
    Duration lasts{};
    TimePoint since{};  // In line.
  };
  using Line = std::list<Request>;  // Oldest first, over all keys.
  struct Lease {
    LeaseRecord record;
    TimePoint expires;
    FairShare::Owner owner;
    int base = 0, priority = 0;  // As it was asked for; when it was granted, with what it had risen by.
    TimePoint ends{};            // Of a reservation.
    bool is_confirmed = true;    // Whoever reserved it has heard of it.
  };
  struct PendingGrant {
    Request request;
    bool is_withdrawn = false;
  };
  struct Rank {
    int level = 0;  // Negated: smaller goes first.
    FairShare::Standing standing;
    auto operator<=>(const Rank&) const = default;
  };
  using Actions = std::vector<LeaseAction>;

  void On(const LeaseRequested& event, TimePoint now, Actions& actions);
  void On(const RequestWithdrawn& event, TimePoint now, Actions& actions);
  void On(const LeaseClaimed& event, TimePoint now, Actions& actions);
  void On(const LeaseRenewed& event, TimePoint now, Actions& actions);
  void On(const LeaseReleased& event, TimePoint now, Actions& actions);
  void On(const GrantCommitted& event, TimePoint now, Actions& actions);
  void On(const DeviceGone& event, TimePoint now, Actions& actions);
  void On(const DevicesChanged& event, TimePoint now, Actions& actions);
  void On(const TimePassed& event, TimePoint now, Actions& actions);
  bool AskAgain(const LeaseRequested& event, TimePoint now, Actions& actions);
  // It is not lost, and still what the request asks for.
  bool CanHave(const Request& request, const std::string& device) const;
  void PutBack(const PendingGrant& pending, const std::string& device, const std::string& why, Actions& actions);
  void Hold(const LeaseRecord& record, const Request& request, TimePoint now);
  void Drop(const std::string& device, TimePoint now);  // Its lease is no more.
  void End(const std::string& device, LeaseEnd why, const std::string& reason, TimePoint now, Actions& actions);
  void GrantWhatIsFree(TimePoint now, Actions& actions);
  void Grant(Line::iterator request, const std::string& device, TimePoint now, Actions& actions);
  static int LevelOf(const Request& request, TimePoint now);
  Rank RankOf(const Request& request, int top, TimePoint now) const;
  // Those in line by their owners' groups, the oldest first.
  using Groups = std::map<std::string, std::deque<Line::iterator>>;
  Groups GroupsInLine();
  // Their names, in the order in which they are served now.
  std::vector<std::string> OrderOf(const Groups& groups, TimePoint now) const;
  void GrantPromised(TimePoint now, Actions& actions);
  bool MayTake(const Request& request, const HeldDevice& held, const std::map<std::string, int>& devices,
               TimePoint now) const;
  std::map<std::string, int> DevicesOfGroups() const;  // Without those that they yield, with those promised to them.
  void CollectFree();
  Line::const_iterator Find(const std::string& request_id) const;
  std::string KnownKeys() const;

  const DeviceRegistry& devices_;
  std::map<std::string, Lease> leases_;          // By device.
  std::map<std::string, PendingGrant> pending_;  // By device: sent to the store, not committed yet.
  std::map<std::string, TimePoint> free_since_;  // By device.
  // Devices that can take a lease, the one that rested longest first; nullopt: to be collected anew, since some may
  // have come or gone.
  std::optional<std::set<std::pair<TimePoint, std::string>>> free_;
  std::map<std::string, std::string> device_of_;  // Of leases, by request.
  Deadlines<std::string> expiries_;               // Of leases, by device.
  Deadlines<std::string> retries_;                // By device, after the store failed.
  Deadlines<std::string> patience_;               // Of reservations in line, by request.
  Line line_;
  std::map<std::string, std::string> promised_;  // Device that is being given back -> the request that gets it.
  FairShare share_;
  bool may_grant_ = false;  // Something has changed since nothing could be granted.
};

}  // namespace lathe
