#include "tuner/search/adapt_trace.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include "support/status_macros.h"
#include "tuner/search/decisions.h"

namespace lathe {
namespace {

using Tile = std::vector<int64_t>;

std::vector<int64_t> DivisorsOf(int64_t number) {
  std::vector<int64_t> divisors;
  for (int64_t i = 1; i <= number / i; ++i) {
    if (number % i != 0) continue;
    divisors.push_back(i);
    if (i != number / i) divisors.push_back(number / i);
  }
  std::sort(divisors.begin(), divisors.end());
  return divisors;
}

// Tries all factorisations from the innermost factor outwards, and gives up those that are too far away already.
class NearestTileSearch {
 public:
  NearestTileSearch(std::span<const int64_t> tile, int64_t extent, int64_t innermost_limit)
      : wish_(tile), limit_(innermost_limit), divisors_(DivisorsOf(extent)), tile_(tile.size(), 1) {
    Try(tile.size() - 1, extent, 0);
  }
  const Tile& nearest() const { return nearest_; }

 private:
  void Try(size_t place, int64_t rest, double distance) {
    if (distance >= least_) return;
    if (place == 0) {
      tile_[0] = rest;
      if (tile_.size() == 1 && rest > limit_) return;
      nearest_ = tile_;
      least_ = distance;
      return;
    }
    const double weight = 1 + static_cast<double>(place) / static_cast<double>(tile_.size());
    for (const int64_t factor : divisors_) {
      if (factor > rest || (place + 1 == tile_.size() && factor > limit_)) break;
      if (rest % factor != 0) continue;
      tile_[place] = factor;
      const double ratio = static_cast<double>(factor) / static_cast<double>(std::max<int64_t>(1, wish_[place]));
      Try(place - 1, rest / factor, distance + weight * std::fabs(std::log2(ratio)));
    }
  }

  const std::span<const int64_t> wish_;
  const int64_t limit_;
  const std::vector<int64_t> divisors_;
  Tile tile_, nearest_;
  double least_ = std::numeric_limits<double>::infinity();
};

bool HasSamePrimitives(const ScheduleTrace& a, const ScheduleTrace& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    const Instruction &x = a.instruction(i), &y = b.instruction(i);
    if (x.kind != y.kind || x.inputs.size() != y.inputs.size()) return false;
  }
  return true;
}

// How much of what the primitives were given is the same number in both; attributes as a whole.
size_t CountAgreements(const ScheduleTrace& a, const ScheduleTrace& b) {
  size_t count = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const Instruction &x = a.instruction(i), &y = b.instruction(i);
    count += x.attrs == y.attrs;
    for (size_t k = 0; k < x.inputs.size(); ++k) {
      const int64_t *number = std::get_if<int64_t>(&x.inputs[k]), *other = std::get_if<int64_t>(&y.inputs[k]);
      count += number != nullptr && other != nullptr && *number == *other;
    }
  }
  return count;
}

const ScheduleTrace* FindBase(const TuneTask& task, const ScheduleTrace& trace) {
  const ScheduleTrace* base = nullptr;
  for (const Sketch& sketch : task.sketches) {
    if (!HasSamePrimitives(sketch.trace, trace)) continue;
    if (base == nullptr || CountAgreements(sketch.trace, trace) > CountAgreements(*base, trace)) base = &sketch.trace;
  }
  return base != nullptr || task.keeps_to_sketches ? base : &trace;
}

const std::vector<Attr>* CategoriesOf(const Instruction& instruction) {
  return instruction.attrs.empty() ? nullptr : std::get_if<std::vector<Attr>>(&instruction.attrs[0]);
}

// Position of the category nearest to what `wish` is in `from`.
int64_t NearestCategory(const Instruction& from, int64_t wish, const Instruction& to, int64_t otherwise) {
  const std::vector<Attr>*there = CategoriesOf(from), *here = CategoriesOf(to);
  if (there == nullptr || here == nullptr || wish < 0 || wish >= static_cast<int64_t>(there->size())) return otherwise;
  const int64_t* value = std::get_if<int64_t>(&(*there)[static_cast<size_t>(wish)]);
  int64_t nearest = otherwise, least = std::numeric_limits<int64_t>::max();
  for (size_t i = 0; value != nullptr && i < here->size(); ++i) {
    const int64_t* category = std::get_if<int64_t>(&(*here)[i]);
    if (category == nullptr || std::abs(*category - *value) >= least) continue;
    nearest = static_cast<int64_t>(i);
    least = std::abs(*category - *value);
  }
  return nearest;
}

// `drawn`: a decision that is possible here; that of a tile has the loop's extent as its product.
Decision NearestDecision(const Instruction& from, const Decision& wish, const Instruction& to, const Decision& drawn) {
  if (wish.index() != drawn.index()) return drawn;
  const Tile* tile = std::get_if<Tile>(&wish);
  if (tile == nullptr) return NearestCategory(from, std::get<int64_t>(wish), to, std::get<int64_t>(drawn));
  const Tile& possible = std::get<Tile>(drawn);
  int64_t extent = 1;
  for (const int64_t factor : possible) extent *= factor;
  if (extent <= 0 || possible.size() != tile->size()) return drawn;  // What is not to be tiled has -1.
  Tile nearest = NearestTile(*tile, extent, InnermostLimit(to));
  return nearest.empty() ? drawn : Decision(std::move(nearest));
}

}  // namespace

std::vector<int64_t> NearestTile(std::span<const int64_t> tile, int64_t extent, int64_t innermost_limit) {
  return NearestTileSearch(tile, extent, innermost_limit).nearest();
}

StatusOr<ScheduleTrace> AdaptTrace(const TuneTask& task, const ScheduleTrace& trace) {
  const ScheduleTrace* base = FindBase(task, trace);
  if (base == nullptr)
    return InvalidArgument("adapt a schedule: no sketch of the space has its primitives; search all spaces for it");
  ASSIGN_OR_RETURN(Schedule schedule, Schedule::Create(task.func));
  ScheduleTrace adapted = *base;
  adapted.ClearDecisions();
  ScheduleTrace::Progress progress;
  for (size_t i = 0; i < adapted.size(); ++i) {
    const Decision* wish = trace.decision(i);
    if (!adapted.instruction(i).kind->samples || wish == nullptr) continue;
    RETURN_IF_ERROR(adapted.ReplayTo(i, schedule, progress));
    Schedule drawn = schedule;
    ScheduleTrace::Progress then = progress;
    RETURN_IF_ERROR(adapted.ReplayTo(i + 1, drawn, then));
    const Decision* possible = drawn.trace().decision(i);
    if (possible == nullptr) return InternalError("adapt a schedule: a primitive that samples left no decision");
    adapted.SetDecision(i, NearestDecision(trace.instruction(i), *wish, adapted.instruction(i), *possible));
  }
  RETURN_IF_ERROR(adapted.ReplayTo(adapted.size(), schedule, progress));
  return schedule.trace();
}

}  // namespace lathe
