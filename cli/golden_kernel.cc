#include "cli/golden_kernel.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "cli/time_text.h"
#include "compiler/builder/builder_process.h"
#include "runner/runner_process.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

// Its output depends on nothing, so that the right one can be written down.
constexpr int kOutputs = 64, kTerms = 256;
constexpr const char* kGolden = R"(
@T.prim_func
def golden(C: T.Buffer((64,), "float32")):
    for i, k in T.grid(64, 256):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + T.Cast("float32", (vi * vk) % 7)
)";

std::vector<double> ExpectedOutputs() {
  std::vector<double> outputs(kOutputs, 0);
  for (int i = 0; i < kOutputs; ++i) {
    for (int k = 0; k < kTerms; ++k) outputs[static_cast<size_t>(i)] += (i * k) % 7;
  }
  return outputs;
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "lathe-doctor-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Status Build(const std::string& builder, const std::string& artifact) {
  BuilderProcess process({.program = builder});
  const BuildResult result = process.BuildAndWait(
      {.kernels = {{.text = kGolden}}, .target = "auto", .output_path = artifact}, std::chrono::seconds(30));
  const auto* error = std::get_if<BuildError>(&result.outcome);
  return error == nullptr ? OkStatus() : Status(error->code, fmt::format("lathe-builder: {}", error->message));
}

StatusOr<RunReport> RunArtifact(const std::string& runner, const std::string& artifact, const std::string& reference) {
  auto process = RunnerProcess::Spawn({.program = runner});
  if (!process.ok()) return Unavailable(fmt::format("lathe-runner: {}", process.error().message));
  RunSpec spec{.artifact_path = artifact, .reference_path = reference, .tolerances = {1e-3}};
  spec.policy.budget_ns = 200'000'000;
  const RuntimeError started = (*process)->Start(spec);
  if (!started.ok()) return Unavailable(fmt::format("lathe-runner: {}", started.message));
  (*process)->Wait(RunnerProcess::State::kFinished, std::chrono::seconds(30));
  return (*process)->outcome().report;
}

StatusOr<std::string> BuildAndRun(const std::string& program_folder) {
  const TemporaryFolder folder;
  if (folder.path().empty())
    return ResourceExhausted("make a temporary folder: none can be made; set TMPDIR to one that can be written");
  const std::string artifact = folder.path() + "/golden.so", reference = folder.path() + "/golden.ref";
  RETURN_IF_ERROR(Build(program_folder + "/lathe-builder", artifact));
  const std::vector<double> expected = ExpectedOutputs();
  std::ofstream(reference, std::ios::binary)
      .write(reinterpret_cast<const char*>(expected.data()), kOutputs * sizeof(double));
  ASSIGN_OR_RETURN(const RunReport report, RunArtifact(program_folder + "/lathe-runner", artifact, reference));
  if (report.status != RunStatus::kOk && report.status != RunStatus::kNoisy) {
    return FailedPrecondition(fmt::format("lathe-runner: {}: {}", RunStatusName(report.status), report.message));
  }
  return fmt::format("built, run and checked; {} per call{}", FormatNs(report.measured.statistics.median),
                     report.status == RunStatus::kNoisy ? ", but the time is noisy" : "");
}

}  // namespace

Check CheckGoldenKernel(const std::string& program_folder) {
  const StatusOr<std::string> result = BuildAndRun(program_folder);
  if (result.ok()) return {"kernel", Verdict::kOk, *result, ""};
  return {"kernel", Verdict::kProblem, "golden kernel: " + result.status().message(),
          "nothing can be tuned here until this works"};
}

}  // namespace lathe
