#include "tuner/space/constraints.h"

#include <fmt/core.h>

#include "compiler/ir/unrolled_stores.h"
#include "tuner/space/register_pressure.h"

namespace lathe {
namespace {

constexpr int64_t kMaxUnrolledStores =
    600;  // Statements that unrolling may write out; beyond, register allocation spills.

}  // namespace

Status CheckConstraints(const Schedule& candidate, const Target& target) {
  const int64_t registers = RegistersNeeded(candidate.func(), target);
  const int64_t available = target.register_file().num_vector_registers;
  if (registers > available) {
    return candidate.Error(
        "check constraints", -1,
        fmt::format("the register tile needs {} vector registers, the target has {}", registers, available));
  }
  const int64_t stores = CountUnrolledStores(candidate.func().body);
  if (stores > kMaxUnrolledStores) {
    return candidate.Error(
        "check constraints", -1,
        fmt::format("unrolling writes out {} stores, at most {} are allowed", stores, kMaxUnrolledStores));
  }
  return OkStatus();
}

}  // namespace lathe
