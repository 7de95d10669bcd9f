#include "tuner/space/dot_tiles.h"

#include "tuner/space/anchor.h"
#include "tuner/space/dot_product.h"
#include "tuner/space/tile_anchor.h"

namespace lathe {

std::vector<Schedule> DotTiles(const Schedule& inlined, const Target& target) {
  const std::optional<int> anchor = FindAnchor(inlined, target);
  if (!anchor) return {};
  std::vector<TilingOptions> tilings;
  for (const DotTiling& dot : DotTilingsOf(inlined.BlockOf(*anchor), target))
    tilings.push_back({dot.lane_iter, dot.intrin.lanes, Inputs::kBeforehand, {}, /*copies_at_outer=*/false, dot});
  return TileAnchor(inlined, *anchor, tilings, target);
}

}  // namespace lathe
