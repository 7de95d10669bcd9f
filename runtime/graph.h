// What the static executor does with a network: section `.lathe.graph`, decoded (docs/formats/graph.md).
//
// Pure: bytes in, values out. The bytes are hostile until decoded; afterwards every number refers to something that
// exists and every tensor lies inside its memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/dtype.h"
#include "runtime/error.h"
#include "runtime/kernel_abi.h"

namespace lathe {

struct GraphValue {
  LatheGraphStorage storage = LATHE_STORAGE_ARENA;
  uint64_t place = 0;  // Number of the input or output, or a byte offset.
  DType dtype;
  std::vector<int64_t> shape;
  uint64_t bytes = 0;
};
struct GraphCall {
  std::string kernel;
  std::vector<uint32_t> args;  // Values, in the order of the kernel's parameters.
};
struct GraphPort {
  std::string name;
  uint32_t value = 0;
};
struct Graph {
  std::vector<GraphValue> values;
  std::vector<GraphCall> calls;
  std::vector<GraphPort> inputs, outputs;
  uint64_t arena_bytes = 0, constant_bytes = 0;
};

RuntimeResult<Graph> DecodeGraph(std::span<const std::byte> section);

}  // namespace lathe
