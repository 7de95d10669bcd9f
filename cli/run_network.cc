#include "cli/run_network.h"

#include "rpc/device/runtime_status.h"
#include "runner/input_generator.h"

namespace lathe {

StatusOr<std::vector<NDArray>> RandomInputs(const Executor& executor) {
  std::vector<NDArray> arrays;
  std::vector<int64_t> symbols;
  for (const GraphSymbol& symbol : executor.symbols()) symbols.push_back(std::max<int64_t>(symbol.least, 1));
  for (const TensorInfo& info : executor.inputs()) {
    std::vector<int64_t> shape;
    for (const Extent& dim : info.dims) {
      const RuntimeResult<int64_t> extent = EvaluateExtent(dim, symbols);
      if (!extent.ok()) return FromRuntime(extent.error());
      shape.push_back(*extent);
    }
    RuntimeResult<NDArray> array = NDArray::Create(info.dtype, shape);
    if (!array.ok()) return FromRuntime(array.error());
    // Integers of a network are indices into tables, or masks: 0 and 1 are among those of all of them. Bytes are
    // pixels.
    const InputRange range = info.dtype.bits == 8 ? DefaultInputRange(info.dtype) : InputRange{0, 1};
    FillInput(1, static_cast<uint32_t>(arrays.size()), info.dtype, range, array->data(), 0, array->num_elements());
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
