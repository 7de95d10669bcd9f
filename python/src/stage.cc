// Classic schedules: lathe.te.schedule.
#include "compiler/stage/double_buffer.h"
#include "compiler/stage/stage_group.h"
#include "compiler/stage/stage_schedule.h"
#include "compiler/stage/tensor_intrin.h"
#include "compiler/te/scan.h"
#include "python/src/bind.h"
#include "python/src/cast.h"
#include "python/src/errors.h"
#include "python/src/te.h"

namespace lathe::python {
namespace {

using IntrinPtr = std::shared_ptr<te::DeclaredIntrin>;
using SchedulePtr = std::shared_ptr<te::StageSchedule>;

// A stage, and what keeps it alive.
struct StageHandle {
  SchedulePtr schedule;
  te::Stage* stage;
};

struct GroupHandle {
  SchedulePtr schedule;
  te::StageGroup* group;
};
py::object GroupOf(const SchedulePtr& schedule, const te::StageGroup* group) {
  for (const auto& each : schedule->groups())
    if (each.get() == group) return py::cast(GroupHandle{schedule, each.get()});
  return py::none();
}

// TVM's numbers.
enum class AttachType { kGroupRoot = 1, kInline = 2, kScope = 4, kScanUpdate = 5 };

py::object StageOrNone(const SchedulePtr& schedule, const te::Stage* stage) {
  return stage == nullptr ? py::none() : py::object(py::cast(StageHandle{schedule, schedule->Find(stage->op())}));
}

StageHandle StageOf(const SchedulePtr& schedule, const te::Operation& op) {
  te::Stage* stage = schedule->Find(op);
  if (stage == nullptr)
    throw Failure(ErrorKind::kValue, "Schedule: operation \"" + op->name() + "\" has no stage in it");
  return {schedule, stage};
}

py::object ArrayOfAxes(const std::vector<IterVar>& axes) {
  py::list items;
  for (const IterVar& axis : axes) items.append(py::cast(axis));
  return MakeArray(items);
}

int64_t ToCount(const Expr& e) {
  const int64_t* number = AsIntConst(e);
  if (number == nullptr) throw Failure(ErrorKind::kTvm, "tile: a factor is no constant; give a number");
  return *number;
}

std::vector<IterVar> AxesFrom(const py::args& args) {
  std::vector<IterVar> axes;
  for (const py::handle arg : args) {
    if (py::isinstance<py::list>(arg) || py::isinstance<py::tuple>(arg)) {
      for (const py::handle item : arg) axes.push_back(py::cast<IterVar>(item));
    } else {
      axes.push_back(py::cast<IterVar>(arg));
    }
  }
  return axes;
}

std::vector<te::Argument> StageArguments(const py::sequence& args) {
  std::vector<te::Argument> arguments;
  for (const py::handle arg : args) {
    if (py::isinstance<te::Tensor>(arg)) {
      arguments.emplace_back(py::cast<te::Tensor>(arg));
    } else if (const std::optional<Expr> var = ToExpr(arg); var && IsVar(*var)) {
      arguments.emplace_back(Var(*var));
    } else {
      throw Failure(ErrorKind::kTvm,
                    "lower: argument " + std::to_string(arguments.size()) +
                        " is neither a tensor nor a variable: " + py::cast<std::string>(py::repr(arg)));
    }
  }
  return arguments;
}

std::vector<te::Operation> OperationsOf(const py::sequence& items) {
  std::vector<te::Operation> operations;
  for (const py::handle item : items) operations.push_back(ToOperation(item));
  return operations;
}

// What was done to loops, as (kind, from, to, factor, nparts) with kinds of Python's names.
py::list RelationsOf(const te::Stage& stage) {
  py::list relations;
  using Step = te::Stage::Step;
  for (const Step& step : stage.steps()) {
    const char* kind = step.kind == Step::kSplit       ? "Split"
                       : step.kind == Step::kFuse      ? "Fuse"
                       : step.kind == Step::kSingleton ? "Singleton"
                                                       : nullptr;
    if (kind != nullptr)
      relations.append(py::make_tuple(kind, ArrayOfAxes(step.from), ArrayOfAxes(step.to), step.factor, step.nparts));
  }
  return relations;
}

// All that was said of loops, for whoever says it again: (name of the method, axes, other arguments, new axes).
py::list StepsOf(const te::Stage& stage) {
  py::list steps;
  for (const te::Stage::Step& step : stage.steps()) {
    const auto add = [&](const char* method, const auto&... rest) {
      const bool is_bound = step.kind == te::Stage::Step::kBind;
      steps.append(
          py::make_tuple(method, step.from, py::make_tuple(rest...), is_bound ? std::vector<IterVar>{} : step.to));
    };
    switch (step.kind) {
      case te::Stage::Step::kSplit:
        add("split", step.factor, step.nparts, step.disable_predication);
        break;
      case te::Stage::Step::kFuse:
      case te::Stage::Step::kSingleton:
        add("fuse");
        break;
      case te::Stage::Step::kReorder:
        add("reorder");
        break;
      case te::Stage::Step::kSetKind:
        add(step.iter_kind == IterKind::kVectorized ? "vectorize"
            : step.iter_kind == IterKind::kUnrolled ? "unroll"
                                                    : "parallel");
        break;
      case te::Stage::Step::kBind:
        add("bind", step.to[0]);
        break;
      case te::Stage::Step::kPragma:
        add("pragma", step.key, ToPython(step.value));
        break;
      case te::Stage::Step::kTensorize:
        add("tensorize");
        break;
    }
  }
  return steps;
}

py::object LayoutOf(const te::Stage& stage) {
  const auto& layout = stage.layout();
  return layout ? py::make_tuple(layout->map, layout->separators, layout->axes) : py::object(py::none());
}

py::tuple AttrOf(const te::Stage& stage, const IterVar& axis) {
  const te::Stage::AxisAttr attr = stage.AttrOf(axis);
  IterVar typed = axis;
  typed.kind = attr.kind;
  py::list keys, values;
  for (const std::string& key : attr.pragma_keys) keys.append(py::cast(Expr::Make(DataType::Handle(), StringImm{key})));
  for (const Attr& value : attr.pragma_values) values.append(ToPython(value));
  return py::make_tuple(py::cast(typed).attr("iter_type"), attr.bind_thread ? py::cast(*attr.bind_thread) : py::none(),
                        MakeArray(keys), MakeArray(values));
}

template <typename... Args>
auto Say(Status (te::Stage::*primitive)(Args...)) {
  return [primitive](const StageHandle& h, Args... args) { Check((h.stage->*primitive)(args...)); };
}
auto SayKind(IterKind kind) {
  return [kind](const StageHandle& h, const IterVar& axis) { Check(h.stage->SetKind(axis, kind)); };
}

void BindWhatWasSaid(py::class_<StageHandle>& stage) {
  stage.def("said_of_loops", [](const StageHandle& h) { return StepsOf(*h.stage); })
      .def("said_of_layout", [](const StageHandle& h) { return LayoutOf(*h.stage); })
      .def("said_of_result", [](const StageHandle& h) { return ToPython(h.stage->annotations()); });
}

void BindLoops(py::class_<StageHandle>& stage) {
  using py::arg;
  stage
      .def(
          "split",
          [](const StageHandle& h, const IterVar& axis, const std::optional<Expr>& factor,
             const std::optional<Expr>& nparts, bool disable_predication) {
            if (factor.has_value() == nparts.has_value())
              throw Failure(ErrorKind::kValue,
                            "split, stage \"" + h.stage->op()->name() + "\": expected either a factor or nparts");
            const auto [outer, inner] = Value(h.stage->Split(axis, factor, nparts, disable_predication));
            return py::make_tuple(outer, inner);
          },
          arg("parent"), arg("factor") = py::none(), arg("nparts") = py::none(), arg("disable_predication") = false)
      .def("fuse", [](const StageHandle& h, const py::args& axes) { return Value(h.stage->Fuse(AxesFrom(axes))); })
      .def("reorder", [](const StageHandle& h, const py::args& axes) { Check(h.stage->Reorder(AxesFrom(axes))); })
      .def(
          "tile",
          [](const StageHandle& h, const IterVar& x, const IterVar& y, const Expr& x_factor, const Expr& y_factor) {
            return py::tuple(py::cast(Value(h.stage->Tile(x, y, ToCount(x_factor), ToCount(y_factor)))));
          },
          arg("x_parent"), arg("y_parent"), arg("x_factor"), arg("y_factor"))
      .def("bind", Say(&te::Stage::Bind), arg("ivar"), arg("thread_ivar"))
      .def("vectorize", SayKind(IterKind::kVectorized), arg("var"))
      .def("unroll", SayKind(IterKind::kUnrolled), arg("var"))
      .def("parallel", SayKind(IterKind::kParallelized), arg("var"))
      .def("pragma", Say(&te::Stage::Pragma), arg("var"), arg("pragma_type"), arg("pragma_value") = py::none());
}

// Where a stage or a group is computed, in TVM's words.
template <typename Handle, typename Of>
void BindPlace(py::class_<Handle>& bound, Of of) {
  bound
      .def_property_readonly("attach_ivar",
                             [of](const Handle& h) {
                               const auto& at = of(h)->attached();
                               return at ? py::cast(at->axis) : py::object(py::none());
                             })
      .def_property_readonly("group", [of](const Handle& h) {
        if constexpr (std::is_same_v<Handle, StageHandle>)
          return GroupOf(h.schedule, of(h)->group());
        else
          return GroupOf(h.schedule, of(h)->parent());
      });
}

void BindStagePlace(py::class_<StageHandle>& stage) {
  BindPlace(stage, [](const StageHandle& h) { return h.stage; });
  stage
      .def_property_readonly("attach_type",
                             [](const StageHandle& h) {
                               return static_cast<int>(h.stage->attached()     ? AttachType::kScope
                                                       : h.stage->is_inlined() ? AttachType::kInline
                                                                               : AttachType::kGroupRoot);
                             })
      .def_property_readonly("attach_stage",
                             [](const StageHandle& h) {
                               const auto& at = h.stage->attached();
                               return StageOrNone(h.schedule, at ? at->consumer : nullptr);
                             })
      .def_property_readonly("num_child_stages", [](const StageHandle&) { return 0; })
      .def_property_readonly("is_output", [](const StageHandle& h) {
        const std::vector<te::Operation>& outputs = h.schedule->outputs();
        return std::find(outputs.begin(), outputs.end(), h.stage->op()) != outputs.end();
      });
}

void BindGroup(py::module_& module) {
  using py::arg;
  py::class_<GroupHandle> group(module, "StageGroup");
  BindPlace(group, [](const GroupHandle& h) { return h.group; });
  group.def(
           "__eq__", [](const GroupHandle& a, const GroupHandle& b) { return a.group == b.group; }, py::is_operator())
      .def("__hash__", [](const GroupHandle& h) { return std::hash<const void*>()(h.group); })
      .def_property_readonly("attach_type",
                             [](const GroupHandle& h) {
                               return static_cast<int>(h.group->attached()          ? AttachType::kScope
                                                       : h.group->scan() != nullptr ? AttachType::kScanUpdate
                                                                                    : AttachType::kGroupRoot);
                             })
      .def_property_readonly("attach_stage",
                             [](const GroupHandle& h) {
                               const auto& at = h.group->attached();
                               return StageOrNone(h.schedule, at ? at->consumer : h.group->scan());
                             })
      .def_property_readonly("num_child_stages", [](const GroupHandle& h) { return h.group->num_child_stages(); })
      .def_property_readonly("is_output", [](const GroupHandle&) { return false; })
      .def(
          "compute_at",
          [](const GroupHandle& h, const StageHandle& parent, const IterVar& scope) {
            Check(h.group->ComputeAt(*parent.stage, scope));
          },
          arg("parent"), arg("scope"))
      .def("compute_root", [](const GroupHandle& h) { h.group->ComputeRoot(); });
}

void BindStage(py::module_& module) {
  using py::arg;
  py::class_<StageHandle> stage(module, "Stage");
  stage.def(
           "__eq__", [](const StageHandle& a, const StageHandle& b) { return a.stage == b.stage; }, py::is_operator())
      .def("__hash__", [](const StageHandle& h) { return std::hash<const void*>()(h.stage); })
      .def_property_readonly("op", [](const StageHandle& h) { return ToPython(h.stage->op()); })
      .def_property_readonly("origin_op", [](const StageHandle& h) { return ToPython(h.stage->origin_op()); })
      .def_property_readonly("leaf_iter_vars",
                             [](const StageHandle& h) { return ArrayOfAxes(h.stage->leaf_iter_vars()); })
      .def_property_readonly("all_iter_vars",
                             [](const StageHandle& h) { return ArrayOfAxes(h.stage->all_iter_vars()); })
      .def_property_readonly("scope", [](const StageHandle& h) { return h.stage->scope(); })
      .def("relation_list", [](const StageHandle& h) { return RelationsOf(*h.stage); })
      .def("attr_of", [](const StageHandle& h, const IterVar& axis) { return AttrOf(*h.stage, axis); })
      .def(
          "compute_at",
          [](const StageHandle& h, const StageHandle& parent, const IterVar& scope) {
            Check(h.stage->ComputeAt(*parent.stage, scope));
          },
          arg("parent"), arg("scope"))
      .def("compute_inline", Say(&te::Stage::ComputeInline))
      .def("compute_root", [](const StageHandle& h) { h.stage->ComputeRoot(); })
      .def("set_scope", [](const StageHandle& h, std::string scope) { h.stage->SetScope(std::move(scope)); })
      .def("double_buffer", [](const StageHandle& h) { h.stage->DoubleBuffer(); })
      .def("rolling_buffer", [](const StageHandle& h) { h.stage->RollingBuffer(); })
      .def_property_readonly("rolls", [](const StageHandle& h) { return h.stage->rolls(); })
      .def("run_intrin", [](const StageHandle& h, const IterVar& axis,
                            const IntrinPtr& intrin) { Check(h.stage->Tensorize(axis, intrin)); })
      .def("lay_out",
           [](const StageHandle& h, const IndexMap& map, const std::vector<int64_t>& separators) {
             return Value(h.stage->TransformLayout(map, separators));
           })
      .def("storage_align", Say(&te::Stage::StorageAlign), arg("axis"), arg("factor"), arg("offset"));
  BindLoops(stage);
  BindWhatWasSaid(stage);
  BindStagePlace(stage);
}

te::Operation ScanFrom(const py::object& object) {
  te::Operation op = ToOperation(object);
  if (op->As<te::ScanOp>() == nullptr)
    throw Failure(ErrorKind::kValue, "operation \"" + op->name() + "\" is no scan; give the op of te.scan's result");
  return op;
}

py::list BoundsOf(const SchedulePtr& schedule) {
  py::list bounds;
  for (const auto& [axis, range] : Value(schedule->InferBound())) bounds.append(py::make_tuple(axis, range));
  return bounds;
}

void BindGroups(py::class_<te::StageSchedule, SchedulePtr>& schedule) {
  schedule
      .def("group_of",
           [](const SchedulePtr& s, const py::sequence& outputs, const py::sequence& inputs, bool include_inputs) {
             return GroupHandle{s, Value(s->CreateGroup(OperationsOf(outputs), OperationsOf(inputs), include_inputs))};
           })
      .def("group_with", [](const SchedulePtr& s, py::handle op) { return GroupOf(s, s->GroupOf(ToOperation(op))); })
      .def_property_readonly("groups", [](const SchedulePtr& s) {
        py::list all;
        for (const auto& group : s->groups()) all.append(GroupHandle{s, group.get()});
        return MakeArray(all);
      });
}

void BindStageSchedule(py::module_& module) {
  using py::arg;
  py::class_<te::StageSchedule, SchedulePtr> schedule(module, "Schedule");
  BindGroups(schedule);
  schedule.def("__getitem__", [](const SchedulePtr& s, py::handle op) { return StageOf(s, ToOperation(op)); })
      .def_property_readonly("stages",
                             [](const SchedulePtr& s) {
                               py::list all;
                               for (te::Stage* stage : s->stages()) all.append(StageHandle{s, stage});
                               return MakeArray(all);
                             })
      .def_property_readonly("outputs",
                             [](const SchedulePtr& s) {
                               py::list all;
                               for (const te::Operation& op : s->outputs()) all.append(ToPython(op));
                               return MakeArray(all);
                             })
      .def("read_cache",
           [](const SchedulePtr& s, const te::Tensor& tensor, const std::string& scope, const py::sequence& readers) {
             return Value(s->CacheRead(tensor, scope, OperationsOf(readers)));
           })
      .def("write_cache", [](const SchedulePtr& s, const std::vector<te::Tensor>& tensors,
                             const std::string& scope) { return Value(s->CacheWrite(tensors, scope)); })
      .def("factor", [](const SchedulePtr& s, const te::Tensor& tensor, const IterVar& axis,
                        int factor_axis) { return Value(s->RFactor(tensor, axis, factor_axis)); })
      .def(
          "lower",
          [](const SchedulePtr& s, const py::sequence& args, const std::string& name, bool starts_apart) -> FuncPtr {
            return std::make_shared<PrimFunc>(Value(s->Lower(StageArguments(args), name, {starts_apart})));
          },
          arg("args"), arg("name"), arg("starts_apart") = false);
}

}  // namespace

void BindStages(py::module_& parent) {
  py::module_ module = parent.attr("te");
  py::class_<te::DeclaredIntrin, IntrinPtr>(module, "TensorIntrin")
      .def(py::init([](const std::string& name, py::handle op, const std::vector<Buffer>& buffers, const Stmt& body,
                       const std::optional<Stmt>& reset, const std::optional<Stmt>& update) {
        return te::DeclaredIntrin{name, ToOperation(op), buffers, body, reset, update};
      }))
      .def_readonly("name", &te::DeclaredIntrin::name)
      .def_readonly("body", &te::DeclaredIntrin::body)
      .def_readonly("reduce_init", &te::DeclaredIntrin::reset)
      .def_readonly("reduce_update", &te::DeclaredIntrin::update)
      .def_readonly("buffers", &te::DeclaredIntrin::buffers)
      .def_property_readonly("op", [](const te::DeclaredIntrin& intrin) { return ToPython(intrin.op); });
  BindStage(module);
  BindGroup(module);
  BindStageSchedule(module);
  module.def("create_schedule", [](const py::sequence& ops) -> SchedulePtr {
    return Value(te::StageSchedule::Create(OperationsOf(ops)));
  });
  module.def("infer_bound", &BoundsOf);
  module.def("mark_double_buffers", &te::MarkDoubleBuffers);
  module.def("scan_body", [](const py::object& scan) {
    py::list body;
    for (const te::Operation& op : te::ScanBody(*ScanFrom(scan))) body.append(ToPython(op));
    return MakeArray(body);
  });
  module.def("scan_fix_points", [](const py::object& scan) {
    const te::Operation op = ScanFrom(scan);
    const std::vector<bool> fixed = te::ScanFixPoints(*op);
    const std::vector<IterVar>& axes = op->As<te::ScanOp>()->spatial_axis;
    py::list found;
    for (size_t i = 0; i < axes.size(); ++i) found.append(py::make_tuple(axes[i], Expr(fixed[i] ? 1 : 0)));
    return found;
  });
}

}  // namespace lathe::python
