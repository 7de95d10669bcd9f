#include "tuner/space/constraints.h"

#include <fmt/core.h>

#include <functional>

#include "compiler/ir/visitor.h"
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
  int64_t stores = 0;
  const std::function<void(const Stmt&, int64_t)> count = [&](const Stmt& stmt, int64_t copies) {
    if (const For* loop = stmt.As<For>()) {
      const int64_t* extent = AsIntConst(loop->extent);
      return count(loop->body, loop->kind == ForKind::kUnrolled && extent != nullptr ? copies * *extent : copies);
    }
    if (const BlockRealize* realize = stmt.As<BlockRealize>()) return count(realize->block->body, copies);
    if (const Seq* seq = stmt.As<Seq>())
      for (const Stmt& child : seq->stmts) count(child, copies);
    if (stmt.As<BufferStore>() != nullptr) stores += copies;
  };
  count(candidate.func().body, 1);
  if (stores > kMaxUnrolledStores) {
    return candidate.Error(
        "check constraints", -1,
        fmt::format("unrolling writes out {} stores, at most {} are allowed", stores, kMaxUnrolledStores));
  }
  return OkStatus();
}

}  // namespace lathe
