#include "tuner/space/target_space.h"

#include <algorithm>

#include "support/check.h"
#include "tuner/space/constraints.h"

namespace lathe {
namespace {

constexpr TargetSpace kTargetSpaces[] = {
    {"llvm", CpuSpaceRules, CheckConstraints, ExtractFeatures},
};

}  // namespace

const TargetSpace& SpaceOf(const Target& target) {
  const auto row = std::find_if(std::begin(kTargetSpaces), std::end(kTargetSpaces),
                                [&](const TargetSpace& each) { return each.kind == target.kind(); });
  CHECK(row != std::end(kTargetSpaces));
  return *row;
}

}  // namespace lathe
