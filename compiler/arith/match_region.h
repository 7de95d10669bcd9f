// Whether a buffer can be a view of a region.
#pragma once

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// InvalidArgument, as TVM refuses: another dtype or scope than the source's, an alignment that it does not promise,
// broadcasting, or extents that are not the region's last ones, before which there are ones. A variable as an extent
// takes the region's.
Status CheckMatch(const Buffer& view, const BufferRegion& source);

}  // namespace lathe
