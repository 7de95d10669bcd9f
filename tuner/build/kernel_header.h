// The C header of a kernel library: for programs that call kernels without a graph.
#pragma once

#include <span>
#include <string>

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// Of an artifact whose kernels are `kernels`, in order, built for `target`: an inline function for each, with the types
// of its parameters. `name` is the library's, for the header's guard. InvalidArgument for a parameter that C has no
// plain type for: an extent that is no number, strides, an address without a shape. Pure.
StatusOr<std::string> KernelHeader(std::span<const PrimFunc> kernels, const std::string& target,
                                   const std::string& name);

}  // namespace lathe
