#include "tuner/job/build_merge.h"

#include <algorithm>

namespace lathe {
namespace {

// All that an artifact follows from; the code generator is the same for all that a worker is sent.
Digest WhatIsBuilt(const v1::BuildTask& build) {
  v1::BuildTask what = build;
  what.clear_trial_id();
  what.clear_attempt();
  return Sha256(what.SerializeAsString());
}

}  // namespace

bool BuildMerge::Begin(const v1::BuildTask& build, std::vector<BuildOf>& left) {
  const Digest what = WhatIsBuilt(build);
  if (const auto of = of_trial_.find(build.trial_id());
      of != of_trial_.end() && of->second == what && groups_.at(what).leader == build.trial_id())
    return true;  // It is sent again; the others wait on.
  const std::vector<BuildOf> waiting = Ended(build.trial_id());
  left.insert(left.end(), waiting.begin(), waiting.end());
  of_trial_[build.trial_id()] = what;
  const auto [group, is_first] = groups_.try_emplace(what, Group{build.trial_id(), {}});
  if (!is_first) group->second.waiting.push_back({build.trial_id(), build.attempt()});
  return is_first;
}

std::vector<BuildOf> BuildMerge::Ended(int64_t trial_id) {
  const auto of = of_trial_.find(trial_id);
  if (of == of_trial_.end()) return {};
  const auto group = groups_.find(of->second);
  of_trial_.erase(of);
  if (group->second.leader != trial_id) {
    std::erase_if(group->second.waiting, [&](const BuildOf& build) { return build.trial_id == trial_id; });
    return {};
  }
  std::vector<BuildOf> waiting = std::move(group->second.waiting);
  groups_.erase(group);
  for (const BuildOf& build : waiting) of_trial_.erase(build.trial_id);
  return waiting;
}

bool BuildMerge::IsWaiting(int64_t trial_id) const {
  const auto of = of_trial_.find(trial_id);
  return of != of_trial_.end() && groups_.at(of->second).leader != trial_id;
}

}  // namespace lathe
