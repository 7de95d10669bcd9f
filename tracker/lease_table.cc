#include "tracker/lease_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace lathe {

void LeaseTable::Restore(const std::vector<LeaseRecord>& leases, TimePoint now) {
  for (const LeaseRecord& lease : leases) leases_[lease.device] = {lease, now + kLeaseTtl};
}

std::vector<LeaseAction> LeaseTable::Step(const LeaseEvent& event, TimePoint now) {
  Actions actions;
  // Time first, so that a renewal that comes after the end cannot revive a lease.
  On(TimePassed{}, now, actions);
  std::visit([&](const auto& e) { On(e, now, actions); }, event);
  GrantWhatIsFree(now, actions);
  return actions;
}

void LeaseTable::On(const LeaseRequested& event, TimePoint now, Actions& actions) {
  const auto is_same = [&](const auto& other) { return other.request_id == event.request_id; };
  for (auto& [device, lease] : leases_) {
    if (is_same(lease.record)) {
      lease.expires = now + kLeaseTtl;
      actions.push_back(PersistRenewal{device, lease.record.epoch});
      actions.push_back(AnswerGranted{lease.record});
      return;
    }
  }
  for (auto& [device, pending] : pending_) {
    if (is_same(pending.request)) {
      pending.is_withdrawn = false;
      return;
    }
  }
  if (std::none_of(line_.begin(), line_.end(), is_same)) line_.push_back({event.request_id, event.key});
}

void LeaseTable::On(const RequestWithdrawn& event, TimePoint now, Actions& actions) {
  std::erase_if(line_, [&](const Waiting& waiting) { return waiting.request_id == event.request_id; });
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
  it->second.expires = now + kLeaseTtl;
  actions.push_back(PersistRenewal{event.device, event.epoch});
  actions.push_back(AnswerRenewed{event.device, event.epoch});
}

void LeaseTable::On(const LeaseReleased& event, TimePoint now, Actions& actions) {
  const auto it = leases_.find(event.device);
  if (it == leases_.end() || it->second.record.epoch != event.epoch) return;
  actions.push_back(PersistEnd{event.device, event.epoch, LeaseEnd::kReleased});
  free_since_[event.device] = now;
  leases_.erase(it);
}

void LeaseTable::On(const GrantCommitted& event, TimePoint now, Actions& actions) {
  const auto it = pending_.find(event.device);
  if (it == pending_.end() || it->second.request.request_id != event.request_id) return;
  const PendingGrant pending = it->second;
  pending_.erase(it);
  if (!event.status.ok()) {
    if (!pending.is_withdrawn) line_.insert(line_.begin(), pending.request);  // Keeps its place.
    retry_at_[event.device] = now + kGrantRetryAfter;
    return;
  }
  const LeaseRecord lease{event.device, event.epoch, pending.request.request_id, pending.request.key};
  if (!CanHave(pending.request, event.device)) {
    actions.push_back(PersistEnd{event.device, event.epoch, LeaseEnd::kRevoked});
    if (!pending.is_withdrawn) line_.insert(line_.begin(), pending.request);
    return;
  }
  leases_[event.device] = {lease, now + kLeaseTtl};
  if (pending.is_withdrawn) {
    On(LeaseReleased{event.device, event.epoch}, now, actions);
  } else {
    actions.push_back(AnswerGranted{lease});
  }
}

bool LeaseTable::CanHave(const Waiting& request, const std::string& device) const {
  const DeviceEntry* entry = devices_.Find(device);
  return entry != nullptr && entry->state != DeviceState::kLost && entry->state != DeviceState::kStalled &&
         entry->record.key == request.key;
}

void LeaseTable::On(const DeviceGone& event, TimePoint now, Actions& actions) {
  free_since_[event.device] = now;
  End(event.device, LeaseEnd::kRevoked, event.reason, actions);
}

void LeaseTable::On(const TimePassed&, TimePoint now, Actions& actions) {
  std::vector<std::string> expired;
  for (const auto& [device, lease] : leases_) {
    if (lease.expires <= now) expired.push_back(device);
  }
  for (const std::string& device : expired) {
    free_since_[device] = now;
    End(device, LeaseEnd::kExpired, "not renewed for 30 s", actions);
  }
  std::erase_if(retry_at_, [now](const auto& entry) { return entry.second <= now; });
}

void LeaseTable::End(const std::string& device, LeaseEnd why, const std::string& reason, Actions& actions) {
  const auto it = leases_.find(device);
  if (it == leases_.end()) return;
  const LeaseRecord& lease = it->second.record;
  actions.push_back(PersistEnd{device, lease.epoch, why});
  actions.push_back(AnswerEnded{device, lease.epoch, lease.request_id, reason});
  leases_.erase(it);
}

void LeaseTable::GrantWhatIsFree(TimePoint now, Actions& actions) {
  for (auto it = line_.begin(); it != line_.end();) {
    const std::optional<std::string> device = FreeDevice(it->key, now);
    if (!device) {
      ++it;
      continue;
    }
    pending_[*device] = {*it};
    actions.push_back(PersistGrant{{*device, 0, it->request_id, it->key}, devices_.Find(*device)->record.epoch});
    it = line_.erase(it);
  }
}

std::optional<std::string> LeaseTable::FreeDevice(const std::string& key, TimePoint now) const {
  std::optional<std::string> best;
  TimePoint best_since = TimePoint::max();
  for (const auto& [name, entry] : devices_.devices()) {
    if (entry.record.key != key || !devices_.CanTakeLease(name)) continue;
    if (leases_.contains(name) || pending_.contains(name) || retry_at_.contains(name)) continue;
    const auto since = free_since_.find(name);
    const TimePoint free_since = since == free_since_.end() ? TimePoint::min() : since->second;
    if (!best || free_since < best_since) {
      best = name;
      best_since = free_since;
    }
  }
  return best;
}

std::optional<TimePoint> LeaseTable::NextDeadline() const {
  std::optional<TimePoint> next;
  const auto consider = [&next](TimePoint time) { next = next ? std::min(*next, time) : time; };
  for (const auto& [device, lease] : leases_) consider(lease.expires);
  for (const auto& [device, time] : retry_at_) consider(time);
  return next;
}

const LeaseRecord* LeaseTable::LeaseOf(const std::string& device) const {
  const auto it = leases_.find(device);
  return it == leases_.end() ? nullptr : &it->second.record;
}

std::string LeaseTable::KnownKeys() const {
  struct Count {
    int all = 0, leased = 0, stalled = 0, lost = 0;
  };
  std::map<std::string, Count> keys;
  for (const auto& [name, entry] : devices_.devices()) {
    Count& count = keys[entry.record.key];
    ++count.all;
    if (leases_.contains(name) || pending_.contains(name))
      ++count.leased;
    else if (entry.state == DeviceState::kStalled)
      ++count.stalled;
    else if (!devices_.CanTakeLease(name))
      ++count.lost;
  }
  std::string text;
  for (const auto& [key, count] : keys) {
    text += fmt::format("{}\"{}\" ({}", text.empty() ? "" : ", ", key, count.all);
    if (count.leased > 0) text += fmt::format(", {} leased", count.leased);
    if (count.stalled > 0) text += fmt::format(", {} stalled", count.stalled);
    if (count.lost > 0) text += fmt::format(", {} not connected", count.lost);
    text += ")";
  }
  return text.empty() ? "none; connect a device" : text;
}

std::string LeaseTable::WhyWaiting(const std::string& request_id) const {
  const auto it =
      std::find_if(line_.begin(), line_.end(), [&](const Waiting& w) { return w.request_id == request_id; });
  if (it == line_.end()) return "";
  const auto before = std::count_if(line_.begin(), it, [&](const Waiting& w) { return w.key == it->key; });
  std::string text = fmt::format("needs device key \"{}\"; known keys: {}", it->key, KnownKeys());
  if (before > 0) text += fmt::format("; {} before it in line", before);
  return text;
}

}  // namespace lathe
