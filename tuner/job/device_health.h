// Whether a device measures what it should: the golden kernel, strikes, quarantine. Pure: time is an argument; no
// thread or store; not thread-safe. Why so: docs/decisions/0067-health-of-devices.md.
//
//   unknown -> probation -> good -> probation (a day is over, it was away, others of its class disagree) -> ...
//                  |          |
//                  +-> bad <--+ (its canaries are off)     bad -> probation after 10 min, 1 h, 6 h, then by a person
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "support/clock.h"
#include "support/deadlines.h"
#include "support/digest.h"

namespace lathe {

inline constexpr Duration kCheckEvery = std::chrono::hours(24);
inline constexpr int kStrikes = 3;  // Different kernels that failed on it one after the other: it is asked itself.
inline constexpr double kGoldenWithin = 0.10, kDriftNoted = 0.03;  // Of the baseline.
inline constexpr int kCanaryTrials = 20;
inline constexpr Duration kCanaryEvery = std::chrono::minutes(1);  // At most.
inline constexpr Duration kProbeAfter[] = {std::chrono::minutes(10), std::chrono::hours(1), std::chrono::hours(6)};

enum class HealthState : uint8_t {
  kUnknown,    // Never checked.
  kProbation,  // A check is due or under way.
  kGood,
  kBad,
};
std::string_view HealthStateName(HealthState state);  // "probation"
std::optional<HealthState> ParseHealthState(std::string_view name);

// What of it is kept.
struct DeviceHealth {
  HealthState state = HealthState::kUnknown;
  std::string words;                    // Why it is checked, or what is wrong with it.
  double golden_ns = 0;                 // What the golden kernel took when it was first checked; 0: it was not.
  Digest golden_module;                 // Which was this one: times of two modules are not compared.
  int64_t failed_checks = 0;            // One after the other.
  std::optional<TimePoint> checked_at;  // When the golden kernel last was right and in time on it.
  std::optional<TimePoint> probe_at;    // Of a bad one: when it is tried again; nullopt: when a person says so.
  bool operator==(const DeviceHealth&) const = default;
};

// How a trial ended, for the device.
enum class TrialEnd {
  kWell,     // It was measured, whatever came of it.
  kFailed,   // It crashed, or the device gave it up for reasons of its own: one of the two is to blame.
  kNeither,  // That says nothing about the device.
};

// What came of the golden kernel.
struct GoldenResult {
  enum class Outcome { kTimed, kNoisy, kWrong, kDied };
  Outcome outcome = Outcome::kDied;
  bool is_canary = false;  // Measured among trials. Else the device was held back for it.
  Digest module;
  double median_ns = 0;
  std::string words;  // Of kWrong and kDied.
};

// Decisions, to be done in order: should the process end in between, the check that led to them is repeated.
struct CheckDevice {
  std::string device;
};  // Nobody gets it before the golden kernel was measured on it; whoever has it gives it back soon.
struct PassDevice {
  std::string device;
};  // Its check is over and went well: whoever waits may have it.
struct QuarantineDevice {
  std::string device, words;
};
struct DistrustSince {
  std::string device;
  TimePoint since;
};  // What it measured from then on is not to be believed.
struct SaveHealth {
  std::string device;
};  // Of() has changed.
using HealthAction = std::variant<CheckDevice, PassDevice, QuarantineDevice, DistrustSince, SaveHealth>;

class DeviceHealthTable {
 public:
  using Actions = std::vector<HealthAction>;

  // From an earlier process. What it took counts for its class before it has come.
  void Restore(const std::string& device, const std::string& key, const std::string& model, const DeviceHealth& health);
  // `model`: what devices with one baseline have in common, beside the key. `was_away`: another process of it was
  // connected before, or it was given up for lost since.
  Actions Connected(const std::string& device, const std::string& key, const std::string& model, bool was_away,
                    TimePoint now);
  void Left(const std::string& device);
  // Given up for lost: it is checked when it comes back.
  void Lost(const std::string& device) { of_[device].was_lost = true; }
  void TrialEnded(const std::string& device, const Digest& kernel, TrialEnd end);
  Actions GoldenEnded(const std::string& device, const GoldenResult& result, TimePoint now);
  // A person says that it is well: what it took before counts no more.
  Actions Released(const std::string& device, TimePoint now);
  // Whose check, or probe, has come due.
  Actions PassTime(TimePoint now);
  std::optional<TimePoint> NextDeadline() const { return deadlines_.First(); }

  const DeviceHealth& Of(const std::string& device) const;
  bool WantsCheck(const std::string& device) const;
  bool WantsCanary(const std::string& device, TimePoint now) const;
  // What its latest canary took over what it should have, minus 1; 0: there was none.
  double DriftOf(const std::string& device) const;

 private:
  struct Entry {
    DeviceHealth health;
    std::string of_class;
    bool is_connected = false, was_lost = false;
    bool is_checked_again = false;  // It was off once.
    std::set<Digest> strikes;
    int trials = 0;           // Since the golden kernel last ran.
    int canaries_failed = 0;  // One after the other.
    std::optional<TimePoint> golden_at;
    double drift = 0;
  };
  Entry& EntryOf(const std::string& device, const std::string& key, const std::string& model);
  void BeginCheck(const std::string& device, Entry& entry, std::string why, Actions& actions);
  void CheckEnded(const std::string& device, Entry& entry, const GoldenResult& result, TimePoint now, Actions& actions);
  void CanaryEnded(const std::string& device, Entry& entry, const GoldenResult& result, TimePoint now,
                   Actions& actions);
  void Pass(const std::string& device, Entry& entry, const GoldenResult& result, TimePoint now, Actions& actions);
  void Fail(const std::string& device, Entry& entry, std::string words, bool was_wrong, TimePoint now,
            Actions& actions);
  void CheckThoseThatDisagree(const std::string& device, Actions& actions);
  void SetDeadline(const std::string& device, const Entry& entry);
  // What it should take; 0: nobody knows.
  double BaselineOf(const std::string& device, const Entry& entry, const Digest& module) const;
  double AgreedByOthers(const std::string& device, const Entry& entry, const Digest& module) const;

  std::map<std::string, Entry> of_;
  std::map<std::string, std::set<std::string>> classes_;
  Deadlines<std::string> deadlines_;
};

}  // namespace lathe
