// Which builds under way are equal: one is done, the others wait for what comes of it. Pure; not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "proto/lathe/v1/worker.pb.h"
#include "support/digest.h"

namespace lathe {

struct BuildOf {
  int64_t trial_id = 0, attempt = 0;
  bool operator==(const BuildOf&) const = default;
};

class BuildMerge {
 public:
  // True: nobody builds the like, or this one is what is built already; it is to be sent. False: it waits for another
  // one, until Ended names it. A trial has one build at a time: those that waited for its former one go to `left`.
  bool Begin(const v1::BuildTask& build, std::vector<BuildOf>& left);
  // The build of this trial is over, however it ended; those that waited for it, in the order in which they came. None,
  // if it waited itself.
  std::vector<BuildOf> Ended(int64_t trial_id);
  bool IsWaiting(int64_t trial_id) const;

 private:
  struct Group {
    int64_t leader = 0;
    std::vector<BuildOf> waiting;
  };
  std::map<Digest, Group> groups_;      // By what is built.
  std::map<int64_t, Digest> of_trial_;  // Leaders and those that wait.
};

}  // namespace lathe
