// libFuzzer: any bytes are a module or an error, and what was read prints and reads back.
#include "compiler/ir/structural.h"
#include "compiler/script/parser.h"
#include "compiler/script/printer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lathe;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const StatusOr<IRModule> module = ParseModule(text, "fuzz.py");
  if (!module.ok()) {
    CHECK(!module.status().ToString().empty()) << "an error says nothing";
    return 0;
  }
  const StatusOr<IRModule> again = ParseModule(Print(*module), "printed.py");
  CHECK(again.ok()) << again.status().ToString();
  CHECK(again->prim_funcs.size() == module->prim_funcs.size()) << "functions were lost";
  for (size_t i = 0; i < module->prim_funcs.size(); ++i)
    CHECK(StructuralEqual(module->prim_funcs[i], again->prim_funcs[i])) << Print(*module);
  return 0;
}
