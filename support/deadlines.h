// When something is due for each of many things: the first in logarithmic time. Not thread-safe.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "support/clock.h"

namespace lathe {

template <typename Key>
class Deadlines {
 public:
  // Instead of the one that it had; nullopt: it has none.
  void Set(const Key& key, std::optional<TimePoint> at) {
    const auto it = of_.find(key);
    if (it != of_.end() && it->second == at) return;
    if (it != of_.end()) by_time_.erase({it->second, key});
    if (!at) {
      if (it != of_.end()) of_.erase(it);
      return;
    }
    of_[key] = *at;
    by_time_.emplace(*at, key);
  }
  void Clear(const Key& key) { Set(key, std::nullopt); }
  bool Has(const Key& key) const { return of_.contains(key); }
  std::optional<TimePoint> First() const {
    return by_time_.empty() ? std::nullopt : std::optional(by_time_.begin()->first);
  }
  // Those that are due, earliest first; they have no deadline any more.
  std::vector<Key> TakeDue(TimePoint now) {
    std::vector<Key> due;
    while (!by_time_.empty() && by_time_.begin()->first <= now) {
      due.push_back(by_time_.begin()->second);
      of_.erase(due.back());
      by_time_.erase(by_time_.begin());
    }
    return due;
  }

 private:
  std::map<Key, TimePoint> of_;
  std::set<std::pair<TimePoint, Key>> by_time_;
};

}  // namespace lathe
