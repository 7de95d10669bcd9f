// When something is due for each of many things: the first in logarithmic time. Not thread-safe.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/clock.h"

namespace lathe {

class Deadlines {
 public:
  // Instead of the one that it had.
  void Set(const std::string& name, TimePoint at) {
    Clear(name);
    of_[name] = at;
    by_time_.emplace(at, name);
  }
  void Clear(const std::string& name) {
    const auto it = of_.find(name);
    if (it == of_.end()) return;
    by_time_.erase({it->second, name});
    of_.erase(it);
  }
  bool Has(const std::string& name) const { return of_.contains(name); }
  std::optional<TimePoint> First() const {
    return by_time_.empty() ? std::nullopt : std::optional(by_time_.begin()->first);
  }
  // Those that are due, earliest first; they have no deadline any more.
  std::vector<std::string> TakeDue(TimePoint now) {
    std::vector<std::string> due;
    while (!by_time_.empty() && by_time_.begin()->first <= now) {
      due.push_back(by_time_.begin()->second);
      of_.erase(due.back());
      by_time_.erase(by_time_.begin());
    }
    return due;
  }

 private:
  std::map<std::string, TimePoint> of_;
  std::set<std::pair<TimePoint, std::string>> by_time_;
};

}  // namespace lathe
