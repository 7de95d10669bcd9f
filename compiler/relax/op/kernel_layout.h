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

}  // namespace lathe::relax
