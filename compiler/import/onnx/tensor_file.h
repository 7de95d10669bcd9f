// Tensors in ONNX's test layout: input_0.pb, output_0.pb ...
#pragma once

#include <string>
#include <vector>

#include "compiler/relax/tensor_data.h"
#include "support/status.h"

namespace lathe {

// A file that holds one serialised TensorProto.
StatusOr<relax::TensorData> ReadTensorFile(const std::string& path);

struct TensorSet {
  std::vector<relax::TensorData> inputs, outputs;  // outputs may be empty: nothing is expected.
};
// input_<i>.pb and output_<i>.pb of a folder, from 0 up to the first that is missing. NotFound without input_0.pb.
StatusOr<TensorSet> ReadTensorSet(const std::string& folder);

}  // namespace lathe
