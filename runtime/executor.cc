#include "runtime/executor.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "runtime/artifact.h"
#include "runtime/kernel_call.h"

namespace lathe {
namespace {

constexpr uint64_t kMaxGraphBytes = uint64_t{256} << 20, kMaxConstantBytes = uint64_t{1} << 40;

struct PortArgument {  // A buffer in an input or output, whose memory comes with each run.
  size_t index;        // Among the call's buffers.
  uint32_t value;
  uintptr_t shift;  // Bytes from the beginning of that memory.
};
struct BoundCall {
  Artifact::Kernel kernel;
  KernelArguments arguments;
  std::vector<PortArgument> ports;
};

RuntimeResult<NDArray> Bytes(uint64_t count) { return NDArray::Create(kUInt8, {static_cast<int64_t>(count)}); }

TensorInfo InfoOf(const Graph& graph, const GraphPort& port) {
  return {port.name, graph.values[port.value].dtype, graph.values[port.value].dims};
}

template <typename T, typename F>
std::string Join(const T& items, F text) {
  std::string result = "[";
  for (const auto& item : items) result += (result.size() == 1 ? "" : ", ") + text(item);
  return result + "]";
}

// Row by row from a strided tensor into a compact one.
void CopyToCompact(const TensorView& from, void* to) {
  const size_t bytes = static_cast<size_t>(from.dtype.bytes()), rank = from.shape.size();
  const auto* source = static_cast<const char*>(from.data) + from.elem_offset * static_cast<int64_t>(bytes);
  const std::optional<int64_t> count = CountElements(from.shape);
  if (from.strides.empty()) {
    std::memcpy(to, source, static_cast<size_t>(count.value_or(0)) * bytes);
    return;
  }
  std::vector<int64_t> at(rank, 0);
  for (int64_t i = 0; i < count.value_or(0); ++i) {
    int64_t element = 0;
    for (size_t dim = 0; dim < rank; ++dim) element += at[dim] * from.strides[dim];
    std::memcpy(static_cast<char*>(to) + static_cast<size_t>(i) * bytes, source + element * static_cast<int64_t>(bytes),
                bytes);
    for (size_t dim = rank; dim-- > 0 && ++at[dim] == from.shape[dim];) at[dim] = 0;
  }
}

// What the caller gives to one run, where kernels can use it.
struct RunMemory {
  std::vector<void*> inputs;
  std::vector<NDArray> outputs;
  std::vector<NDArray> copies;  // Of inputs that kernels cannot read in place.
};

bool IsAligned(const void* data) { return reinterpret_cast<uintptr_t>(data) % LATHE_BUFFER_ALIGNMENT == 0; }

// The addresses from the first byte of `tensor` to behind its last one.
std::pair<uintptr_t, uintptr_t> AddressesOf(const TensorView& tensor) {
  const auto begin = reinterpret_cast<uintptr_t>(tensor.data);
  int64_t first = tensor.elem_offset, last = tensor.elem_offset, compact = 1;
  for (size_t dim = tensor.shape.size(); dim-- > 0;) {
    if (tensor.shape[dim] == 0) return {begin, begin};
    const int64_t reach = (tensor.shape[dim] - 1) * (tensor.strides.empty() ? compact : tensor.strides[dim]);
    (reach < 0 ? first : last) += reach;
    compact *= tensor.shape[dim];
  }
  const int64_t bytes = tensor.dtype.bytes();
  return {begin + static_cast<uintptr_t>(first * bytes), begin + static_cast<uintptr_t>((last + 1) * bytes)};
}

bool Overlap(const TensorView& a, const TensorView& b) {
  if (a.data == nullptr || b.data == nullptr) return false;
  const auto [a_begin, a_end] = AddressesOf(a);
  const auto [b_begin, b_end] = AddressesOf(b);
  return a_begin < b_end && b_begin < a_end;
}

bool IsPort(const GraphValue& value) {
  return value.storage == LATHE_STORAGE_INPUT || value.storage == LATHE_STORAGE_OUTPUT;
}

}  // namespace

std::optional<std::vector<int64_t>> TensorInfo::ConstantShape() const {
  std::vector<int64_t> shape;
  for (const Extent& dim : dims) {
    if (!dim.is_constant()) return std::nullopt;
    shape.push_back(dim.value);
  }
  return shape;
}

struct Executor::State {
  State(Artifact loaded, Graph decoded, ThreadPool& pool, uint64_t workspace_limit_bytes)
      : artifact(std::move(loaded)), graph(std::move(decoded)), context(pool, workspace_limit_bytes) {}

  RuntimeError TakeMemory(const std::string& path);
  RuntimeError FindKernels();
  RuntimeError CheckHost() const;
  RuntimeResult<std::vector<int64_t>> SymbolsOf(std::span<const TensorView> given) const;
  RuntimeError CheckTensor(const char* kind, const TensorInfo& info, const TensorView& given,
                           std::span<const int64_t> symbols) const;
  // Memory that the caller gave for output `number`: as it must be, and apart from what the call reads and writes.
  RuntimeError CheckOutput(size_t number, std::span<const TensorView> given_inputs, std::span<const TensorView> given,
                           std::span<const int64_t> symbols) const;
  // Checks what is given, and binds for the symbols that it tells.
  RuntimeError Prepare(std::span<const TensorView> given_inputs, std::span<const TensorView> given_outputs);
  // Shapes, memory and arguments for these symbols; nothing to do when they are those of the last run.
  RuntimeError Bind(const std::vector<int64_t>& symbols);
  RuntimeError PlaceValues(std::span<const int64_t> symbols);
  RuntimeError BindCall(size_t number, std::span<const int64_t> symbols);
  // Memory for output `number`: of an earlier run whose arrays nobody has any more, so that results of megabytes are
  // not mapped and cleared by the kernel anew each time.
  RuntimeResult<NDArray> TakeOutput(size_t number);
  RuntimeResult<RunMemory> TakeRunMemory(std::span<const TensorView> given_inputs,
                                         std::span<const TensorView> given_outputs);
  RuntimeError CallKernels(const RunMemory& memory, std::vector<KernelTime>* times);
  // Outputs that no kernel writes, or that another output holds.
  void CopyOutputs(const RunMemory& memory);
  // Null for inputs and outputs, whose memory comes with each run.
  void* FixedAddress(const GraphValue& value) const;
  void* Address(const GraphValue& value, const RunMemory& memory) const;

  Artifact artifact;
  Graph graph;
  KernelContext context;
  std::optional<NDArray> arena, constants;
  std::vector<NDArray> states, sized;
  std::vector<TensorInfo> inputs, outputs;
  std::vector<Artifact::Kernel> kernels;              // Per call.
  std::optional<std::vector<int64_t>> bound_symbols;  // What the following were made for.
  std::vector<PlacedValue> placed;                    // Per value.
  std::vector<BoundCall> calls;
  std::vector<std::vector<NDArray>> past_outputs;  // Per output, at most kPastOutputs.
};

Executor::Executor(std::unique_ptr<State> state) : state_(std::move(state)) {}
Executor::Executor(Executor&&) noexcept = default;
Executor& Executor::operator=(Executor&&) noexcept = default;
Executor::~Executor() = default;
const std::vector<TensorInfo>& Executor::inputs() const { return state_->inputs; }
const std::vector<TensorInfo>& Executor::outputs() const { return state_->outputs; }
const std::vector<GraphSymbol>& Executor::symbols() const { return state_->graph.symbols; }

void* Executor::State::FixedAddress(const GraphValue& value) const {
  switch (value.storage) {
    case LATHE_STORAGE_ARENA:
      return static_cast<std::byte*>(arena->data()) + value.place;
    case LATHE_STORAGE_CONSTANT:
      return static_cast<std::byte*>(constants->data()) + value.place;
    case LATHE_STORAGE_STATE:
      return states[value.place].data();
    case LATHE_STORAGE_SIZED:
      return sized[value.place].data();
    default:
      return nullptr;
  }
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
  for (const GraphState& state : graph.states) {
    RUNTIME_ASSIGN_OR_RETURN(const PlacedValue place, PlaceValue(graph.values[state.value], {}));
    RUNTIME_ASSIGN_OR_RETURN(NDArray memory, Bytes(place.bytes));
    states.push_back(std::move(memory));
  }
  return {};
}

void Executor::ResetStates() {
  for (size_t i = 0; i < state_->states.size(); ++i) {
    NDArray& memory = state_->states[i];
    const std::optional<uint32_t> initial = state_->graph.states[i].initial;
    const size_t bytes = static_cast<size_t>(memory.size_bytes());
    if (initial)
      std::memcpy(memory.data(), state_->FixedAddress(state_->graph.values[*initial]), bytes);
    else
      std::memset(memory.data(), 0, bytes);
  }
}

RuntimeError Executor::State::CheckHost() const {
  for (const GraphValue& value : graph.values) {
    if (value.device != 0)
      return {RuntimeCode::kUnimplemented,
              FormatText("load: a value lies on device %u, this executor serves the host; build for the CPU",
                         value.device)};
  }
  return {};
}

// Finds every kernel, and refuses calls that would write what is not theirs.
RuntimeError Executor::State::FindKernels() {
  for (const GraphPort& port : graph.inputs) inputs.push_back(InfoOf(graph, port));
  for (const GraphPort& port : graph.outputs) outputs.push_back(InfoOf(graph, port));
  for (const GraphCall& call : graph.calls) {
    RUNTIME_ASSIGN_OR_RETURN(const Artifact::Kernel kernel, artifact.Find(call.kernel));
    const std::vector<ParamMeta>& params = kernel.meta->params;
    bool fits = params.size() == call.args.size();
    for (size_t i = 0; fits && i < params.size(); ++i)
      fits = call.args[i].is_scalar == (params[i].kind == ParamKind::kScalar);
    if (!fits) {
      return {RuntimeCode::kDataLoss,
              FormatText("load: kernel \"%s\" is called with %zu arguments that are not those of "
                         "its %zu parameters; build the artifact again",
                         call.kernel.c_str(), call.args.size(), params.size())};
    }
    for (size_t i = 0; i < params.size(); ++i) {
      if (call.args[i].is_scalar || !params[i].is_written) continue;
      const LatheGraphStorage storage = graph.values[call.args[i].value].storage;
      if (storage != LATHE_STORAGE_INPUT && storage != LATHE_STORAGE_CONSTANT) continue;
      return {RuntimeCode::kDataLoss,
              "load: kernel \"" + call.kernel + "\" would write an input or a constant; build the artifact again"};
    }
    kernels.push_back(kernel);
  }
  return {};
}

RuntimeResult<std::vector<int64_t>> Executor::State::SymbolsOf(std::span<const TensorView> given) const {
  std::vector<int64_t> symbols(graph.symbols.size(), -1);
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (size_t dim = 0; dim < std::min(inputs[i].dims.size(), given[i].shape.size()); ++dim) {
      const Extent& extent = inputs[i].dims[dim];
      if (extent.is_symbol() && symbols[extent.value] < 0) symbols[extent.value] = given[i].shape[dim];
    }
  }
  for (size_t i = 0; i < symbols.size(); ++i) {
    const GraphSymbol& symbol = graph.symbols[i];
    if (symbols[i] >= symbol.least && symbols[i] <= symbol.most) continue;
    return RuntimeError{RuntimeCode::kInvalidArgument,
                        FormatText("run: extent \"%s\" is %lld, %lld to %lld required", symbol.name.c_str(),
                                   (long long)symbols[i], (long long)symbol.least, (long long)symbol.most)};
  }
  return symbols;
}

RuntimeError Executor::State::CheckTensor(const char* kind, const TensorInfo& info, const TensorView& given,
                                          std::span<const int64_t> symbols) const {
  bool fits = given.dtype == info.dtype && given.shape.size() == info.dims.size() &&
              (given.strides.empty() || given.strides.size() == given.shape.size());
  for (size_t dim = 0; fits && dim < info.dims.size(); ++dim) {
    RUNTIME_ASSIGN_OR_RETURN(const int64_t extent, EvaluateExtent(info.dims[dim], symbols));
    fits = given.shape[dim] == extent;
  }
  if (fits) return {};
  const std::vector<std::string> names = graph.SymbolNames();
  const std::string is = Join(given.shape, [](int64_t extent) { return std::to_string(extent); });
  const std::string wanted = Join(info.dims, [&](const Extent& extent) {
    const RuntimeResult<int64_t> value = EvaluateExtent(extent, symbols);
    const std::string text = extent.ToString(names);
    return extent.is_constant() || !value.ok() ? text : text + " = " + std::to_string(*value);
  });
  return {RuntimeCode::kInvalidArgument, std::string("run: ") + kind + " \"" + info.name + "\" is " +
                                             given.dtype.Name() + " " + is + ", " + info.dtype.Name() + " " + wanted +
                                             " required"};
}

RuntimeError Executor::State::CheckOutput(size_t number, std::span<const TensorView> given_inputs,
                                          std::span<const TensorView> given, std::span<const int64_t> symbols) const {
  const TensorView& output = given[number];
  if (output.data == nullptr) return {};
  const std::string& name = outputs[number].name;
  RUNTIME_RETURN_IF_ERROR(CheckTensor("output", outputs[number], output, symbols));
  if (!output.strides.empty() || output.elem_offset != 0)
    return {RuntimeCode::kInvalidArgument,
            "run: output \"" + name + "\" has strides or an offset; give compact memory"};
  for (size_t i = 0; i < given_inputs.size(); ++i) {
    if (Overlap(output, given_inputs[i]))
      return {RuntimeCode::kInvalidArgument,
              "run: output \"" + name + "\" overlaps input \"" + inputs[i].name + "\"; give it memory of its own"};
  }
  for (size_t i = 0; i < number; ++i) {
    if (Overlap(output, given[i]))
      return {RuntimeCode::kInvalidArgument,
              "run: output \"" + name + "\" overlaps output \"" + outputs[i].name + "\"; give it memory of its own"};
  }
  return {};
}

// The shape of every value, the memory of those that are sized by the run, and whether those in the arena fit.
RuntimeError Executor::State::PlaceValues(std::span<const int64_t> symbols) {
  placed.clear();
  std::vector<uint64_t> sizes(graph.num_sized, 0);
  for (const GraphValue& value : graph.values) {
    const RuntimeResult<PlacedValue> place = PlaceValue(value, symbols);
    if (!place.ok()) return {place.error().code, "run: " + place.error().message};
    const bool fits = value.storage != LATHE_STORAGE_ARENA || place->bytes <= graph.arena_bytes - value.place;
    if (!fits) {
      return {RuntimeCode::kDataLoss,
              FormatText("run: %llu bytes at %llu pass the end of the arena; build the artifact "
                         "again",
                         (unsigned long long)place->bytes, (unsigned long long)value.place)};
    }
    if (value.storage == LATHE_STORAGE_SIZED) sizes[value.place] = std::max(sizes[value.place], place->bytes);
    placed.push_back(*place);
  }
  sized.clear();
  for (const uint64_t size : sizes) {
    RUNTIME_ASSIGN_OR_RETURN(NDArray memory, Bytes(size));
    sized.push_back(std::move(memory));
  }
  for (size_t i = 0; i < graph.values.size(); ++i) {  // What lies in a port or state is no larger than it.
    const GraphValue& value = graph.values[i];
    const std::vector<GraphPort>& ports = value.storage == LATHE_STORAGE_INPUT ? graph.inputs : graph.outputs;
    uint64_t room = UINT64_MAX;
    if (IsPort(value))
      room = placed[ports[value.place].value].bytes;
    else if (value.storage == LATHE_STORAGE_STATE)
      room = static_cast<uint64_t>(states[value.place].size_bytes());
    if (placed[i].bytes > room)
      return {RuntimeCode::kDataLoss, "run: a value does not fit its input, output or state; build the artifact again"};
  }
  return {};
}

RuntimeError Executor::State::BindCall(size_t number, std::span<const int64_t> symbols) {
  BoundCall bound{kernels[number], {}, {}};
  std::vector<uint32_t> values;
  std::vector<TensorView> views;
  std::vector<int64_t> scalars;
  for (const GraphArg& arg : graph.calls[number].args) {
    if (arg.is_scalar) {
      RUNTIME_ASSIGN_OR_RETURN(const int64_t scalar, EvaluateExtent(arg.scalar, symbols));
      scalars.push_back(scalar);
      continue;
    }
    const GraphValue& value = graph.values[arg.value];
    const PlacedValue& place = placed[arg.value];
    views.push_back({FixedAddress(value), value.dtype, place.shape, place.strides, place.offset});
    values.push_back(arg.value);
  }
  RUNTIME_ASSIGN_OR_RETURN(bound.arguments, BindArguments(*bound.kernel.meta, views, scalars));
  for (size_t i = 0; i < values.size(); ++i) {  // Bound at address 0, so the pointer is the shift.
    if (IsPort(graph.values[values[i]]))
      bound.ports.push_back({i, values[i], reinterpret_cast<uintptr_t>(bound.arguments.buffers[i])});
  }
  calls.push_back(std::move(bound));
  return {};
}

RuntimeError Executor::State::Bind(const std::vector<int64_t>& symbols) {
  if (bound_symbols == symbols) return {};
  bound_symbols.reset();
  calls.clear();
  RUNTIME_RETURN_IF_ERROR(PlaceValues(symbols));
  for (size_t i = 0; i < kernels.size(); ++i) RUNTIME_RETURN_IF_ERROR(BindCall(i, symbols));
  bound_symbols = symbols;
  return {};
}

RuntimeResult<Executor> Executor::Load(const std::string& path, ThreadPool& pool, uint64_t workspace_limit_bytes) {
  RUNTIME_ASSIGN_OR_RETURN(const std::vector<std::byte> section,
                           ReadArtifactSection(path, ".lathe.graph", kMaxGraphBytes));
  RUNTIME_ASSIGN_OR_RETURN(Graph graph, DecodeGraph(section));
  RUNTIME_ASSIGN_OR_RETURN(Artifact artifact, Artifact::Open(path));
  auto state = std::make_unique<State>(std::move(artifact), std::move(graph), pool, workspace_limit_bytes);
  RUNTIME_RETURN_IF_ERROR(state->CheckHost());
  RUNTIME_RETURN_IF_ERROR(state->TakeMemory(path));
  RUNTIME_RETURN_IF_ERROR(state->FindKernels());
  if (state->graph.symbols.empty()) RUNTIME_RETURN_IF_ERROR(state->Bind({}));
  Executor executor(std::move(state));
  executor.ResetStates();
  return executor;
}

RuntimeResult<NDArray> Executor::State::TakeOutput(size_t number) {
  constexpr size_t kPastOutputs = 2;  // A caller may hold one while it asks for the next.
  past_outputs.resize(outputs.size());
  std::vector<NDArray>& past = past_outputs[number];
  const std::vector<int64_t>& shape = placed[graph.outputs[number].value].shape;
  for (const NDArray& array : past)
    if (!array.is_shared() && array.shape() == shape) return array;
  RUNTIME_ASSIGN_OR_RETURN(NDArray made, NDArray::Create(outputs[number].dtype, shape));
  if (past.size() == kPastOutputs) past.erase(past.begin());
  past.push_back(made);
  return made;
}

RuntimeError Executor::State::Prepare(std::span<const TensorView> given_inputs,
                                      std::span<const TensorView> given_outputs) {
  if (given_inputs.size() != inputs.size()) {
    return {RuntimeCode::kInvalidArgument,
            FormatText("run: %zu inputs given, %zu required", given_inputs.size(), inputs.size())};
  }
  if (given_outputs.size() != outputs.size()) {
    return {RuntimeCode::kInvalidArgument,
            FormatText("run: %zu outputs given, %zu required", given_outputs.size(), outputs.size())};
  }
  RUNTIME_ASSIGN_OR_RETURN(const std::vector<int64_t> symbols, SymbolsOf(given_inputs));
  for (size_t i = 0; i < inputs.size(); ++i)
    RUNTIME_RETURN_IF_ERROR(CheckTensor("input", inputs[i], given_inputs[i], symbols));
  for (size_t i = 0; i < outputs.size(); ++i)
    RUNTIME_RETURN_IF_ERROR(CheckOutput(i, given_inputs, given_outputs, symbols));
  return Bind(symbols);
}

RuntimeResult<RunMemory> Executor::State::TakeRunMemory(std::span<const TensorView> given_inputs,
                                                        std::span<const TensorView> given_outputs) {
  RunMemory memory;
  for (const TensorView& input : given_inputs) {
    memory.inputs.push_back(input.data);
    if (IsAligned(input.data) && input.strides.empty() && input.elem_offset == 0) continue;
    RUNTIME_ASSIGN_OR_RETURN(NDArray copy, NDArray::Create(input.dtype, {input.shape.begin(), input.shape.end()}));
    CopyToCompact(input, copy.data());
    memory.inputs.back() = copy.data();
    memory.copies.push_back(std::move(copy));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorView& given = given_outputs[i];
    if (given.data != nullptr && IsAligned(given.data)) {
      memory.outputs.push_back(NDArray::Over(given.data, given.dtype, {given.shape.begin(), given.shape.end()}));
      continue;
    }
    RUNTIME_ASSIGN_OR_RETURN(NDArray output, TakeOutput(i));
    memory.outputs.push_back(std::move(output));
  }
  return memory;
}

void* Executor::State::Address(const GraphValue& value, const RunMemory& memory) const {
  if (value.storage == LATHE_STORAGE_INPUT) return memory.inputs[value.place];
  return value.storage == LATHE_STORAGE_OUTPUT ? memory.outputs[value.place].data() : FixedAddress(value);
}

RuntimeError Executor::State::CallKernels(const RunMemory& memory, std::vector<KernelTime>* times) {
  for (BoundCall& call : calls) {
    for (const PortArgument& port : call.ports)
      call.arguments.buffers[port.index] = static_cast<char*>(Address(graph.values[port.value], memory)) + port.shift;
    const auto begin = std::chrono::steady_clock::now();
    RUNTIME_RETURN_IF_ERROR(CallKernel(call.kernel, call.arguments, context));
    const std::chrono::nanoseconds taken = std::chrono::steady_clock::now() - begin;
    if (times != nullptr) times->push_back({&call.kernel.meta->name, taken.count()});
  }
  return {};
}

void Executor::State::CopyOutputs(const RunMemory& memory) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const uint32_t number = graph.outputs[i].value;
    const GraphValue& value = graph.values[number];
    if (value.storage == LATHE_STORAGE_OUTPUT && value.place == i) continue;
    const PlacedValue& place = placed[number];
    CopyToCompact({Address(value, memory), value.dtype, place.shape, place.strides, place.offset},
                  memory.outputs[i].data());
  }
}

RuntimeResult<std::vector<NDArray>> Executor::Run(std::span<const TensorView> inputs, std::vector<KernelTime>* times) {
  return RunInto(inputs, std::vector<TensorView>(state_->outputs.size()), times);
}

RuntimeResult<std::vector<NDArray>> Executor::RunInto(std::span<const TensorView> inputs,
                                                      std::span<const TensorView> outputs,
                                                      std::vector<KernelTime>* times) {
  RUNTIME_RETURN_IF_ERROR(state_->Prepare(inputs, outputs));
  RUNTIME_ASSIGN_OR_RETURN(RunMemory memory, state_->TakeRunMemory(inputs, outputs));
  if (times != nullptr) times->clear();
  RUNTIME_RETURN_IF_ERROR(state_->CallKernels(memory, times));
  state_->CopyOutputs(memory);
  for (size_t i = 0; i < outputs.size(); ++i) {
    NDArray& output = memory.outputs[i];
    if (outputs[i].data == nullptr || outputs[i].data == output.data()) continue;
    std::memcpy(outputs[i].data, output.data(), static_cast<size_t>(output.size_bytes()));
    output = NDArray::Over(outputs[i].data, output.dtype(), output.shape());
  }
  return std::move(memory.outputs);
}

}  // namespace lathe
