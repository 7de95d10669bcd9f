#include "tuner/search/decisions.h"

#include <cmath>

#include "compiler/schedule/sampling.h"

namespace lathe {
namespace {

using Tile = std::vector<int64_t>;

struct Move {
  size_t from, to;
  int64_t factor;
};

// Every prime factor of every place, once per value, to every other place that may take it.
std::vector<Move> MovesOf(const Tile& tile, int64_t innermost_limit) {
  std::vector<Move> moves;
  for (size_t from = 0; from < tile.size(); ++from) {
    int64_t last = 0;
    for (int64_t prime : PrimeFactors(tile[from])) {
      if (prime == last) continue;
      last = prime;
      for (size_t to = 0; to < tile.size(); ++to) {
        if (to == from || (to + 1 == tile.size() && tile[to] * prime > innermost_limit)) continue;
        moves.push_back({from, to, prime});
      }
    }
  }
  return moves;
}

void Apply(const Move& move, Tile& tile) {
  tile[move.from] /= move.factor;
  tile[move.to] *= move.factor;
}

struct Changeable {
  std::vector<size_t> tiles, categories;
};  // Instructions whose decision can change.

Changeable ChangeableOf(const ScheduleTrace& trace) {
  Changeable found;
  for (const auto& [index, decision] : trace.decisions()) {
    if (index >= trace.size()) continue;
    const Instruction& instruction = trace.instruction(index);
    const Tile* tile = std::get_if<Tile>(&decision);
    if (tile != nullptr && !MovesOf(*tile, InnermostLimit(instruction)).empty()) found.tiles.push_back(index);
    if (tile == nullptr && CategoryCount(instruction) > 1) found.categories.push_back(index);
  }
  return found;
}

template <typename T>
const T& Pick(const std::vector<T>& items, Random& random) {
  return items[random.Below(items.size())];
}

// A move within the tile; with `opposite`, one between the same places the other way round, if there is one.
Move MoveTile(ScheduleTrace& trace, size_t index, const Move* opposite, Random& random) {
  Tile tile = std::get<Tile>(*trace.decision(index));
  const std::vector<Move> moves = MovesOf(tile, InnermostLimit(trace.instruction(index)));
  Move move = Pick(moves, random);
  if (opposite != nullptr) {
    std::vector<Move> fitting;
    for (const Move& other : moves)
      if (other.from == opposite->to && other.to == opposite->from) fitting.push_back(other);
    if (!fitting.empty()) move = Pick(fitting, random);
  }
  Apply(move, tile);
  trace.SetDecision(index, std::move(tile));
  return move;
}

void MutateTiles(ScheduleTrace& trace, const std::vector<size_t>& tiles, double coupled, Random& random) {
  const size_t first = random.Below(tiles.size());
  const Move move = MoveTile(trace, tiles[first], nullptr, random);
  if (tiles.size() < 2 || random.Unit() >= coupled) return;
  const size_t second = (first + 1 + random.Below(tiles.size() - 1)) % tiles.size();
  MoveTile(trace, tiles[second], &move, random);
}

void MutateCategory(ScheduleTrace& trace, size_t index, Random& random) {
  const int64_t count = CategoryCount(trace.instruction(index));
  const int64_t current = std::get<int64_t>(*trace.decision(index));
  trace.SetDecision(index, (current + 1 + static_cast<int64_t>(random.Below(count - 1))) % count);
}

double TileDistance(const Tile& a, const Tile& b) {
  if (a.size() != b.size()) return 2;
  double distance = 0;
  for (size_t i = 0; i < a.size(); ++i)
    distance += std::fabs(std::log2(static_cast<double>(a[i])) - std::log2(static_cast<double>(b[i])));
  return distance;
}

}  // namespace

int64_t InnermostLimit(const Instruction& instruction) {
  const int64_t* limit = instruction.attrs.size() > 1 ? std::get_if<int64_t>(&instruction.attrs[1]) : nullptr;
  return limit == nullptr || *limit == -1 ? INT64_MAX : *limit;
}
int64_t CategoryCount(const Instruction& instruction) {
  const auto* candidates = instruction.attrs.empty() ? nullptr : std::get_if<std::vector<Attr>>(&instruction.attrs[0]);
  return candidates == nullptr ? 0 : static_cast<int64_t>(candidates->size());
}

std::optional<ScheduleTrace> Mutate(const ScheduleTrace& trace, const MutationShares& shares, Random& random) {
  const Changeable changeable = ChangeableOf(trace);
  const double tile_share = changeable.tiles.empty() ? 0 : shares.tile;
  const double category_share = changeable.categories.empty() ? 0 : shares.categorical;
  if (tile_share + category_share <= 0) return std::nullopt;
  ScheduleTrace child = trace;
  if (random.Unit() * (tile_share + category_share) < tile_share) {
    MutateTiles(child, changeable.tiles, shares.coupled, random);
  } else {
    MutateCategory(child, Pick(changeable.categories, random), random);
  }
  return child;
}

std::optional<ScheduleTrace> MutateTwice(const ScheduleTrace& trace, Random& random) {
  const Changeable changeable = ChangeableOf(trace);
  const size_t num_tiles = changeable.tiles.size(), num_all = num_tiles + changeable.categories.size();
  if (num_all < 2) return std::nullopt;
  const size_t first = random.Below(num_all), second = (first + 1 + random.Below(num_all - 1)) % num_all;
  ScheduleTrace child = trace;
  std::optional<Move> move;
  for (const size_t i : {std::min(first, second), std::max(first, second)}) {  // Tiles come first.
    if (i < num_tiles)
      move = MoveTile(child, changeable.tiles[i], move ? &*move : nullptr, random);
    else
      MutateCategory(child, changeable.categories[i - num_tiles], random);
  }
  return child;
}

ScheduleTrace Crossover(const ScheduleTrace& a, const ScheduleTrace& b, Random& random) {
  ScheduleTrace child = a;
  for (const auto& [index, decision] : b.decisions()) {
    if (random.Below(2) == 1) child.SetDecision(index, decision);
  }
  return child;
}

std::vector<ScheduleTrace> Neighbours(const ScheduleTrace& trace) {
  std::vector<ScheduleTrace> neighbours;
  const Changeable changeable = ChangeableOf(trace);
  for (size_t index : changeable.tiles) {
    const Tile& tile = std::get<Tile>(*trace.decision(index));
    for (const Move& move : MovesOf(tile, InnermostLimit(trace.instruction(index)))) {
      Tile moved = tile;
      Apply(move, moved);
      neighbours.push_back(trace);
      neighbours.back().SetDecision(index, std::move(moved));
    }
  }
  for (size_t index : changeable.categories) {
    const int64_t current = std::get<int64_t>(*trace.decision(index));
    for (int64_t value = 0; value < CategoryCount(trace.instruction(index)); ++value) {
      if (value == current) continue;
      neighbours.push_back(trace);
      neighbours.back().SetDecision(index, value);
    }
  }
  return neighbours;
}

bool IsSameSketch(const ScheduleTrace& a, const ScheduleTrace& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    const Instruction& x = a.instruction(i);
    const Instruction& y = b.instruction(i);
    if (x.kind != y.kind || x.attrs != y.attrs || x.inputs.size() != y.inputs.size()) return false;
  }
  return true;
}

int FindSketch(std::span<const Sketch> sketches, const ScheduleTrace& trace) {
  for (size_t i = 0; i < sketches.size(); ++i)
    if (IsSameSketch(sketches[i].trace, trace)) return static_cast<int>(i);
  return -1;
}

double DecisionDistance(const ScheduleTrace& a, const ScheduleTrace& b) {
  double distance = 0;
  for (const auto& [index, decision] : a.decisions()) {
    const Decision* other = b.decision(index);
    if (other == nullptr || other->index() != decision.index()) {
      distance += 2;
    } else if (const Tile* tile = std::get_if<Tile>(&decision)) {
      distance += TileDistance(*tile, std::get<Tile>(*other));
    } else if (*other != decision) {
      distance += 2;
    }
  }
  return distance;
}

uint64_t DecisionHash(const ScheduleTrace& trace) {
  uint64_t hash = trace.size();
  const auto add = [&](uint64_t value) { hash = Random::Mix(hash * 0x9e3779b97f4a7c15u + value + 1); };
  for (const auto& [index, decision] : trace.decisions()) {
    add(index);
    if (const Tile* tile = std::get_if<Tile>(&decision)) {
      for (int64_t factor : *tile) add(static_cast<uint64_t>(factor));
    } else {
      add(static_cast<uint64_t>(std::get<int64_t>(decision)));
    }
  }
  return hash;
}

}  // namespace lathe
