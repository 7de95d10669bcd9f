// Seeded tensor contents: any element is computable on its own, on any machine, bit for bit (docs/formats/inputs.md).
#pragma once

#include <cstdint>
#include <span>

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

// Integers from `low` to `high`.
struct InputRange {
  int64_t low = 0, high = 0;
  bool operator==(const InputRange&) const = default;
};
// What integers of `dtype` are drawn from where nothing else is said: all values of 8 and 16 bits, so that what
// saturates or sign-extends wrongly shows; 21 of 32 bits, which float32 holds exactly; 41 of 64, which float64 does.
InputRange DefaultInputRange(DType dtype);
// Of a scalar parameter, which is an extent or an index more often than a number: [-8, 7], [0, 15].
InputRange DefaultScalarRange(DType dtype);

// What the integers of one parameter are drawn from: an index has to lie in what it indexes.
struct ParamRange {
  uint32_t param = 0;
  InputRange range;
  bool operator==(const ParamRange&) const = default;
};
InputRange RangeOf(std::span<const ParamRange> ranges, uint32_t param, InputRange otherwise);

// Fills `count` scalar elements (lanes count as elements) of supported `dtype`, beginning with element `first` of
// parameter `param`. Floats lie in (-1, 1) and are never zero or denormal; bool is 0 or 1; integers lie in `range`,
// which `dtype` must hold.
void FillInput(uint64_t seed, uint32_t param, DType dtype, InputRange range, void* data, int64_t first, int64_t count);

// The same value as a double, exactly: what a float64 reference uses in place of the narrow type.
double InputValue(uint64_t seed, uint32_t param, DType dtype, InputRange range, int64_t index);

}  // namespace lathe
