// From tensors to TensorIR, as TVM's te.create_prim_func.
#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "compiler/te/operation.h"

namespace lathe::te {

using Argument = std::variant<Tensor, Var>;

// What the schedule of stages asks of the function that it begins with.
struct NestForm {
  bool with_scans = false;
  // Of computes of several results that are no reductions: whether each result has a nest of its own; null: none has.
  std::function<bool(const Operation&)> is_apart;
};

// A function whose parameters are `args` in order, and which computes those of them that are no placeholders, with a
// block per compute named as its operation (a compute of several results that is no reduction: one per result, in one
// nest), in the order of first need. What lies between is allocated at the root. Attributes of an operation annotate
// its blocks. What an extern calls a parameter says of its memory, an offset that is a variable above all, the
// parameter says. Two differences from TVM, which drops both: `init` and `where` of a reduction are kept.
//
// InvalidArgument: a placeholder or variable that is needed and no argument; Unimplemented: a scan, unless
// `form.with_scans`: then it is a loop over its steps (scan.h).
StatusOr<PrimFunc> CreatePrimFunc(const std::vector<Argument>& args, std::string name = "main",
                                  const NestForm& form = {});

// All operations below `args` that are no placeholders, each after what it reads.
std::vector<Operation> OrderedOperations(const std::vector<Tensor>& args);

}  // namespace lathe::te
