#include "tuner/space/register_pressure.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "compiler/arith/index_space.h"
#include "compiler/ir/visitor.h"
#include "compiler/schedule/analysis.h"
#include "tuner/space/block_pattern.h"

namespace lathe {
namespace {

constexpr int64_t kMostStatements = 4096;  // That are looked at one by one.

// The update of a register tile and the loops around it in its kernel's innermost scope.
struct Update {
  const BlockRealize* realize = nullptr;
  std::vector<const For*> loops;  // Outermost first.
  const BlockNode& block() const { return *realize->block; }
};

void FindUpdates(const Stmt& stmt, std::vector<const For*>& loops, std::vector<Update>& found) {
  if (const For* loop = stmt.As<For>()) {
    loops.push_back(loop);
    FindUpdates(loop->body, loops, found);
    loops.pop_back();
  } else if (const Seq* seq = stmt.As<Seq>()) {
    for (const Stmt& child : seq->stmts) FindUpdates(child, loops, found);
  } else if (const BlockRealize* realize = stmt.As<BlockRealize>()) {
    const BlockNode& block = *realize->block;
    const bool is_update =
        block.writes.size() == 1 && block.writes[0].buffer->scope == "register" && Reads(block, block.writes[0].buffer);
    if (is_update) {
      found.push_back({realize, loops});
    } else {
      std::vector<const For*> inner;
      FindUpdates(block.body, block.iter_vars.empty() ? inner : loops, found);
    }
  }
}

struct UnrolledLoop {
  int id = 0;  // In the index space.
  int64_t extent = 1;
  bool reduces = false;
};

// What a read of the update touches, as a linear form of its unrolled loops.
struct Read {
  std::vector<int64_t> steps;  // Per unrolled loop.
  Stride stride = Stride::kZero;
  bool is_known = true;  // Else each statement reads something else.
};

// The first and the last statement that read each place. A hash: a candidate has hundreds of statements.
class UsesOfPlaces {
 public:
  struct Use {
    int64_t place;
    size_t first, last, last_in_first_step;
  };
  // `places`: of each statement; the first `step` of them are the first step of a reduction.
  UsesOfPlaces(const std::vector<int64_t>& places, int64_t step) : slots_(std::bit_ceil(2 * places.size()), -1) {
    for (size_t time = 0; time < places.size(); ++time) {
      Use& use = Find(places[time], time);
      use.last = time;
      if (time < static_cast<size_t>(step)) use.last_in_first_step = time;
    }
  }
  const std::vector<Use>& all() const { return uses_; }

 private:
  Use& Find(int64_t place, size_t time) {
    const size_t mask = slots_.size() - 1;
    size_t slot = (static_cast<uint64_t>(place) * 0x9e3779b97f4a7c15u >> 32) & mask;
    while (slots_[slot] >= 0 && uses_[static_cast<size_t>(slots_[slot])].place != place) slot = (slot + 1) & mask;
    if (slots_[slot] < 0) {
      slots_[slot] = static_cast<int>(uses_.size());
      uses_.push_back({place, time, time, time});
    }
    return uses_[static_cast<size_t>(slots_[slot])];
  }

  std::vector<int> slots_;  // Of a place: its use, -1: none.
  std::vector<Use> uses_;
};

class Pressure {
 public:
  Pressure(const Update& update, const Target& target) : update_(update) {
    StandStill();
    for (const For* loop : update.loops) {
      const int64_t* extent = AsIntConst(loop->extent);
      if (extent == nullptr) continue;
      const int id = space_.AddLoop(loop->loop_var, *extent);
      if (loop->kind == ForKind::kVectorized) lane_loop_ = loop, lane_loop_id_ = id, lanes_ = *extent;
      if (loop->kind == ForKind::kUnrolled) unrolled_.push_back({id, *extent, Reduces(loop)});
    }
    const BlockNode& block = update.block();
    for (size_t i = 0; i < block.iter_vars.size(); ++i)
      space_.Bind(block.iter_vars[i].var, update.realize->iter_values[i]);
    const int64_t per_register = std::max(1, target.register_file().lanes(block.writes[0].buffer->dtype.bits));
    per_vector_ = (lanes_ + per_register - 1) / per_register;
    for (const UnrolledLoop& loop : unrolled_) (loop.reduces ? steps_ : tile_) *= loop.extent;
    for (const BufferRegion& read : block.reads)
      if (!read.buffer.same_as(block.writes[0].buffer)) reads_.push_back(ReadOf(read));
    keeps_apart_ = 2 * accumulators() > target.register_file().num_vector_registers;
  }

  int64_t Registers() const {
    const bool is_masked = lane_loop_ != nullptr && UsesVar(update_.realize->predicate, lane_loop_->loop_var.get());
    const bool shuffles =
        std::any_of(reads_.begin(), reads_.end(), [](const Read& read) { return read.stride == Stride::kShort; });
    const Live live = CountLive(keeps_apart_ || steps_ * tile_ > kMostStatements);
    const int64_t next_step = steps_ > 1 ? live.vectors_of_step + 1 : 0;
    return accumulators() + live.most + live.once + next_step + (shuffles ? 2 * per_vector_ : 0) + (is_masked ? 1 : 0);
  }

 private:
  struct Live {
    int64_t most = 0;             // Registers of what is met again, at the worst place.
    int64_t once = 0;             // 1: there is something that is not.
    int64_t vectors_of_step = 0;  // Registers of vectors that are met again in the same step.
  };

  // Variables of loops further out are at their beginning.
  void StandStill() {
    for (const Expr& value : update_.realize->iter_values) {
      PostOrderVisit(value, [&](const Expr& e) {
        if (IsVar(e)) space_.AddLoop(Var(e), 1);
      });
    }
  }
  int64_t accumulators() const { return tile_ * per_vector_; }
  bool Reduces(const For* loop) const {
    const BlockNode& block = update_.block();
    for (size_t i = 0; i < block.iter_vars.size(); ++i) {
      if (block.iter_vars[i].kind == IterKind::kSpatial &&
          UsesVar(update_.realize->iter_values[i], loop->loop_var.get()))
        return false;
    }
    return true;
  }
  Read ReadOf(const BufferRegion& region) {
    Read read;
    const std::optional<AffineForm> place = space_.FlatPlace(region);
    read.is_known = place.has_value();
    const auto step_of = [&](int loop) { return place ? space_.At(*place, loop, 1) - space_.At(*place, loop, 0) : 0; };
    for (const UnrolledLoop& loop : unrolled_) read.steps.push_back(step_of(loop.id));
    if (lane_loop_ == nullptr) return read;
    const int64_t step = step_of(lane_loop_id_);
    read.stride = step == 0 ? Stride::kZero : step == 1 ? Stride::kOne : Stride::kShort;
    return read;
  }

  // Statements are those that unrolling writes out, in their order; of one step of the reduction or of all.
  Live CountLive(bool one_step) const {
    const int64_t count = one_step ? tile_ : tile_ * steps_;
    Live live;
    std::vector<int64_t> changes(static_cast<size_t>(count) + 1, 0);  // From one statement to the next.
    for (const Read& read : reads_) CountUses(read, PlacesOf(read, one_step), changes, live);
    int64_t now = 0;
    for (const int64_t change : changes) live.most = std::max(live.most, now += change);
    return live;
  }
  // What each statement reads.
  std::vector<int64_t> PlacesOf(const Read& read, bool one_step) const {
    std::vector<int64_t> places{0};
    for (size_t i = 0; i < unrolled_.size(); ++i) {
      if (one_step && unrolled_[i].reduces) continue;
      const std::vector<int64_t> outer = std::exchange(places, {});
      places.reserve(outer.size() * static_cast<size_t>(unrolled_[i].extent));
      for (const int64_t place : outer)
        for (int64_t at = 0; at < unrolled_[i].extent; ++at) places.push_back(place + at * read.steps[i]);
    }
    if (!read.is_known) std::iota(places.begin(), places.end(), 0);
    return places;
  }
  void CountUses(const Read& read, const std::vector<int64_t>& places, std::vector<int64_t>& changes,
                 Live& live) const {
    const UsesOfPlaces uses(places, tile_);
    for (const UsesOfPlaces::Use& use : uses.all()) {
      if (use.first == use.last) {
        live.once = 1;
        continue;
      }
      changes[use.first] += RegistersOf(read);
      changes[use.last + 1] -= RegistersOf(read);
      if (use.last_in_first_step > use.first && read.stride != Stride::kZero) live.vectors_of_step += per_vector_;
    }
  }
  int64_t RegistersOf(const Read& read) const { return read.stride == Stride::kZero ? 1 : per_vector_; }

  const Update& update_;
  std::vector<UnrolledLoop> unrolled_;  // Outermost first.
  std::vector<Read> reads_;
  const For* lane_loop_ = nullptr;
  int lane_loop_id_ = 0;
  IndexSpace space_;
  int64_t lanes_ = 1, per_vector_ = 1, tile_ = 1, steps_ = 1;
  bool keeps_apart_ = false;
};

}  // namespace

int64_t RegistersNeeded(const PrimFunc& scheduled, const Target& target) {
  std::vector<Update> updates;
  std::vector<const For*> loops;
  FindUpdates(scheduled.body, loops, updates);
  int64_t most = 0;
  for (const Update& update : updates) most = std::max(most, Pressure(update, target).Registers());
  return most;
}

}  // namespace lathe
