// The tensor intrinsics that are there without being registered, by TVM's names (compiler/schedule/intrinsics).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "compiler/ir/data_type.h"
#include "compiler/schedule/tensor_intrin.h"

namespace lathe {

// NotFound if no intrinsic is called that.
StatusOr<std::shared_ptr<const TensorIntrin>> MakeBuiltinIntrin(std::string_view name);
// For tests and messages; without those of AMX (amx_intrin.h).
std::vector<std::string_view> BuiltinIntrinNames();

// An intrinsic of a CPU that adds to each of `lanes` sums the products of `parts` neighbours, as plain arithmetic does:
//   for i in range(lanes): for k in range(parts): C[i] += A[k] * B[i, k]
struct DotIntrin {
  std::string_view name, feature;  // The feature that has it, by LLVM's name.
  DataType a, b, c;
  int lanes, parts;
};
std::span<const DotIntrin> DotIntrins();  // The widest of a kind first.

}  // namespace lathe
