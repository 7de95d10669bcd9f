// A number of the metadata that may depend on the arguments of a call: an extent, stride, offset or size.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/error.h"
#include "runtime/kernel_abi.h"
#include "runtime/section_reader.h"

namespace lathe {

struct Extent {
  LatheMetaDimKind kind = LATHE_DIM_CONSTANT;
  int64_t value = 0;                   // The number, or the symbol's.
  std::vector<LatheMetaTerm> program;  // Of kind LATHE_DIM_PROGRAM: postfix, as kernel_abi.h says.

  bool is_constant() const { return kind == LATHE_DIM_CONSTANT; }
  bool is_symbol() const { return kind == LATHE_DIM_SYMBOL; }
  bool operator==(const Extent& other) const;
  // For people: "32", "s0", "(s0 * 4)". `names` may be shorter than the number of symbols.
  std::string ToString(std::span<const std::string> names = {}) const;
};

// Where the programs of a section lie, and what they may name.
struct ExtentScope {
  uint32_t num_terms = 0, terms_offset = 0;  // A table that was checked.
  uint32_t num_symbols = 0, num_scalars = 0;
  bool allows_programs = true;  // Layout 1 has none.
};

// Checks kind, symbol, bounds of the program and that it leaves one number on a stack of at most 64. A constant lies
// in [least, 2^47].
RuntimeResult<Extent> DecodeExtent(const SectionReader& reader, const LatheMetaDim& raw, const ExtentScope& scope,
                                   int64_t least);

// kInvalidArgument on overflow, on division by zero, and for a symbol or scalar that is not given.
RuntimeResult<int64_t> EvaluateExtent(const Extent& extent, std::span<const int64_t> symbols,
                                      std::span<const int64_t> scalars = {});

}  // namespace lathe
