// tir.analysis.
#include "compiler/ir/visitor.h"
#include "compiler/script/complete.h"
#include "compiler/transform/check_pure.h"
#include "compiler/transform/estimate_flops.h"
#include "compiler/transform/func_analysis.h"
#include "compiler/transform/verify.h"
#include "compiler/transform/verify_gpu_code.h"
#include "python/src/bind.h"
#include "python/src/cast.h"
#include "python/src/errors.h"

namespace lathe::python {
namespace {

py::object Regions(const std::vector<BufferRegion>& regions) { return MakeArray(py::cast(regions)); }

// Buffers of `owners` whose memory the block reaches by its data variable: what becomes of them nobody can tell.
std::vector<BufferRegion> OpaqueRegions(const BlockNode& block, const DataOwners& owners) {
  std::vector<BufferRegion> regions;
  const auto note = [&](const Expr& e) {
    const auto owner = owners.find(e.get());
    if (owner == owners.end()) return;
    const auto same = [&](const BufferRegion& seen) { return seen.buffer.same_as(owner->second); };
    if (std::none_of(regions.begin(), regions.end(), same)) regions.push_back(FullRegion(owner->second));
  };
  if (block.init) PostOrderVisit(*block.init, std::function<void(const Expr&)>(note));
  PostOrderVisit(block.body, std::function<void(const Expr&)>(note));
  return regions;
}

struct BlockAccess {
  AccessRegions declared;
  std::vector<BufferRegion> opaque;
};
BlockAccess AccessOf(const Block& block, const py::dict& buffers) {
  DataOwners owners;
  for (const auto& [data, buffer] : buffers) owners.emplace(py::cast<Var>(data).get(), py::cast<Buffer>(buffer));
  return {DetectAccessRegions(*block), OpaqueRegions(*block, owners)};
}

py::object Lca(const PrimFunc& func) {
  py::dict scopes;
  for (const auto& [buffer, scope] : DetectBufferAccessLca(func)) {
    py::object place = py::none();
    if (scope) place = std::visit([](const auto& node) { return Wrap(Node(node)); }, *scope);
    scopes[Wrap(Node(buffer))] = place;
  }
  return MakeMap(scopes);
}

py::object Bytes(const PrimFunc& func) {
  py::dict bytes;
  for (const auto& [scope, size] : AllocatedBytes(func)) bytes[py::str(scope)] = py::int_(size);
  return MakeMap(bytes);
}

}  // namespace

void BindAnalysis(py::module_& module) {
  module.def("verify_well_formed", [](const FuncPtr& func, bool assert_mode) {
    const Status status = VerifyWellFormed(*func);
    if (assert_mode) Check(status, ErrorKind::kValue);
    return status.ok();
  });
  module.def("verify_ssa", [](const FuncPtr& func) { return CheckSsa(*func).ok(); });
  module.def("check_ssa", [](const FuncPtr& func) { Check(CheckSsa(*func)); });
  module.def("verify_memory", [](const FuncPtr& func) { return CheckMemory(*func).ok(); });
  module.def("check_memory", [](const FuncPtr& func) { Check(CheckMemory(*func)); });
  module.def("check_bounds", [](const FuncPtr& func) { Check(CheckBounds(*func), ErrorKind::kSchedule); });
  module.def("verify_gpu_code", [](const FuncPtr& func, const AttrMap& constraints) {
    return VerifyGpuCode(*func, Value(ReadGpuLimits(constraints))).ok();
  });
  module.def("check_gpu_code", [](const FuncPtr& func, const AttrMap& constraints) {
    Check(VerifyGpuCode(*func, Value(ReadGpuLimits(constraints))));
  });
  module.def("check_vtcm_limit", [](const FuncPtr& func, int64_t limit) { Check(VerifyVtcmLimit(*func, limit)); });
  module.def("is_pure_function", [](const FuncPtr& func) { return CheckPure(*func).ok(); });
  module.def("check_pure", [](const FuncPtr& func) { Check(CheckPure(*func)); });
  module.def("estimate_flops", [](const ModulePtr& m) { return Value(EstimateFlops(*m)); });
  module.def("estimate_flops", [](const Stmt& stmt) { return Value(EstimateFlops(stmt)); });
  module.def("find_anchor_block", [](const ModulePtr& m) { return Value(FindAnchorBlock(*m)); });
  module.def("undefined_vars", [](const Stmt& stmt) { return MakeArray(py::cast(UndefinedVars(stmt))); });
  module.def("undefined_vars", [](const Expr& expr) { return MakeArray(py::cast(UndefinedVars(expr))); });
  module.def("buffer_access_lca", [](const FuncPtr& func) { return Lca(*func); });
  module.def("allocated_bytes", [](const FuncPtr& func) { return Bytes(*func); });
  module.def("workspace_bytes", [](const FuncPtr& func, int64_t alignment) {
    int64_t total = 0;
    for (const auto& [scope, size] : AllocatedBytes(*func, alignment)) total += size;
    return total;
  });
  module.def("block_access_region", [](const Block& block, const py::dict& buffers) {
    const BlockAccess access = AccessOf(block, buffers);
    py::list parts;
    for (const auto* regions : {&access.declared.reads, &access.declared.writes, &access.opaque})
      parts.append(Regions(*regions));
    return MakeArray(parts);
  });
  module.def("block_read_write_region", [](const Block& block, const py::dict& buffers) {
    BlockAccess access = AccessOf(block, buffers);
    py::list parts;
    for (auto* regions : {&access.declared.reads, &access.declared.writes}) {
      regions->insert(regions->end(), access.opaque.begin(), access.opaque.end());
      parts.append(Regions(*regions));
    }
    return MakeArray(parts);
  });
}

}  // namespace lathe::python
