// tir.Schedule: its handles, and a method per row of the primitives' signatures.
#include "compiler/schedule/schedule.h"

#include <fmt/format.h>

#include <limits>
#include <random>

#include "compiler/schedule/decompose_padding.h"
#include "python/src/bind.h"
#include "python/src/cast.h"
#include "python/src/errors.h"
#include "python/src/primitive_call.h"
#include "python/src/sampled.h"

namespace lathe::python {

namespace {

template <typename RV>
py::class_<RV> BindHandle(py::module_& module, const char* name, const char* letter) {
  py::class_<RV> cls(module, name);
  cls.def(py::init([] { return RV{FreshHandleId()}; }))
      .def(
          "__eq__", [](const RV& a, const RV& b) { return a == b; }, py::is_operator())
      .def("__hash__", [](const RV& rv) { return std::hash<int>()(rv.id); })
      .def("same_as", [](const RV& a, const RV& b) { return a == b; })
      .def("__repr__", [letter](const RV& rv) { return fmt::format("{}{}", letter, rv.id); });
  return cls;
}

// As TVM's handles, those that it makes mean nothing to any other schedule.
Schedule WithOwnHandles(Schedule schedule) {
  schedule.Diverge();
  return schedule;
}

// TVM's module of a lone function calls it "main".
Schedule OfFunc(const FuncPtr& func, uint64_t seed) {
  return WithOwnHandles(Value(Schedule::Create(IRModule{{CalledInModule(*func, "main")}}, seed), ErrorKind::kSchedule));
}
Schedule OfModule(const ModulePtr& module, uint64_t seed) {
  return WithOwnHandles(Value(Schedule::Create(*module, seed), ErrorKind::kSchedule));
}

// Words that TVM knows. What they ask for changes nothing here.
void CheckOptions(const py::object& debug_mask, const py::object& error_render_level) {
  const auto check = [](const char* name, const py::object& given, const py::list& known) {
    if (PyUnicode_Check(given.ptr()) && !known.contains(given))
      throw Failure(ErrorKind::kValue,
                    fmt::format("Schedule: {} is \"{}\"; give one of {}", name, py::cast<std::string>(given),
                                py::cast<std::string>(py::repr(known))));
  };
  check("debug_mask", debug_mask, py::cast(std::vector<std::string>{"all", "none"}));
  check("error_render_level", error_render_level, py::cast(std::vector<std::string>{"detail", "fast", "none"}));
}

uint64_t SeedOf(const std::optional<int64_t>& seed) {
  if (seed && (*seed < 1 || *seed > std::numeric_limits<int32_t>::max()))
    throw Failure(ErrorKind::kValue,
                  fmt::format("Schedule: seed must be in the range [1, 2147483647], but gets: {}; give None", *seed));
  return seed ? static_cast<uint64_t>(*seed) : std::random_device()();
}

// "(self, loop, factors, preserve_unit_iters=True)", and the sentence.
std::string HelpOf(const Signature& row) {
  std::string help = fmt::format("{}(self", SnakeCase(row.kind));
  for (const Argument& argument : row.arguments)
    help += fmt::format(", {}{}{}{}", argument.keep == Keep::kStar ? "*" : "", argument.name,
                        argument.fallback.empty() ? "" : "=", argument.fallback);
  return fmt::format("{})\n--\n\n{}", help, row.doc);
}

// A method of the class for each primitive. Its definition begins with the signature, in the form from which Python
// makes __text_signature__.
void BindPrimitives(py::class_<Schedule, std::shared_ptr<Schedule>>& cls) {
  py::options as_they_are;
  as_they_are.disable_function_signatures();
  for (const Signature& row : Signatures()) {
    const std::string name = SnakeCase(row.kind);
    cls.attr(name.c_str()) =
        py::cpp_function([&row](Schedule& schedule, const py::args& args,
                                const py::kwargs& kwargs) { return CallPrimitive(schedule, row, args, kwargs); },
                         py::name(name.c_str()), py::is_method(cls), HelpOf(row).c_str());
  }
}

}  // namespace

void BindSchedule(py::module_& module) {
  BindHandle<BlockRV>(module, "BlockRV", "b");
  BindHandle<LoopRV>(module, "LoopRV", "l");
  py::class_<Schedule, std::shared_ptr<Schedule>> cls(module, "Schedule", py::dynamic_attr());
  cls.def(py::init([](const FuncPtr& func, std::optional<int64_t> seed, const py::object& mask, const py::object& level,
                      bool) {
            CheckOptions(mask, level);
            return OfFunc(func, SeedOf(seed));
          }),
          py::arg("mod"), py::kw_only(), py::arg("seed") = py::none(), py::arg("debug_mask") = "none",
          py::arg("error_render_level") = "detail", py::arg("enable_check") = true)
      .def(py::init([](const ModulePtr& mod, std::optional<int64_t> seed, const py::object& mask,
                       const py::object& level, bool) {
             CheckOptions(mask, level);
             return OfModule(mod, SeedOf(seed));
           }),
           py::arg("mod"), py::kw_only(), py::arg("seed") = py::none(), py::arg("debug_mask") = "none",
           py::arg("error_render_level") = "detail", py::arg("enable_check") = true)
      .def_property_readonly("mod", [](const Schedule& s) { return std::make_shared<IRModule>(s.mod()); })
      .def_property_readonly("trace", [](const Schedule& s) { return s.trace(); })
      .def("copy", [](const Schedule& s) { return WithOwnHandles(s); })
      .def(
          "seed", [](Schedule& s, int64_t seed) { s.Seed(SeedOf(seed)); }, py::arg("seed"))
      .def(
          "work_on", [](Schedule& s, const std::string& name) { Check(s.WorkOn(name), ErrorKind::kFunction); },
          py::arg("func_name"))
      .def_property_readonly("func_working_on",
                             [](const Schedule& s) -> py::object {
                               if (!s.IsWorkingOnAny()) return py::none();
                               return py::module_::import("lathe.ir.module").attr("GlobalVar")(s.func().name);
                             })
      .def("show",
           [](const Schedule& s, const py::args&, const py::kwargs&) {
             py::print(py::str(py::cast(std::make_shared<IRModule>(s.mod()))));
             py::print(py::str(py::cast(s.trace())));
           })
      .def(
          "can_decompose_padding",
          [](const Schedule& s, BlockRV block, LoopRV loop) {
            Schedule trial = s;
            return DecomposePadding(trial, block, loop).ok();
          },
          py::arg("block"), py::arg("loop"))
      .def("fork_seed", [](Schedule& s) { return static_cast<int64_t>(s.random().Next() >> 33); })
      .def("get", [](const Schedule& s, BlockRV block) { return Held(s.Get(block))->block; })
      .def("get", [](const Schedule& s, LoopRV loop) { return s.StmtOf(Held(s.RowOf(loop))); })
      .def("get", [](const Schedule& s, const Expr& value) { return ValueOfSampled(s, value); })
      .def(
          "remove_rv", [](Schedule& s, BlockRV rv) { Check(s.RemoveRV(rv), ErrorKind::kUnknownHandle); },
          py::arg("rand_var"))
      .def(
          "remove_rv", [](Schedule& s, LoopRV rv) { Check(s.RemoveRV(rv), ErrorKind::kUnknownHandle); },
          py::arg("rand_var"))
      .def(
          "remove_rv",
          [](Schedule& s, const Var& rv) { Check(s.RemoveRV(*SampledOf(Wrap(Expr(rv)))), ErrorKind::kUnknownHandle); },
          py::arg("rand_var"));
  BindPrimitives(cls);
  BindState(module, cls);
}

}  // namespace lathe::python
