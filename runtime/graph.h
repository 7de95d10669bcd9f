// What the static executor does with a network: section `.lathe.graph`, decoded (docs/formats/graph.md).
//
// Pure: bytes in, values out. The bytes are hostile until decoded; afterwards every number refers to something that
// exists and every tensor of constant shape lies inside its memory. What depends on symbols is checked by each run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/dtype.h"
#include "runtime/error.h"
#include "runtime/extent.h"
#include "runtime/kernel_abi.h"

namespace lathe {

struct GraphValue {
  LatheGraphStorage storage = LATHE_STORAGE_ARENA;
  uint64_t place = 0;  // Number of the input, output, state or sized memory, or a byte offset.
  DType dtype;
  std::vector<Extent> dims;
  std::vector<Extent> strides;  // In elements; empty: compact row-major.
  Extent offset;                // Of element 0 from `place`, in elements.
  uint32_t device = 0;          // 0 = the host.
};
struct GraphArg {
  bool is_scalar = false;
  uint32_t value = 0;  // Of a buffer or pointer parameter ...
  Extent scalar;       // ... or of an integer scalar.
};
struct GraphCall {
  std::string kernel;
  std::vector<GraphArg> args;  // In the order of the kernel's parameters.
};
struct GraphPort {
  std::string name;
  uint32_t value = 0;
};
struct GraphSymbol {  // An extent that the inputs decide.
  std::string name;
  int64_t least = 0, most = 0;
};
struct GraphState {
  std::string name;
  uint32_t value = 0;
  std::optional<uint32_t> initial;  // A constant value; none: zeros.
};
struct Graph {
  std::vector<GraphValue> values;
  std::vector<GraphCall> calls;
  std::vector<GraphPort> inputs, outputs;
  std::vector<GraphSymbol> symbols;
  std::vector<GraphState> states;
  uint64_t arena_bytes = 0, constant_bytes = 0;
  uint32_t num_sized = 0;  // Memories of storage SIZED.

  std::vector<std::string> SymbolNames() const;
};

// A value with the symbols of one run put in.
struct PlacedValue {
  std::vector<int64_t> shape, strides;  // Strides empty: compact.
  int64_t offset = 0;                   // In elements.
  uint64_t bytes = 0;                   // From `place` to the end of its last element.
};
// Fails when an extent is negative or overflows, or the value passes 2^47 bytes.
RuntimeResult<PlacedValue> PlaceValue(const GraphValue& value, std::span<const int64_t> symbols);

// Reads layouts LATHE_GRAPH_OLDEST to LATHE_GRAPH_VERSION.
RuntimeResult<Graph> DecodeGraph(std::span<const std::byte> section);

}  // namespace lathe
