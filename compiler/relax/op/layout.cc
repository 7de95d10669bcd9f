#include "compiler/relax/op/layout.h"

#include <algorithm>
#include <cstring>

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

TensorData BlockWeights(const TensorData& weight, int64_t in, int64_t out) {
  const std::vector<int64_t>& from = weight.shape();
  const int64_t by_in = std::max<int64_t>(in, 1), by_out = std::max<int64_t>(out, 1), size = weight.dtype().bytes();
  const int64_t inputs = from[1], taps = weight.num_elements() / std::max<int64_t>(1, from[0] * inputs);
  std::vector<int64_t> shape = from;
  shape[0] = (from[0] + by_out - 1) / by_out;
  shape[1] /= by_in;
  std::vector<std::byte> bytes(static_cast<size_t>(shape[0] * by_out * inputs * taps * size));
  for (int64_t o = 0; o < from[0]; ++o) {
    for (int64_t i = 0; i < inputs; ++i) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        const int64_t block = (o / by_out * (inputs / by_in) + i / by_in) * taps + tap;
        const int64_t place = (block * by_in + i % by_in) * by_out + o % by_out;
        std::memcpy(bytes.data() + place * size, weight.bytes().data() + ((o * inputs + i) * taps + tap) * size,
                    static_cast<size_t>(size));
      }
    }
  }
  for (const int64_t block : {in, out})
    if (block > 0) shape.push_back(block);
  return TensorData(weight.dtype(), std::move(shape), std::move(bytes));
}

}  // namespace lathe::relax
