// tir.ScheduleState and StmtSRef: the loops and blocks of a schedule's module, by place instead of by handle.
#include <fmt/format.h>

#include "compiler/ir/visitor.h"
#include "compiler/schedule/schedule.h"
#include "python/src/bind.h"
#include "python/src/cast.h"
#include "python/src/errors.h"
#include "python/src/primitive_call.h"

namespace lathe::python {
namespace {

// The module of a schedule. What the schedule does shows here.
struct ScheduleState {
  std::shared_ptr<Schedule> schedule;
};

// A loop or block of the module, followed while it lives. Without a schedule: one of the marks below, for a place.
struct StmtSRef {
  std::shared_ptr<Schedule> schedule;
  int row;
  bool operator==(const StmtSRef& other) const { return schedule == other.schedule && row == other.row; }
};

constexpr int kInlineMark = -1, kRootMark = -2;

py::object StmtOf(const StmtSRef& ref) {
  if (ref.schedule == nullptr) return py::none();
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
  if (py::isinstance<BlockRV>(what)) return {schedule, Held(schedule->RowOf(py::cast<BlockRV>(what)))};
  if (py::isinstance<LoopRV>(what)) return {schedule, Held(schedule->RowOf(py::cast<LoopRV>(what)))};
  const Node* node = Unwrap(what);
  if (node == nullptr)
    throw Failure(ErrorKind::kType, "get_sref: expected a handle of this schedule, a loop or a block");
  return SRefOfNode(schedule, *node);
}

// The row of a block; a ValueError where the reference is to a loop.
int BlockRow(const char* what, const StmtSRef& ref) {
  if (ref.schedule->IsLoop(ref.row))
    throw Failure(ErrorKind::kValue, fmt::format("{}: expected a block, got a loop", what));
  return ref.row;
}

py::object CachedFlags(const StmtSRef& ref) {
  const int row = BlockRow("_get_cached_flags", ref);
  const Schedule& schedule = *ref.schedule;
  return py::module_::import("lathe.tir.schedule.state")
      .attr("CachedFlags")(schedule.IsAffineBinding(row), schedule.IsRegionCover(row), schedule.IsStagePipeline(row));
}

// What the statements below a block do to each other: tir.schedule.BlockScope.
struct ScopeOfBlock {
  StmtSRef block;
};
py::object Dependencies(const ScopeOfBlock& scope, const StmtSRef& of, bool by_src) {
  const BlockScope& facts = scope.block.schedule->Scope(scope.block.row);
  const py::object make = py::module_::import("lathe.tir.schedule.block_scope").attr("Dependency");
  py::list found;
  for (const Dependency& dep : by_src ? facts.DepsBySrc(of.row) : facts.DepsByDst(of.row)) {
    const auto ref = [&](int row) { return py::cast(StmtSRef{scope.block.schedule, row}); };
    found.append(make(ref(dep.src), ref(dep.dst),
                      MakeEnum("lathe.tir.schedule.block_scope", "DepKind", static_cast<int>(dep.kind))));
  }
  return MakeArray(found);
}

// TVM's replace: `target` is a loop, a block with its bindings, or a block, which keeps the bindings there are.
void Replace(const StmtSRef& ref, const py::object& target, const py::dict& reuse) {
  Schedule& schedule = *ref.schedule;
  std::vector<BlockReuse> kept;
  for (const auto& [before, after] : reuse)
    kept.push_back({SRefOfNode(ref.schedule, Node(py::cast<Block>(before))).row, py::cast<Block>(after)});
  if (const Stmt* stmt = UnwrapAs<Stmt>(target)) {
    if (stmt->As<For>() == nullptr && stmt->As<BlockRealize>() == nullptr)
      throw Failure(ErrorKind::kValue, "replace: expected a loop or a block in place of one");
    return schedule.Replace(ref.row, *stmt, kept);
  }
  BlockRealize realize = schedule.RealizeOf(BlockRow("replace", ref));
  realize.block = py::cast<Block>(target);
  schedule.Replace(ref.row, realize, kept);
}

// Among the statements of the sequence that it stands in; -1: in none.
int64_t SeqIndexOf(const StmtSRef& ref) {
  const int parent = ref.schedule == nullptr ? -1 : ref.schedule->ParentOf(ref.row);
  if (parent < 0) return -1;
  int64_t found = -1;
  const Stmt self = ref.schedule->StmtOf(ref.row);
  const std::function<void(const Stmt&)> look = [&](const Stmt& stmt) {
    const Seq* seq = stmt.As<Seq>();
    for (size_t i = 0; seq != nullptr && i < seq->stmts.size(); ++i)
      if (seq->stmts[i].same_as(self)) found = static_cast<int64_t>(i);
  };
  PostOrderVisit(ref.schedule->StmtOf(parent), look);
  return found;
}

py::object ParentOf(const StmtSRef& ref) {
  if (ref.schedule == nullptr) return py::none();
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
      .def_property_readonly("seq_index", &SeqIndexOf)
      .def_static("inline_mark", [] { return StmtSRef{nullptr, kInlineMark}; })
      .def_static("root_mark", [] { return StmtSRef{nullptr, kRootMark}; })
      .def("same_as", [](const StmtSRef& a, const StmtSRef& b) { return a == b; })
      .def("__eq__", [](const StmtSRef& a, const StmtSRef& b) { return a == b; })
      .def("__hash__", [](const StmtSRef& a) { return std::hash<int>()(a.row); });
  py::class_<ScheduleState>(module, "ScheduleState")
      .def(py::init([](const FuncPtr& func, const py::object&, bool) {
             return ScheduleState{OverModule(IRModule{{CalledInModule(*func, "main")}})};
           }),
           py::arg("mod"), py::kw_only(), py::arg("debug_mask") = "none", py::arg("enable_check") = true)
      .def(py::init([](const ModulePtr& mod, const py::object&, bool) { return ScheduleState{OverModule(*mod)}; }),
           py::arg("mod"), py::kw_only(), py::arg("debug_mask") = "none", py::arg("enable_check") = true)
      .def_property_readonly("mod",
                             [](const ScheduleState& s) { return std::make_shared<IRModule>(s.schedule->mod()); })
      .def("get_sref", [](const ScheduleState& s, const py::object& stmt) { return SRefOf(s.schedule, stmt); })
      .def("_get_cached_flags", [](const ScheduleState&, const StmtSRef& block) { return CachedFlags(block); })
      .def("get_block_scope",
           [](const ScheduleState&, const StmtSRef& block) {
             BlockRow("get_block_scope", block);
             return ScopeOfBlock{block};
           })
      .def(
          "replace",
          [](const ScheduleState&, const StmtSRef& ref, const py::object& target, const py::object& reuse) {
            Replace(ref, target, reuse.is_none() ? py::dict() : py::dict(reuse));
          },
          py::arg("src_sref"), py::arg("tgt_stmt"), py::arg("block_sref_reuse") = py::none());
  py::class_<ScopeOfBlock>(module, "BlockScope")
      .def("get_deps_by_src", [](const ScopeOfBlock& s, const StmtSRef& block) { return Dependencies(s, block, true); })
      .def("get_deps_by_dst",
           [](const ScopeOfBlock& s, const StmtSRef& block) { return Dependencies(s, block, false); });
  schedule.def_property_readonly("state", [](const std::shared_ptr<Schedule>& s) { return ScheduleState{s}; })
      .def("get_sref", &SRefOf, py::arg("rand_var_or_stmt"))
      .def("get", [](const Schedule&, const StmtSRef& ref) { return StmtOf(ref); });
}

}  // namespace lathe::python
