#include "rpc/gateway/stranger_limits.h"

#include <algorithm>

namespace lathe {
namespace {

constexpr Duration kMemory = std::chrono::minutes(1);

// Whether none is left.
bool DropOld(std::deque<TimePoint>& refusals, TimePoint now) {
  std::erase_if(refusals, [&](TimePoint at) { return now - at >= kMemory; });
  return refusals.empty();
}

}  // namespace

void RefusalLog::Forget(TimePoint now) {
  for (auto it = refusals_.begin(); it != refusals_.end();) it = DropOld(it->second, now) ? refusals_.erase(it) : ++it;
}

void RefusalLog::Refused(const std::string& address, TimePoint now) {
  if (!refusals_.contains(address) && refusals_.size() >= kMostAddresses) {
    Forget(now);
    if (refusals_.size() >= kMostAddresses) return;
  }
  std::deque<TimePoint>& at = refusals_[address];
  at.push_back(now);
  if (at.size() > kFree + 1) at.pop_front();
}

Duration RefusalLog::DelayFor(const std::string& address, TimePoint now) {
  const auto found = refusals_.find(address);
  if (found == refusals_.end()) return Duration::zero();
  DropOld(found->second, now);
  return found->second.size() > kFree ? kDelay : Duration::zero();
}

size_t WhoMakesRoom(const std::vector<std::string>& addresses) {
  std::map<std::string, size_t> counts;
  for (const std::string& address : addresses) ++counts[address];
  size_t who = 0;
  for (size_t i = 1; i < addresses.size(); ++i) {
    if (counts[addresses[i]] > counts[addresses[who]]) who = i;
  }
  return who;
}

}  // namespace lathe
