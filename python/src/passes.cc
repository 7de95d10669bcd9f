// tir.transform: every pass of compiler/lower.h by TVM's name.
#include <fmt/format.h>

#include "compiler/ir/memory.h"
#include "compiler/lower.h"
#include "compiler/transform/bind_buffers.h"
#include "compiler/transform/compute_legalize.h"
#include "compiler/transform/default_gpu_schedule.h"
#include "compiler/transform/inject_copy_intrin.h"
#include "compiler/transform/lower_device_storage_access_info.h"
#include "compiler/transform/lower_intrin.h"
#include "compiler/transform/narrow_data_type.h"
#include "compiler/transform/remap_thread_axis.h"
#include "compiler/transform/thread_sync.h"
#include "python/src/bind.h"
#include "python/src/cast.h"
#include "python/src/errors.h"

namespace lathe::python {
namespace {

// As RunPassAsTvm runs those of the tables.
template <typename F>
ModulePtr OnFunctions(const IRModule& module, F&& pass) {
  auto result = std::make_shared<IRModule>(module);
  for (PrimFunc& func : result->prim_funcs) {
    func.body = JoinAllocations(func.body);
    func = Value(pass(func));
    func.body = SplitAllocBuffers(func.body);
  }
  return result;
}

// The options of a PassContext that the compiler's attributes can say.
AttrMap ToOptions(const py::dict& config) {
  AttrMap options;
  for (const auto& [key, value] : config) {
    const std::optional<Attr> attr = ToAttr(value);
    if (attr) options.insert_or_assign(py::cast<std::string>(key), *attr);
  }
  return options;
}

// What the tables of compiler/lower.h hold.
void BindTables(py::module_& module) {
  module.def("pass_names", [] {
    std::vector<std::string_view> names;
    for (const LowerPass& pass : CpuPasses()) names.push_back(pass.name);
    for (const LowerPass& pass : OtherPasses()) names.push_back(pass.name);
    for (const ModulePass& pass : ModulePasses()) names.push_back(pass.name);
    return names;
  });
  module.def("run_pass", [](const std::string& pass, const ModulePtr& m, const py::dict& config) {
    return std::make_shared<IRModule>(Value(RunPassAsTvm(pass, *m, ToOptions(config))));
  });
  module.attr("num_lower_phases") = kNumLowerPhases;
  module.def("lower_phase", &TvmLowerPhase);
}

}  // namespace

void BindPasses(py::module_& module) {
  BindTables(module);
  module.def("thread_sync", [](const ModulePtr& m, const std::string& scope) {
    return OnFunctions(*m, [&](PrimFunc func) { return ThreadSync(std::move(func), scope); });
  });
  module.def("default_gpu_schedule", [](const ModulePtr& m, int64_t max_threads) {
    return std::make_shared<IRModule>(Value(DefaultGPUSchedule(*m, max_threads)));
  });
  module.def("fp8_compute_legalize", [](const ModulePtr& m, DataType wider) {
    return OnFunctions(*m, [&](PrimFunc func) { return FP8ComputeLegalize(std::move(func), wider); });
  });
  module.def("inject_copy_intrin", [](const ModulePtr& m, const std::string& key, const py::function& lower) {
    const auto lowered = [&](const CopiedRegion& copied) {
      return py::cast<Stmt>(lower(copied.source, copied.target, MakeArray(py::cast(copied.pad_before)),
                                  MakeArray(py::cast(copied.pad_after)), py::cast(copied.pad_value)));
    };
    return OnFunctions(*m, [&](PrimFunc func) { return InjectCopyIntrin(std::move(func), key, lowered); });
  });
  module.def("lower_device_storage_access_info", [](const ModulePtr& m, const py::function& info) {
    const MemoryInfoOf info_of = [&](const std::string& scope) -> std::optional<MemoryInfo> {
      const py::object found = info(scope);
      if (found.is_none()) return std::nullopt;
      return MemoryInfo{py::cast<int64_t>(found.attr("unit_bits")),
                        py::cast<std::optional<Expr>>(found.attr("head_address"))};
    };
    return OnFunctions(*m, [&](PrimFunc func) { return LowerDeviceStorageAccessInfo(std::move(func), info_of); });
  });
  module.def("remap_thread_axis", [](const ModulePtr& m, const std::map<std::string, IterVar>& axes) {
    return OnFunctions(*m, [&](PrimFunc func) { return RemapThreadAxis(std::move(func), axes); });
  });
  module.def("lower_intrin", [](const ModulePtr& m, const py::function& rule) {
    const IntrinRule of_target = [&](const std::string& kind, const Expr& call) {
      return py::cast<std::optional<Expr>>(rule(kind, call));
    };
    return OnFunctions(*m, [&](PrimFunc func) { return LowerIntrin(std::move(func), of_target); });
  });
  module.def("narrow_data_type", [](const ModulePtr& m, int target_bits) {
    return OnFunctions(*m, [&](PrimFunc func) { return NarrowDataType(std::move(func), target_bits); });
  });
  module.def("bind_buffers", [](const ModulePtr& m, const std::vector<std::pair<size_t, Buffer>>& bound) {
    std::vector<BoundParam> params;
    for (const auto& [param, buffer] : bound) params.push_back({param, buffer});
    return OnFunctions(*m, [&](PrimFunc func) { return BindBuffers(std::move(func), params); });
  });
}

}  // namespace lathe::python
