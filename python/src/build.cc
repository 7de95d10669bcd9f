// lathe.build: lathe-builder makes an artifact of a module, the runtime loads it.
#include <fmt/format.h>
#include <poll.h>
#include <stdlib.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "compiler/builder/builder_process.h"
#include "compiler/ir/declare_buffers.h"
#include "compiler/ir/memory.h"
#include "compiler/script/printer.h"
#include "compiler/target/target.h"
#include "compiler/target/target_description.h"
#include "compiler/target/target_tags.h"
#include "python/src/bind.h"
#include "python/src/cast.h"
#include "python/src/errors.h"
#include "python/src/runtime.h"

namespace lathe::python {
namespace {

// Removed with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    const char* base = std::getenv("TMPDIR");
    path_ = fmt::format("{}/lathe-build-XXXXXX", base != nullptr && *base != '\0' ? base : "/tmp");
    if (mkdtemp(path_.data()) == nullptr)
      throw Failure(ErrorKind::kTvm, fmt::format("build: make folder {}: {}; set TMPDIR to one that can be written",
                                                 path_, std::strerror(errno)));
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

constexpr auto kBuildTimeout = std::chrono::minutes(10);
constexpr int kSignalsAfterMs = 50;

// Raises what the program's signal handlers raise meanwhile: Ctrl-C.
void WaitForEvents(const BuilderProcess& process) {
  {
    const py::gil_scoped_release others_may_run;
    pollfd wait{.fd = process.fd(), .events = process.events(), .revents = 0};
    poll(&wait, 1, kSignalsAfterMs);
  }
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

// The child ends with `process`, whatever is thrown.
BuildResult RunBuilder(const std::string& builder, const BuildSpec& spec) {
  BuilderProcess process({.program = builder});
  if (const Status sent = process.Send(spec, SystemClock().Now() + kBuildTimeout); !sent.ok())
    throw Failure(ErrorKind::kTvm, sent.WithContext("build"));
  while (true) {
    if (std::optional<BuildResult> result = process.Step(SystemClock().Now())) return *std::move(result);
    WaitForEvents(process);
  }
}

// As the builder reads it.
std::string TextOf(IRModule module) {
  for (PrimFunc& func : module.prim_funcs) {
    func = DeclareBuffers(std::move(func));
    func.body = JoinAllocations(func.body);
  }
  return Print(module);
}

std::shared_ptr<RuntimeModule> Build(const IRModule& module, const std::string& target, const std::string& builder) {
  const auto folder = std::make_shared<TemporaryFolder>();
  BuildSpec spec{.target = target, .output_path = *folder / "module.so"};
  spec.kernels.push_back({.text = TextOf(module)});
  const BuildResult result = RunBuilder(builder, spec);
  if (const auto* error = std::get_if<BuildError>(&result.outcome)) {
    const bool is_of_folder = error->kind == BuildErrorKind::kOutputError;
    throw Failure(ErrorKind::kTvm,
                  fmt::format("build: {}{}", error->message, is_of_folder ? "; TMPDIR says where that is" : ""));
  }
  return RuntimeModule::Load(*folder / "module.so", folder);
}

}  // namespace

void BindBuild(py::module_& module) {
  module.def("build", [](const ModulePtr& m, const std::string& target, const std::string& builder) {
    return Build(*m, target, builder);
  });
  py::class_<Target>(module, "Target")
      .def(py::init([](const std::string& text) { return Value(Target::Parse(text), ErrorKind::kValue); }))
      .def_property_readonly("num_cores", &Target::num_cores)
      .def_property_readonly("mcpu", &Target::cpu)
      .def_property_readonly("mtriple", &Target::triple)
      .def_property_readonly("mattr", &Target::attrs)
      .def_property_readonly("features", &Target::features)
      .def("__str__", &Target::ToString);
  py::class_<TargetDescription>(module, "TargetDescription")
      .def(py::init([](const std::string& text) { return Value(TargetDescription::Parse(text), ErrorKind::kValue); }))
      .def(py::init(
          [](const TargetAttrs& attrs) { return Value(TargetDescription::FromAttrs(attrs), ErrorKind::kValue); }))
      .def_readonly("kind", &TargetDescription::kind)
      .def_readonly("tag", &TargetDescription::tag)
      .def_readonly("host", &TargetDescription::host)
      .def_readonly("keys", &TargetDescription::keys)
      .def_readonly("attrs", &TargetDescription::attrs)
      .def("__str__", &TargetDescription::ToString);
  module.def("target_kinds", &KnownTargetKinds);
  module.def("cpu_target_tags", &KnownTargetTags);
  module.def("device_tags", [] {
    std::vector<std::string> tags;
    for (const auto& [tag, target] : DeviceTags()) tags.push_back(tag);
    return tags;
  });
  module.attr("llvm_version_major") = LATHE_LLVM_MAJOR;
}

}  // namespace lathe::python
