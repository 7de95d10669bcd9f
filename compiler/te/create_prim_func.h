// From tensors to TensorIR, as TVM's te.create_prim_func.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "compiler/te/operation.h"

namespace lathe::te {

using Argument = std::variant<Tensor, Var>;

// A function whose parameters are `args` in order, and which computes those of them that are no placeholders, with a
// block per compute named as its operation (a compute of several results that is no reduction: one per result, in one
// nest), in the order of first need. What lies between is allocated at the root. Attributes of an operation annotate
// its blocks. Two differences from TVM, which drops both: `init` and `where` of a reduction are kept.
//
// InvalidArgument: a placeholder or variable that is needed and no argument; Unimplemented: a scan, unless
// `with_scans`: then it is a loop over its steps (scan.h).
StatusOr<PrimFunc> CreatePrimFunc(const std::vector<Argument>& args, std::string name = "main",
                                  bool with_scans = false);

// All operations below `args` that are no placeholders, each after what it reads.
std::vector<Operation> OrderedOperations(const std::vector<Tensor>& args);

}  // namespace lathe::te
