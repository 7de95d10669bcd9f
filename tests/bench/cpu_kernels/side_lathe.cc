// What Lathe compiled: FOLDER/<"artifact" of the request>, run by the executor; and what the machine's limits are.
#include <bit>
#include <cstring>

#include "runner/peak.h"
#include "runtime/executor.h"
#include "tests/bench/cpu_kernels/side.h"

namespace lathe {
namespace {

class LatheSide : public Side {
 public:
  std::string Open(const nlohmann::json& request) override {
    auto pool = ThreadPool::Create(request.at("threads"));
    if (!pool.ok()) return pool.error().message;
    executor_.reset();
    pool_ = *std::move(pool);
    auto loaded = Executor::Load(request.at("artifact"), *pool_);
    if (!loaded.ok()) return loaded.error().message;
    executor_.emplace(*std::move(loaded));
    inputs_.clear();
    for (const TensorInfo& info : executor_->inputs())
      if (const std::string why = AddInput(request, info); !why.empty()) return why;
    Call();
    return outputs_.empty() ? failure_ : "";
  }
  void Call() override {
    std::vector<TensorView> views;
    for (NDArray& input : inputs_) views.push_back(input.view());
    auto outputs = executor_->Run(views);
    if (outputs.ok())
      outputs_ = *std::move(outputs);
    else
      failure_ = outputs.error().message;
  }
  std::span<const float> Output() const override {
    const std::string type = outputs_[0].dtype().Name();
    const auto count = static_cast<size_t>(outputs_[0].num_elements());
    if (type == "float32") return {static_cast<const float*>(outputs_[0].data()), count};
    wide_.resize(count);
    for (size_t i = 0; i < count; ++i)
      wide_[i] = type == "int32"
                     ? static_cast<float>(static_cast<const int32_t*>(outputs_[0].data())[i])
                     : std::bit_cast<float>(uint32_t{static_cast<const uint16_t*>(outputs_[0].data())[i]} << 16);
    return wide_;
  }
  std::vector<std::span<std::byte>> Memory() override {
    std::vector<std::span<std::byte>> memory;
    for (auto* arrays : {&inputs_, &outputs_})
      for (NDArray& array : *arrays)
        memory.emplace_back(static_cast<std::byte*>(array.data()), static_cast<size_t>(array.size_bytes()));
    return memory;
  }
  nlohmann::json Answer(const nlohmann::json& request) override {
    nlohmann::json compute, copy;
    for (const ComputeRoof& roof : MeasureComputeRoofs())
      compute.push_back({{"types", roof.types},
                         {"instructions", roof.instructions},
                         {"bits", roof.vector_bits},
                         {"gops", roof.is_present ? nlohmann::json(roof.gops) : nlohmann::json()}});
    for (const CopyRoof& roof : MeasureCopyRoofs())
      copy.push_back({{"level", roof.level}, {"bytes", roof.bytes}, {"gb_per_s", roof.gb_per_s}});
    return {{"gflops", MeasureMachinePeak().gflops_f32}, {"compute", compute}, {"copy", copy}};
  }

 private:
  std::string AddInput(const nlohmann::json& request, const TensorInfo& info) {
    const auto shape = info.ConstantShape();
    if (!shape) return "input " + info.name + " is no tensor of a given size";
    auto array = NDArray::Create(info.dtype, *shape);
    if (!array.ok()) return array.error().message;
    const std::vector<std::byte> bytes = ReadBytes(request, info.name);
    if (bytes.size() != static_cast<size_t>(array->num_elements() * info.dtype.bytes()))
      return "input " + info.name + " has another size";
    std::memcpy(array->data(), bytes.data(), bytes.size());
    inputs_.push_back(*std::move(array));
    return "";
  }

  std::unique_ptr<ThreadPool> pool_;
  std::optional<Executor> executor_;
  std::vector<NDArray> inputs_, outputs_;
  mutable std::vector<float> wide_;  // The output, where it is not float32.
  std::string failure_ = "no output";
};

}  // namespace
}  // namespace lathe

int main() {
  lathe::LatheSide side;
  return lathe::Serve(side);
}
