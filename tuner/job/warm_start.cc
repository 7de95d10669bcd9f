#include "tuner/job/warm_start.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "support/status_macros.h"
#include "tuner/measure/parse_workload.h"

namespace lathe {
namespace {

constexpr int kPage = 256;

int TierOf(const TuningKey& key, const TuningKey& other) {
  return other.device_class != key.device_class ? 2 : other.target != key.target ? 1 : 0;
}

}  // namespace

std::vector<size_t> FindNearest(const TuningKey& key, const WorkloadShape& shape, std::span<const KnownKey> known,
                                size_t most) {
  std::vector<std::tuple<int, double, size_t>> found;
  for (size_t i = 0; i < known.size(); ++i) {
    const std::optional<double> distance = ShapeDistance(shape, known[i].shape);
    if (distance && known[i].key != key) found.emplace_back(TierOf(key, known[i].key), *distance, i);
  }
  std::sort(found.begin(), found.end());
  std::vector<size_t> nearest;
  for (size_t i = 0; i < found.size() && i < most; ++i) nearest.push_back(std::get<size_t>(found[i]));
  return nearest;
}

Status WarmStarts::ReadShapes() {
  std::optional<Digest> after;
  for (;;) {
    ASSIGN_OR_RETURN(const std::vector<Workload> page, store_.ListWorkloads(after, kPage));
    if (page.empty()) return OkStatus();
    after = page.back().digest;
    for (const Workload& workload : page) {
      if (shapes_.contains(workload.digest)) continue;
      const StatusOr<PrimFunc> func = ParseWorkload(workload.digest, workload.name, workload.text);
      shapes_[workload.digest] = func.ok() ? std::optional(ShapeOf(*func)) : std::nullopt;
    }
  }
}

StatusOr<std::vector<TuningKey>> WarmStarts::Nearest(const TuningKey& key, const PrimFunc& func, size_t most) {
  RETURN_IF_ERROR(ReadShapes());
  const WorkloadShape shape = ShapeOf(func);
  std::vector<KnownKey> known;
  for (const auto& [digest, other] : shapes_) {
    if (!other || other->structure != shape.structure) continue;
    ASSIGN_OR_RETURN(const std::vector<TuningRecord> best, store_.ListBest(digest));
    for (const TuningRecord& record : best) known.push_back({record.key, *other});
  }
  std::vector<TuningKey> nearest;
  for (const size_t i : FindNearest(key, shape, known, most)) nearest.push_back(known[i].key);
  return nearest;
}

std::vector<TuningRecord> FastestTraces(std::span<const TuningRecord> history, size_t most) {
  std::vector<const TuningRecord*> timed;
  for (const TuningRecord& record : history)
    if (IsTimed(record.status)) timed.push_back(&record);
  std::stable_sort(timed.begin(), timed.end(), [](const TuningRecord* a, const TuningRecord* b) {
    return a->timings->median_ns < b->timings->median_ns;
  });
  std::vector<TuningRecord> fastest;
  std::set<Digest> seen;
  for (size_t i = 0; i < timed.size() && fastest.size() < most; ++i)
    if (seen.insert(timed[i]->trace_digest).second) fastest.push_back(*timed[i]);
  return fastest;
}

std::vector<TuningRecord> EvenlyOver(std::span<const TuningRecord> history, size_t most) {
  const size_t count = std::min(history.size(), most);
  std::vector<TuningRecord> chosen;
  for (size_t i = 0; i < count; ++i) chosen.push_back(history[i * history.size() / count]);
  return chosen;
}

}  // namespace lathe
