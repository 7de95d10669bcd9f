// libFuzzer: any bytes are a network or an error that says something; no constant takes more memory than was allowed.
#include "compiler/import/onnx/import_onnx.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lathe;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  OnnxImportOptions options;
  options.max_constant_bytes = 1 << 20;
  const StatusOr<relax::IRModule> module = ImportOnnxBytes(bytes, "fuzz.onnx", options);
  if (!module.ok()) CHECK(!module.status().message().empty()) << "an error says nothing";
  return 0;
}
