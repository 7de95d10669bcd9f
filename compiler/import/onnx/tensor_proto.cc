#include "compiler/import/onnx/tensor_proto.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "support/status_macros.h"

namespace lathe {
namespace {

template <typename T, typename Field>
std::vector<std::byte> Packed(const Field& field) {
  std::vector<std::byte> bytes(static_cast<size_t>(field.size()) * sizeof(T));
  for (int i = 0; i < field.size(); ++i) {
    const T value = static_cast<T>(field.Get(i));
    std::memcpy(bytes.data() + static_cast<size_t>(i) * sizeof(T), &value, sizeof(T));
  }
  return bytes;
}

// Of the field that ONNX stores this type in; narrow types travel as int32.
StatusOr<std::vector<std::byte>> TypedData(const onnx::TensorProto& proto, DataType dtype) {
  using onnx::TensorProto;
  switch (proto.data_type()) {
    case TensorProto::FLOAT:
      return Packed<float>(proto.float_data());
    case TensorProto::DOUBLE:
      return Packed<double>(proto.double_data());
    case TensorProto::INT64:
      return Packed<int64_t>(proto.int64_data());
    case TensorProto::UINT32:
      return Packed<uint32_t>(proto.uint64_data());
    case TensorProto::UINT64:
      return Packed<uint64_t>(proto.uint64_data());
    case TensorProto::INT32:
      return Packed<int32_t>(proto.int32_data());
    default:
      break;
  }
  return dtype.bits == 8 ? Packed<uint8_t>(proto.int32_data()) : Packed<uint16_t>(proto.int32_data());
}

}  // namespace

StatusOr<DataType> DataTypeFromOnnx(int number) {
  using onnx::TensorProto;
  switch (number) {
    case TensorProto::FLOAT:
      return DataType::Float(32);
    case TensorProto::DOUBLE:
      return DataType::Float(64);
    case TensorProto::FLOAT16:
      return DataType::Float(16);
    case TensorProto::BFLOAT16:
      return DataType::BFloat();
    case TensorProto::INT8:
      return DataType::Int(8);
    case TensorProto::INT16:
      return DataType::Int(16);
    case TensorProto::INT32:
      return DataType::Int(32);
    case TensorProto::INT64:
      return DataType::Int(64);
    case TensorProto::UINT8:
      return DataType::UInt(8);
    case TensorProto::UINT16:
      return DataType::UInt(16);
    case TensorProto::UINT32:
      return DataType::UInt(32);
    case TensorProto::UINT64:
      return DataType::UInt(64);
    case TensorProto::BOOL:
      return DataType::Bool();
    default:
      return InvalidArgument(
          fmt::format("ONNX element type {} is not supported; floats, integers and bool are", number));
  }
}

StatusOr<relax::TensorData> TensorFromProto(const onnx::TensorProto& proto) {
  const auto error = [&](std::string_view what) {
    return InvalidArgument(fmt::format("tensor \"{}\": {}", proto.name(), what));
  };
  if (proto.data_location() == onnx::TensorProto::EXTERNAL || proto.external_data_size() > 0) {
    return error(
        "its data is in another file; save the model with its weights inside (onnx.save without "
        "save_as_external_data)");
  }
  if (proto.has_segment()) return error("it is a segment of a tensor; whole tensors required");
  StatusOr<DataType> dtype = DataTypeFromOnnx(proto.data_type());
  if (!dtype.ok()) return error(dtype.status().message());
  if (proto.dims_size() > 16) return error(fmt::format("{} dimensions, at most 16", proto.dims_size()));
  std::vector<int64_t> shape(proto.dims().begin(), proto.dims().end());
  const std::optional<int64_t> count = relax::ElementCount(shape);
  if (!count || *count > (int64_t{1} << 40))
    return error(fmt::format("shape [{}] is negative or too large", fmt::join(shape, ", ")));
  const size_t required = static_cast<size_t>(*count) * static_cast<size_t>(dtype->bytes());
  std::vector<std::byte> bytes;
  if (proto.has_raw_data()) {
    if (proto.raw_data().size() != required)
      return error(fmt::format("{} bytes of data, shape [{}] of {} needs {}", proto.raw_data().size(),
                               fmt::join(shape, ", "), dtype->ToString(), required));
    bytes.resize(required);
    if (required > 0) std::memcpy(bytes.data(), proto.raw_data().data(), required);
  } else {
    ASSIGN_OR_RETURN(bytes, TypedData(proto, *dtype));
    if (bytes.size() != required)
      return error(fmt::format("{} bytes of data, shape [{}] of {} needs {}", bytes.size(), fmt::join(shape, ", "),
                               dtype->ToString(), required));
  }
  return relax::TensorData(*dtype, std::move(shape), std::move(bytes));
}

}  // namespace lathe
