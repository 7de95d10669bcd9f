// ONNX tensors as constants.
#pragma once

#include "compiler/relax/tensor_data.h"
#include "support/status.h"

namespace onnx {
class TensorProto;
}

namespace lathe {

// ONNX's TensorProto.DataType number as ours; strings and complex numbers are refused.
StatusOr<DataType> DataTypeFromOnnx(int number);

// The tensor, whose data lies in the message itself: external data is refused, and so are extents that the data does
// not fill.
StatusOr<relax::TensorData> TensorFromProto(const onnx::TensorProto& proto);

}  // namespace lathe
