#include "compiler/schedule/add_unit_loop.h"

#include "support/status_macros.h"

namespace lathe {
namespace {

template <typename RV>
StatusOr<LoopRV> AddAround(Schedule& schedule, RV rv) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(rv));
  if (schedule.ParentOf(row) < 0) return schedule.Error("add_unit_loop", row, "the root block cannot be in a loop");
  const Var unit("u", kIndexType);  // As in TVM, whatever the loops around count with.
  schedule.Replace(row, MakeFor(unit, 1, schedule.StmtOf(row)));
  const LoopRV result = schedule.NewLoopRV(unit);
  schedule.Record("AddUnitLoop", {rv}, {}, {result.id});
  return result;
}

}  // namespace

StatusOr<LoopRV> AddUnitLoop(Schedule& schedule, BlockRV block) { return AddAround(schedule, block); }
StatusOr<LoopRV> AddUnitLoop(Schedule& schedule, LoopRV loop) { return AddAround(schedule, loop); }

}  // namespace lathe
