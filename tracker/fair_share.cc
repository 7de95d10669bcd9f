#include "tracker/fair_share.h"

#include <cmath>

namespace lathe {
namespace {

constexpr Duration kTidyEvery = std::chrono::minutes(10);
constexpr double kForgotten = 0.1;  // Seconds.

double Seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

// With a half-life h, s seconds are s 2^(-t/h) after t; n devices held for t are n times the integral of 2^(-x/h) from
// 0 to t.
double DeviceUse::SecondsAt(TimePoint now) const {
  const double half_life = Seconds(kShareHalfLife), kept = std::exp2(-Seconds(now - at_) / half_life);
  return seconds_ * kept + devices_ * half_life / std::log(2.0) * (1 - kept);
}

void DeviceUse::Change(int devices, TimePoint now) {
  seconds_ = SecondsAt(now);
  at_ = now;
  devices_ += devices;
}

void FairShare::Began(const Owner& owner, TimePoint now) { Change(owner, 1, now); }
void FairShare::Ended(const Owner& owner, TimePoint now) { Change(owner, -1, now); }

void FairShare::Change(const Owner& owner, int devices, TimePoint now) {
  ForgetTheOld(now);
  users_[owner.user].Change(devices, now);
  groups_[owner.group].Change(devices, now);
}

FairShare::Standing FairShare::Of(const Owner& owner, Duration ahead, TimePoint now) const {
  const auto seconds = [&](const std::map<std::string, DeviceUse>& all, const std::string& name) {
    const auto it = all.find(name);
    return it == all.end() ? 0 : it->second.SecondsAt(now) + it->second.devices() * Seconds(ahead);
  };
  return {seconds(users_, owner.user), seconds(groups_, owner.group) / owner.weight};
}

void FairShare::ForgetTheOld(TimePoint now) {
  if (now - tidied_ < kTidyEvery) return;
  tidied_ = now;
  for (auto* all : {&users_, &groups_}) {
    std::erase_if(*all, [now](const auto& entry) {
      return entry.second.devices() == 0 && entry.second.SecondsAt(now) < kForgotten;
    });
  }
}

}  // namespace lathe
