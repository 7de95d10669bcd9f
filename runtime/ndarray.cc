#include "runtime/ndarray.h"

#include <cstdlib>

#include "runtime/artifact_meta.h"
#include "runtime/kernel_abi.h"

namespace lathe {

RuntimeResult<NDArray> NDArray::Create(DType dtype, std::vector<int64_t> shape) {
  const std::optional<int64_t> count = CountElements(shape);
  if (!dtype.is_supported() || !count.has_value()) {
    return RuntimeError{RuntimeCode::kInvalidArgument,
                        "create tensor of " + dtype.Name() +
                            ": an extent is negative, the size exceeds 2^47, or the type is not supported"};
  }
  NDArray array;
  array.dtype_ = dtype;
  array.num_elements_ = *count;
  const int64_t bytes = array.size_bytes();
  constexpr int64_t kAlign = LATHE_BUFFER_ALIGNMENT;
  void* memory = std::aligned_alloc(kAlign, static_cast<size_t>((bytes + kAlign) / kAlign * kAlign));  // Never 0 bytes.
  if (memory == nullptr) {
    return RuntimeError{RuntimeCode::kResourceExhausted, FormatText("create tensor of %s: %lld bytes are not to be had",
                                                                    dtype.Name().c_str(), (long long)bytes)};
  }
  array.storage_ = std::shared_ptr<void>(memory, std::free);
  array.shape_ = std::move(shape);
  return array;
}

RuntimeResult<NDArray> NDArray::Reshape(std::vector<int64_t> shape) const {
  const std::optional<int64_t> count = CountElements(shape);
  if (count != num_elements_) {
    return RuntimeError{RuntimeCode::kInvalidArgument,
                        FormatText("reshape: new shape has %lld elements, the tensor has %lld",
                                   (long long)count.value_or(-1), (long long)num_elements_)};
  }
  NDArray array = *this;
  array.shape_ = std::move(shape);
  return array;
}

}  // namespace lathe
