#include "compiler/relax/tensor_data.h"

#include "compiler/interpreter/tensor.h"

namespace lathe::relax {
namespace {

template <typename T>
std::vector<int64_t> WidenInts(std::span<const T> values) {
  return {values.begin(), values.end()};
}

}  // namespace

std::optional<int64_t> ElementCount(std::span<const int64_t> shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count) || count > (int64_t{1} << 62)) return std::nullopt;
  }
  return count;
}

TensorData::TensorData(DataType dtype, std::vector<int64_t> shape, std::vector<std::byte> bytes)
    : dtype_(dtype), shape_(std::move(shape)), contents_(std::make_shared<Contents>()) {
  num_elements_ = ElementCount(shape_).value_or(-1);
  CHECK(num_elements_ >= 0 && num_elements_ * dtype.bytes() == static_cast<int64_t>(bytes.size()))
      << bytes.size() << " bytes for " << num_elements_ << " elements of " << dtype.ToString();
  contents_->bytes = std::move(bytes);
}

TensorData TensorData::Filled(DataType dtype, std::vector<int64_t> shape, std::span<const std::byte> element) {
  CHECK(static_cast<int>(element.size()) == dtype.bytes()) << "element of " << element.size() << " bytes";
  const int64_t count = ElementCount(shape).value_or(-1);
  CHECK(count >= 0) << "extents overflow";
  std::vector<std::byte> bytes(static_cast<size_t>(count) * element.size());
  for (size_t i = 0; i < bytes.size(); i += element.size())
    std::memcpy(bytes.data() + i, element.data(), element.size());
  return TensorData(dtype, std::move(shape), std::move(bytes));
}

TensorData TensorData::FromInts(const std::vector<int64_t>& values) {
  return From(DataType::Int(64), {static_cast<int64_t>(values.size())}, values);
}

TensorData TensorData::Reshaped(std::vector<int64_t> shape) const {
  CHECK(ElementCount(shape) == num_elements_) << "reshape changes the number of elements";
  TensorData result = *this;
  result.shape_ = std::move(shape);
  return result;
}

const Digest& TensorData::ContentDigest() const {
  std::call_once(contents_->once, [&] {
    contents_->digest = Sha256({reinterpret_cast<const char*>(contents_->bytes.data()), contents_->bytes.size()});
  });
  return contents_->digest;
}

std::vector<int64_t> TensorData::ToInts() const {
  if (dtype_.is_float()) {
    std::vector<int64_t> values;
    for (const double value : ToDoubles()) values.push_back(static_cast<int64_t>(value));
    return values;
  }
  const bool is_signed = dtype_.is_signed_int();
  switch (dtype_.bits) {
    case 8:
      return is_signed ? WidenInts(as<int8_t>()) : WidenInts(as<uint8_t>());
    case 16:
      return is_signed ? WidenInts(as<int16_t>()) : WidenInts(as<uint16_t>());
    case 32:
      return is_signed ? WidenInts(as<int32_t>()) : WidenInts(as<uint32_t>());
    default:
      return WidenInts(as<int64_t>());
  }
}

std::vector<double> TensorData::ToDoubles() const {
  const Tensor tensor{dtype_, shape_, std::vector<std::byte>(bytes().begin(), bytes().end())};
  return tensor.ToDoubles();
}

}  // namespace lathe::relax
