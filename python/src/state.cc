// tir.ScheduleState and StmtSRef: the loops and blocks of a schedule's module, by place instead of by handle.
#include <fmt/format.h>

#include "compiler/schedule/schedule.h"
#include "python/src/bind.h"
#include "python/src/cast.h"
#include "python/src/errors.h"

namespace lathe::python {
namespace {

// The module of a schedule. What the schedule does shows here.
struct ScheduleState {
  std::shared_ptr<Schedule> schedule;
};

// A loop or block of the module, followed while it lives.
struct StmtSRef {
  std::shared_ptr<Schedule> schedule;
  int row;
  bool operator==(const StmtSRef& other) const { return schedule == other.schedule && row == other.row; }
};

py::object StmtOf(const StmtSRef& ref) {
  if (ref.schedule->IsLoop(ref.row)) return Wrap(ref.schedule->StmtOf(ref.row));
  return Wrap(ref.schedule->RealizeOf(ref.row).block);
}

bool Stands(const Schedule& schedule, int row, const Node& node) {
  if (const Stmt* stmt = std::get_if<Stmt>(&node)) return schedule.StmtOf(row).same_as(*stmt);
  const Block* block = std::get_if<Block>(&node);
  return block != nullptr && !schedule.IsLoop(row) && schedule.RealizeOf(row).block.same_as(*block);
}

// The row at or below block `root` that stands for the node; -1 if there is none.
int FindBelow(const Schedule& schedule, int root, const Node& node) {
  std::vector<int> blocks{root};
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (Stands(schedule, blocks[i], node)) return blocks[i];
    for (int loop : schedule.LoopsOf(blocks[i]))
      if (Stands(schedule, loop, node)) return loop;
    const std::vector<int> children = schedule.ChildBlocksOf(blocks[i]);
    blocks.insert(blocks.end(), children.begin(), children.end());
  }
  return -1;
}

StmtSRef SRefOfNode(const std::shared_ptr<Schedule>& schedule, const Node& node) {
  for (const PrimFunc& func : schedule->mod().prim_funcs) {
    const StatusOr<int> root = schedule->RootRowOf(func.name);
    const int row = root.ok() ? FindBelow(*schedule, *root, node) : -1;
    if (row >= 0) return {schedule, row};
  }
  throw Failure(ErrorKind::kValue, "get_sref: the statement is no loop or block of this schedule");
}

StmtSRef SRefOf(const std::shared_ptr<Schedule>& schedule, const py::object& what) {
  if (py::isinstance<BlockRV>(what))
    return {schedule, Value(schedule->RowOf(py::cast<BlockRV>(what)), ErrorKind::kSchedule)};
  if (py::isinstance<LoopRV>(what))
    return {schedule, Value(schedule->RowOf(py::cast<LoopRV>(what)), ErrorKind::kSchedule)};
  const Node* node = Unwrap(what);
  if (node == nullptr)
    throw Failure(ErrorKind::kType, "get_sref: expected a handle of this schedule, a loop or a block");
  return SRefOfNode(schedule, *node);
}

py::object ParentOf(const StmtSRef& ref) {
  const int parent = ref.schedule->ParentOf(ref.row);
  return parent < 0 ? py::none() : py::cast(StmtSRef{ref.schedule, parent});
}

std::shared_ptr<Schedule> OverModule(IRModule module) {
  return std::make_shared<Schedule>(Value(Schedule::Create(std::move(module)), ErrorKind::kSchedule));
}

}  // namespace

void BindState(py::module_& module, py::class_<Schedule, std::shared_ptr<Schedule>>& schedule) {
  py::class_<StmtSRef>(module, "StmtSRef")
      .def_property_readonly("stmt", &StmtOf)
      .def_property_readonly("parent", &ParentOf)
      .def("same_as", [](const StmtSRef& a, const StmtSRef& b) { return a == b; })
      .def("__eq__", [](const StmtSRef& a, const StmtSRef& b) { return a == b; })
      .def("__hash__", [](const StmtSRef& a) { return std::hash<int>()(a.row); });
  py::class_<ScheduleState>(module, "ScheduleState")
      .def(py::init([](const FuncPtr& func, const py::object&, bool) {
             PrimFunc main = *func;
             main.name = "main";
             return ScheduleState{OverModule(IRModule{{std::move(main)}})};
           }),
           py::arg("mod"), py::kw_only(), py::arg("debug_mask") = "none", py::arg("enable_check") = true)
      .def(py::init([](const ModulePtr& mod, const py::object&, bool) { return ScheduleState{OverModule(*mod)}; }),
           py::arg("mod"), py::kw_only(), py::arg("debug_mask") = "none", py::arg("enable_check") = true)
      .def_property_readonly("mod",
                             [](const ScheduleState& s) { return std::make_shared<IRModule>(s.schedule->mod()); })
      .def("get_sref", [](const ScheduleState& s, const py::object& stmt) { return SRefOf(s.schedule, stmt); });
  schedule.def_property_readonly("state", [](const std::shared_ptr<Schedule>& s) { return ScheduleState{s}; })
      .def("get_sref", &SRefOf, py::arg("rand_var_or_stmt"))
      .def("get", [](const Schedule&, const StmtSRef& ref) { return StmtOf(ref); });
}

}  // namespace lathe::python
