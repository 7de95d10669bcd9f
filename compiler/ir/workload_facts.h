// What a function that is not scheduled says about itself: how much arithmetic, how much rounding. Pure.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/stmt.h"

namespace lathe {

// Numbers of one floating-point type are rounded that often on the way to one element: once by every store whose value
// is computed in that type, as often as there are terms by one that adds up a sum.
struct Rounding {
  DataType type;
  double count = 0;
  bool operator==(const Rounding&) const = default;
};

struct WorkloadFacts {
  double flops = 0;  // Operations on data of one call, 2 per multiply-add, integers too; 0 where an extent is symbolic.
  double contraction_flops =
      0;  // Of contractions of one type alone (compiler/ir/contraction.h); symbolic extents count as 1.
  std::vector<Rounding> roundings;  // One per type, in the order of their first stores.
  // The narrowest type of data that is multiplied, in whatever type that is done; nullopt: 32 bits or more.
  std::optional<DataType> narrow_factor;
};

WorkloadFacts FactsOf(const PrimFunc& func);

}  // namespace lathe
