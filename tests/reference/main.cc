// lathe-reference MODEL.onnx DIR: evaluates the model on DIR/input_*.pb and writes DIR/output_*.pb, the expected
// outputs. lathe-reference MODEL.onnx DIR --check [--rtol R] [--atol A]: compares with the DIR/output_*.pb that are
// there.
#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "support/status_macros.h"
#include "tests/reference/compare.h"
#include "tests/reference/evaluate.h"
#include "tests/reference/tensor_io.h"

namespace lathe::reference {
namespace {

struct Options {
  std::string model, folder;
  bool check = false;
  Tolerance tolerance;
};

Status Run(const Options& options) {
  ASSIGN_OR_RETURN(const auto model, LoadModel(options.model));
  ASSIGN_OR_RETURN(const DataSet data, LoadDataSet(options.folder));
  ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, Evaluate(*model, data.inputs));
  if (options.check) return CompareAll(outputs, data.outputs, options.tolerance);
  const std::vector<std::string> names = OutputNames(*model);
  for (size_t i = 0; i < outputs.size(); ++i) {
    RETURN_IF_ERROR(SaveTensor(outputs[i], names[i], fmt::format("{}/output_{}.pb", options.folder, i)));
  }
  return OkStatus();
}

}  // namespace
}  // namespace lathe::reference

int main(int argc, char** argv) {
  lathe::reference::Options options;
  CLI::App app("Evaluates an ONNX model in float64 with plain loops");
  app.add_option("model", options.model, "an ONNX file")->required();
  app.add_option("folder", options.folder, "a folder with input_*.pb")->required();
  app.add_flag("--check", options.check, "compare with output_*.pb instead of writing them");
  app.add_option("--rtol", options.tolerance.rtol, "allowed difference relative to the expected value");
  app.add_option("--atol", options.tolerance.atol, "allowed absolute difference");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const lathe::Status status = lathe::reference::Run(options);
  if (status.ok()) return 0;
  std::fputs((status.message() + "\n").c_str(), stderr);
  return 1;
}
