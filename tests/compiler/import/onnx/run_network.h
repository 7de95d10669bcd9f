// Runs an ONNX model the way a compiled one runs, with the interpreter in the place of machine code: import, passes,
// executor plan, then each kernel on the plan's arena. So wrong liveness or a wrong view shows as a wrong output.
#pragma once

#include <vector>

#include "compiler/import/onnx/import_onnx.h"
#include "compiler/relax/executor_plan.h"
#include "compiler/relax/pipeline.h"
#include "tests/reference/tensor.h"

namespace onnx {
class ModelProto;
}

namespace lathe {

struct RunOptions {
  int opt_level = 3;
  relax::LayoutTarget target = 16;
};

StatusOr<relax::IRModule> ImportAndOptimize(const onnx::ModelProto& model, const RunOptions& options = {});
StatusOr<std::vector<reference::Tensor>> RunPlan(const relax::IRModule& module,
                                                 const std::vector<reference::Tensor>& inputs);
StatusOr<std::vector<reference::Tensor>> RunNetwork(const onnx::ModelProto& model,
                                                    const std::vector<reference::Tensor>& inputs,
                                                    const RunOptions& options = {});

}  // namespace lathe
