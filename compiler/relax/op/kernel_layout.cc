#include "compiler/relax/op/kernel_layout.h"

namespace lathe::relax {

std::string BlockedLayout(std::string_view plain, int64_t block, char axis) {
  return std::string(plain) + std::to_string(block) + axis;
}

int64_t BlockOfLayout(std::string_view layout) {
  int64_t block = 0;
  for (const char c : layout) {
    if (c >= '0' && c <= '9' && block < 1'000'000) block = block * 10 + (c - '0');
  }
  return block;
}

WeightBlocks BlocksOfLayout(std::string_view layout) {
  const size_t columns_end = layout.find('n');
  if (columns_end == std::string_view::npos) return {BlockOfLayout(layout), 0};
  return {BlockOfLayout(layout.substr(0, columns_end)), BlockOfLayout(layout.substr(columns_end))};
}

}  // namespace lathe::relax
