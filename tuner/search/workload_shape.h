// What two workloads have in common that differ in their extents only, and how far they are apart. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "compiler/ir/stmt.h"
#include "support/digest.h"

namespace lathe {

struct WorkloadShape {
  Digest structure;  // SHA-256 of the canonical text (docs/formats/workload.md) with "#" for each integer.
  std::vector<int64_t>
      integers;  // What was left out, in order: extents, offsets, strides. Equal structures: equally many.
};
WorkloadShape ShapeOf(const PrimFunc& func);
WorkloadShape ShapeOfText(std::string_view canonical_text);

// Sum over the integers of the doublings from one to the other; nullopt: other structures, which nothing compares.
std::optional<double> ShapeDistance(const WorkloadShape& a, const WorkloadShape& b);

}  // namespace lathe
