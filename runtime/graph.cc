#include "runtime/graph.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "runtime/artifact_meta.h"
#include "runtime/section_reader.h"

namespace lathe {
namespace {

constexpr uint32_t kMaxValues = 1 << 20, kMaxCalls = 1 << 18, kMaxArgs = 256, kMaxPorts = 1024, kMaxValueRank = 16;
constexpr uint32_t kMaxGraphTerms = 1 << 20, kMaxGraphSymbols = 64, kMaxStates = 1 << 16, kMaxDevices = 64;
constexpr uint64_t kMaxMemoryBytes = uint64_t{1} << 40;
constexpr int64_t kMaxValueBytes = int64_t{1} << 47;

bool IsConstant(const std::vector<Extent>& extents) {
  return std::all_of(extents.begin(), extents.end(), [](const Extent& e) { return e.is_constant(); });
}
bool IsConstant(const GraphValue& value) {
  return IsConstant(value.dims) && IsConstant(value.strides) && value.offset.is_constant();
}

class GraphReader {
 public:
  GraphReader(const LatheGraphHeader& header, std::span<const std::byte> bytes)
      : header_(header), is_layout_1_(header.version == 1), reader_(".lathe.graph", bytes) {}

  RuntimeResult<Graph> Read() {
    graph_.arena_bytes = header_.arena_bytes;
    graph_.constant_bytes = header_.constant_bytes;
    if (header_.arena_bytes > kMaxMemoryBytes || header_.constant_bytes > kMaxMemoryBytes)
      return reader_.Corrupt("more than 2^40 bytes of memory");
    RUNTIME_RETURN_IF_ERROR(ReadTables());
    RUNTIME_RETURN_IF_ERROR(ReadValues());
    RUNTIME_RETURN_IF_ERROR(ReadPorts("inputs", header_.inputs_offset, header_.num_inputs, graph_.inputs));
    RUNTIME_RETURN_IF_ERROR(ReadPorts("outputs", header_.outputs_offset, header_.num_outputs, graph_.outputs));
    RUNTIME_RETURN_IF_ERROR(ReadStates());
    RUNTIME_RETURN_IF_ERROR(CheckInputs());
    RUNTIME_RETURN_IF_ERROR(CheckSymbolsAreTold());
    for (const GraphValue& value : graph_.values) RUNTIME_RETURN_IF_ERROR(CheckPlace(value));
    RUNTIME_RETURN_IF_ERROR(ReadCalls());
    return std::move(graph_);
  }

 private:
  RuntimeError ReadTables() {
    if (is_layout_1_) return {};
    if (header_.total_bytes < sizeof(LatheGraphHeader) + sizeof(LatheGraphTables))
      return reader_.Corrupt(FormatText("%u bytes have no room for the tables of layout 2", header_.total_bytes));
    std::memcpy(&tables_, reader_.data() + sizeof(LatheGraphHeader), sizeof(tables_));
    RUNTIME_RETURN_IF_ERROR(
        reader_.CheckTable<LatheMetaTerm>("terms", tables_.terms_offset, tables_.num_terms, kMaxGraphTerms));
    RUNTIME_RETURN_IF_ERROR(
        reader_.CheckTable<LatheGraphSymbol>("symbols", tables_.symbols_offset, tables_.num_symbols, kMaxGraphSymbols));
    scope_ = {tables_.num_terms, tables_.terms_offset, tables_.num_symbols, 0, true};
    for (uint32_t i = 0; i < tables_.num_symbols; ++i) {
      const auto raw = reader_.At<LatheGraphSymbol>(tables_.symbols_offset, i);
      if (raw.least < 0 || raw.most < raw.least)
        return reader_.Corrupt(FormatText("a symbol from %lld to %lld", (long long)raw.least, (long long)raw.most));
      RUNTIME_ASSIGN_OR_RETURN(std::string name, reader_.String("symbol name", raw.name_offset));
      graph_.symbols.push_back({std::move(name), raw.least, raw.most});
    }
    return {};
  }

  RuntimeError ReadValues() {
    if (is_layout_1_) {
      RUNTIME_RETURN_IF_ERROR(
          reader_.CheckTable<LatheGraphValueV1>("values", header_.values_offset, header_.num_values, kMaxValues));
    } else {
      RUNTIME_RETURN_IF_ERROR(
          reader_.CheckTable<LatheGraphValue>("values", header_.values_offset, header_.num_values, kMaxValues));
    }
    for (uint32_t i = 0; i < header_.num_values; ++i) {
      RUNTIME_ASSIGN_OR_RETURN(GraphValue value, is_layout_1_ ? ReadValueV1(i) : ReadValue(i));
      if (!value.dtype.is_supported())
        return reader_.Corrupt(
            FormatText("dtype code %d bits %u is not supported", int(value.dtype.code), value.dtype.bits));
      if (IsConstant(value)) {
        const RuntimeResult<PlacedValue> placed = PlaceValue(value, {});
        if (!placed.ok()) return reader_.Corrupt(placed.error().message);
      }
      graph_.values.push_back(std::move(value));
    }
    return {};
  }

  RuntimeResult<GraphValue> ReadValueV1(uint32_t index) const {
    const auto raw = reader_.At<LatheGraphValueV1>(header_.values_offset, index);
    if (raw.storage > LATHE_STORAGE_ARENA)
      return reader_.Corrupt(FormatText("storage %u, 0 to 3 required", raw.storage));
    GraphValue value{static_cast<LatheGraphStorage>(raw.storage), raw.place,
                     DType{static_cast<DTypeCode>(raw.dtype_code), raw.dtype_bits, 1}};
    RUNTIME_RETURN_IF_ERROR(reader_.CheckTable<int64_t>("dimensions", raw.dims_offset, raw.rank, kMaxValueRank));
    for (uint32_t i = 0; i < raw.rank; ++i)
      value.dims.push_back({LATHE_DIM_CONSTANT, reader_.At<int64_t>(raw.dims_offset, i), {}});
    return value;
  }

  RuntimeResult<GraphValue> ReadValue(uint32_t index) {
    const auto raw = reader_.At<LatheGraphValue>(header_.values_offset, index);
    if (raw.storage > LATHE_STORAGE_SIZED)
      return reader_.Corrupt(FormatText("storage %u, 0 to 5 required", raw.storage));
    GraphValue value{static_cast<LatheGraphStorage>(raw.storage), raw.place,
                     DType{static_cast<DTypeCode>(raw.dtype_code), raw.dtype_bits, 1}};
    if (raw.device >= kMaxDevices) return reader_.Corrupt(FormatText("device %u, below 64 required", raw.device));
    value.device = raw.device;
    RUNTIME_ASSIGN_OR_RETURN(value.dims, ReadExtents("dimensions", raw.dims_offset, raw.rank));
    if (raw.strides_offset != 0) {
      RUNTIME_ASSIGN_OR_RETURN(value.strides, ReadExtents("strides", raw.strides_offset, raw.rank));
    }
    RUNTIME_ASSIGN_OR_RETURN(value.offset, DecodeExtent(reader_, raw.offset, scope_, 0));
    if (value.storage == LATHE_STORAGE_SIZED) {
      if (value.place >= header_.num_values)
        return reader_.Corrupt(
            FormatText("sized memory %llu of %u values", (unsigned long long)value.place, header_.num_values));
      graph_.num_sized = std::max(graph_.num_sized, static_cast<uint32_t>(value.place) + 1);
    }
    return value;
  }

  RuntimeResult<std::vector<Extent>> ReadExtents(const char* what, uint32_t offset, uint32_t count) const {
    RUNTIME_RETURN_IF_ERROR(reader_.CheckTable<LatheMetaDim>(what, offset, count, kMaxValueRank));
    std::vector<Extent> extents;
    for (uint32_t i = 0; i < count; ++i) {
      RUNTIME_ASSIGN_OR_RETURN(Extent extent, DecodeExtent(reader_, reader_.At<LatheMetaDim>(offset, i), scope_, 0));
      extents.push_back(std::move(extent));
    }
    return extents;
  }

  RuntimeError CheckValueNumber(const char* what, uint64_t value) const {
    if (value < graph_.values.size()) return {};
    return reader_.Corrupt(
        FormatText("%s use value %llu of %zu", what, (unsigned long long)value, graph_.values.size()));
  }

  RuntimeError ReadPorts(const char* what, uint32_t offset, uint32_t count, std::vector<GraphPort>& ports) {
    RUNTIME_RETURN_IF_ERROR(reader_.CheckTable<LatheGraphPort>(what, offset, count, kMaxPorts));
    for (uint32_t i = 0; i < count; ++i) {
      const auto raw = reader_.At<LatheGraphPort>(offset, i);
      RUNTIME_RETURN_IF_ERROR(CheckValueNumber(what, raw.value));
      RUNTIME_ASSIGN_OR_RETURN(std::string name, reader_.String(what, raw.name_offset));
      ports.push_back({std::move(name), raw.value});
    }
    return {};
  }

  RuntimeError ReadStates() {
    RUNTIME_RETURN_IF_ERROR(
        reader_.CheckTable<LatheGraphState>("states", tables_.states_offset, tables_.num_states, kMaxStates));
    for (uint32_t i = 0; i < tables_.num_states; ++i) {
      const auto raw = reader_.At<LatheGraphState>(tables_.states_offset, i);
      RUNTIME_RETURN_IF_ERROR(CheckValueNumber("states", raw.value));
      if (raw.initial != 0) RUNTIME_RETURN_IF_ERROR(CheckValueNumber("states", raw.initial - 1));
      RUNTIME_ASSIGN_OR_RETURN(std::string name, reader_.String("state name", raw.name_offset));
      graph_.states.push_back({std::move(name), raw.value, std::nullopt});
      if (raw.initial != 0) graph_.states.back().initial = raw.initial - 1;
      RUNTIME_RETURN_IF_ERROR(CheckState(i));
    }
    return {};
  }

  RuntimeError CheckState(uint32_t number) const {
    const GraphState& state = graph_.states[number];
    const GraphValue& value = graph_.values[state.value];
    if (value.storage != LATHE_STORAGE_STATE || value.place != number || !IsConstant(value))
      return reader_.Corrupt("state \"" + state.name + "\" lies elsewhere or has no constant shape");
    if (!state.initial) return {};
    const GraphValue& initial = graph_.values[*state.initial];
    const bool is_same = initial.dtype == value.dtype && initial.dims == value.dims && initial.strides == value.strides;
    if (initial.storage == LATHE_STORAGE_CONSTANT && is_same) return {};
    return reader_.Corrupt("state \"" + state.name + "\" begins as something that is no constant of its shape");
  }

  RuntimeError CheckInputs() const {
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      const GraphValue& value = graph_.values[graph_.inputs[i].value];
      if (value.storage != LATHE_STORAGE_INPUT || value.place != i)
        return reader_.Corrupt(FormatText("input %zu lies elsewhere", i));
    }
    return {};
  }

  RuntimeError CheckSymbolsAreTold() const {
    for (size_t symbol = 0; symbol < graph_.symbols.size(); ++symbol) {
      bool is_told = false;
      for (const GraphPort& input : graph_.inputs)
        for (const Extent& dim : graph_.values[input.value].dims)
          is_told = is_told || (dim.is_symbol() && dim.value == static_cast<int64_t>(symbol));
      if (!is_told) return reader_.Corrupt("no input tells symbol \"" + graph_.symbols[symbol].name + "\"");
    }
    return {};
  }

  // The value that says how large the memory of `value` is: of a port or a state.
  const GraphValue* OwnerOf(const GraphValue& value) const {
    switch (value.storage) {
      case LATHE_STORAGE_INPUT:
        return value.place < graph_.inputs.size() ? &graph_.values[graph_.inputs[value.place].value] : nullptr;
      case LATHE_STORAGE_OUTPUT:
        return value.place < graph_.outputs.size() ? &graph_.values[graph_.outputs[value.place].value] : nullptr;
      default:
        return value.place < graph_.states.size() ? &graph_.values[graph_.states[value.place].value] : nullptr;
    }
  }

  // Values of constant shape lie inside of what they name; those with symbols are checked by each run.
  RuntimeError CheckPlace(const GraphValue& value) const {
    uint64_t room = UINT64_MAX, begin = 0;
    if (value.storage == LATHE_STORAGE_ARENA || value.storage == LATHE_STORAGE_CONSTANT) {
      room = value.storage == LATHE_STORAGE_ARENA ? graph_.arena_bytes : graph_.constant_bytes;
      begin = value.place;
      if (begin > room || begin % LATHE_BUFFER_ALIGNMENT != 0)
        return reader_.Corrupt(
            FormatText("a value at %llu of %llu", (unsigned long long)begin, (unsigned long long)room));
    } else if (value.storage != LATHE_STORAGE_SIZED) {
      const GraphValue* owner = OwnerOf(value);
      if (owner == nullptr) return reader_.Corrupt(FormatText("a value in port %llu", (unsigned long long)value.place));
      if (owner->storage != value.storage || owner->place != value.place)
        return reader_.Corrupt("a value does not fill its input or output");
      if (IsConstant(*owner)) room = PlaceValue(*owner, {}).ok() ? PlaceValue(*owner, {})->bytes : 0;
    }
    if (value.storage == LATHE_STORAGE_CONSTANT && !IsConstant(value))
      return reader_.Corrupt("a constant without constant shape");
    if (!IsConstant(value)) return {};
    const uint64_t bytes = PlaceValue(value, {})->bytes;
    if (bytes <= room - begin) return {};
    return reader_.Corrupt(FormatText("%llu bytes at %llu of %llu", (unsigned long long)bytes,
                                      (unsigned long long)begin, (unsigned long long)room));
  }

  RuntimeError ReadCalls() {
    RUNTIME_RETURN_IF_ERROR(
        reader_.CheckTable<LatheGraphCall>("calls", header_.calls_offset, header_.num_calls, kMaxCalls));
    for (uint32_t i = 0; i < header_.num_calls; ++i) {
      const auto raw = reader_.At<LatheGraphCall>(header_.calls_offset, i);
      GraphCall call;
      RUNTIME_ASSIGN_OR_RETURN(call.kernel, reader_.String("kernel name", raw.kernel_offset));
      RUNTIME_RETURN_IF_ERROR(
          is_layout_1_ ? reader_.CheckTable<uint32_t>("arguments", raw.args_offset, raw.num_args, kMaxArgs)
                       : reader_.CheckTable<LatheGraphArg>("arguments", raw.args_offset, raw.num_args, kMaxArgs));
      for (uint32_t arg = 0; arg < raw.num_args; ++arg) {
        RUNTIME_ASSIGN_OR_RETURN(GraphArg read, ReadArg(raw.args_offset, arg));
        call.args.push_back(std::move(read));
      }
      graph_.calls.push_back(std::move(call));
    }
    return {};
  }

  RuntimeResult<GraphArg> ReadArg(uint32_t offset, uint32_t index) const {
    GraphArg arg;
    if (is_layout_1_) {
      arg.value = reader_.At<uint32_t>(offset, index);
    } else {
      const auto raw = reader_.At<LatheGraphArg>(offset, index);
      if (raw.kind > LATHE_ARG_SCALAR)
        return reader_.Corrupt(FormatText("argument kind %u, 0 or 1 required", raw.kind));
      arg.is_scalar = raw.kind == LATHE_ARG_SCALAR;
      arg.value = raw.value;
      if (arg.is_scalar) {
        RUNTIME_ASSIGN_OR_RETURN(arg.scalar, DecodeExtent(reader_, raw.scalar, scope_, INT64_MIN));
      }
    }
    if (!arg.is_scalar) RUNTIME_RETURN_IF_ERROR(CheckValueNumber("calls", arg.value));
    return arg;
  }

  static_assert(sizeof(LatheGraphCall) == sizeof(LatheGraphCallV1));  // Only what its arguments are differs.
  LatheGraphHeader header_;
  const bool is_layout_1_;
  SectionReader reader_;
  LatheGraphTables tables_{};
  ExtentScope scope_;
  Graph graph_;
};

// Elements from the first to one past the last.
std::optional<int64_t> SpanOf(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
  if (strides.empty()) return CountElements(shape);
  int64_t last = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t reach = 0;
    if (shape[i] == 0) return 0;
    if (shape[i] < 0 || strides[i] < 0 || __builtin_mul_overflow(shape[i] - 1, strides[i], &reach) ||
        __builtin_add_overflow(last, reach, &last))
      return std::nullopt;
  }
  return last + 1;
}

}  // namespace

std::vector<std::string> Graph::SymbolNames() const {
  std::vector<std::string> names;
  for (const GraphSymbol& symbol : symbols) names.push_back(symbol.name);
  return names;
}

RuntimeResult<PlacedValue> PlaceValue(const GraphValue& value, std::span<const int64_t> symbols) {
  PlacedValue placed;
  for (const Extent& dim : value.dims) {
    RUNTIME_ASSIGN_OR_RETURN(const int64_t extent, EvaluateExtent(dim, symbols));
    placed.shape.push_back(extent);
  }
  for (const Extent& stride : value.strides) {
    RUNTIME_ASSIGN_OR_RETURN(const int64_t step, EvaluateExtent(stride, symbols));
    placed.strides.push_back(step);
  }
  RUNTIME_ASSIGN_OR_RETURN(placed.offset, EvaluateExtent(value.offset, symbols));
  const std::optional<int64_t> span = SpanOf(placed.shape, placed.strides);
  int64_t elements = 0, bytes = 0;
  if (!CountElements(placed.shape) || !span || placed.offset < 0 ||
      __builtin_add_overflow(*span, placed.offset, &elements) ||
      __builtin_mul_overflow(elements, int64_t{value.dtype.bytes()}, &bytes) || bytes > kMaxValueBytes)
    return RuntimeError{RuntimeCode::kInvalidArgument, "an extent is negative or a tensor exceeds 2^47 bytes"};
  placed.bytes = static_cast<uint64_t>(bytes);
  return placed;
}

RuntimeResult<Graph> DecodeGraph(std::span<const std::byte> section) {
  const SectionReader whole(".lathe.graph", section);
  if (section.size() < sizeof(LatheGraphHeader))
    return whole.Corrupt(FormatText("%zu bytes, a header has %zu", section.size(), sizeof(LatheGraphHeader)));
  const auto header = whole.At<LatheGraphHeader>(0, 0);
  if (header.magic != LATHE_GRAPH_MAGIC)
    return whole.Corrupt(FormatText("magic 0x%llx", (unsigned long long)header.magic));
  if (header.version < LATHE_GRAPH_OLDEST || header.version > LATHE_GRAPH_VERSION) {
    return RuntimeError{RuntimeCode::kFailedPrecondition,
                        FormatText("decode .lathe.graph: layout version %u, this program reads %d to %d; build the "
                                   "artifact again with this release",
                                   header.version, LATHE_GRAPH_OLDEST, LATHE_GRAPH_VERSION)};
  }
  if (header.total_bytes < sizeof(header) || header.total_bytes > section.size()) {
    return whole.Corrupt(FormatText("total_bytes %u, the section has %zu", header.total_bytes, section.size()));
  }
  return GraphReader(header, section.first(header.total_bytes)).Read();
}

}  // namespace lathe
