#include "tuner/space/register_pressure.h"

#include <algorithm>
#include <map>

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

  Live CountLive(bool one_step) const {
    struct Use {
      int64_t first, last;
    };
    Live live;
    int64_t time = 0;
    std::map<std::pair<size_t, int64_t>, Use> uses, in_first_step;
    for (ForEachStatement walk(unrolled_, one_step); !walk.is_done(); walk.Next(), ++time) {
      for (size_t i = 0; i < reads_.size(); ++i) {
        const int64_t place = reads_[i].is_known ? walk.Place(reads_[i].steps) : time;
        uses.try_emplace({i, place}, Use{time, time}).first->second.last = time;
        if (time < tile_) in_first_step.try_emplace({i, place}, Use{time, time}).first->second.last = time;
      }
    }
    std::vector<int64_t> changes(static_cast<size_t>(time) + 1, 0);
    for (const auto& [key, use] : uses) {
      if (use.first == use.last) {
        live.once = 1;
        continue;
      }
      changes[static_cast<size_t>(use.first)] += RegistersOf(reads_[key.first]);
      changes[static_cast<size_t>(use.last) + 1] -= RegistersOf(reads_[key.first]);
    }
    int64_t now = 0;
    for (const int64_t change : changes) live.most = std::max(live.most, now += change);
    for (const auto& [key, use] : in_first_step)
      if (use.first != use.last && reads_[key.first].stride != Stride::kZero) live.vectors_of_step += per_vector_;
    return live;
  }
  int64_t RegistersOf(const Read& read) const { return read.stride == Stride::kZero ? 1 : per_vector_; }

  // The statements that unrolling writes out, in their order; of one step of the reduction or of all.
  class ForEachStatement {
   public:
    ForEachStatement(const std::vector<UnrolledLoop>& loops, bool one_step)
        : loops_(loops), one_step_(one_step), at_(loops.size(), 0) {}
    bool is_done() const { return is_done_; }
    void Next() {
      for (size_t i = loops_.size(); i-- > 0;) {
        if (one_step_ && loops_[i].reduces) continue;
        if (++at_[i] < loops_[i].extent) return;
        at_[i] = 0;
      }
      is_done_ = true;
    }
    int64_t Place(const std::vector<int64_t>& steps) const {
      int64_t place = 0;
      for (size_t i = 0; i < at_.size(); ++i) place += at_[i] * steps[i];
      return place;
    }

   private:
    const std::vector<UnrolledLoop>& loops_;
    const bool one_step_;
    std::vector<int64_t> at_;
    bool is_done_ = false;
  };

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
