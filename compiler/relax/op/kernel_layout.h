// Names of blocked weight layouts, as in TVM: "OIHW16o" keeps 16 output channels next to each other, "NK16n" 16 columns
// of a dense layer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lathe::relax {

// "OIHW", 16, 'o' -> "OIHW16o".
std::string BlockedLayout(std::string_view plain, int64_t block, char axis);
// 16 for "OIHW16o"; 0 for a plain layout.
int64_t BlockOfLayout(std::string_view layout);

// Of a dense layer's weights: columns next to each other, and steps of the sum next to each other for each of them.
struct WeightBlocks {
  int64_t columns = 0, parts = 0;
};
// {16, 4} for "NK16n4k", {16, 0} for "NK16n".
WeightBlocks BlocksOfLayout(std::string_view layout);

}  // namespace lathe::relax
