#include "tuner/space/space_generator.h"

#include <optional>

#include "support/status_macros.h"
#include "tuner/space/auto_inline.h"
#include "tuner/space/default_schedule.h"
#include "tuner/space/target_space.h"

namespace lathe {
namespace {

Sketch SketchOf(const Schedule& schedule) {
  Sketch sketch{schedule.trace().Simplified(/*remove_postproc=*/true)};
  sketch.trace.ClearDecisions();
  return sketch;
}

class PostOrderApply : public SpaceGenerator {
 public:
  explicit PostOrderApply(std::optional<std::span<const SpaceRule>> rules) : rules_(rules) {}
  StatusOr<std::vector<Sketch>> Generate(const PrimFunc& workload, const Target& target) const override {
    ASSIGN_OR_RETURN(Schedule inlined, Schedule::Create(workload));
    RETURN_IF_ERROR(AutoInline(inlined));
    std::vector<Sketch> sketches;
    for (const SpaceRule& rule : rules_ ? *rules_ : SpaceOf(target).rules())
      for (const Schedule& schedule : rule.apply(inlined, target)) sketches.push_back(SketchOf(schedule));
    if (!sketches.empty()) return sketches;
    ASSIGN_OR_RETURN(const Schedule nothing_to_choose, DefaultSchedule(workload, target));
    return std::vector<Sketch>{SketchOf(nothing_to_choose)};
  }

 private:
  const std::optional<std::span<const SpaceRule>> rules_;  // nullopt: the target's.
};

}  // namespace

std::unique_ptr<SpaceGenerator> MakePostOrderApply() { return std::make_unique<PostOrderApply>(std::nullopt); }

std::unique_ptr<SpaceGenerator> MakePostOrderApply(std::span<const SpaceRule> rules) {
  return std::make_unique<PostOrderApply>(rules);
}

}  // namespace lathe
