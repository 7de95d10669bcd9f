// libFuzzer: any text is a graph of TVM's nodes, of which functions are made, or an error.
#include "compiler/import/tvm/workload_graph.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)lathe::ReadTvmModule(text);
  return 0;
}
