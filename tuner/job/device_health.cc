#include "tuner/job/device_health.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace lathe {
namespace {

constexpr std::string_view kStateNames[] = {"unknown", "probation", "good", "bad"};

bool IsWithin(double time, double baseline) { return std::abs(time / baseline - 1) <= kGoldenWithin; }

std::string OffWords(double took, double expected) {
  return fmt::format("the golden kernel takes {:.4g} us, {:.4g} us expected ({:+.0f} %)", took / 1e3, expected / 1e3,
                     (took / expected - 1) * 100);
}

}  // namespace

std::string_view HealthStateName(HealthState state) { return kStateNames[static_cast<size_t>(state)]; }

std::optional<HealthState> ParseHealthState(std::string_view name) {
  const auto* const found = std::ranges::find(kStateNames, name);
  if (found == std::end(kStateNames)) return std::nullopt;
  return static_cast<HealthState>(found - kStateNames);
}

// ---- What is known.

const DeviceHealth& DeviceHealthTable::Of(const std::string& device) const {
  static const DeviceHealth unknown;
  const auto it = of_.find(device);
  return it == of_.end() ? unknown : it->second.health;
}

bool DeviceHealthTable::WantsCheck(const std::string& device) const {
  return Of(device).state == HealthState::kProbation;
}

bool DeviceHealthTable::WantsCanary(const std::string& device, TimePoint now) const {
  const auto it = of_.find(device);
  if (it == of_.end() || it->second.health.state != HealthState::kGood) return false;
  const Entry& entry = it->second;
  const bool is_due = entry.trials >= kCanaryTrials || entry.strikes.size() >= kStrikes || entry.canaries_failed > 0;
  return is_due && (!entry.golden_at || now - *entry.golden_at >= kCanaryEvery);
}

double DeviceHealthTable::DriftOf(const std::string& device) const {
  const auto it = of_.find(device);
  return it == of_.end() ? 0 : it->second.drift;
}

// What most of the others take, if at least two of them agree.
double DeviceHealthTable::AgreedByOthers(const std::string& device, const Entry& entry, const Digest& module) const {
  std::vector<double> times;
  const auto members = classes_.find(entry.of_class);
  if (members == classes_.end()) return 0;
  for (const std::string& other : members->second) {
    const DeviceHealth& health = of_.at(other).health;
    if (other != device && health.state == HealthState::kGood && health.golden_ns > 0 && health.golden_module == module)
      times.push_back(health.golden_ns);
  }
  if (times.size() < 2) return 0;
  std::ranges::sort(times);
  const double median = times[(times.size() - 1) / 2];
  const auto agree = std::ranges::count_if(times, [&](double time) { return IsWithin(time, median); });
  return agree >= 2 && 2 * agree > static_cast<int64_t>(times.size()) ? median : 0;
}

double DeviceHealthTable::BaselineOf(const std::string& device, const Entry& entry, const Digest& module) const {
  if (const double agreed = AgreedByOthers(device, entry, module); agreed > 0) return agreed;
  return entry.health.golden_module == module ? entry.health.golden_ns : 0;
}

// ---- Comings and goings.

void DeviceHealthTable::SetDeadline(const std::string& device, const Entry& entry) {
  std::optional<TimePoint> at;
  if (entry.health.state == HealthState::kBad) at = entry.health.probe_at;
  if (entry.health.state == HealthState::kGood && entry.health.checked_at) at = *entry.health.checked_at + kCheckEvery;
  if (at && entry.is_connected)
    deadlines_.Set(device, *at);
  else
    deadlines_.Clear(device);
}

void DeviceHealthTable::Restore(const std::string& device, const std::string& key, const std::string& model,
                                const DeviceHealth& health) {
  EntryOf(device, key, model).health = health;
}

DeviceHealthTable::Entry& DeviceHealthTable::EntryOf(const std::string& device, const std::string& key,
                                                     const std::string& model) {
  Entry& entry = of_[device];
  const std::string of_class = key + "\n" + model;
  if (entry.of_class == of_class) return entry;
  classes_[entry.of_class].erase(device);
  classes_[of_class].insert(device);
  entry.of_class = of_class;
  return entry;
}

DeviceHealthTable::Actions DeviceHealthTable::Connected(const std::string& device, const std::string& key,
                                                        const std::string& model, bool was_away, TimePoint now) {
  Actions actions;
  Entry& entry = EntryOf(device, key, model);
  entry.is_connected = true;
  was_away |= std::exchange(entry.was_lost, false);
  SetDeadline(device, entry);
  const HealthState state = entry.health.state;
  if (state == HealthState::kUnknown)
    BeginCheck(device, entry, "it was never checked", actions);
  else if (state == HealthState::kProbation)
    actions.push_back(CheckDevice{device});
  else if (state == HealthState::kGood && was_away)
    BeginCheck(device, entry, "it was away", actions);
  for (HealthAction& action : PassTime(now)) actions.push_back(std::move(action));
  return actions;
}

void DeviceHealthTable::Left(const std::string& device) {
  Entry& entry = of_[device];
  entry.is_connected = false;
  SetDeadline(device, entry);
}

DeviceHealthTable::Actions DeviceHealthTable::Released(const std::string& device, TimePoint) {
  Actions actions;
  Entry& entry = of_[device];
  entry.health = {};
  entry.canaries_failed = 0;
  entry.is_checked_again = false;
  BeginCheck(device, entry, "a person released it", actions);
  return actions;
}

DeviceHealthTable::Actions DeviceHealthTable::PassTime(TimePoint now) {
  Actions actions;
  for (const std::string& device : deadlines_.TakeDue(now)) {
    Entry& entry = of_.at(device);
    const bool is_probe = entry.health.state == HealthState::kBad;
    // A bad one keeps its words until it is found to be well.
    BeginCheck(device, entry, is_probe ? entry.health.words : "its last check was a day ago", actions);
  }
  return actions;
}

void DeviceHealthTable::BeginCheck(const std::string& device, Entry& entry, std::string why, Actions& actions) {
  entry.health.state = HealthState::kProbation;
  entry.health.words = std::move(why);
  SetDeadline(device, entry);
  actions.push_back(SaveHealth{device});
  actions.push_back(CheckDevice{device});
}

// ---- Trials.

void DeviceHealthTable::TrialEnded(const std::string& device, const Digest& kernel, TrialEnd end) {
  if (end == TrialEnd::kNeither) return;
  Entry& entry = of_[device];
  ++entry.trials;
  if (end == TrialEnd::kWell) entry.strikes.clear();
  if (end == TrialEnd::kFailed && entry.strikes.size() < kStrikes) entry.strikes.insert(kernel);
}

// ---- The golden kernel.

DeviceHealthTable::Actions DeviceHealthTable::GoldenEnded(const std::string& device, const GoldenResult& result,
                                                          TimePoint now) {
  Actions actions;
  Entry& entry = of_[device];
  const HealthState expected = result.is_canary ? HealthState::kGood : HealthState::kProbation;
  if (entry.health.state != expected) return actions;  // Something else was decided meanwhile.
  entry.golden_at = now;
  entry.trials = 0;
  if (result.is_canary)
    CanaryEnded(device, entry, result, now, actions);
  else
    CheckEnded(device, entry, result, now, actions);
  return actions;
}

void DeviceHealthTable::CheckEnded(const std::string& device, Entry& entry, const GoldenResult& result, TimePoint now,
                                   Actions& actions) {
  using Outcome = GoldenResult::Outcome;
  if (result.outcome == Outcome::kWrong || result.outcome == Outcome::kDied)
    return Fail(device, entry, "golden kernel: " + result.words, result.outcome == Outcome::kWrong, now, actions);
  const double baseline = BaselineOf(device, entry, result.module);
  const bool is_off = result.outcome == Outcome::kTimed && baseline > 0 && !IsWithin(result.median_ns, baseline);
  if (!is_off) return Pass(device, entry, result, now, actions);
  if (std::exchange(entry.is_checked_again, true))
    return Fail(device, entry, OffWords(result.median_ns, baseline), true, now, actions);
  actions.push_back(CheckDevice{device});
}

void DeviceHealthTable::Pass(const std::string& device, Entry& entry, const GoldenResult& result, TimePoint now,
                             Actions& actions) {
  DeviceHealth& health = entry.health;
  const bool is_timed = result.outcome == GoldenResult::Outcome::kTimed;
  if (is_timed && (health.golden_ns == 0 || health.golden_module != result.module)) {
    health.golden_ns = result.median_ns;
    health.golden_module = result.module;
  }
  health.state = HealthState::kGood;
  health.words.clear();
  health.failed_checks = 0;
  health.checked_at = now;
  health.probe_at.reset();
  entry.is_checked_again = false;
  entry.strikes.clear();
  entry.canaries_failed = 0;
  entry.drift = 0;
  SetDeadline(device, entry);
  actions.push_back(PassDevice{device});
  actions.push_back(SaveHealth{device});
  CheckThoseThatDisagree(device, actions);
}

// The first of a class is its own baseline; once others agree with each other, it has to agree with them.
void DeviceHealthTable::CheckThoseThatDisagree(const std::string& device, Actions& actions) {
  for (const std::string& other : classes_[of_.at(device).of_class]) {
    Entry& entry = of_.at(other);
    const DeviceHealth& health = entry.health;
    if (other == device || health.state != HealthState::kGood || health.golden_ns == 0) continue;
    const double agreed = AgreedByOthers(other, entry, health.golden_module);
    if (agreed > 0 && !IsWithin(health.golden_ns, agreed))
      BeginCheck(other, entry, "others of its class take another time", actions);
  }
}

void DeviceHealthTable::CanaryEnded(const std::string& device, Entry& entry, const GoldenResult& result, TimePoint now,
                                    Actions& actions) {
  using Outcome = GoldenResult::Outcome;
  DeviceHealth& health = entry.health;
  if (result.outcome == Outcome::kWrong)
    return Fail(device, entry, "golden kernel: " + result.words, true, now, actions);
  const bool is_timed = result.outcome == Outcome::kTimed;
  if (is_timed && health.golden_module != result.module)
    return BeginCheck(device, entry, "there is another golden kernel", actions);
  const bool is_judged = is_timed && health.golden_ns > 0;
  if (is_judged) entry.drift = result.median_ns / health.golden_ns - 1;
  const bool is_off = is_judged && !IsWithin(result.median_ns, health.golden_ns);
  if (is_off || result.outcome == Outcome::kDied) {
    if (++entry.canaries_failed < 2) return;
    return Fail(device, entry, is_off ? OffWords(result.median_ns, health.golden_ns) : "golden kernel: " + result.words,
                is_off, now, actions);
  }
  entry.strikes.clear();  // It is not the device.
  if (!is_timed) return;
  entry.canaries_failed = 0;
  health.checked_at = now;
  SetDeadline(device, entry);
  actions.push_back(SaveHealth{device});
}

// `was_wrong`: it ran, and was wrong or not in time, so what it measured before may be, too.
void DeviceHealthTable::Fail(const std::string& device, Entry& entry, std::string words, bool was_wrong, TimePoint now,
                             Actions& actions) {
  DeviceHealth& health = entry.health;
  const auto wait = static_cast<size_t>(health.failed_checks++);
  health.state = HealthState::kBad;
  health.words = std::move(words);
  health.probe_at = wait < std::size(kProbeAfter) ? std::optional(now + kProbeAfter[wait]) : std::nullopt;
  entry.is_checked_again = false;
  entry.strikes.clear();
  entry.canaries_failed = 0;
  SetDeadline(device, entry);
  if (was_wrong && health.checked_at && wait == 0) actions.push_back(DistrustSince{device, *health.checked_at});
  actions.push_back(QuarantineDevice{device, health.words});
  actions.push_back(SaveHealth{device});
}

}  // namespace lathe
