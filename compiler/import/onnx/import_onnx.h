// ONNX models as Relax. Operators: CNN classifiers and the shape arithmetic around them (operators.cc has the table),
// opsets 1 to 22.
//
// Files are hostile until read: nothing in one may end the process or take memory beyond `max_constant_bytes` and a few
// times its own size.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/relax/module.h"
#include "support/status.h"

namespace lathe {

struct OnnxImportOptions {
  std::map<std::string, std::vector<int64_t>>
      input_shapes;  // Replace or complete what the model says; by the input's ONNX name.
  int64_t max_constant_bytes = int64_t{2}
                               << 30;  // Of all constants that the model makes (ConstantOfShape) or that are folded.
  int64_t max_evaluation_steps = int64_t{1} << 31;  // What folding constants may cost in all (relax/evaluate.h).
};

// One function "main": its parameters are the graph inputs that are no initializers, its result the graph output or a
// tuple of them. Their ONNX names stand in its attributes "input_names" and "output_names"; "frozen_inputs" names
// inputs with a default value, which is taken for good. Operators on constants are
// evaluated here. Unsupported operators and inputs with unbound dimensions are one error that lists them all.
StatusOr<relax::IRModule> ImportOnnx(const std::string& path, const OnnxImportOptions& options = {});
// The same for a file's contents; `name` appears in errors only.
StatusOr<relax::IRModule> ImportOnnxBytes(std::string_view bytes, std::string_view name,
                                          const OnnxImportOptions& options = {});

}  // namespace lathe
