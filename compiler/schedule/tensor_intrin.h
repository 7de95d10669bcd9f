// Tensor intrinsics by name: what one computes, and the code that does it. One table for the process, as TVM has it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

struct TensorIntrin {
  PrimFunc description, implementation;  // Parameters in the same order, all of them handles of buffers.
};

// Those of builtin_intrin.h are found without being registered. Threads may register and look up at once. A second
// registration of a name is AlreadyExists unless it `replaces`.
StatusOr<std::shared_ptr<const TensorIntrin>> MakeTensorIntrin(PrimFunc description, PrimFunc implementation);
Status RegisterTensorIntrin(const std::string& name, std::shared_ptr<const TensorIntrin> intrin, bool replaces);
StatusOr<std::shared_ptr<const TensorIntrin>> GetTensorIntrin(std::string_view name);

}  // namespace lathe
