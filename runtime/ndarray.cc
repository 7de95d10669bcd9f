#include "runtime/ndarray.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

#include "runtime/artifact_meta.h"
#include "runtime/kernel_abi.h"

namespace lathe {
namespace {

constexpr size_t kHugePage = size_t{1} << 21;

// Not touched yet; for std::free. What fills huge pages gets them where the kernel has some: weights that are read from
// memory at each call miss the TLB less.
void* Allocate(size_t bytes) {
  const size_t align = bytes < kHugePage ? LATHE_BUFFER_ALIGNMENT : kHugePage;
  void* memory = std::aligned_alloc(align, (bytes + align) / align * align);  // Never 0 bytes.
  if (memory != nullptr && align == kHugePage) madvise(memory, bytes, MADV_HUGEPAGE);
  return memory;
}

}  // namespace

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
  void* memory = Allocate(static_cast<size_t>(bytes));
  if (memory == nullptr) {
    return RuntimeError{RuntimeCode::kResourceExhausted, FormatText("create tensor of %s: %lld bytes are not to be had",
                                                                    dtype.Name().c_str(), (long long)bytes)};
  }
  array.storage_ = std::shared_ptr<void>(memory, std::free);
  array.shape_ = std::move(shape);
  return array;
}

NDArray NDArray::Over(void* data, DType dtype, std::vector<int64_t> shape) {
  NDArray array;
  array.storage_ = std::shared_ptr<void>(data, [](void*) {});
  array.dtype_ = dtype;
  array.num_elements_ = CountElements(shape).value_or(0);
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
