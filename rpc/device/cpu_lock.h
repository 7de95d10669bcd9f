// One lock file per CPU of this host, so that two devices never share one.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "support/status.h"

namespace lathe {

// Held until destroyed, or until the process ends in whatever way.
class CpuLocks {
 public:
  // All of `cpus` or none. FailedPrecondition names the CPU and the process that has it.
  static StatusOr<CpuLocks> Take(std::span<const int> cpus, const std::string& directory = DefaultDirectory());
  // $LATHE_CPU_LOCKS (for tests, whose measurements need not be good), else the folder that all users of this host
  // share: /run/lathe if it can be written, else /tmp/lathe-cpus.
  static std::string DefaultDirectory();

  CpuLocks(CpuLocks&& other) noexcept : fds_(std::move(other.fds_)) { other.fds_.clear(); }
  CpuLocks& operator=(CpuLocks&& other) noexcept;
  ~CpuLocks();

 private:
  CpuLocks() = default;
  std::vector<int> fds_;
};

}  // namespace lathe
