#include "tracker/lease_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace lathe {
namespace {

constexpr std::string_view kReserved = "reserved:";

// A lease of before a restart, whose holder has not asked for it again yet.
FairShare::Owner OwnerOf(const LeaseRecord& record) {
  return {std::string(ReservedBy(record.request_id)), record.request_id};
}

}  // namespace

std::string ReservationId(std::string_view user, std::string_view request) {
  return fmt::format("{}{}:{}", kReserved, user, request);
}

bool IsReservation(std::string_view request_id) { return request_id.starts_with(kReserved); }

std::string_view ReservedBy(std::string_view request_id) {
  if (!IsReservation(request_id)) return "";
  const std::string_view rest = request_id.substr(kReserved.size());
  return rest.substr(0, rest.find(':'));
}

void LeaseTable::Restore(const std::vector<LiveLease>& leases, TimePoint now) {
  for (const auto& [record, remaining] : leases)
    Hold(record, {.owner = OwnerOf(record), .lasts = remaining, .since = now}, now);
}

std::vector<LeaseAction> LeaseTable::Step(const LeaseEvent& event, TimePoint now) {
  Actions actions;
  // Time first, so that a renewal that comes after the end cannot revive a lease.
  On(TimePassed{}, now, actions);
  std::visit([&](const auto& e) { On(e, now, actions); }, event);
  GrantWhatIsFree(now, actions);
  return actions;
}

// True: it has its lease, or is about to, or waits.
bool LeaseTable::AskAgain(const LeaseRequested& event, TimePoint now, Actions& actions) {
  const auto is_same = [&](const auto& other) { return other.request_id == event.request_id; };
  for (auto& [device, lease] : leases_) {
    if (!is_same(lease.record)) continue;
    lease.priority = event.priority;
    if (lease.owner != event.owner) {
      share_.Ended(lease.owner, now);
      share_.Began(lease.owner = event.owner, now);
    }
    if (!IsReservation(event.request_id)) {
      expiries_.Set(device, lease.expires = now + kLeaseTtl);
      actions.push_back(PersistRenewal{device, lease.record.epoch});
    }
    actions.push_back(AnswerGranted{lease.record});
    return true;
  }
  for (auto& [device, pending] : pending_) {
    if (!is_same(pending.request)) continue;
    pending.is_withdrawn = false;
    return true;
  }
  const auto waiting = std::ranges::find_if(line_, is_same);
  if (waiting == line_.end()) return false;
  if (IsReservation(event.request_id)) patience_.Set(event.request_id, now + kReservationPatience);
  if (waiting->priority != event.priority || waiting->wish != event.wish) may_grant_ = true;
  waiting->priority = event.priority;
  waiting->wish = event.wish;
  return true;
}

void LeaseTable::On(const LeaseRequested& event, TimePoint now, Actions& actions) {
  if (AskAgain(event, now, actions)) return;
  if (IsReservation(event.request_id)) patience_.Set(event.request_id, now + kReservationPatience);
  Request request{event.request_id, event.wish, event.owner, event.priority, event.lasts, now};
  if (request.owner.group.empty()) request.owner.group = event.request_id;
  line_.push_back(std::move(request));
  may_grant_ = true;
}

void LeaseTable::On(const RequestWithdrawn& event, TimePoint now, Actions& actions) {
  patience_.Clear(event.request_id);
  std::erase_if(line_, [&](const Request& waiting) { return waiting.request_id == event.request_id; });
  for (auto& [device, pending] : pending_) {
    if (pending.request.request_id == event.request_id) pending.is_withdrawn = true;
  }
  for (const auto& [device, lease] : leases_) {
    if (lease.record.request_id == event.request_id) {
      On(LeaseReleased{device, lease.record.epoch}, now, actions);
      return;
    }
  }
}

void LeaseTable::On(const LeaseRenewed& event, TimePoint now, Actions& actions) {
  const auto it = leases_.find(event.device);
  if (it == leases_.end() || it->second.record.epoch != event.epoch) {
    actions.push_back(AnswerEnded{event.device, event.epoch, "", "no such lease; it ended before the renewal arrived"});
    return;
  }
  if (IsReservation(it->second.record.request_id)) return;
  expiries_.Set(event.device, it->second.expires = now + kLeaseTtl);
  actions.push_back(PersistRenewal{event.device, event.epoch});
  actions.push_back(AnswerRenewed{event.device, event.epoch});
}

void LeaseTable::On(const LeaseReleased& event, TimePoint now, Actions& actions) {
  const auto it = leases_.find(event.device);
  if (it == leases_.end() || it->second.record.epoch != event.epoch) return;
  actions.push_back(PersistEnd{event.device, event.epoch, LeaseEnd::kReleased});
  Drop(event.device, now);
}

void LeaseTable::On(const GrantCommitted& event, TimePoint now, Actions& actions) {
  const auto it = pending_.find(event.device);
  if (it == pending_.end() || it->second.request.request_id != event.request_id) return;
  const PendingGrant pending = it->second;
  pending_.erase(it);
  share_.Ended(pending.request.owner, now);
  may_grant_ = true;
  if (!event.status.ok()) {
    PutBack(pending);
    retries_.Set(event.device, now + kGrantRetryAfter);
    return;
  }
  if (!CanHave(pending.request, event.device)) {
    actions.push_back(PersistEnd{event.device, event.epoch, LeaseEnd::kRevoked});
    return PutBack(pending);
  }
  const LeaseRecord lease{event.device, event.epoch, pending.request.request_id,
                          devices_.Find(event.device)->record.key};
  Hold(lease, pending.request, now);
  if (pending.is_withdrawn)
    On(LeaseReleased{event.device, event.epoch}, now, actions);
  else
    actions.push_back(AnswerGranted{lease});
}

// It keeps its place.
void LeaseTable::PutBack(const PendingGrant& pending) {
  if (!pending.is_withdrawn) line_.push_front(pending.request);
}

bool LeaseTable::Suits(const DeviceWish& wish, const std::string& device) const {
  const DeviceEntry* entry = devices_.Find(device);
  return entry != nullptr && wish.Matches(entry->record.key, entry->traits);
}

bool LeaseTable::CanHave(const Request& request, const std::string& device) const {
  const DeviceEntry* entry = devices_.Find(device);
  return entry != nullptr && entry->state != DeviceState::kLost && entry->state != DeviceState::kStalled &&
         entry->service.service == DeviceService::kInService && Suits(request.wish, device);
}

void LeaseTable::On(const DeviceGone& event, TimePoint now, Actions& actions) {
  free_since_[event.device] = now;
  End(event.device, LeaseEnd::kRevoked, event.reason, now, actions);
}

void LeaseTable::On(const DevicesChanged&, TimePoint, Actions&) { may_grant_ = true; }

void LeaseTable::On(const TimePassed&, TimePoint now, Actions& actions) {
  for (const std::string& device : expiries_.TakeDue(now)) {
    const bool is_reservation = IsReservation(leases_.at(device).record.request_id);
    End(device, is_reservation ? LeaseEnd::kReleased : LeaseEnd::kExpired,
        is_reservation ? "its time is over" : "not renewed for 30 s", now, actions);
  }
  may_grant_ |= !retries_.TakeDue(now).empty();
  for (const std::string& request : patience_.TakeDue(now))
    std::erase_if(line_, [&](const Request& waiting) { return waiting.request_id == request; });
}

void LeaseTable::Hold(const LeaseRecord& record, const Request& request, TimePoint now) {
  const Duration lasts = IsReservation(record.request_id) ? request.lasts : kLeaseTtl;
  leases_[record.device] = {record, now + lasts, request.owner, PriorityOf(request, now)};
  expiries_.Set(record.device, now + lasts);
  patience_.Clear(record.request_id);
  share_.Began(request.owner, now);
}

void LeaseTable::Drop(const std::string& device, TimePoint now) {
  free_since_[device] = now;
  expiries_.Clear(device);
  share_.Ended(leases_.at(device).owner, now);
  leases_.erase(device);
  may_grant_ = true;
}

void LeaseTable::End(const std::string& device, LeaseEnd why, const std::string& reason, TimePoint now,
                     Actions& actions) {
  const auto it = leases_.find(device);
  if (it == leases_.end()) return;
  const LeaseRecord lease = it->second.record;
  actions.push_back(PersistEnd{device, lease.epoch, why});
  actions.push_back(AnswerEnded{device, lease.epoch, lease.request_id, reason});
  Drop(device, now);
}

int LeaseTable::PriorityOf(const Request& request, TimePoint now) {
  return static_cast<int>(std::min<int64_t>(request.priority + (now - request.since) / kAgeingStep, kHighestPriority));
}

LeaseTable::Rank LeaseTable::RankOf(const Request& request, TimePoint now) const {
  return {-PriorityOf(request, now), share_.Of(request.owner, kUsualStay, now)};
}

std::vector<LeaseTable::Line::iterator> LeaseTable::NextOfEach(TimePoint now) {
  std::vector<std::pair<Rank, Line::iterator>> ranked;
  std::set<std::string_view> seen;
  for (auto it = line_.begin(); it != line_.end(); ++it)
    if (seen.insert(it->owner.group).second) ranked.emplace_back(RankOf(*it, now), it);
  std::ranges::stable_sort(ranked, {}, [](const auto& entry) { return entry.first; });
  std::vector<Line::iterator> next;
  for (const auto& [rank, request] : ranked) next.push_back(request);
  return next;
}

std::vector<std::string> LeaseTable::FreeDevices() const {
  std::vector<std::pair<TimePoint, std::string>> rested;
  for (const auto& [name, entry] : devices_.devices()) {
    if (!devices_.CanTakeLease(name) || leases_.contains(name) || pending_.contains(name) || retries_.Has(name))
      continue;
    const auto since = free_since_.find(name);
    rested.emplace_back(since == free_since_.end() ? TimePoint::min() : since->second, name);
  }
  std::sort(rested.begin(), rested.end());
  std::vector<std::string> names;
  for (auto& [since, name] : rested) names.push_back(std::move(name));
  return names;
}

// After each grant the order is another: who got it has more than before.
void LeaseTable::GrantWhatIsFree(TimePoint now, Actions& actions) {
  if (!std::exchange(may_grant_, false) || line_.empty()) return;
  std::vector<std::string> free = FreeDevices();
  for (bool has_granted = true; has_granted && !free.empty();) {
    has_granted = false;
    for (const Line::iterator request : NextOfEach(now)) {
      const auto device = std::ranges::find_if(free, [&](const auto& name) { return Suits(request->wish, name); });
      if (device == free.end()) continue;
      Grant(request, *device, now, actions);
      free.erase(device);
      has_granted = true;
      break;
    }
  }
}

void LeaseTable::Grant(Line::iterator request, const std::string& device, TimePoint now, Actions& actions) {
  const DeviceRecord& record = devices_.Find(device)->record;
  actions.push_back(PersistGrant{{device, 0, request->request_id, record.key},
                                 record.epoch,
                                 IsReservation(request->request_id) ? request->lasts : kLeaseTtl});
  share_.Began(request->owner, now);
  pending_[device] = {*request};
  line_.erase(request);
}

std::optional<TimePoint> LeaseTable::NextDeadline() const {
  std::optional<TimePoint> next;
  for (const std::optional<TimePoint> time : {expiries_.First(), retries_.First(), patience_.First()})
    if (time) next = next ? std::min(*next, *time) : time;
  return next;
}

const LeaseRecord* LeaseTable::LeaseOf(const std::string& device) const {
  const auto it = leases_.find(device);
  return it == leases_.end() ? nullptr : &it->second.record;
}

std::optional<TimePoint> LeaseTable::ExpiryOf(const std::string& device) const {
  const auto it = leases_.find(device);
  return it == leases_.end() ? std::nullopt : std::optional(it->second.expires);
}

LeaseTable::Line::const_iterator LeaseTable::Find(const std::string& request_id) const {
  return std::ranges::find_if(line_, [&](const Request& waiting) { return waiting.request_id == request_id; });
}

std::string LeaseTable::KnownKeys() const {
  struct Count {
    int all = 0, leased = 0, stalled = 0, drained = 0, quarantined = 0, lost = 0;
  };
  std::map<std::string, Count> keys;
  for (const auto& [name, entry] : devices_.devices()) {
    Count& count = keys[entry.record.key];
    ++count.all;
    if (leases_.contains(name) || pending_.contains(name))
      ++count.leased;
    else if (entry.service.service == DeviceService::kDrained)
      ++count.drained;
    else if (entry.service.service == DeviceService::kQuarantined)
      ++count.quarantined;
    else if (entry.state == DeviceState::kStalled)
      ++count.stalled;
    else if (!devices_.CanTakeLease(name))
      ++count.lost;
  }
  std::string text;
  for (const auto& [key, count] : keys) {
    text += fmt::format("{}\"{}\" ({}", text.empty() ? "" : ", ", key, count.all);
    const auto add = [&text](int number, std::string_view what) {
      if (number > 0) text += fmt::format(", {} {}", number, what);
    };
    add(count.leased, "leased");
    add(count.stalled, "stalled");
    add(count.drained, "drained");
    add(count.quarantined, "quarantined");
    add(count.lost, "not connected");
    text += ")";
  }
  return text.empty() ? "none; connect a device" : text;
}

std::string LeaseTable::WhyWaiting(const std::string& request_id) const {
  const auto it = Find(request_id);
  if (it == line_.end()) return "";
  const auto before = std::count_if(line_.begin(), it, [&](const Request& w) { return w.wish == it->wish; });
  std::string text = it->wish.condition().empty() ? fmt::format("needs device key \"{}\"", it->wish.key())
                                                  : fmt::format("needs devices {}", it->wish.ToString());
  text += "; known keys: " + KnownKeys();
  if (before > 0) text += fmt::format("; {} before it in line", before);
  return text;
}

std::vector<std::string> LeaseTable::ReservationsOf(std::string_view user) const {
  std::vector<std::string> requests;
  const auto add = [&](const std::string& request_id) {
    if (IsReservation(request_id) && ReservedBy(request_id) == user) requests.push_back(request_id);
  };
  for (const auto& [device, lease] : leases_) add(lease.record.request_id);
  for (const auto& [device, pending] : pending_) add(pending.request.request_id);
  for (const Request& waiting : line_) add(waiting.request_id);
  return requests;
}

std::string LeaseTable::WhyNotNow(const std::string& device, const DeviceWish& wish) const {
  const DeviceEntry* entry = devices_.Find(device);
  if (entry == nullptr) return "no such device";
  if (entry->service.service != DeviceService::kInService)
    return fmt::format("{}: {}", DeviceServiceName(entry->service.service), entry->service.reason);
  if (entry->state != DeviceState::kOnline || !entry->is_connected)
    return entry->is_connected ? fmt::format("it is {}", DeviceStateName(entry->state)) : "it is not connected";
  if (std::string why = wish.WhyNot(entry->record.key, entry->traits); !why.empty()) return why;
  if (const auto lease = leases_.find(device); lease != leases_.end()) {
    const std::string_view user = ReservedBy(lease->second.record.request_id);
    return user.empty() ? "lent to " + lease->second.record.request_id : fmt::format("reserved by {}", user);
  }
  return pending_.contains(device) ? "about to be lent to " + pending_.at(device).request.request_id : "";
}

bool LeaseTable::IsWantedMore(const std::string& device, TimePoint now) const {
  const auto lease = leases_.find(device);
  return lease != leases_.end() && std::ranges::any_of(line_, [&](const Request& waiting) {
           return PriorityOf(waiting, now) > lease->second.priority && Suits(waiting.wish, device);
         });
}

}  // namespace lathe
