// Who has used devices how much of late: what comes next is given to whoever had least. Pure, not thread-safe.
#pragma once

#include <map>
#include <string>

#include "support/clock.h"

namespace lathe {

inline constexpr Duration kShareHalfLife = std::chrono::minutes(10);

// Device-seconds held, of which half are forgotten after each kShareHalfLife.
class DeviceUse {
 public:
  // One device more (+1) or less (-1) from now on.
  void Change(int devices, TimePoint now);
  double SecondsAt(TimePoint now) const;
  int devices() const { return devices_; }

 private:
  double seconds_ = 0;
  int devices_ = 0;
  TimePoint at_{};
};

// Of users, and of what each asks for (a job, a reservation).
class FairShare {
 public:
  struct Owner {
    std::string user, group;  // Groups are distinct over all users.
    double weight = 1;        // Between the groups of one user: twice the weight, twice the time.
    bool operator==(const Owner&) const = default;
  };
  void Began(const Owner& owner, TimePoint now);
  void Ended(const Owner& owner, TimePoint now);

  // Smaller goes first. What is held now counts as if it were kept for `ahead` more.
  struct Standing {
    double user = 0, group = 0;
    auto operator<=>(const Standing&) const = default;
  };
  Standing Of(const Owner& owner, Duration ahead, TimePoint now) const;

 private:
  void Change(const Owner& owner, int devices, TimePoint now);
  void ForgetTheOld(TimePoint now);
  std::map<std::string, DeviceUse> users_, groups_;
  TimePoint tidied_{};
};

}  // namespace lathe
