// Tensors in host memory. An NDArray is compact, row-major and 64-byte aligned; a view need not be.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/dtype.h"
#include "runtime/error.h"

namespace lathe {

// Somebody else's tensor: valid while the owner of `data` and of the storage of shape and strides lives.
struct TensorView {
  void* data = nullptr;
  DType dtype;
  std::span<const int64_t> shape;
  std::span<const int64_t> strides = {};  // In elements, one per dimension; empty: compact row-major.
  int64_t elem_offset = 0;                // Of element 0 from `data`, in elements.
};

// A tensor that shares its memory with its copies: cheap to copy, not copied on write. Contents start uninitialised.
class NDArray {
 public:
  // Fails when an extent is negative or memory is not to be had.
  static RuntimeResult<NDArray> Create(DType dtype, std::vector<int64_t> shape);
  // Somebody else's compact memory, which outlives the array and its copies. `shape` is one that Create would take.
  static NDArray Over(void* data, DType dtype, std::vector<int64_t> shape);
  // The same elements under another shape of as many elements.
  RuntimeResult<NDArray> Reshape(std::vector<int64_t> shape) const;

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t num_elements() const { return num_elements_; }
  int64_t size_bytes() const { return num_elements_ * dtype_.bytes(); }
  void* data() const { return storage_.get(); }
  bool is_shared() const { return storage_.use_count() > 1; }  // Another array has the same memory.
  template <typename T>
  std::span<T> as() const {
    return {static_cast<T*>(data()), static_cast<size_t>(size_bytes()) / sizeof(T)};
  }
  TensorView view() const { return {data(), dtype_, shape_}; }

 private:
  NDArray() = default;
  std::shared_ptr<void> storage_;
  DType dtype_;
  std::vector<int64_t> shape_;
  int64_t num_elements_ = 0;
};

}  // namespace lathe
