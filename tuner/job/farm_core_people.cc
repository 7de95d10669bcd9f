// What people ask of the core: who does what, why something waits, devices for themselves.
#include <fmt/format.h>

#include <algorithm>

#include "support/status_macros.h"
#include "tuner/job/farm_core.h"

namespace lathe {
namespace {

constexpr int kPersonPriority = 1;  // Somebody waits: before what jobs ask for otherwise.

StatusOr<const DeviceEntry*> FindDevice(const DeviceRegistry& devices, const std::string& name) {
  const DeviceEntry* entry = devices.Find(name);
  if (entry == nullptr) return NotFound(fmt::format("device \"{}\": no such device; `lathe devices` lists them", name));
  return entry;
}

}  // namespace

FarmView FarmCore::View() {
  FarmView farm;
  for (const auto& [name, entry] : tracker_->devices().devices()) {
    DeviceStanding& device = farm.devices.emplace_back(
        DeviceStanding{name, entry.state, tracker_->leases().WhyNotNow(name, {}), {}, HealthWords(name)});
    if (const auto view = devices_.find(name); view != devices_.end())
      device.measuring.assign(view->second.measuring.begin(), view->second.measuring.end());
  }
  farm.workers = workers_.Standings(Now());
  return farm;
}

FarmStatistics FarmCore::Statistics() {
  FarmStatistics farm{.counters = counters_, .view = View(), .trouble = TroubleNow()};
  for (const auto& [name, entry] : tracker_->devices().devices()) {
    const LeaseRecord* lease = tracker_->LeaseOf(name);
    std::string what = "free";
    if (lease != nullptr)
      what = IsReservation(lease->request_id) ? "reserved" : IsHealthCheck(lease->request_id) ? "checked" : "lent";
    else if (entry.service.service != DeviceService::kInService)
      what = DeviceServiceName(entry.service.service);
    else if (!tracker_->devices().CanTakeLease(name))
      what = DeviceStateName(entry.state);
    ++farm.devices[{entry.record.key, what}];
  }
  const TimePoint now = Now();
  for (const auto& [id, job] : jobs_) {
    for (const auto& [trial, open] : job.open) {
      ++farm.open_trials[open.state];
      if (open.since == TimePoint{}) continue;
      if (open.state == TrialState::kBuildQueued) farm.oldest_unbuilt = std::max(farm.oldest_unbuilt, now - open.since);
      if (open.state == TrialState::kMeasureQueued)
        farm.oldest_unmeasured = std::max(farm.oldest_unmeasured, now - open.since);
    }
  }
  farm.jobs_at_work = static_cast<int64_t>(jobs_.size());
  farm.jobs_waiting = static_cast<int64_t>(waiting_.size());
  return farm;
}

Status FarmCore::SetDeviceService(const std::string& device, const ServiceState& service, const std::string& by) {
  RETURN_IF_ERROR(FindDevice(tracker_->devices(), device).status());
  RETURN_IF_ERROR(leases_.PersistService(device, service, by));
  ports_.Log(fmt::format("device \"{}\" is {}: {}", device, DeviceServiceName(service.service), service.reason));
  StepTracker(DeviceServiceSet{device, service});
  if (service.service != DeviceService::kInService) desk_.Yield(device);
  CountDevices();
  return OkStatus();
}

// A name goes before a tag or key that is the same word.
DeviceWish FarmCore::ByName(const DeviceWish& wish) const {
  if (tracker_->devices().Find(wish.condition()) == nullptr) return wish;
  const StatusOr<DeviceWish> named = DeviceWish::Parse("name=" + wish.condition());
  return named.ok() ? *named : wish;
}

StatusOr<ReservationStanding> FarmCore::Reserve(const ReservationRequest& request) {
  if (request.lasts <= Duration(0) || request.lasts > kLongestReservation)
    return InvalidArgument(fmt::format("reserve {}: for {} s; more than 0 and at most {} h required",
                                       request.wish.ToString(), request.lasts / std::chrono::seconds(1),
                                       kLongestReservation / std::chrono::hours(1)));
  const std::string id = ReservationId(request.user, request.request_id);
  if (request.is_withdrawn) {
    StepTracker(RequestWithdrawn{id});
    return ReservationStanding{};
  }
  const DeviceWish wish = ByName(request.wish);
  const auto& known = tracker_->devices().devices();
  if (std::ranges::none_of(known, [&](const auto& entry) { return tracker_->devices().Suits(wish, entry.first); }))
    return NotFound(
        fmt::format("reserve {}: no device that has been here since the server began is such a one; "
                    "`lathe devices` lists them",
                    request.wish.ToString()));
  const std::vector<std::string> own = tracker_->leases().ReservationsOf(request.user);
  if (static_cast<int>(own.size()) >= kMostReservations && std::ranges::find(own, id) == own.end())
    return Status(ResourceExhausted(fmt::format("reserve {}: {} has or waits for {} devices already; release one first",
                                                request.wish.ToString(), request.user, own.size())));
  StepTracker(LeaseRequested{id, wish, {request.user, id}, kPersonPriority, request.lasts});
  desk_.OthersAsk();
  for (const auto& [name, entry] : known) {
    const LeaseRecord* lease = tracker_->LeaseOf(name);
    if (lease == nullptr || lease->request_id != id) continue;
    // Asked again, so that it is known that somebody has heard of it.
    StepTracker(LeaseRequested{id, wish, {request.user, id}, kPersonPriority, request.lasts});
    return ReservationStanding{name, *tracker_->leases().ExpiryOf(name) - Now(), ""};
  }
  return ReservationStanding{"", {}, tracker_->WhyWaiting(id)};
}

// What is one's own first; then, for admins, what is out of service; then what others have.
Status FarmCore::Release(const std::string& device, const Petitioner& who) {
  ASSIGN_OR_RETURN(const DeviceEntry* entry, FindDevice(tracker_->devices(), device));
  const LeaseRecord* lease = tracker_->LeaseOf(device);
  const std::string holder(lease == nullptr ? "" : ReservedBy(lease->request_id));
  const bool is_out = entry->service.service != DeviceService::kInService;
  if (holder.empty() && !is_out)
    return FailedPrecondition(fmt::format("release \"{}\": it is neither reserved nor taken out of service", device));
  if (!holder.empty() && (holder == who.name || (who.is_admin && !is_out))) {
    StepTracker(LeaseReleased{device, lease->epoch});
    return OkStatus();
  }
  if (is_out && who.is_admin) {
    const bool was_quarantined = entry->service.service == DeviceService::kQuarantined;
    RETURN_IF_ERROR(SetDeviceService(device, {}, who.name));
    if (was_quarantined) Apply(health_.Released(device, Now()));
    TryToCheck(device);
    return OkStatus();
  }
  if (is_out)
    return PermissionDenied(fmt::format("release \"{}\": it is {} ({}); an admin may put it back into service", device,
                                        DeviceServiceName(entry->service.service), entry->service.reason));
  return PermissionDenied(fmt::format("release \"{}\": it is reserved by {}; ask them, or an admin", device, holder));
}

// What a device does for the job, or why it does nothing for it.
std::string FarmCore::StoryOf(const Job& job, const std::string& device) const {
  const auto held = desk_.HeldBy(device);
  if (!held || held->job_id != job.row.id) {
    const std::string why = tracker_->leases().WhyNotNow(device, job.wish);
    return why.empty() ? "free" : why;
  }
  const auto view = devices_.find(device);
  if (view != devices_.end() && !view->second.measuring.empty())
    return fmt::format("measures trial {}", *view->second.measuring.begin());
  return held->trials.empty() ? "lent to this job; nothing is at its hand"
                              : fmt::format("makes trial {} ready", held->trials.front());
}

JobStory FarmCore::StoryOf(const Job& job) {
  JobStory story;
  if (const auto trouble = troubles_.Worst(Now()))
    story.reasons.push_back(
        fmt::format("trouble for {} s: {}", trouble->lasts / std::chrono::seconds(1), trouble->words));
  if (!job.waits_for.empty()) story.reasons.push_back("waits: " + job.waits_for);
  const std::string no_builder = WhyNotBuilt(job);
  if (!no_builder.empty() && job.waits_for != no_builder) story.reasons.push_back("needs " + no_builder);
  if (job.preparing > 0) story.reasons.push_back(fmt::format("{} of its tasks are being prepared", job.preparing));
  const auto count = [&](std::initializer_list<TrialState> states, std::string_view what) {
    if (const int64_t trials = CountOpen(job, states); trials > 0)
      story.reasons.push_back(fmt::format("{} trials {}", trials, what));
  };
  count({TrialState::kProposed}, "are proposed");
  count({TrialState::kBuildQueued}, "wait for a worker");
  count({TrialState::kBuilding}, "are being built");
  count({TrialState::kBuilt, TrialState::kMeasureQueued}, "wait for a device");
  count({TrialState::kAssigned}, "are at a device's hand");
  count({TrialState::kRunning}, "are being measured");
  if (job.is_searching) story.reasons.push_back("its search looks for further candidates");
  if (story.reasons.empty()) story.reasons.push_back("it is about to go on");
  for (const auto& [name, entry] : tracker_->devices().devices())
    if (entry.record.key == job.wish.key()) story.devices.emplace_back(name, StoryOf(job, name));
  return story;
}

StatusOr<JobStory> FarmCore::Why(int64_t job_id) {
  if (const auto it = jobs_.find(job_id); it != jobs_.end()) return StoryOf(it->second);
  ASSIGN_OR_RETURN(const JobRow row, store_.GetJob(job_id));
  if (const auto waits = std::ranges::find(waiting_, job_id); waits != waiting_.end())
    return JobStory{{fmt::format("waits for its turn: {} jobs are at work, {} wait before it", jobs_.size(),
                                 waits - waiting_.begin())},
                    {}};
  return JobStory{{fmt::format("{}{}{}", IsTerminal(row.state) ? "it has ended" : "this server has not taken it up",
                               row.detail.empty() ? "" : ": ", row.detail)},
                  {}};
}

}  // namespace lathe
