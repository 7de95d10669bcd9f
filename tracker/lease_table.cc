#include "tracker/lease_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace lathe {
namespace {

constexpr std::string_view kReserved = "reserved:";
constexpr std::string_view kHealth = "health:";

// A lease of before a restart, whose holder has not asked for it again yet.
FairShare::Owner OwnerOf(const LeaseRecord& record) {
  return {std::string(ReservedBy(record.request_id)), record.request_id};
}

}  // namespace

std::string ReservationId(std::string_view user, std::string_view request) {
  return fmt::format("{}{}:{}", kReserved, user, request);
}

bool IsReservation(std::string_view request_id) { return request_id.starts_with(kReserved); }

std::string HealthCheckId(std::string_view device) { return fmt::format("{}{}", kHealth, device); }

bool IsHealthCheck(std::string_view request_id) { return request_id.starts_with(kHealth); }

std::string_view ReservedBy(std::string_view request_id) {
  if (!IsReservation(request_id)) return "";
  const std::string_view rest = request_id.substr(kReserved.size());
  return rest.substr(0, rest.rfind(':'));
}

void LeaseTable::Restore(const std::vector<LiveLease>& leases, TimePoint now) {
  for (const auto& [record, remaining] : leases)
    Hold(record, {.owner = OwnerOf(record), .lasts = remaining, .since = now}, now);  // Its holder's priority follows.
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
  if (const auto held = device_of_.find(event.request_id); held != device_of_.end()) {
    const std::string& device = held->second;
    Lease& lease = leases_.at(device);
    lease.base = event.priority;
    lease.priority = std::max(lease.priority, event.priority);
    if (lease.owner != event.owner) {
      share_.Ended(lease.owner, now);
      share_.Began(lease.owner = event.owner, now);
    }
    if (!IsReservation(event.request_id)) {
      expiries_.Set(device, lease.expires = now + kLeaseTtl);
      actions.push_back(PersistRenewal{device, lease.record.epoch});
    } else if (!std::exchange(lease.is_confirmed, true)) {
      expiries_.Set(device, lease.expires = lease.ends);
      actions.push_back(PersistRenewal{device, lease.record.epoch, lease.ends - now});
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
  if (const auto held = device_of_.find(event.request_id); held != device_of_.end())
    On(LeaseReleased{held->second, leases_.at(held->second).record.epoch}, now, actions);
}

bool LeaseTable::CanBeClaimed(const std::string& device) const {
  const DeviceEntry* entry = devices_.Find(device);
  return entry != nullptr && entry->is_connected && entry->state == DeviceState::kOnline && !leases_.contains(device) &&
         !pending_.contains(device);
}

void LeaseTable::On(const LeaseClaimed& event, TimePoint now, Actions& actions) {
  if (!CanBeClaimed(event.device)) {
    actions.push_back(AnswerEnded{event.device, 0, event.request_id, "somebody has it, or it is away"});
    return;
  }
  const DeviceRecord& record = devices_.Find(event.device)->record;
  Request request{.request_id = event.request_id,
                  .owner = {"", event.request_id},
                  .priority = kHighestPriority,
                  .lasts = event.lasts,
                  .since = now};
  actions.push_back(PersistGrant{{event.device, 0, event.request_id, record.key}, record.epoch, event.lasts});
  share_.Began(request.owner, now);
  pending_[event.device] = {std::move(request)};
  free_.reset();
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
    PutBack(pending, event.device, event.status.message(), actions);
    retries_.Set(event.device, now + kGrantRetryAfter);
    return;
  }
  if (!CanHave(pending.request, event.device)) {
    free_.reset();
    actions.push_back(PersistEnd{event.device, event.epoch, LeaseEnd::kRevoked});
    return PutBack(pending, event.device, "it is no longer there", actions);
  }
  const LeaseRecord lease{event.device, event.epoch, pending.request.request_id,
                          devices_.Find(event.device)->record.key};
  Hold(lease, pending.request, now);
  if (pending.is_withdrawn)
    On(LeaseReleased{event.device, event.epoch}, now, actions);
  else
    actions.push_back(AnswerGranted{lease});
}

// It keeps its place, if it has one.
void LeaseTable::PutBack(const PendingGrant& pending, const std::string& device, const std::string& why,
                         Actions& actions) {
  if (IsHealthCheck(pending.request.request_id))
    actions.push_back(AnswerEnded{device, 0, pending.request.request_id, why});
  else if (!pending.is_withdrawn)
    line_.push_front(pending.request);
}

bool LeaseTable::CanHave(const Request& request, const std::string& device) const {
  const DeviceEntry* entry = devices_.Find(device);
  const bool is_there = entry != nullptr && entry->state != DeviceState::kLost && entry->state != DeviceState::kStalled;
  if (IsHealthCheck(request.request_id)) return is_there;
  return is_there && entry->service.service == DeviceService::kInService && devices_.Suits(request.wish, device);
}

// A person who works on a board restarts it, and keeps it.
void LeaseTable::On(const DeviceGone& event, TimePoint now, Actions& actions) {
  if (const LeaseRecord* lease = LeaseOf(event.device); lease != nullptr && IsReservation(lease->request_id)) return;
  free_since_[event.device] = now;
  free_.reset();
  End(event.device, LeaseEnd::kRevoked, event.reason, now, actions);
}

void LeaseTable::On(const DevicesChanged&, TimePoint, Actions&) {
  free_.reset();
  may_grant_ = true;
}

void LeaseTable::On(const TimePassed&, TimePoint now, Actions& actions) {
  for (const std::string& device : expiries_.TakeDue(now)) {
    const bool is_reservation = IsReservation(leases_.at(device).record.request_id);
    End(device, is_reservation ? LeaseEnd::kReleased : LeaseEnd::kExpired,
        is_reservation ? "its time is over, or nobody has asked for it" : "not renewed for 30 s", now, actions);
  }
  if (!retries_.TakeDue(now).empty()) {
    free_.reset();
    may_grant_ = true;
  }
  for (const std::string& request : patience_.TakeDue(now))
    std::erase_if(line_, [&](const Request& waiting) { return waiting.request_id == request; });
}

// A reservation is whoever's asked for it once they have heard of it.
void LeaseTable::Hold(const LeaseRecord& record, const Request& request, TimePoint now) {
  const bool is_reservation = IsReservation(record.request_id);
  const bool is_new = is_reservation && !request.request_id.empty();  // Else it is restored.
  const bool is_check = IsHealthCheck(record.request_id) && !request.request_id.empty();
  const TimePoint ends = now + (is_reservation || is_check ? request.lasts : kLeaseTtl);
  const TimePoint expires = is_new ? std::min(ends, now + kReservationPatience) : ends;
  device_of_[record.request_id] = record.device;
  leases_[record.device] = {record, expires, request.owner, request.priority, LevelOf(request, now), ends, !is_new};
  expiries_.Set(record.device, expires);
  patience_.Clear(record.request_id);
  share_.Began(request.owner, now);
}

void LeaseTable::Drop(const std::string& device, TimePoint now) {
  free_since_[device] = now;
  if (free_ && devices_.CanTakeLease(device) && !retries_.Has(device)) free_->emplace(now, device);
  expiries_.Clear(device);
  const Lease& lease = leases_.at(device);
  if (device_of_[lease.record.request_id] == device) device_of_.erase(lease.record.request_id);
  share_.Ended(lease.owner, now);
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

int LeaseTable::LevelOf(const Request& request, TimePoint now) {
  return static_cast<int>(std::min<int64_t>(request.priority + (now - request.since) / kAgeingStep, kHighestPriority));
}

LeaseTable::Rank LeaseTable::RankOf(const Request& request, int top, TimePoint now) const {
  return {-std::min(LevelOf(request, now), top), share_.Of(request.owner, kUsualStay, now)};
}

LeaseTable::Groups LeaseTable::GroupsInLine() {
  Groups groups;
  for (auto it = line_.begin(); it != line_.end(); ++it) groups[it->owner.group].push_back(it);
  return groups;
}

std::vector<std::string> LeaseTable::OrderOf(const Groups& groups, TimePoint now) const {
  int top = kLowestPriority;
  for (const auto& [name, requests] : groups) top = std::max(top, requests.front()->priority);
  std::vector<std::tuple<Rank, TimePoint, std::string>> ranked;
  for (const auto& [name, requests] : groups)
    ranked.emplace_back(RankOf(*requests.front(), top, now), requests.front()->since, name);
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> names;
  for (auto& [rank, since, name] : ranked) names.push_back(std::move(name));
  return names;
}

void LeaseTable::CollectFree() {
  free_.emplace();
  for (const auto& [name, entry] : devices_.devices()) {
    if (!devices_.CanTakeLease(name) || leases_.contains(name) || pending_.contains(name) || retries_.Has(name))
      continue;
    const auto since = free_since_.find(name);
    free_->emplace(since == free_since_.end() ? TimePoint::min() : since->second, name);
  }
}

// After each grant the order is another: who got it has more than before.
void LeaseTable::GrantWhatIsFree(TimePoint now, Actions& actions) {
  if (!std::exchange(may_grant_, false) || line_.empty()) return;
  if (!free_) CollectFree();
  GrantPromised(now, actions);
  if (free_->empty()) return;
  Groups groups = GroupsInLine();
  while (!free_->empty() && !groups.empty()) {
    for (const std::string& name : OrderOf(groups, now)) {
      std::deque<Line::iterator>& requests = groups.at(name);
      const auto device = std::ranges::find_if(
          *free_, [&](const auto& one) { return devices_.Suits(requests.front()->wish, one.second); });
      if (device == free_->end()) {
        groups.erase(name);
        continue;
      }
      Grant(requests.front(), device->second, now, actions);
      free_->erase(device);
      requests.pop_front();
      if (requests.empty()) groups.erase(name);
      break;
    }
  }
}

// What was given back for somebody is theirs, if they still wait.
void LeaseTable::GrantPromised(TimePoint now, Actions& actions) {
  std::erase_if(*free_, [&](const auto& one) {
    const auto promise = promised_.find(one.second);
    if (promise == promised_.end()) return false;
    const auto request = std::ranges::find(line_, promise->second, &Request::request_id);
    promised_.erase(promise);
    if (request == line_.end() || !devices_.Suits(request->wish, one.second)) return false;
    Grant(request, one.second, now, actions);
    return true;
  });
}

std::map<std::string, int> LeaseTable::DevicesOfGroups() const {
  std::map<std::string, int> devices;
  for (const auto& [device, lease] : leases_)
    if (!promised_.contains(device)) ++devices[lease.owner.group];
  for (const auto& [device, pending] : pending_) ++devices[pending.request.owner.group];
  for (const Request& request : line_)
    if (std::ranges::any_of(promised_, [&](const auto& promise) { return promise.second == request.request_id; }))
      ++devices[request.owner.group];
  return devices;
}

bool LeaseTable::MayTake(const Request& request, const HeldDevice& held, const std::map<std::string, int>& devices,
                         TimePoint now) const {
  const auto it = leases_.find(held.device);
  if (it == leases_.end() || !held.has_begun || promised_.contains(held.device)) return false;
  const Lease& lease = it->second;
  if (lease.owner.group == request.owner.group || !devices_.Suits(request.wish, held.device)) return false;
  const int priority = held.has_stayed ? lease.base : lease.priority;
  if (request.priority > priority) return true;
  if (LevelOf(request, now) < priority) return false;
  const FairShare::Standing wants = share_.Of(request.owner, Duration(0), now);
  const FairShare::Standing has = share_.Of(lease.owner, Duration(0), now);
  if (held.has_stayed && wants < has) return true;
  // As many for their weights, and no more for a user who has had more.
  const auto count = [&](const FairShare::Owner& owner, int more) {
    const auto held_now = devices.find(owner.group);
    return ((held_now == devices.end() ? 0 : held_now->second) + more) / owner.weight;
  };
  return wants.user <= has.user && count(request.owner, 0) == 0 && count(lease.owner, -1) >= count(request.owner, 1);
}

std::vector<std::string> LeaseTable::ChooseYields(const std::vector<HeldDevice>& held, TimePoint now) {
  std::vector<std::string> yields;
  if (line_.empty() || held.empty()) return yields;
  std::map<std::string, int> devices = DevicesOfGroups();
  std::set<std::string> served;
  for (const auto& [device, request] : promised_) served.insert(request);
  const Groups groups = GroupsInLine();
  for (const std::string& name : OrderOf(groups, now)) {
    for (const Line::iterator request : groups.at(name)) {
      if (served.contains(request->request_id)) continue;
      const auto victim =
          std::ranges::find_if(held, [&](const HeldDevice& one) { return MayTake(*request, one, devices, now); });
      if (victim == held.end()) break;
      promised_[victim->device] = request->request_id;
      --devices[leases_.at(victim->device).owner.group];
      ++devices[name];
      yields.push_back(victim->device);
    }
  }
  return yields;
}

void LeaseTable::Grant(Line::iterator request, const std::string& device, TimePoint now, Actions& actions) {
  const DeviceRecord& record = devices_.Find(device)->record;
  const bool is_reservation = IsReservation(request->request_id);
  actions.push_back(PersistGrant{{device, 0, request->request_id, record.key},
                                 record.epoch,
                                 is_reservation ? std::min(request->lasts, kReservationPatience) : kLeaseTtl});
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
    int all = 0, leased = 0, stalled = 0, drained = 0, quarantined = 0, checked = 0, lost = 0;
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
    else if (devices_.IsHeldBack(name) && entry.state == DeviceState::kOnline)
      ++count.checked;
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
    add(count.checked, "being checked");
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
    if (IsHealthCheck(lease->second.record.request_id)) return "it is being checked";
    const std::string_view user = ReservedBy(lease->second.record.request_id);
    return user.empty() ? "lent to " + lease->second.record.request_id : fmt::format("reserved by {}", user);
  }
  if (pending_.contains(device)) return "about to be lent to " + pending_.at(device).request.request_id;
  return devices_.IsHeldBack(device) ? "it is about to be checked" : "";
}

}  // namespace lathe
