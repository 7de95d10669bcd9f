// Tensors and data sets as files, in the layout of the ONNX backend tests:
//   test_data_set_<k>/{input,output}_<i>.pb, each a serialized TensorProto.
#pragma once

#include <string>
#include <vector>

#include "tests/reference/tensor.h"

namespace onnx {
class TensorProto;
}

namespace lathe::reference {

StatusOr<Tensor> FromProto(const onnx::TensorProto& proto);
// Rounds to the tensor's type; data goes to raw_data.
void ToProto(const Tensor& tensor, const std::string& name, onnx::TensorProto& proto);

StatusOr<Tensor> LoadTensor(const std::string& path);
Status SaveTensor(const Tensor& tensor, const std::string& name, const std::string& path);

// input_0.pb, input_1.pb, ... of a folder as far as they exist; the same for outputs.
struct DataSet {
  std::vector<Tensor> inputs, outputs;
};
StatusOr<DataSet> LoadDataSet(const std::string& folder);
// The folders <case>/test_data_set_<k>, sorted.
std::vector<std::string> DataSetFolders(const std::string& case_folder);

// IEEE 754 half and bfloat16 bit patterns.
double HalfToDouble(uint16_t bits);
uint16_t DoubleToHalf(double value);  // Rounds to nearest even.
double Bfloat16ToDouble(uint16_t bits);
uint16_t DoubleToBfloat16(double value);  // Rounds to nearest even.

}  // namespace lathe::reference
