// The contents of a constant: dense, row-major, immutable, shared by all its handles.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "compiler/ir/data_type.h"
#include "support/check.h"
#include "support/digest.h"

namespace lathe::relax {

// Cheap to copy. Safe to read from any thread.
class TensorData {
 public:
  // CHECKs that the bytes are as many as shape and type say.
  TensorData(DataType dtype, std::vector<int64_t> shape, std::vector<std::byte> bytes);
  template <typename T>
  static TensorData From(DataType dtype, std::vector<int64_t> shape, const std::vector<T>& values);
  // Every element has `bytes` (of one element) as its value.
  static TensorData Filled(DataType dtype, std::vector<int64_t> shape, std::span<const std::byte> element);
  static TensorData FromInts(const std::vector<int64_t>& values);  // int64, one dimension.

  DataType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t num_elements() const { return num_elements_; }
  std::span<const std::byte> bytes() const { return contents_->bytes; }
  template <typename T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(contents_->bytes.data()), contents_->bytes.size() / sizeof(T)};
  }
  // The same contents under another shape of as many elements.
  TensorData Reshaped(std::vector<int64_t> shape) const;
  bool SharesContentsWith(const TensorData& other) const { return contents_ == other.contents_; }
  // Of the bytes alone; computed once.
  const Digest& ContentDigest() const;

  // Elements as int64 or double. Integers of any width and booleans; floats of 16, 32 and 64 bits.
  std::vector<int64_t> ToInts() const;
  std::vector<double> ToDoubles() const;

 private:
  struct Contents {
    std::vector<std::byte> bytes;
    std::once_flag once;
    Digest digest;
  };
  TensorData() = default;
  DataType dtype_;
  std::vector<int64_t> shape_;
  int64_t num_elements_ = 1;
  std::shared_ptr<Contents> contents_;
};

template <typename T>
TensorData TensorData::From(DataType dtype, std::vector<int64_t> shape, const std::vector<T>& values) {
  CHECK(dtype.bytes() == static_cast<int>(sizeof(T)))
      << dtype.ToString() << " from elements of " << sizeof(T) << " bytes";
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return TensorData(dtype, std::move(shape), std::move(bytes));
}

// The product of the extents; nullopt when one is negative or the product exceeds 2^62.
std::optional<int64_t> ElementCount(std::span<const int64_t> shape);

}  // namespace lathe::relax
