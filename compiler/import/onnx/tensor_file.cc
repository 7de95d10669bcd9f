#include "compiler/import/onnx/tensor_file.h"

#include <fmt/core.h>
#include <onnx/onnx_pb.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "compiler/import/onnx/tensor_proto.h"
#include "support/file.h"
#include "support/status_macros.h"

namespace lathe {

StatusOr<relax::TensorData> ReadTensorFile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadWholeFile(path));
  onnx::TensorProto proto;
  if (!proto.ParseFromString(bytes))
    return InvalidArgument(
        fmt::format("read {}: it holds no TensorProto; a tensor of an ONNX test case is expected", path));
  StatusOr<relax::TensorData> tensor = TensorFromProto(proto);
  if (!tensor.ok()) return tensor.status().WithContext(fmt::format("read {}", path));
  return tensor;
}

StatusOr<TensorSet> ReadTensorSet(const std::string& folder) {
  TensorSet set;
  const auto read_all = [&](const char* stem, std::vector<relax::TensorData>& tensors) -> Status {
    for (int i = 0;; ++i) {
      const std::string path = fmt::format("{}/{}_{}.pb", folder, stem, i);
      if (!std::filesystem::exists(path)) return OkStatus();
      ASSIGN_OR_RETURN(relax::TensorData tensor, ReadTensorFile(path));
      tensors.push_back(std::move(tensor));
    }
  };
  RETURN_IF_ERROR(read_all("input", set.inputs));
  RETURN_IF_ERROR(read_all("output", set.outputs));
  if (set.inputs.empty() && set.outputs.empty())  // A network of constants has outputs alone.
    return NotFound(fmt::format("read {}: no input_0.pb in it; the folder of an ONNX test case is expected", folder));
  return set;
}

}  // namespace lathe
