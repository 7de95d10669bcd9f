// The tensor intrinsics that are there without being registered, by TVM's names (compiler/schedule/intrinsics).
#pragma once

#include <span>
#include <string_view>

#include "compiler/schedule/tensor_intrin.h"

namespace lathe {

// NotFound if no intrinsic is called that.
StatusOr<std::shared_ptr<const TensorIntrin>> MakeBuiltinIntrin(std::string_view name);
// For tests and messages.
std::vector<std::string_view> BuiltinIntrinNames();

}  // namespace lathe
