// Where a buffer that a block touches is introduced, and what others do with its memory there: for primitives that
// change how a buffer is laid out.
#pragma once

#include "compiler/schedule/cache_stage.h"

namespace lathe {

struct BufferSite {
  Buffer buffer;
  int row;  // The block that allocates it; the root block of a function whose parameter it is.
  bool is_param;
};

// Of the index-th buffer that block `row` touches on that side. An error of `primitive` if there is none, or it is a
// view of another (match_buffer).
StatusOr<BufferSite> SiteOf(const Schedule& schedule, int row, int index, BufferSide side, const char* primitive);

// An error of `primitive` at `row` if anybody below the site looks at the buffer's memory in another way than by
// loading and storing its elements: through its data, another buffer over it or, unless `may_be_viewed`, a view.
Status CheckOnlyElements(const Schedule& schedule, const BufferSite& site, int row, const char* primitive,
                         bool may_be_viewed = false);

// Puts `body`, a block realize, in the place of the site's block, where everybody uses `to` instead of the buffer.
void ReplaceAtSite(Schedule& schedule, const BufferSite& site, const Buffer& to, Stmt body,
                   const std::vector<BlockReuse>& reuse);

}  // namespace lathe
