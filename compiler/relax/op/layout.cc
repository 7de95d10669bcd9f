#include "compiler/relax/op/layout.h"

namespace lathe::relax {

std::string BlockedLayout(std::string_view plain, int64_t block, char axis) {
  return std::string(plain) + std::to_string(block) + axis;
}

int64_t BlockOf(std::string_view layout, char axis) {
  int64_t block = 0;
  for (const char c : layout) {
    if (c == axis) return block;
    block = c >= '0' && c <= '9' && block < 1'000'000 ? block * 10 + (c - '0') : 0;
  }
  return 0;
}

}  // namespace lathe::relax
