#include "tuner/space/space_rule.h"

#include "tuner/space/amx_tiles.h"
#include "tuner/space/chain_tiles.h"
#include "tuner/space/dot_tiles.h"
#include "tuner/space/packed_tiles.h"
#include "tuner/space/reduction_tiles.h"
#include "tuner/space/row_reduction.h"
#include "tuner/space/transposed_tiles.h"
#include "tuner/space/vector_tiles.h"
#include "tuner/space/window_tiles.h"

namespace lathe {
namespace {

constexpr SpaceRule kCpuRules[] = {
    {"dot_tiles", "register tiles of the anchor whose steps an instruction takes several at a time", DotTiles},
    {"amx_tiles", "products of narrow types by the anchor's rows and columns in tile registers", AmxTiles},
    {"vector_tiles", "register tiles of the anchor, for each axis that can be vector lanes", VectorTiles},
    {"packed_tiles", "the same for axes that become lanes by another layout of what is read", PackedTiles},
    {"chain_tiles", "two products and what reduces the rows between them, for some rows at once", ChainTiles},
    {"rows", "functions that reduce the axis along which their input lies in memory, row by row", RowSchedules},
    {"reduction_tiles", "reductions that use most of their input once, by vectors of results", ReductionTiles},
    {"window_tiles", "pools of padded images in blocks of channels, the border without a copy", WindowTiles},
    {"transposed_tiles", "copies that turn rows into columns, by square tiles in registers", TransposedTiles},
};

}  // namespace

std::span<const SpaceRule> CpuSpaceRules() { return kCpuRules; }

}  // namespace lathe
