#include "cli/run_network.h"

#include "rpc/device/runtime_status.h"
#include "runtime/input_generator.h"

namespace lathe {

StatusOr<std::vector<NDArray>> RandomInputs(const Executor& executor) {
  std::vector<NDArray> arrays;
  for (const TensorInfo& info : executor.inputs()) {
    RuntimeResult<NDArray> array = NDArray::Create(info.dtype, info.shape);
    if (!array.ok()) return FromRuntime(array.error());
    FillInput(1, static_cast<uint32_t>(arrays.size()), info.dtype, array->data(), 0, array->num_elements());
    arrays.push_back(*std::move(array));
  }
  return arrays;
}

std::vector<TensorView> ViewsOf(std::vector<NDArray>& arrays) {
  std::vector<TensorView> views;
  for (NDArray& array : arrays) views.push_back(array.view());
  return views;
}

}  // namespace lathe
