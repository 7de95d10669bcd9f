// Takes what another database holds into this one: workloads, records, and schedules of other tuners.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tuner/database/store.h"

namespace lathe {

struct MergeCounts {
  int64_t read = 0, added = 0, refused = 0;
  int64_t known() const { return read - added - refused; }
};
struct MergeReport {
  MergeCounts workloads, records, foreign;
  std::vector<std::string> refusals;  // Why; the first kMostRefusalsSaid.
};
inline constexpr size_t kMostRefusalsSaid = 20;

// Whether a workload of theirs may come in: by itself, and beside what is stored here under its digest, if anything is.
using WorkloadCheck = std::function<Status(const Workload& theirs, const std::optional<Workload>& ours)>;

// By content: workloads by digest, records by result key, schedules by workload, trace, source and target. So it is
// harmless twice, and the order of several merges decides nothing but ties. What is wrong in `from` is refused by
// itself, with all that depends on it; the rest comes in, in small transactions. The best of each key that something
// came in for is decided as it is for what is measured here. On error what came in before stays.
StatusOr<MergeReport> MergeDatabase(Store& into, Store& from, const WorkloadCheck& check);

}  // namespace lathe
