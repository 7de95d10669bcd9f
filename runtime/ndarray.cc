#include "runtime/ndarray.h"

#include <algorithm>
#include <cstdlib>

#include "runtime/artifact_meta.h"
#include "runtime/kernel_abi.h"

namespace lathe {

RuntimeResult<NDArray> NDArray::Create(DType dtype, std::vector<int64_t> shape) {
  const std::optional<int64_t> count = CountElements(shape);
  if (!dtype.is_supported())
    return RuntimeError{RuntimeCode::kInvalidArgument,
                        "create tensor of " + dtype.Name() + ": no tensor has that type"};
  if (!count.has_value()) {
    std::string shape_text;
    for (const int64_t extent : shape) shape_text += (shape_text.empty() ? "" : ", ") + std::to_string(extent);
    const bool is_negative = std::any_of(shape.begin(), shape.end(), [](int64_t extent) { return extent < 0; });
    return RuntimeError{RuntimeCode::kInvalidArgument,
                        "create tensor of shape (" + shape_text +
                            "): " + (is_negative ? "an extent is negative" : "more than 2^47 elements")};
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
