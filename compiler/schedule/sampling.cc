#include "compiler/schedule/sampling.h"

#include <fmt/format.h>

#include <functional>
#include <numeric>

#include "support/status_macros.h"

namespace lathe {

std::vector<int64_t> PrimeFactors(int64_t extent) {
  std::vector<int64_t> primes;
  for (int64_t p = 2; p * p <= extent; ++p) {
    while (extent % p == 0) {
      primes.push_back(p);
      extent /= p;
    }
  }
  if (extent > 1) primes.push_back(extent);
  return primes;
}

namespace {

// Spreads `count` equal primes over `n` slots so that all ways are equally likely (stars and bars): bars at random
// places.
void Scatter(int64_t prime, int count, std::vector<int64_t>& slots, Random& random) {
  const int n = static_cast<int>(slots.size());
  std::vector<int> places(count + n - 1);
  std::iota(places.begin(), places.end(), 0);
  std::vector<bool> is_bar(places.size(), false);
  for (int i = 0; i < n - 1; ++i) {
    const size_t pick = i + random.Below(places.size() - i);
    std::swap(places[i], places[pick]);
    is_bar[places[i]] = true;
  }
  int slot = 0;
  for (bool bar : is_bar) {
    if (bar)
      ++slot;
    else
      slots[slot] *= prime;
  }
}

// The nearest legal tile to a decision made for another extent: each factor, innermost first, becomes the largest
// divisor of what is left that does not exceed it; the outermost takes the rest.
std::vector<int64_t> RepairTile(int64_t extent, std::vector<int64_t> tile, int64_t max_innermost) {
  int64_t left = extent;
  for (size_t i = tile.size(); i-- > 1;) {
    int64_t wish = std::max<int64_t>(1, tile[i]);
    if (i + 1 == tile.size()) wish = std::min(wish, max_innermost);
    wish = std::min(wish, left);
    while (left % wish != 0) --wish;
    tile[i] = wish;
    left /= wish;
  }
  tile[0] = left;
  return tile;
}

// As TVM takes a decision: from the innermost factor on, one that does not divide what is left becomes all of it.
std::vector<int64_t> TileOf(int64_t extent, std::vector<int64_t> tile) {
  for (size_t i = tile.size(); i-- > 1; extent /= tile[i])
    if (tile[i] < 1 || extent % tile[i] != 0) tile[i] = extent;
  tile[0] = extent;
  return tile;
}

}  // namespace

std::vector<int64_t> DrawPerfectTile(int64_t extent, int n, int64_t max_innermost, Random& random) {
  const std::vector<int64_t> primes = PrimeFactors(extent);
  std::vector<int64_t> tile;
  for (int attempt = 0; attempt < 64; ++attempt) {
    tile.assign(n, 1);
    for (size_t i = 0; i < primes.size();) {
      size_t end = i;
      while (end < primes.size() && primes[end] == primes[i]) ++end;
      Scatter(primes[i], static_cast<int>(end - i), tile, random);
      i = end;
    }
    if (n == 1 || tile.back() <= max_innermost) return tile;
  }
  return RepairTile(extent, tile, max_innermost);
}

StatusOr<std::vector<VarRV>> SamplePerfectTile(Schedule& schedule, LoopRV loop_rv, int n, int max_innermost_factor,
                                               const Decision* decision) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(loop_rv));
  if (n < 1)
    return schedule.Error("sample_perfect_tile", row, fmt::format("{} tiles asked, at least 1 is required", n));
  if (max_innermost_factor < 1 && max_innermost_factor != -1)
    return schedule.Error("sample_perfect_tile", row,
                          fmt::format("max_innermost_factor {} is not positive", max_innermost_factor));
  const int64_t* extent = AsIntConst(schedule.LoopOf(row).extent);
  std::vector<int64_t> tile(n, 1);
  if (extent != nullptr && *extent > 0) {
    if (decision == nullptr) {
      tile =
          DrawPerfectTile(*extent, n, max_innermost_factor == -1 ? *extent : max_innermost_factor, schedule.random());
    } else {
      const auto* chosen = std::get_if<std::vector<int64_t>>(decision);
      if (chosen == nullptr || chosen->size() != static_cast<size_t>(n)) {
        return schedule.Error("sample_perfect_tile", row, fmt::format("the decision is not a list of {} factors", n));
      }
      tile = TileOf(*extent, *chosen);
    }
  }
  std::vector<VarRV> vars;
  std::vector<int> outputs;
  for (int64_t factor : tile) {
    vars.push_back(schedule.NewVarRV(factor));
    outputs.push_back(vars.back().id);
  }
  schedule.Record("SamplePerfectTile", {loop_rv}, {int64_t{n}, int64_t{max_innermost_factor}}, std::move(outputs),
                  Decision(tile));
  return vars;
}

namespace {

int64_t InnerProduct(const std::vector<int64_t>& tile, size_t from) {
  return std::accumulate(tile.begin() + std::ptrdiff_t(from), tile.end(), int64_t{1}, std::multiplies<int64_t>());
}

// The rest is divided once more; the part from `pos` on is a multiple of `factor`, which divides `extent`.
std::vector<int64_t> DrawPartitionedTile(int64_t extent, int n, int pos, int64_t factor, Random& random) {
  for (int attempt = 0; attempt < 256; ++attempt) {
    std::vector<int64_t> tile = DrawPerfectTile(extent, n, extent, random);
    if (InnerProduct(tile, size_t(pos)) % factor == 0) return tile;
  }
  std::vector<int64_t> tile(n, 1);
  tile[pos] = factor;
  tile[0] *= extent / factor;
  return tile;
}

std::vector<int64_t> RepairPartition(int64_t extent, std::vector<int64_t> tile, int pos, int64_t factor) {
  if (std::any_of(tile.begin() + 1, tile.end(), [](int64_t part) { return part < 1; }) ||
      InnerProduct(tile, size_t(pos)) % factor != 0) {
    tile.assign(tile.size(), 1);
    tile[size_t(pos)] = factor;
  }
  int64_t left = extent;
  for (size_t i = tile.size(); i-- > 1;) {
    if (left % tile[i] != 0) tile[i] = left;
    left /= tile[i];
  }
  tile[0] = left;
  return tile;
}

}  // namespace

StatusOr<std::vector<VarRV>> SamplePartitionedTile(Schedule& schedule, LoopRV loop_rv, int n, int partition_pos,
                                                   int innerpart_factor, const Decision* decision) {
  constexpr const char* kName = "sample_partitioned_tile";
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(loop_rv));
  if (n < 1 || partition_pos < 0 || partition_pos >= n || innerpart_factor < 1)
    return schedule.Error(kName, row,
                          fmt::format("{} tiles, of which those from {} on are a multiple of {}; a tile to begin with "
                                      "and a positive factor are required",
                                      n, partition_pos, innerpart_factor));
  const int64_t* extent = AsIntConst(schedule.LoopOf(row).extent);
  std::vector<int64_t> tile(n, 1);
  if (extent == nullptr || *extent < 1 || *extent % innerpart_factor != 0) {
    tile[0] = -1;
  } else if (decision == nullptr) {
    tile = DrawPartitionedTile(*extent, n, partition_pos, innerpart_factor, schedule.random());
  } else {
    const auto* chosen = std::get_if<std::vector<int64_t>>(decision);
    if (chosen == nullptr || chosen->size() != static_cast<size_t>(n))
      return schedule.Error(kName, row, fmt::format("the decision is not a list of {} factors", n));
    tile = RepairPartition(*extent, *chosen, partition_pos, innerpart_factor);
  }
  std::vector<VarRV> vars;
  std::vector<int> outputs;
  for (int64_t factor : tile) {
    vars.push_back(schedule.NewVarRV(factor));
    outputs.push_back(vars.back().id);
  }
  schedule.Record("SamplePartitionedTile", {loop_rv}, {int64_t{n}, int64_t{partition_pos}, int64_t{innerpart_factor}},
                  std::move(outputs), Decision(tile));
  return vars;
}

StatusOr<VarRV> SampleCategorical(Schedule& schedule, std::span<const int64_t> candidates,
                                  std::span<const double> probs, const Decision* decision) {
  if (candidates.empty() || candidates.size() != probs.size()) {
    return Status(StatusCode::kOutOfRange,
                  fmt::format("sample_categorical: {} candidates and {} probabilities; as many of each, at least one, "
                              "are required",
                              candidates.size(), probs.size()));
  }
  int64_t index = 0;
  if (decision == nullptr) {
    double rest = schedule.random().Unit() * std::accumulate(probs.begin(), probs.end(), 0.0);
    while (index + 1 < static_cast<int64_t>(probs.size()) && rest >= probs[index]) rest -= probs[index++];
  } else {
    const int64_t* chosen = std::get_if<int64_t>(decision);
    if (chosen == nullptr || *chosen < 0 || *chosen >= static_cast<int64_t>(candidates.size())) {
      return Status(StatusCode::kOutOfRange,
                    fmt::format("sample_categorical: the decision is not an index below {}", candidates.size()));
    }
    index = *chosen;
  }
  const VarRV var = schedule.NewVarRV(candidates[index]);
  std::vector<Attr> candidate_attrs(candidates.begin(), candidates.end()), prob_attrs(probs.begin(), probs.end());
  schedule.Record("SampleCategorical", {}, {std::move(candidate_attrs), std::move(prob_attrs)}, {var.id},
                  Decision(index));
  return var;
}

}  // namespace lathe
