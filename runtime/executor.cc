#include "runtime/executor.h"

#include <chrono>
#include <cstring>

#include "runtime/artifact.h"
#include "runtime/kernel_call.h"

namespace lathe {
namespace {

constexpr uint64_t kMaxGraphBytes = uint64_t{256} << 20, kMaxConstantBytes = uint64_t{1} << 40;

struct BoundCall {
  Artifact::Kernel kernel;
  KernelArguments arguments;  // Pointers to inputs and outputs are put in for each run.
  const std::vector<uint32_t>* args;
};

RuntimeResult<NDArray> Bytes(uint64_t count) { return NDArray::Create(kUInt8, {static_cast<int64_t>(count)}); }

TensorInfo InfoOf(const Graph& graph, const GraphPort& port) {
  return {port.name, graph.values[port.value].dtype, graph.values[port.value].shape};
}

RuntimeError CheckInput(const TensorInfo& info, const TensorView& given) {
  const bool same_shape = std::equal(info.shape.begin(), info.shape.end(), given.shape.begin(), given.shape.end());
  if (given.dtype == info.dtype && same_shape) return {};
  const auto text = [](DType dtype, std::span<const int64_t> shape) {
    std::string result = dtype.Name() + " [";
    for (size_t i = 0; i < shape.size(); ++i) result += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
    return result + "]";
  };
  return {RuntimeCode::kInvalidArgument, "run: input \"" + info.name + "\" is " + text(given.dtype, given.shape) +
                                             ", " + text(info.dtype, info.shape) + " required"};
}

}  // namespace

struct Executor::State {
  State(Artifact loaded, Graph decoded, ThreadPool& pool, uint64_t workspace_limit_bytes)
      : artifact(std::move(loaded)), graph(std::move(decoded)), context(pool, workspace_limit_bytes) {}

  RuntimeError TakeMemory(const std::string& path);
  RuntimeError BindCalls();
  RuntimeError BindCall(const GraphCall& call);
  // Null for inputs and outputs, whose memory comes with each run.
  void* FixedAddress(const GraphValue& value) const;

  Artifact artifact;
  Graph graph;
  KernelContext context;
  std::optional<NDArray> arena, constants;
  std::vector<TensorInfo> inputs, outputs;
  std::vector<BoundCall> calls;
};

Executor::Executor(std::unique_ptr<State> state) : state_(std::move(state)) {}
Executor::Executor(Executor&&) noexcept = default;
Executor& Executor::operator=(Executor&&) noexcept = default;
Executor::~Executor() = default;
const std::vector<TensorInfo>& Executor::inputs() const { return state_->inputs; }
const std::vector<TensorInfo>& Executor::outputs() const { return state_->outputs; }

void* Executor::State::FixedAddress(const GraphValue& value) const {
  if (value.storage == LATHE_STORAGE_ARENA) return static_cast<std::byte*>(arena->data()) + value.place;
  if (value.storage == LATHE_STORAGE_CONSTANT) return static_cast<std::byte*>(constants->data()) + value.place;
  return nullptr;
}

RuntimeError Executor::State::TakeMemory(const std::string& path) {
  RUNTIME_ASSIGN_OR_RETURN(NDArray arena_bytes, Bytes(graph.arena_bytes));
  arena = std::move(arena_bytes);
  std::vector<std::byte> section;
  if (graph.constant_bytes > 0) {
    RUNTIME_ASSIGN_OR_RETURN(section, ReadArtifactSection(path, ".lathe.const", kMaxConstantBytes));
  }
  if (section.size() < graph.constant_bytes) {
    return {RuntimeCode::kDataLoss,
            FormatText("load %s: .lathe.const has %zu bytes, %llu required; build the artifact again", path.c_str(),
                       section.size(), (unsigned long long)graph.constant_bytes)};
  }
  RUNTIME_ASSIGN_OR_RETURN(NDArray constant_bytes, Bytes(graph.constant_bytes));
  constants = std::move(constant_bytes);
  if (graph.constant_bytes > 0) std::memcpy(constants->data(), section.data(), graph.constant_bytes);
  return {};
}

RuntimeError Executor::State::BindCall(const GraphCall& call) {
  RUNTIME_ASSIGN_OR_RETURN(const Artifact::Kernel kernel, artifact.Find(call.kernel));
  std::vector<TensorView> views;
  for (const uint32_t arg : call.args)
    views.push_back({FixedAddress(graph.values[arg]), graph.values[arg].dtype, graph.values[arg].shape});
  RUNTIME_ASSIGN_OR_RETURN(KernelArguments arguments, BindArguments(*kernel.meta, views));
  size_t next = 0;
  for (const ParamMeta& param : kernel.meta->params) {
    if (!param.is_buffer) continue;
    const LatheGraphStorage storage = graph.values[call.args[next++]].storage;
    if (param.is_written && (storage == LATHE_STORAGE_INPUT || storage == LATHE_STORAGE_CONSTANT)) {
      return {RuntimeCode::kDataLoss,
              "load: kernel \"" + call.kernel + "\" would write an input or a constant; build the artifact again"};
    }
  }
  calls.push_back({kernel, std::move(arguments), &call.args});
  return {};
}

RuntimeError Executor::State::BindCalls() {
  for (const GraphPort& port : graph.inputs) inputs.push_back(InfoOf(graph, port));
  for (const GraphPort& port : graph.outputs) outputs.push_back(InfoOf(graph, port));
  for (const GraphCall& call : graph.calls) RUNTIME_RETURN_IF_ERROR(BindCall(call));
  return {};
}

RuntimeResult<Executor> Executor::Load(const std::string& path, ThreadPool& pool, uint64_t workspace_limit_bytes) {
  RUNTIME_ASSIGN_OR_RETURN(const std::vector<std::byte> section,
                           ReadArtifactSection(path, ".lathe.graph", kMaxGraphBytes));
  RUNTIME_ASSIGN_OR_RETURN(Graph graph, DecodeGraph(section));
  RUNTIME_ASSIGN_OR_RETURN(Artifact artifact, Artifact::Open(path));
  auto state = std::make_unique<State>(std::move(artifact), std::move(graph), pool, workspace_limit_bytes);
  RUNTIME_RETURN_IF_ERROR(state->TakeMemory(path));
  RUNTIME_RETURN_IF_ERROR(state->BindCalls());
  return Executor(std::move(state));
}

RuntimeResult<std::vector<NDArray>> Executor::Run(std::span<const TensorView> inputs, std::vector<KernelTime>* times) {
  State& state = *state_;
  const Graph& graph = state.graph;
  if (inputs.size() != state.inputs.size()) {
    return RuntimeError{RuntimeCode::kInvalidArgument,
                        FormatText("run: %zu inputs given, %zu required", inputs.size(), state.inputs.size())};
  }
  std::vector<NDArray> aligned;  // Copies of inputs that kernels could not read in place.
  std::vector<void*> input_data;
  for (size_t i = 0; i < inputs.size(); ++i) {
    RUNTIME_RETURN_IF_ERROR(CheckInput(state.inputs[i], inputs[i]));
    input_data.push_back(inputs[i].data);
    if (reinterpret_cast<uintptr_t>(inputs[i].data) % LATHE_BUFFER_ALIGNMENT == 0) continue;
    RUNTIME_ASSIGN_OR_RETURN(NDArray copy, NDArray::Create(inputs[i].dtype, state.inputs[i].shape));
    std::memcpy(copy.data(), inputs[i].data, static_cast<size_t>(copy.size_bytes()));
    input_data.back() = copy.data();
    aligned.push_back(std::move(copy));
  }
  std::vector<NDArray> outputs;
  for (const TensorInfo& info : state.outputs) {
    RUNTIME_ASSIGN_OR_RETURN(NDArray output, NDArray::Create(info.dtype, info.shape));
    outputs.push_back(std::move(output));
  }
  const auto address = [&](const GraphValue& value) {
    if (value.storage == LATHE_STORAGE_INPUT) return input_data[value.place];
    return value.storage == LATHE_STORAGE_OUTPUT ? outputs[value.place].data() : state.FixedAddress(value);
  };
  if (times != nullptr) times->clear();
  for (BoundCall& call : state.calls) {
    for (size_t i = 0; i < call.args->size(); ++i) call.arguments.buffers[i] = address(graph.values[(*call.args)[i]]);
    const auto begin = std::chrono::steady_clock::now();
    RUNTIME_RETURN_IF_ERROR(CallKernel(call.kernel, call.arguments, state.context));
    const std::chrono::nanoseconds taken = std::chrono::steady_clock::now() - begin;
    if (times != nullptr) times->push_back({&call.kernel.meta->name, taken.count()});
  }
  for (size_t i = 0; i < outputs.size(); ++i) {  // Results that no kernel writes, or that another output holds.
    const GraphValue& value = graph.values[graph.outputs[i].value];
    if (value.storage == LATHE_STORAGE_OUTPUT && value.place == i) continue;
    std::memcpy(outputs[i].data(), address(value), value.bytes);
  }
  return outputs;
}

}  // namespace lathe
