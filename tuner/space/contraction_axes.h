// Sums of products of two inputs, by what their iter vars move: what a template asks of a block.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/stmt.h"

namespace lathe {

enum class AxisRole : uint8_t {
  kData,    // Moves the first factor only, or none: a row, a pixel, a picture of a batch.
  kWeight,  // Moves the second factor only: a column, an output channel.
  kBoth,    // A channel that is convolved by itself.
  kReduce,
  kWindow,  // Reduces, and moves the first factor along the same dimension as a pixel does.
};

// C[...] = C[...] + data[...] * weight[...].
struct ContractionAxes {
  size_t data = 0, weight = 0;  // Positions among what the block reads.
  std::vector<AxisRole> roles;  // By iter var.
  std::vector<size_t> pixels;   // Iter vars of role kData that windows move with, in order.
  size_t output_rank = 0;

  // Iter vars of that role with more than one iteration, in order; but for `without`.
  std::vector<size_t> LongOnes(const BlockNode& block, AxisRole role,
                               std::optional<size_t> without = std::nullopt) const;
  bool Has(AxisRole role) const;
};
std::optional<ContractionAxes> ContractionAxesOf(const BlockNode& block);

}  // namespace lathe
