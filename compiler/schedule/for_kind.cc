#include "compiler/schedule/for_kind.h"

#include <fmt/format.h>

#include "compiler/arith/analyzer.h"
#include "compiler/ir/visitor.h"
#include "compiler/schedule/independence.h"
#include "compiler/schedule/thread_scope.h"
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

constexpr std::string_view kThreadAxes[] = {"blockIdx.x",  "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y",
                                            "threadIdx.z", "vthread",    "vthread.x",  "vthread.y",   "vthread.z"};

// Two loops on one axis, one inside the other: the threads share the work of the inner one, each taking the iteration
// that has its own number. All of it is done only if it is the same work for every thread, into memory that they share.
WhyNot WhyNotShared(const For& outer, const Stmt& inner, const std::string& axis) {
  if (!Analyzer().CanProveEqual(outer.extent, inner.As<For>()->extent)) return "their extents differ";
  WhyNot why;
  PostOrderVisit(inner, [&](const Expr& e) {
    if (e.same_as(outer.loop_var)) why = fmt::format("the inner one uses \"{}\"", outer.loop_var.name());
  });
  PostOrderVisit(inner, [&](const Stmt& stmt) {
    const BlockRealize* realize = stmt.As<BlockRealize>();
    if (realize == nullptr) return;
    for (const BufferRegion& write : realize->block->writes)
      if (!IsSharedByThreads(write.buffer->scope, axis))
        why = fmt::format("each thread has a buffer \"{}\" of its own", write.buffer->name);
  });
  return why;
}

// A thread has one place on each axis.
Status CheckAxis(const Schedule& schedule, int row, const std::string& axis) {
  if (std::find(std::begin(kThreadAxes), std::end(kThreadAxes), axis) == std::end(kThreadAxes))
    return schedule.Error("bind", row,
                          fmt::format("\"{}\" is no thread axis; there are: {}", axis, fmt::join(kThreadAxes, ", ")));
  std::string bound;
  WhyNot why;
  const auto check = [&](const For& other, const For& outer, const Stmt& inner) {
    if (other.thread != axis || !why.empty()) return;
    bound = other.loop_var.name();
    why = WhyNotShared(outer, inner, axis);
  };
  for (int outer : schedule.LoopsOf(row)) check(schedule.LoopOf(outer), schedule.LoopOf(outer), schedule.StmtOf(row));
  PostOrderVisit(schedule.LoopOf(row).body, [&](const Stmt& stmt) {
    if (const For* loop = stmt.As<For>()) check(*loop, schedule.LoopOf(row), stmt);
  });
  if (why.empty()) return OkStatus();
  return schedule.Error("bind", row,
                        fmt::format("loop \"{}\" around or inside it is bound to {} already: {}", bound, axis, why));
}

Status SetKind(Schedule& schedule, LoopRV loop_rv, ForKind kind, std::string_view primitive,
               std::string_view instruction, const std::string& thread = "") {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(loop_rv));
  if (kind == ForKind::kThreadBinding) RETURN_IF_ERROR(CheckAxis(schedule, row, thread));
  if (kind != ForKind::kUnrolled) {
    if (const WhyNot why = WhyNotConcurrent(schedule, row, kind, thread.starts_with("threadIdx")); !why.empty())
      return schedule.Error(primitive, row, why);
    RETURN_IF_ERROR(CheckNesting(schedule, row, kind, primitive));
  }
  schedule.Edit(row, [&](StmtNode& node) {
    For& loop = std::get<For>(node.value);
    loop.kind = kind;
    loop.thread = thread;
  });
  std::vector<Attr> attrs;
  if (kind == ForKind::kThreadBinding) attrs.push_back(thread);
  schedule.Record(instruction, {loop_rv}, std::move(attrs), {});
  return OkStatus();
}

}  // namespace

Status Parallel(Schedule& schedule, LoopRV loop) {
  return SetKind(schedule, loop, ForKind::kParallel, "parallel", "Parallel");
}
Status Vectorize(Schedule& schedule, LoopRV loop) {
  return SetKind(schedule, loop, ForKind::kVectorized, "vectorize", "Vectorize");
}
Status Bind(Schedule& schedule, LoopRV loop, const std::string& thread_axis) {
  return SetKind(schedule, loop, ForKind::kThreadBinding, "bind", "Bind", thread_axis);
}
Status Unroll(Schedule& schedule, LoopRV loop) {
  return SetKind(schedule, loop, ForKind::kUnrolled, "unroll", "Unroll");
}

}  // namespace lathe
