// What hand-written templates are made of: knobs, and the nest that they shape.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"
#include "tuner/space/contraction_axes.h"
#include "tuner/space/tile_levels.h"

namespace lathe {

// Where a loop of a template's nest stands, outermost first: outer loops are fused and parallel, `steps` and `unrolled`
// reduce, the tile is unrolled and its accumulators are registers. Lanes are inside of all.
enum class NestLevel : uint8_t { kOuter, kMiddle, kSteps, kUnrolled, kTile };

// The nest of one contraction that a template shapes, loop by loop. Every loop is given a place once.
class TemplateNest {
 public:
  // Splits off the lanes. `block` is as AutoInline left it.
  static StatusOr<TemplateNest> Create(Schedule& schedule, BlockRV block, const LaneChoice& lanes);

  // AutoTVM's define_split: sampled factors of the loop of an iter var, in vectors where it has the lanes, one for each
  // level; the innermost at most `most`. Each knob is an annotation of the block, "knob.tile_x".
  Status DefineSplit(const char* knob, size_t iter, const std::vector<NestLevel>& levels, int most);
  // A knob of two values: the loop is unrolled, or it is not.
  Status DefineUnroll(const char* knob, size_t iter);
  // The whole loop, without a knob.
  void Place(size_t iter, NestLevel level) { at(level).push_back(loops_[iter]); }

  // Orders the loops, moves the accumulators' write-back to where a tile is finished, and says how each loop runs.
  Status Finish();

 private:
  TemplateNest(Schedule& schedule, BlockRV block, BlockRV write_back, const LaneChoice& lanes)
      : schedule_(schedule), block_(block), write_back_(write_back), lanes_(lanes) {}
  std::vector<LoopRV>& at(NestLevel level) { return levels_[static_cast<size_t>(level)]; }
  Status NameKnob(const char* knob, const std::vector<VarRV>& vars);

  Schedule& schedule_;
  BlockRV block_, write_back_;
  LaneChoice lanes_;
  LoopRV lane_loop_;
  std::vector<LoopRV> loops_;  // By iter var; of the lanes' the vectors.
  std::array<std::vector<LoopRV>, 5> levels_;
};

}  // namespace lathe
