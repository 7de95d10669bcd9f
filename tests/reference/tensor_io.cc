#include "tests/reference/tensor_io.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "support/status_macros.h"

namespace lathe::reference {
namespace {

static_assert(std::endian::native == std::endian::little, "raw_data is little-endian");

// Rounds to nearest even at `mantissa_bits` with the smallest normal exponent `min_exponent`, as a value.
double RoundTo(double value, int mantissa_bits, int min_exponent) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), min_exponent);
  const double unit = std::ldexp(1.0, exponent - mantissa_bits);
  return std::nearbyint(value / unit) * unit;
}

uint16_t EncodeSmallFloat(double value, int mantissa_bits, int bias) {
  const int exponent_bits = 15 - mantissa_bits, top = (1 << exponent_bits) - 1;
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const auto pack = [&](int exponent, int mantissa) {
    return static_cast<uint16_t>(sign | exponent << mantissa_bits | mantissa);
  };
  if (std::isnan(value)) return pack(top, 1 << (mantissa_bits - 1));
  const double rounded = std::fabs(RoundTo(value, mantissa_bits, 1 - bias));
  if (rounded == 0) return sign;
  if (std::isinf(rounded) || std::ilogb(rounded) > bias) return pack(top, 0);
  const int exponent = std::max(std::ilogb(rounded), 1 - bias);
  const int scaled = static_cast<int>(std::ldexp(rounded, mantissa_bits - exponent));  // With the hidden bit if normal.
  const bool normal = scaled >> mantissa_bits;
  return pack(normal ? exponent + bias : 0, scaled & ((1 << mantissa_bits) - 1));
}

double DecodeSmallFloat(uint16_t bits, int mantissa_bits, int bias) {
  const int top = (1 << (15 - mantissa_bits)) - 1, exponent = bits >> mantissa_bits & top;
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == top) return mantissa ? std::nan("") : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

template <typename Stored, typename Out, typename Convert>
Status ReadRaw(const std::string& raw, std::vector<Out>& out, Convert convert) {
  if (raw.size() != out.size() * sizeof(Stored)) {
    return InvalidArgument(
        fmt::format("raw_data has {} bytes, {} elements need {}", raw.size(), out.size(), out.size() * sizeof(Stored)));
  }
  for (size_t i = 0; i < out.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, raw.data() + i * sizeof(Stored), sizeof(Stored));
    out[i] = convert(stored);
  }
  return OkStatus();
}

template <typename Field, typename Out, typename Convert>
Status ReadField(const Field& field, std::vector<Out>& out, Convert convert) {
  if (static_cast<size_t>(field.size()) != out.size()) {
    return InvalidArgument(fmt::format("{} stored values, {} elements required", field.size(), out.size()));
  }
  std::transform(field.begin(), field.end(), out.begin(), convert);
  return OkStatus();
}

constexpr auto kSame = [](auto v) { return v; };
constexpr auto kInt = [](auto v) { return static_cast<int64_t>(v); };
constexpr auto kHalf = [](auto v) { return HalfToDouble(static_cast<uint16_t>(v)); };
constexpr auto kBrain = [](auto v) { return Bfloat16ToDouble(static_cast<uint16_t>(v)); };

Status ReadRawElements(const std::string& raw, Tensor& t) {
  switch (t.type) {
    case DataType::kFloat32:
      return ReadRaw<float>(raw, t.floats, kSame);
    case DataType::kFloat64:
      return ReadRaw<double>(raw, t.floats, kSame);
    case DataType::kFloat16:
      return ReadRaw<uint16_t>(raw, t.floats, kHalf);
    case DataType::kBfloat16:
      return ReadRaw<uint16_t>(raw, t.floats, kBrain);
    case DataType::kUint8:
      return ReadRaw<uint8_t>(raw, t.ints, kInt);
    case DataType::kInt8:
      return ReadRaw<int8_t>(raw, t.ints, kInt);
    case DataType::kUint16:
      return ReadRaw<uint16_t>(raw, t.ints, kInt);
    case DataType::kInt16:
      return ReadRaw<int16_t>(raw, t.ints, kInt);
    case DataType::kInt32:
      return ReadRaw<int32_t>(raw, t.ints, kInt);
    case DataType::kUint32:
      return ReadRaw<uint32_t>(raw, t.ints, kInt);
    case DataType::kInt64:
    case DataType::kUint64:
      return ReadRaw<int64_t>(raw, t.ints, kInt);
    case DataType::kBool:
      return ReadRaw<uint8_t>(raw, t.ints, [](uint8_t v) { return int64_t{v != 0}; });
  }
  return InternalError("data type outside the table");
}

Status ReadTypedElements(const onnx::TensorProto& p, Tensor& t) {
  switch (t.type) {
    case DataType::kFloat32:
      return ReadField(p.float_data(), t.floats, kSame);
    case DataType::kFloat64:
      return ReadField(p.double_data(), t.floats, kSame);
    case DataType::kFloat16:
      return ReadField(p.int32_data(), t.floats, kHalf);
    case DataType::kBfloat16:
      return ReadField(p.int32_data(), t.floats, kBrain);
    case DataType::kInt64:
      return ReadField(p.int64_data(), t.ints, kInt);
    case DataType::kUint32:
    case DataType::kUint64:
      return ReadField(p.uint64_data(), t.ints, kInt);
    default:
      return ReadField(p.int32_data(), t.ints, [&](int32_t v) { return WrapInt(v, t.type); });
  }
}

template <typename Stored, typename In, typename Convert>
void WriteRaw(const std::vector<In>& in, std::string& raw, Convert convert) {
  raw.resize(in.size() * sizeof(Stored));
  for (size_t i = 0; i < in.size(); ++i) {
    const Stored stored = static_cast<Stored>(convert(in[i]));
    std::memcpy(raw.data() + i * sizeof(Stored), &stored, sizeof(Stored));
  }
}

void WriteElements(const Tensor& t, std::string& raw) {
  switch (t.type) {
    case DataType::kFloat32:
      return WriteRaw<float>(t.floats, raw, kSame);
    case DataType::kFloat64:
      return WriteRaw<double>(t.floats, raw, kSame);
    case DataType::kFloat16:
      return WriteRaw<uint16_t>(t.floats, raw, DoubleToHalf);
    case DataType::kBfloat16:
      return WriteRaw<uint16_t>(t.floats, raw, DoubleToBfloat16);
    case DataType::kUint8:
    case DataType::kInt8:
    case DataType::kBool:
      return WriteRaw<uint8_t>(t.ints, raw, kSame);
    case DataType::kUint16:
    case DataType::kInt16:
      return WriteRaw<uint16_t>(t.ints, raw, kSame);
    case DataType::kInt32:
    case DataType::kUint32:
      return WriteRaw<uint32_t>(t.ints, raw, kSame);
    case DataType::kInt64:
    case DataType::kUint64:
      return WriteRaw<int64_t>(t.ints, raw, kSame);
  }
}

StatusOr<std::vector<Tensor>> LoadNumbered(const std::string& folder, std::string_view kind) {
  std::vector<Tensor> tensors;
  for (int i = 0;; ++i) {
    const std::string path = fmt::format("{}/{}_{}.pb", folder, kind, i);
    if (!std::filesystem::exists(path)) return tensors;
    ASSIGN_OR_RETURN(Tensor tensor, LoadTensor(path));
    tensors.push_back(std::move(tensor));
  }
}

}  // namespace

double HalfToDouble(uint16_t bits) { return DecodeSmallFloat(bits, 10, 15); }
uint16_t DoubleToHalf(double value) { return EncodeSmallFloat(value, 10, 15); }
double Bfloat16ToDouble(uint16_t bits) { return DecodeSmallFloat(bits, 7, 127); }
uint16_t DoubleToBfloat16(double value) { return EncodeSmallFloat(value, 7, 127); }

StatusOr<Tensor> FromProto(const onnx::TensorProto& proto) {
  const std::string place = fmt::format("read tensor \"{}\"", proto.name());
  const auto read = [&]() -> StatusOr<Tensor> {
    if (proto.data_location() == onnx::TensorProto::EXTERNAL) {
      return Unimplemented("its data is in another file; store it inside the model");
    }
    ASSIGN_OR_RETURN(const DataType type, DataTypeFromOnnx(proto.data_type()));
    Dims dims(proto.dims().begin(), proto.dims().end());
    ASSIGN_OR_RETURN(const int64_t count, ElementCount(dims));
    const size_t stored = proto.has_raw_data() ? proto.raw_data().size() : proto.ByteSizeLong();
    if (static_cast<size_t>(count) > stored) {  // Every element takes at least a byte: no allocation for a lie.
      return InvalidArgument(
          fmt::format("shape {} has {} elements, {} bytes are stored", DimsText(dims), count, stored));
    }
    Tensor tensor = Tensor::Zeros(std::move(dims), type);
    RETURN_IF_ERROR(proto.has_raw_data() ? ReadRawElements(proto.raw_data(), tensor)
                                         : ReadTypedElements(proto, tensor));
    return tensor;
  };
  StatusOr<Tensor> tensor = read();
  if (!tensor.ok()) return tensor.status().WithContext(place);
  return tensor;
}

void ToProto(const Tensor& tensor, const std::string& name, onnx::TensorProto& proto) {
  proto.Clear();
  proto.set_name(name);
  proto.set_data_type(static_cast<int>(tensor.type));
  for (int64_t dim : tensor.dims) proto.add_dims(dim);
  WriteElements(tensor, *proto.mutable_raw_data());
}

StatusOr<Tensor> LoadTensor(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return NotFound(fmt::format("open {}: cannot be read; check the path", path));
  onnx::TensorProto proto;
  if (!proto.ParseFromIstream(&file))
    return InvalidArgument(fmt::format("read {}: not a serialized TensorProto", path));
  StatusOr<Tensor> tensor = FromProto(proto);
  if (!tensor.ok()) return tensor.status().WithContext(path);
  return tensor;
}

Status SaveTensor(const Tensor& tensor, const std::string& name, const std::string& path) {
  onnx::TensorProto proto;
  ToProto(tensor, name, proto);
  std::ofstream file(path, std::ios::binary);
  if (!file || !proto.SerializeToOstream(&file) || !file.flush()) {
    return Unavailable(fmt::format("write {}: failed; check the folder and free space", path));
  }
  return OkStatus();
}

StatusOr<DataSet> LoadDataSet(const std::string& folder) {
  DataSet data;
  ASSIGN_OR_RETURN(data.inputs, LoadNumbered(folder, "input"));
  ASSIGN_OR_RETURN(data.outputs, LoadNumbered(folder, "output"));
  return data;
}

std::vector<std::string> DataSetFolders(const std::string& case_folder) {
  std::vector<std::string> folders;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(case_folder, error)) {
    if (entry.path().filename().string().starts_with("test_data_set_")) folders.push_back(entry.path().string());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

}  // namespace lathe::reference
