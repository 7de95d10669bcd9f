// Statements that are instructions of AMX: what the tensor intrinsics of compiler/schedule/intrinsics/amx.py leave, in
// the lowered form.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

inline constexpr char kAmxAttr[] = "pragma_amx";
inline constexpr char kTileScope[] = "amx.tmm";  // Of buffers that are in tile registers.

// A tile in memory, or in buffers of kTileScope: its rows, `stride` elements apart.
struct TileAccess {
  Buffer buffer;
  Expr first;   // Where the tile begins, in elements.
  Expr stride;  // In elements.
};

struct TileStatement {
  std::string instruction;  // "tilezero", "tilestored", "tdpbusd" ...
  int64_t rows = 0, columns = 0;
  int64_t steps = 0, parts = 0;      // Of a product: its depth, in groups of parts.
  std::optional<TileAccess> sums;    // Always there: what is zeroed, stored or added to.
  std::optional<TileAccess> a, b;    // Of a product.
  std::optional<TileAccess> target;  // Of "tilestored".

  bool is_product() const { return a.has_value(); }
  bool Fits(const TileStatement& product) const;  // Whether tiles configured for the product are this one's, too.
};

// FailedPrecondition where what stands under the attribute is not what an instruction does.
StatusOr<TileStatement> AsTileStatement(const AttrStmt& attr);

}  // namespace lathe
