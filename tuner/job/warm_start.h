// What a search of a workload that nobody measured may begin with: schedules of the workloads nearest to it.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "tuner/database/store.h"
#include "tuner/search/workload_shape.h"

namespace lathe {

// A key that has a best record, and the shape of its workload.
struct KnownKey {
  TuningKey key;
  WorkloadShape shape;
};

// Positions in `known` of up to `most` keys from whose schedules a search of `key`, whose workload has `shape`, may
// start, most promising first: measured on the same device class for the same target, then on the same device class,
// then elsewhere; within each the nearest. The workload itself is one of them where it was measured under another key.
// Pure.
std::vector<size_t> FindNearest(const TuningKey& key, const WorkloadShape& shape, std::span<const KnownKey> known,
                                size_t most);

// Not thread-safe.
class WarmStarts {
 public:
  // `store` must outlive it.
  explicit WarmStarts(Store& store) : store_(store) {}

  // The keys nearest to one whose workload is `func`, at most `most`. A workload of the store that cannot be read is
  // left out.
  StatusOr<std::vector<TuningKey>> Nearest(const TuningKey& key, const PrimFunc& func, size_t most);

 private:
  Status ReadShapes();

  Store& store_;
  std::map<Digest, std::optional<WorkloadShape>> shapes_;  // Of the workloads read so far; nullopt: it cannot be read.
};

// The fastest `most` distinct traces of `history`, which is in the order of Store::History.
std::vector<TuningRecord> FastestTraces(std::span<const TuningRecord> history, size_t most);
// At most `most` of `history`, evenly over it: fast ones, slow ones and failures.
std::vector<TuningRecord> EvenlyOver(std::span<const TuningRecord> history, size_t most);

}  // namespace lathe
