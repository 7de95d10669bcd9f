#include "tuner/space/tile_anchor.h"

#include "tuner/space/default_schedule.h"

namespace lathe {

std::vector<Schedule> TileAnchor(const Schedule& schedule, int row, std::span<const TilingOptions> tilings,
                                 const Target& target) {
  std::vector<Schedule> tiled;
  for (const TilingOptions& options : tilings) {
    Schedule attempt = schedule;
    if (!TileReduction(attempt, schedule.BlockOf(row).name, target, options).ok()) continue;
    ScheduleTheRest(attempt, target);
    tiled.push_back(std::move(attempt));
  }
  return tiled;
}

}  // namespace lathe
