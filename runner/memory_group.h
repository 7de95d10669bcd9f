// What bounds the memory of a trial as a whole, whoever of its processes takes it and by whichever kind of mapping:
// a group of cgroup v2 for each runner (docs/decisions/0060-sandbox.md). The supervisor needs a group of its own that
// it may divide, as systemd's Delegate=yes gives; where there is none, limits of each process are all there is.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/error.h"

namespace lathe {

// The folder of the calling process's group, from /proc/self/mountinfo and /proc/self/cgroup. NotFound where no
// hierarchy of cgroup v2 is mounted.
RuntimeResult<std::string> FindOwnGroup(const std::string& mounts, const std::string& groups);

// One runner's group. Its end ends whatever is in it.
class MemoryGroup {
 public:
  ~MemoryGroup();
  MemoryGroup(const MemoryGroup&) = delete;
  MemoryGroup& operator=(const MemoryGroup&) = delete;

  // A descriptor: whoever writes "0" to it is in the group, and what it starts.
  int door() const { return door_; }
  // From here on what is in the group dies when it holds more than that, all of it at once. No swap.
  RuntimeError Limit(uint64_t bytes);
  // How often that has happened.
  int64_t Kills() const;

 private:
  friend class MemoryGroups;
  MemoryGroup(std::string folder, int door) : folder_(std::move(folder)), door_(door) {}

  const std::string folder_;
  const int door_;
};

// The groups of one supervisor. Not thread-safe. Outlives what it has made.
class MemoryGroups {
 public:
  // Divides the group at `folder`, in which the caller is: the caller moves to supervisor/ below it, since a group with
  // parts has no processes of its own, and groups that an earlier process left are removed. FailedPrecondition, with
  // what to do, where the group may not be divided or memory is not counted.
  static RuntimeResult<std::unique_ptr<MemoryGroups>> Open(const std::string& folder);
  // With the group that the process is in.
  static RuntimeResult<std::unique_ptr<MemoryGroups>> Open();

  RuntimeResult<std::unique_ptr<MemoryGroup>> Make();

 private:
  explicit MemoryGroups(std::string folder) : folder_(std::move(folder)) {}

  const std::string folder_;
  uint64_t made_ = 0;
};

}  // namespace lathe
