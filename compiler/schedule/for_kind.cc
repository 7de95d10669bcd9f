#include "compiler/schedule/for_kind.h"

#include <fmt/core.h>

#include "compiler/ir/visitor.h"
#include "compiler/schedule/independence.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

// Lanes of a vector cannot be threads, nor hold vectors of their own.
Status CheckNesting(const Schedule& schedule, int row, ForKind kind, std::string_view primitive) {
  for (int outer : schedule.LoopsOf(row)) {
    if (schedule.LoopOf(outer).kind != ForKind::kVectorized) continue;
    return schedule.Error(primitive, row,
                          fmt::format("loop \"{}\" around it is vectorized", schedule.LoopOf(outer).loop_var.name()));
  }
  if (kind != ForKind::kVectorized) return OkStatus();
  std::string inner;
  PostOrderVisit(schedule.LoopOf(row).body, [&](const Stmt& stmt) {
    const For* loop = stmt.As<For>();
    if (loop != nullptr && (loop->kind == ForKind::kVectorized || loop->kind == ForKind::kParallel))
      inner = loop->loop_var.name();
  });
  if (!inner.empty())
    return schedule.Error(primitive, row, fmt::format("loop \"{}\" inside it is parallel or vectorized", inner));
  return OkStatus();
}

Status SetKind(Schedule& schedule, LoopRV loop_rv, ForKind kind, std::string_view primitive,
               std::string_view instruction) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(loop_rv));
  if (schedule.LoopOf(row).kind != ForKind::kSerial && schedule.LoopOf(row).kind != kind) {
    return schedule.Error(primitive, row, "the loop already runs in another way");
  }
  if (kind != ForKind::kUnrolled) {
    if (const WhyNot why = WhyNotConcurrent(schedule, row, kind); !why.empty())
      return schedule.Error(primitive, row, why);
    RETURN_IF_ERROR(CheckNesting(schedule, row, kind, primitive));
  }
  For loop = schedule.LoopOf(row);
  loop.kind = kind;
  schedule.Replace(row, std::move(loop));
  schedule.Record(instruction, {loop_rv}, {}, {});
  return OkStatus();
}

}  // namespace

Status Parallel(Schedule& schedule, LoopRV loop) {
  return SetKind(schedule, loop, ForKind::kParallel, "parallel", "Parallel");
}
Status Vectorize(Schedule& schedule, LoopRV loop) {
  return SetKind(schedule, loop, ForKind::kVectorized, "vectorize", "Vectorize");
}
Status Unroll(Schedule& schedule, LoopRV loop) {
  return SetKind(schedule, loop, ForKind::kUnrolled, "unroll", "Unroll");
}

}  // namespace lathe
