// What a product of matrices and a convolution have in common.
#pragma once

#include <optional>

#include "compiler/ir/stmt.h"

namespace lathe {

// A block whose one store is C[..] = C[..] + a * b, or with the product first. The factors are loads, or conversions of
// loads; they live as long as the block.
struct Contraction {
  const BufferLoad *a = nullptr, *b = nullptr;
  bool converts_a = false, converts_b = false;
  bool is_plain() const { return !converts_a && !converts_b; }  // The factors have the type of the sum.
};
// nullopt: it is none, or multiplies a buffer with itself.
std::optional<Contraction> ContractionOf(const BlockNode& block);

}  // namespace lathe
