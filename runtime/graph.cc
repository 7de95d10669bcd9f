#include "runtime/graph.h"

#include "runtime/artifact_meta.h"
#include "runtime/section_reader.h"

namespace lathe {
namespace {

constexpr uint32_t kMaxValues = 1 << 20, kMaxCalls = 1 << 18, kMaxArgs = 256, kMaxPorts = 1024, kMaxValueRank = 16;
constexpr uint64_t kMaxMemoryBytes = uint64_t{1} << 40;

class GraphReader {
 public:
  GraphReader(const LatheGraphHeader& header, std::span<const std::byte> bytes)
      : header_(header), reader_(".lathe.graph", bytes) {}

  RuntimeResult<Graph> Read() {
    graph_.arena_bytes = header_.arena_bytes;
    graph_.constant_bytes = header_.constant_bytes;
    if (header_.arena_bytes > kMaxMemoryBytes || header_.constant_bytes > kMaxMemoryBytes)
      return reader_.Corrupt("more than 2^40 bytes of memory");
    RUNTIME_RETURN_IF_ERROR(
        reader_.CheckTable<LatheGraphValue>("values", header_.values_offset, header_.num_values, kMaxValues));
    for (uint32_t i = 0; i < header_.num_values; ++i)
      RUNTIME_RETURN_IF_ERROR(ReadValue(reader_.At<LatheGraphValue>(header_.values_offset, i)));
    RUNTIME_RETURN_IF_ERROR(ReadPorts("inputs", header_.inputs_offset, header_.num_inputs, graph_.inputs));
    RUNTIME_RETURN_IF_ERROR(ReadPorts("outputs", header_.outputs_offset, header_.num_outputs, graph_.outputs));
    RUNTIME_RETURN_IF_ERROR(CheckPlaces());
    RUNTIME_RETURN_IF_ERROR(
        reader_.CheckTable<LatheGraphCall>("calls", header_.calls_offset, header_.num_calls, kMaxCalls));
    for (uint32_t i = 0; i < header_.num_calls; ++i)
      RUNTIME_RETURN_IF_ERROR(ReadCall(reader_.At<LatheGraphCall>(header_.calls_offset, i)));
    return std::move(graph_);
  }

 private:
  RuntimeError ReadValue(const LatheGraphValue& raw) {
    GraphValue value;
    if (raw.storage > LATHE_STORAGE_ARENA)
      return reader_.Corrupt(FormatText("storage %u, 0 to 3 required", raw.storage));
    value.storage = static_cast<LatheGraphStorage>(raw.storage);
    value.place = raw.place;
    value.dtype = DType{static_cast<DTypeCode>(raw.dtype_code), raw.dtype_bits, 1};
    if (!value.dtype.is_supported())
      return reader_.Corrupt(FormatText("dtype code %u bits %u is not supported", raw.dtype_code, raw.dtype_bits));
    RUNTIME_RETURN_IF_ERROR(reader_.CheckTable<int64_t>("dimensions", raw.dims_offset, raw.rank, kMaxValueRank));
    for (uint32_t i = 0; i < raw.rank; ++i) value.shape.push_back(reader_.At<int64_t>(raw.dims_offset, i));
    const std::optional<int64_t> count = CountElements(value.shape);
    if (!count) return reader_.Corrupt("an extent is negative or a tensor exceeds 2^47 elements");
    value.bytes = static_cast<uint64_t>(*count) * static_cast<uint64_t>(value.dtype.bytes());
    graph_.values.push_back(std::move(value));
    return {};
  }

  RuntimeError ReadPorts(const char* what, uint32_t offset, uint32_t count, std::vector<GraphPort>& ports) {
    RUNTIME_RETURN_IF_ERROR(reader_.CheckTable<LatheGraphPort>(what, offset, count, kMaxPorts));
    for (uint32_t i = 0; i < count; ++i) {
      const auto raw = reader_.At<LatheGraphPort>(offset, i);
      if (raw.value >= graph_.values.size())
        return reader_.Corrupt(FormatText("%s use value %u of %zu", what, raw.value, graph_.values.size()));
      RUNTIME_ASSIGN_OR_RETURN(std::string name, reader_.String(what, raw.name_offset));
      ports.push_back({std::move(name), raw.value});
    }
    return {};
  }

  // Every value lies inside of what it names; the memory of an input or output is as large as its own value.
  RuntimeError CheckPlaces() const {
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      const GraphValue& value = graph_.values[graph_.inputs[i].value];
      if (value.storage != LATHE_STORAGE_INPUT || value.place != i)
        return reader_.Corrupt(FormatText("input %zu lies elsewhere", i));
    }
    for (const GraphValue& value : graph_.values) {
      const bool is_output = value.storage == LATHE_STORAGE_OUTPUT;
      if (is_output || value.storage == LATHE_STORAGE_INPUT) {
        const std::vector<GraphPort>& ports = is_output ? graph_.outputs : graph_.inputs;
        if (value.place >= ports.size())
          return reader_.Corrupt(
              FormatText("a value in port %llu of %zu", (unsigned long long)value.place, ports.size()));
        const GraphValue& port = graph_.values[ports[value.place].value];
        if (port.storage != value.storage || port.place != value.place || port.bytes != value.bytes)
          return reader_.Corrupt("a value does not fill its input or output");
        continue;
      }
      const uint64_t room = value.storage == LATHE_STORAGE_ARENA ? graph_.arena_bytes : graph_.constant_bytes;
      if (value.place > room || value.bytes > room - value.place || value.place % LATHE_BUFFER_ALIGNMENT != 0) {
        return reader_.Corrupt(FormatText("%llu bytes at %llu of %llu", (unsigned long long)value.bytes,
                                          (unsigned long long)value.place, (unsigned long long)room));
      }
    }
    return {};
  }

  RuntimeError ReadCall(const LatheGraphCall& raw) {
    GraphCall call;
    RUNTIME_ASSIGN_OR_RETURN(call.kernel, reader_.String("kernel name", raw.kernel_offset));
    RUNTIME_RETURN_IF_ERROR(reader_.CheckTable<uint32_t>("arguments", raw.args_offset, raw.num_args, kMaxArgs));
    for (uint32_t i = 0; i < raw.num_args; ++i) {
      call.args.push_back(reader_.At<uint32_t>(raw.args_offset, i));
      if (call.args.back() >= graph_.values.size())
        return reader_.Corrupt(FormatText("a call uses value %u of %zu", call.args.back(), graph_.values.size()));
    }
    graph_.calls.push_back(std::move(call));
    return {};
  }

  LatheGraphHeader header_;
  SectionReader reader_;
  Graph graph_;
};

}  // namespace

RuntimeResult<Graph> DecodeGraph(std::span<const std::byte> section) {
  const SectionReader whole(".lathe.graph", section);
  if (section.size() < sizeof(LatheGraphHeader))
    return whole.Corrupt(FormatText("%zu bytes, a header has %zu", section.size(), sizeof(LatheGraphHeader)));
  const auto header = whole.At<LatheGraphHeader>(0, 0);
  if (header.magic != LATHE_GRAPH_MAGIC)
    return whole.Corrupt(FormatText("magic 0x%llx", (unsigned long long)header.magic));
  if (header.version != LATHE_GRAPH_VERSION) {
    return RuntimeError{
        RuntimeCode::kFailedPrecondition,
        FormatText("decode .lathe.graph: layout version %u, this program reads %d; use programs of one release",
                   header.version, LATHE_GRAPH_VERSION)};
  }
  if (header.total_bytes < sizeof(header) || header.total_bytes > section.size()) {
    return whole.Corrupt(FormatText("total_bytes %u, the section has %zu", header.total_bytes, section.size()));
  }
  return GraphReader(header, section.first(header.total_bytes)).Read();
}

}  // namespace lathe
