// Seeded images that look enough like photographs to a network: smooth patches of colour with finer structure on top.
#pragma once

#include <cstdint>
#include <vector>

#include "support/random.h"

namespace lathe::demo {

// [3, size, size] with zero mean and unit variance, as after the usual normalisation. Plain noise would not do: after
// global pooling all noise looks the same to a network.
std::vector<float> MakeTestImage(int64_t size, Random random);

}  // namespace lathe::demo
