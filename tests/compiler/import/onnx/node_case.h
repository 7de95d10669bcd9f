// The onnx project's tests of single operators (package libonnx-testdata) as models that an importer can take.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <vector>

#include "tests/reference/tensor_io.h"

namespace lathe {

// One data set of one test.
struct NodeCase {
  std::string name;
  onnx::ModelProto model;
  reference::DataSet data;
  bool has_input_bits = false, has_output_bits = false;  // bfloat16 stored as uint16.
};

// Of all tests below `folder` whose operators can be imported, in the order of their names.
std::vector<NodeCase> LoadNodeCases(const std::string& folder);

// These tests have no initializers: axes, shapes, bounds and statistics are graph inputs, which they are in no real
// model. All inputs from `first` on become initializers.
onnx::ModelProto WithConstants(const NodeCase& node, size_t first);

// What the importer refuses on purpose: outputs and forms that no inference of a network needs, and extents of 0, which
// exporters write for unknown ones.
bool IsRefusedOnPurpose(const std::string& message);

}  // namespace lathe
