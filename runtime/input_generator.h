// Seeded tensor contents: any element is computable on its own, on any machine, bit for bit (docs/formats/inputs.md).
#pragma once

#include <cstdint>

#include "runtime/dtype.h"

namespace lathe {

// 64 random bits for element `index` of parameter `param` under `seed`.
constexpr uint64_t MixInputBits(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
constexpr uint64_t kInputStep = 0x9e3779b97f4a7c15u;
constexpr uint64_t InputKey(uint64_t seed, uint32_t param) {
  return MixInputBits(seed + kInputStep * (uint64_t{param} + 1));
}
constexpr uint64_t InputBits(uint64_t key, uint64_t index) { return MixInputBits(key + kInputStep * (index + 1)); }

// Fills `count` scalar elements (lanes count as elements) of supported `dtype`, beginning with element `first` of
// parameter `param`. Floats lie in (-1, 1) and are never zero or denormal; signed integers in [-8, 7]; unsigned in [0,
// 15]; bool 0 or 1.
void FillInput(uint64_t seed, uint32_t param, DType dtype, void* data, int64_t first, int64_t count);

// The same value as a double, exactly: what a float64 reference uses in place of the narrow type.
double InputValue(uint64_t seed, uint32_t param, DType dtype, int64_t index);

}  // namespace lathe
