#include "runner/input_generator.h"

#include <bit>
#include <cstring>

namespace lathe {
namespace {

// An odd multiple of 2^-kBits in (-1, 1): exact in every format with kBits of precision.
template <int kBits>
double OddFraction(uint64_t bits) {
  const auto u = static_cast<int64_t>(bits >> (64 - kBits));
  return static_cast<double>(2 * u + 1 - (int64_t{1} << kBits)) * (1.0 / static_cast<double>(uint64_t{1} << kBits));
}

// The upper half of a product. By halves, since 32-bit boards have no type of 128 bits.
uint64_t HighProduct(uint64_t a, uint64_t b) {
  const uint64_t a_low = a & 0xffffffff, a_high = a >> 32, b_low = b & 0xffffffff, b_high = b >> 32;
  const uint64_t middle = a_high * b_low + (a_low * b_low >> 32);  // No sum here passes 64 bits.
  return a_high * b_high + (middle >> 32) + ((a_low * b_high + (middle & 0xffffffff)) >> 32);
}

// low + floor(bits * (high - low + 1) / 2^64).
uint64_t InRange(uint64_t bits, InputRange range) {
  const uint64_t low = static_cast<uint64_t>(range.low), count = static_cast<uint64_t>(range.high) - low + 1;
  return low + (count == 0 ? bits : HighProduct(bits, count));
}
uint16_t BFloatBits(double value) {
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16);
}

template <typename T, typename Convert>
void Fill(uint64_t key, void* data, int64_t first, int64_t count, Convert convert) {
  auto* out = static_cast<char*>(data);
  for (int64_t i = 0; i < count; ++i) {
    const T value = static_cast<T>(convert(InputBits(key, static_cast<uint64_t>(first + i))));
    std::memcpy(out + i * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
  }
}

}  // namespace

InputRange DefaultInputRange(DType dtype) {
  const bool is_signed = dtype.code == DTypeCode::kInt;
  const int bits = dtype.bits <= 16 ? dtype.bits : dtype.bits == 32 ? 21 : 41;
  const int64_t half = int64_t{1} << (bits - 1);
  return is_signed ? InputRange{-half, half - 1} : InputRange{0, 2 * half - 1};
}

InputRange DefaultScalarRange(DType dtype) {
  return dtype.code == DTypeCode::kInt ? InputRange{-8, 7} : InputRange{0, 15};
}

InputRange RangeOf(std::span<const ParamRange> ranges, uint32_t param, InputRange otherwise) {
  for (const ParamRange& known : ranges)
    if (known.param == param) return known.range;
  return otherwise;
}

void FillInput(uint64_t seed, uint32_t param, DType dtype, InputRange range, void* data, int64_t first, int64_t count) {
  const uint64_t key = InputKey(seed, param);
  const auto integer = [range](uint64_t bits) { return InRange(bits, range); };
  switch (dtype.code) {
    case DTypeCode::kFloat:
      if (dtype.bits == 64) return Fill<double>(key, data, first, count, OddFraction<53>);
      if (dtype.bits == 32) {
        return Fill<float>(key, data, first, count,
                           [](uint64_t bits) { return static_cast<float>(OddFraction<24>(bits)); });
      }
      return Fill<uint16_t>(key, data, first, count,
                            [](uint64_t bits) { return FloatToHalf(static_cast<float>(OddFraction<11>(bits))); });
    case DTypeCode::kBFloat:
      return Fill<uint16_t>(key, data, first, count, [](uint64_t bits) { return BFloatBits(OddFraction<8>(bits)); });
    case DTypeCode::kInt:  // Of both signs the bits are the same.
    case DTypeCode::kUInt:
      if (dtype.bits == 8) return Fill<uint8_t>(key, data, first, count, integer);
      if (dtype.bits == 16) return Fill<uint16_t>(key, data, first, count, integer);
      if (dtype.bits == 32) return Fill<uint32_t>(key, data, first, count, integer);
      return Fill<uint64_t>(key, data, first, count, integer);
    case DTypeCode::kBool:
      return Fill<uint8_t>(key, data, first, count, [](uint64_t bits) { return static_cast<uint8_t>(bits >> 63); });
  }
}

double InputValue(uint64_t seed, uint32_t param, DType dtype, InputRange range, int64_t index) {
  alignas(8) char element[8];
  FillInput(seed, param, dtype, range, element, index, 1);
  return LoadAsDouble(dtype, element, 0);
}

}  // namespace lathe
