#include "tuner/job/device_desk.h"

#include <algorithm>
#include <charconv>

#include "tracker/lease_table.h"

namespace lathe {
namespace {

constexpr std::string_view kPrefix = "job-";
constexpr Duration kWeighEvery = std::chrono::seconds(1);

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
  if (demand.claimable > job.demand.claimable) {
    for (auto& [device, lease] : leases_) {
      if (lease.job_id == job_id) lease.look_again_at = {};
    }
  }
  job.demand = std::move(demand);
}

void DeviceDesk::EndJob(int64_t job_id) {
  const auto it = jobs_.find(job_id);
  if (it == jobs_.end()) return;
  it->second.demand.claimable = it->second.demand.coming = 0;
  for (auto& [device, lease] : leases_) {
    if (lease.job_id != job_id) continue;
    lease.is_yielding = true;
    lease.trials.clear();
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
  Lease& lease = leases_[record.device] = {};
  lease.record = record;
  lease.job_id = parsed->first;
  lease.number = parsed->second;
  lease.granted_at = lease.idle_since = now;
  lease.renew_at = now + kLeaseRenewEvery;
  const auto job = jobs_.find(lease.job_id);
  lease.is_yielding = job == jobs_.end() || !job->second.asked.contains(lease.number);
  if (job == jobs_.end()) return;
  job->second.asked.erase(lease.number);
  job->second.granted.insert(lease.number);
}

void DeviceDesk::Ended(const std::string& device, int64_t epoch) {
  const auto it = leases_.find(device);
  if (it == leases_.end() || it->second.record.epoch != epoch) return;
  if (const auto job = jobs_.find(it->second.job_id); job != jobs_.end()) job->second.granted.erase(it->second.number);
  leases_.erase(it);
}

void DeviceDesk::Claimed(const std::string& device, int64_t epoch, int64_t trial_id) {
  const auto it = leases_.find(device);
  if (it == leases_.end() || it->second.record.epoch != epoch) return;
  Lease& lease = it->second;
  lease.trials.push_back(trial_id);
  ++lease.started;
  if (const auto job = jobs_.find(lease.job_id); job != jobs_.end() && job->second.demand.claimable > 0)
    --job->second.demand.claimable;
}

void DeviceDesk::NothingToClaim(const std::string& device, int64_t epoch, TimePoint now) {
  const auto it = leases_.find(device);
  if (it != leases_.end() && it->second.record.epoch == epoch) it->second.look_again_at = now + options_.retry;
}

void DeviceDesk::Finished(const std::string& device, int64_t trial_id) {
  const auto it = leases_.find(device);
  if (it != leases_.end() && std::erase(it->second.trials, trial_id) > 0) it->second.unsettled.insert(trial_id);
}

void DeviceDesk::Settled(const std::string& device, int64_t trial_id) {
  const auto it = leases_.find(device);
  if (it != leases_.end()) it->second.unsettled.erase(trial_id);
}

int64_t DeviceDesk::DevicesWanted(int64_t job_id, const Job& job) const {
  int64_t trials = job.demand.claimable;  // What is still to come would only keep a device from others.
  for (const auto& [device, lease] : leases_) {
    if (lease.job_id == job_id) trials += static_cast<int64_t>(lease.trials.size() + lease.unsettled.size());
  }
  if (trials == 0) return 0;
  const auto devices = device_counts_.find(job.demand.wish.ToString());
  const int64_t known = devices == device_counts_.end() ? 1 : std::max(devices->second, 1);
  const int64_t each = options_.trials_per_device;
  const int64_t wanted = std::clamp<int64_t>((trials + each - 1) / each, 1, known);
  // What a device has at hand stays there: a further one would have nothing to do, and would be given back at once.
  return std::min(wanted, LeasesOf(job_id) + job.demand.claimable);
}

void DeviceDesk::PlanRequests(int64_t job_id, Job& job, Actions& actions) {
  const int64_t wanted = DevicesWanted(job_id, job) - LeasesOf(job_id);
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

void DeviceDesk::YieldToOthers(TimePoint now) {
  if (!options_.choose_yields) return;
  std::vector<HeldDevice> held;
  for (auto& [device, lease] : leases_) {
    if (lease.is_yielding) continue;
    held.push_back({device, lease.started > 0, HasStayed(lease, now)});
    lease.weighed_at = now;
  }
  for (const std::string& device : options_.choose_yields(held, now)) Yield(device);
}

bool DeviceDesk::PlanLease(Lease& lease, TimePoint now, Actions& actions) {
  const auto it = jobs_.find(lease.job_id);
  const Job* job = it == jobs_.end() ? nullptr : &it->second;
  const bool others_wait = OthersWait(lease);
  if (lease.trials.empty() && lease.unsettled.empty()) {
    const bool has_nothing = job == nullptr || job->demand.claimable == 0;
    const bool is_idle_long = now - lease.idle_since >= options_.idle;
    if (lease.is_yielding || job == nullptr || (has_nothing && (others_wait || is_idle_long || !job->has_work()))) {
      actions.push_back(GiveBack{lease.record.device, lease.record.epoch});
      return true;
    }
  } else {
    lease.idle_since = now;
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

void DeviceDesk::Yield(const std::string& device) {
  const auto it = leases_.find(device);
  if (it != leases_.end()) it->second.is_yielding = true;
}

std::vector<DeskAction> DeviceDesk::Plan(TimePoint now) {
  Actions actions;
  YieldToOthers(now);
  for (auto it = leases_.begin(); it != leases_.end();) {
    if (!PlanLease(it->second, now, actions)) {
      ++it;
      continue;
    }
    if (const auto job = jobs_.find(it->second.job_id); job != jobs_.end())
      job->second.granted.erase(it->second.number);
    it = leases_.erase(it);
  }
  for (auto& [job_id, job] : jobs_) PlanRequests(job_id, job, actions);
  std::erase_if(jobs_, [&](const auto& entry) {
    return !entry.second.has_work() && entry.second.asked.empty() && entry.second.granted.empty();
  });
  return actions;
}

std::optional<TimePoint> DeviceDesk::NextDeadline() const {
  std::optional<TimePoint> first;
  const auto consider = [&](TimePoint at) { first = first ? std::min(*first, at) : at; };
  for (const auto& [device, lease] : leases_) {
    consider(lease.renew_at);
    if (!lease.is_yielding && OthersWait(lease))
      consider(std::max(lease.granted_at + options_.stay, lease.weighed_at + kWeighEvery));
    const auto job = jobs_.find(lease.job_id);
    const bool has_nothing = job == jobs_.end() || job->second.demand.claimable == 0;
    if (lease.trials.empty() && lease.unsettled.empty() && has_nothing) consider(lease.idle_since + options_.idle);
    const bool waits_to_look =
        job != jobs_.end() && job->second.demand.claimable > 0 && lease.trials.size() < options_.trials_at_hand;
    if (waits_to_look && !lease.is_yielding) consider(lease.look_again_at);
  }
  return first;
}

std::optional<DeviceDesk::Held> DeviceDesk::HeldBy(const std::string& device) const {
  const auto it = leases_.find(device);
  if (it == leases_.end()) return std::nullopt;
  return Held{it->second.job_id, it->second.record.epoch, it->second.trials};
}

int DeviceDesk::LeasesOf(int64_t job_id) const {
  return static_cast<int>(
      std::count_if(leases_.begin(), leases_.end(), [&](const auto& entry) { return entry.second.job_id == job_id; }));
}

std::optional<std::string> DeviceDesk::WaitingRequest(int64_t job_id) const {
  const auto job = jobs_.find(job_id);
  if (job == jobs_.end() || job->second.asked.empty()) return std::nullopt;
  return RequestId(job_id, *job->second.asked.begin());
}

}  // namespace lathe
