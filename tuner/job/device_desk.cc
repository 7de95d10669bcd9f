#include "tuner/job/device_desk.h"

#include <algorithm>
#include <charconv>

#include "tracker/lease_table.h"

namespace lathe {
namespace {

constexpr std::string_view kPrefix = "job-";
constexpr Duration kWeighEvery = std::chrono::seconds(1);
constexpr Duration kWeighPause = std::chrono::milliseconds(100);  // All leases and all who wait are looked at.

std::optional<std::pair<int64_t, int>> ParseRequestId(std::string_view text) {
  if (!text.starts_with(kPrefix)) return std::nullopt;
  int64_t job = 0;
  int number = 0;
  const char* end = text.data() + text.size();
  const auto [slash, job_error] = std::from_chars(text.data() + kPrefix.size(), end, job);
  if (job_error != std::errc() || slash == end || *slash != '/') return std::nullopt;
  const auto [rest, number_error] = std::from_chars(slash + 1, end, number);
  if (number_error != std::errc() || rest != end) return std::nullopt;
  return std::pair(job, number);
}

}  // namespace

std::string DeviceDesk::RequestId(int64_t job_id, int number) {
  return std::string(kPrefix) + std::to_string(job_id) + "/" + std::to_string(number);
}

std::optional<int64_t> DeviceDesk::JobOfRequest(const std::string& request_id) {
  const auto parsed = ParseRequestId(request_id);
  return parsed ? std::optional(parsed->first) : std::nullopt;
}

void DeviceDesk::SetDemand(int64_t job_id, JobDemand demand) {
  Job& job = jobs_[job_id];
  const bool has_more = demand.claimable > job.demand.claimable;
  const bool has_less = (demand.claimable == 0 && job.demand.claimable > 0) || demand.coming != job.demand.coming;
  job.demand = std::move(demand);
  if (has_more) {
    for (const std::string& device : job.with_room) leases_.at(device).look_again_at = {};
  }
  if (has_more || (has_less && job.demand.claimable == 0)) TouchThoseWithRoom(job);
}

void DeviceDesk::TouchThoseWithRoom(Job& job) { touched_.insert(job.with_room.begin(), job.with_room.end()); }

// Null: nobody asked for it, or whoever did has gone.
DeviceDesk::Job* DeviceDesk::JobOf(const Lease& lease) {
  const auto it = jobs_.find(lease.job_id);
  return it == jobs_.end() || !it->second.granted.contains(lease.number) ? nullptr : &it->second;
}

// After its trials changed.
void DeviceDesk::NoteRoom(const Lease& lease) {
  const std::string& device = lease.record.device;
  touched_.insert(device);
  changed_.insert(device);
  Job* job = JobOf(lease);
  if (job == nullptr) return;
  if (lease.trials.size() < options_.trials_at_hand)
    job->with_room.insert(device);
  else
    job->with_room.erase(device);
}

void DeviceDesk::EndJob(int64_t job_id) {
  const auto it = jobs_.find(job_id);
  if (it == jobs_.end()) return;
  it->second.demand.claimable = it->second.demand.coming = 0;
  for (auto& [device, lease] : leases_) {
    if (lease.job_id != job_id) continue;
    lease.is_yielding = true;
    it->second.at_hand -= static_cast<int64_t>(lease.trials.size());
    lease.trials.clear();
    NoteRoom(lease);
  }
}

void DeviceDesk::Expect(const std::string& request_id) {
  const auto parsed = ParseRequestId(request_id);
  if (parsed) jobs_[parsed->first].asked.insert(parsed->second);
}

void DeviceDesk::Granted(const LeaseRecord& record, TimePoint now) {
  const auto parsed = ParseRequestId(record.request_id);
  if (!parsed) return;  // Somebody else's.
  const auto known = leases_.find(record.device);
  if (known != leases_.end() && known->second.record.epoch == record.epoch) return;  // Said twice.
  if (known != leases_.end()) Drop(known);
  Lease& lease = leases_[record.device];
  lease.record = record;
  lease.job_id = parsed->first;
  lease.number = parsed->second;
  lease.granted_at = lease.idle_since = now;
  lease.renew_at = now + kLeaseRenewEvery;
  const auto job = jobs_.find(lease.job_id);
  lease.is_yielding = job == jobs_.end() || !job->second.asked.contains(lease.number);
  is_weighed_ = false;
  if (job != jobs_.end()) {
    ++job->second.leases;
    job->second.asked.erase(lease.number);
    job->second.granted.insert(lease.number);
  }
  NoteRoom(lease);
}

void DeviceDesk::Drop(std::map<std::string, Lease>::iterator it) {
  const Lease& lease = it->second;
  if (Job* job = JobOf(lease)) {
    job->granted.erase(lease.number);
    job->with_room.erase(it->first);
    job->at_hand -= static_cast<int64_t>(lease.trials.size() + lease.unsettled.size());
    --job->leases;
  }
  due_.Clear(it->first);
  changed_.insert(it->first);
  leases_.erase(it);
}

void DeviceDesk::Ended(const std::string& device, int64_t epoch) {
  const auto it = leases_.find(device);
  if (it == leases_.end() || it->second.record.epoch != epoch) return;
  Drop(it);
}

void DeviceDesk::Claimed(const std::string& device, int64_t epoch, int64_t trial_id) {
  const auto it = leases_.find(device);
  if (it == leases_.end() || it->second.record.epoch != epoch) return;
  Lease& lease = it->second;
  lease.trials.push_back(trial_id);
  if (++lease.started == 1 || lease.started == options_.stay_trials) is_weighed_ = false;
  NoteRoom(lease);
  Job* job = JobOf(lease);
  if (job == nullptr) return;
  ++job->at_hand;
  if (job->demand.claimable > 0 && --job->demand.claimable == 0) TouchThoseWithRoom(*job);
}

void DeviceDesk::NothingToClaim(const std::string& device, int64_t epoch, TimePoint now) {
  const auto it = leases_.find(device);
  if (it == leases_.end() || it->second.record.epoch != epoch) return;
  it->second.look_again_at = now + options_.retry;
  touched_.insert(device);
}

void DeviceDesk::Finished(const std::string& device, int64_t trial_id) {
  const auto it = leases_.find(device);
  if (it == leases_.end() || std::erase(it->second.trials, trial_id) == 0) return;
  Lease& lease = it->second;
  const bool is_new = lease.unsettled.insert(trial_id).second;
  if (Job* job = JobOf(lease); job != nullptr && !is_new) --job->at_hand;
  NoteRoom(lease);
}

void DeviceDesk::Settled(const std::string& device, int64_t trial_id) {
  const auto it = leases_.find(device);
  if (it == leases_.end() || it->second.unsettled.erase(trial_id) == 0) return;
  if (Job* job = JobOf(it->second)) --job->at_hand;
  touched_.insert(device);
}

int64_t DeviceDesk::DevicesWanted(const Job& job) const {
  // What is still to come would only keep a device from others.
  const int64_t trials = job.demand.claimable + job.at_hand;
  if (trials == 0) return 0;
  const auto devices = device_counts_.find(job.demand.wish.ToString());
  const int64_t known = devices == device_counts_.end() ? 1 : std::max(devices->second, 1);
  const int64_t each = options_.trials_per_device;
  const int64_t wanted = std::clamp<int64_t>((trials + each - 1) / each, 1, known);
  // What a device has at hand stays there: a further one would have nothing to do, and would be given back at once.
  return std::min(wanted, job.leases + job.demand.claimable);
}

void DeviceDesk::PlanRequests(int64_t job_id, Job& job, Actions& actions) {
  const int64_t wanted = DevicesWanted(job) - job.leases;
  const bool waits = !job.asked.empty();
  for (int number = 0; static_cast<int64_t>(job.asked.size()) < wanted; ++number) {
    if (job.asked.contains(number) || job.granted.contains(number)) continue;
    job.asked.insert(number);
    actions.push_back(AskForDevice{job_id, RequestId(job_id, number)});
  }
  while (static_cast<int64_t>(job.asked.size()) > std::max<int64_t>(wanted, 0)) {
    const int newest = *job.asked.rbegin();
    job.asked.erase(newest);
    actions.push_back(WithdrawAsking{RequestId(job_id, newest)});
  }
  if (waits || job.asked.empty()) return;
  is_weighed_ = false;
  for (const auto& [device, lease] : leases_) touched_.insert(device);  // Who has nothing for one gives it back.
}

bool DeviceDesk::Suits(const DeviceWish& wish, const LeaseRecord& lease) const {
  return options_.suits ? options_.suits(wish, lease) : wish.key() == lease.key;
}

bool DeviceDesk::OthersWait(const Lease& lease) const {
  return std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& entry) {
    return entry.first != lease.job_id && !entry.second.asked.empty() && Suits(entry.second.demand.wish, lease.record);
  });
}

bool DeviceDesk::HasStayed(const Lease& lease, TimePoint now) const {
  return lease.started >= options_.stay_trials || now - lease.granted_at >= options_.stay;
}

// When leases are to be weighed against who waits; nullopt: not before something happens.
std::optional<TimePoint> DeviceDesk::WeighAt() const {
  if (!weighed_at_) return TimePoint{};
  if (!is_weighed_) return *weighed_at_ + kWeighPause;
  const bool has_any = std::ranges::any_of(jobs_, [](const auto& entry) { return !entry.second.asked.empty(); });
  return has_any ? std::optional(*weighed_at_ + kWeighEvery) : std::nullopt;
}

void DeviceDesk::YieldToOthers(TimePoint now) {
  if (!options_.choose_yields || leases_.empty() || WeighAt().value_or(now + kWeighEvery) > now) return;
  is_weighed_ = true;
  weighed_at_ = now;
  std::vector<HeldDevice> held;
  for (auto& [device, lease] : leases_) {
    if (!lease.is_yielding) held.push_back({device, lease.started > 0, HasStayed(lease, now)});
  }
  for (const std::string& device : options_.choose_yields(held, now)) Yield(device);
}

bool DeviceDesk::PlanLease(Lease& lease, TimePoint now, Actions& actions) {
  const Job* job = JobOf(lease);
  const bool was_empty = std::exchange(lease.is_empty, lease.has_nothing_at_hand());
  if (!lease.is_empty || !was_empty) lease.idle_since = now;
  if (lease.is_empty) {
    const bool has_nothing = job == nullptr || job->demand.claimable == 0;
    const bool is_idle_long = now - lease.idle_since >= options_.idle;
    if (lease.is_yielding || job == nullptr ||
        (has_nothing && (is_idle_long || !job->has_work() || OthersWait(lease)))) {
      actions.push_back(GiveBack{lease.record.device, lease.record.epoch});
      return true;
    }
  }
  if (now >= lease.renew_at) {
    lease.renew_at = now + kLeaseRenewEvery;
    actions.push_back(KeepLease{lease.record.device, lease.record.epoch});
  }
  const bool may_claim =
      !lease.is_yielding && job != nullptr && job->demand.claimable > 0 && now >= lease.look_again_at;
  if (may_claim && lease.trials.size() < options_.trials_at_hand) {
    actions.push_back(ClaimTrial{lease.record.device, lease.record.epoch, lease.job_id});
  }
  return false;
}

// When it is to be looked at again if nothing happens to it.
std::optional<TimePoint> DeviceDesk::DueOf(const Lease& lease) const {
  TimePoint due = lease.renew_at;
  const auto job = jobs_.find(lease.job_id);
  const bool has_nothing = job == jobs_.end() || job->second.demand.claimable == 0;
  if (lease.is_empty && has_nothing) due = std::min(due, lease.idle_since + options_.idle);
  const bool waits_to_look = !lease.is_yielding && !has_nothing && lease.trials.size() < options_.trials_at_hand;
  if (waits_to_look) due = std::min(due, lease.look_again_at);
  return due;
}

void DeviceDesk::Yield(const std::string& device) {
  const auto it = leases_.find(device);
  if (it == leases_.end()) return;
  it->second.is_yielding = true;
  touched_.insert(device);
}

void DeviceDesk::PlanLeases(TimePoint now, Actions& actions) {
  for (std::string& device : due_.TakeDue(now)) touched_.insert(std::move(device));
  for (const std::string& device : std::exchange(touched_, {})) {
    const auto it = leases_.find(device);
    if (it == leases_.end()) continue;
    if (PlanLease(it->second, now, actions))
      Drop(it);
    else
      due_.Set(device, DueOf(it->second));
  }
}

std::vector<DeskAction> DeviceDesk::Plan(TimePoint now) {
  Actions actions;
  YieldToOthers(now);
  PlanLeases(now, actions);
  for (auto& [job_id, job] : jobs_) PlanRequests(job_id, job, actions);
  std::erase_if(jobs_, [&](const auto& entry) {
    return !entry.second.has_work() && entry.second.asked.empty() && entry.second.granted.empty();
  });
  return actions;
}

std::optional<TimePoint> DeviceDesk::NextDeadline() const {
  if (!touched_.empty()) return TimePoint{};
  std::optional<TimePoint> first = due_.First();
  const std::optional<TimePoint> weigh = options_.choose_yields && !leases_.empty() ? WeighAt() : std::nullopt;
  if (weigh) first = first ? std::min(*first, *weigh) : weigh;
  return first;
}

std::optional<DeviceDesk::Held> DeviceDesk::HeldBy(const std::string& device) const {
  const auto it = leases_.find(device);
  if (it == leases_.end()) return std::nullopt;
  return Held{it->second.job_id, it->second.record.epoch, it->second.trials};
}

int DeviceDesk::LeasesOf(int64_t job_id) const {
  const auto job = jobs_.find(job_id);
  return job == jobs_.end() ? 0 : static_cast<int>(job->second.leases);
}

std::optional<std::string> DeviceDesk::WaitingRequest(int64_t job_id) const {
  const auto job = jobs_.find(job_id);
  if (job == jobs_.end() || job->second.asked.empty()) return std::nullopt;
  return RequestId(job_id, *job->second.asked.begin());
}

}  // namespace lathe
