// From tensors to TensorIR, as TVM's te.create_prim_func.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compiler/te/operation.h"

namespace lathe::te {

using Argument = std::variant<Tensor, Var>;

// What a schedule of stages says of the nests that it begins with.
struct StageForms {
  // Of computes of several results that are no reductions: whether each result has a nest of its own.
  std::function<bool(const Operation&)> is_apart;
  std::function<std::string(const Operation&)> scope_of;  // The memory of what lies between.
};

// A function whose parameters are `args` in order, and which computes those of them that are no placeholders, with a
// block per compute named as its operation (a compute of several results that is no reduction: one per result, in one
// nest), in the order of first need. What lies between is allocated at the root. Attributes of an operation annotate
// its blocks. What an extern calls a parameter says of its memory, an offset that is a variable above all, the
// parameter says. Two differences from TVM, which drops both: `init` and `where` of a reduction are kept.
//
// InvalidArgument: a placeholder or variable that is needed and no argument; Unimplemented: a scan,
// unless `forms` of stages are given: then it is a loop over its steps (scan.h).
StatusOr<PrimFunc> CreatePrimFunc(const std::vector<Argument>& args, std::string name = "main",
                                  const std::optional<StageForms>& forms = std::nullopt);

// All operations below `args`, each after what it reads; placeholders if asked.
std::vector<Operation> OrderedOperations(const std::vector<Tensor>& args, bool with_placeholders = false);

}  // namespace lathe::te
