// PlaceSlices: which tensors lie inside of others, so that joining them and cutting them apart copies nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/kernel_abi.h"

namespace lathe::relax {

// A memory that is a part of another one. Memories are numbered; each holds a tensor and its views.
struct Slice {
  size_t memory = 0;
  int64_t offset = 0;  // Bytes from the start of the whole.
  bool operator==(const Slice&) const = default;
};
// A call that copies parts into the whole side by side and so fills it (a join), or one part out of it (a cut).
struct CopyCall {
  size_t call = 0;
  size_t whole = 0;
  std::vector<Slice> parts;  // In the whole.
};
struct SlicePlan {
  std::vector<std::optional<Slice>> inside;  // Per memory: the memory that it lies in, itself in no other, and where.
  std::vector<size_t> needless_calls;        // Copies that are no longer made.
};

// `storages` says what each memory is before. A copy goes if every part of it can lie in the whole: a part is an ARENA
// memory, which one call alone writes, lies in no other whole and begins at a multiple of `alignment`; the whole may be
// anything of known size. What is copied only in part is copied wholly. Joins come first, in order, so that a part that
// is cut from one tensor and joined to another is copied once; parts that an earlier join holds side by side are taken
// together, as that join's result (a chain of concatenations that each begin with all that came before).
//   join r = (a, b):  a -> 0..64, b -> 0..64, r -> 0..128  -->  a = r[0..64], b = r[64..128]
SlicePlan PlaceSlices(std::span<const LatheGraphStorage> storages, std::span<const CopyCall> joins,
                      std::span<const CopyCall> cuts, int64_t alignment);

}  // namespace lathe::relax
