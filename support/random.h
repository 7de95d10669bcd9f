// Seeded randomness as a value: same seed, same sequence, on every machine and build.
#pragma once

#include <cstdint>

namespace lathe {

// SplitMix64 (Steele, Lea, Flood 2014): one multiply-shift mix of a counter. Cheap to copy and to fork.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() { return Mix(state_ += 0x9e3779b97f4a7c15u); }
#ifdef __SIZEOF_INT128__  // Boards of 32 bits draw fractions only.
  // Uniform in [0, bound); bound > 0. Multiply-high, so the bias is below bound / 2^64.
  uint64_t Below(uint64_t bound) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(Next()) * bound) >> 64);
  }
#endif
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }  // [0, 1)
  Random Fork() { return Random(Next()); }
  uint64_t state() const { return state_; }

  static constexpr uint64_t Mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_;
};

}  // namespace lathe
