// Which golden kernels have been built, and which are to be: one per target and kernel ABI, when somebody wants it.
// Pure: time is an argument; not thread-safe.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/clock.h"
#include "support/digest.h"

namespace lathe {

struct GoldenFor {
  std::string target;
  uint32_t kernel_abi = 1;
  auto operator<=>(const GoldenFor&) const = default;
};
struct GoldenModule {
  Digest digest;
  int64_t size_bytes = 0;
};

class GoldenBuilds {
 public:
  static constexpr Duration kRetryAfter = std::chrono::minutes(1);  // After a build that went wrong.

  // Null: it is not built yet. From now on it is wanted.
  const GoldenModule* Get(const GoldenFor& what);
  // The next that somebody should build; nullopt: none.
  std::optional<GoldenFor> Next(TimePoint now) const;
  // `worker` builds it under this id until `due`, at the latest.
  void Begun(const GoldenFor& what, int64_t id, const std::string& worker, TimePoint due);
  // Nobody has built it; it is begun again at once, or after kRetryAfter.
  void Failed(int64_t id, TimePoint now);
  void WorkerLost(const std::string& worker);
  // False: nobody waits for it.
  bool Built(int64_t id, const GoldenModule& module);
  // Its content is gone.
  void Lost(const GoldenFor& what);
  // Ids of those that took too long; they have failed.
  std::vector<int64_t> GiveUpDue(TimePoint now);
  std::optional<TimePoint> NextDeadline(TimePoint now) const;

 private:
  struct Entry {
    std::optional<GoldenModule> module;
    int64_t id = 0;  // Of the build under way; 0: none.
    std::string worker;
    TimePoint at{};  // When the build is given up, or another one may begin.
  };
  Entry* Find(int64_t id);

  std::map<GoldenFor, Entry> of_;
};

}  // namespace lathe
