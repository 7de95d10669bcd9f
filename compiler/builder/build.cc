#include "compiler/builder/build.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "compiler/codegen/llvm/compile_module.h"
#include "compiler/lower.h"
#include "compiler/schedule/schedule.h"
#include "compiler/script/parser.h"
#include "compiler/transform/inline_private_functions.h"
#include "support/file.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

// Adds the time since the last call to `phase`.
class PhaseClock {
 public:
  void Add(Duration& phase) {
    const TimePoint now = SystemClock().Now();
    phase += now - std::exchange(last_, now);
  }

 private:
  TimePoint last_ = SystemClock().Now();
};

// How modules are made for a kind of target: a row each. What a search knows of a kind: tuner/space/target_space.h.
struct TargetBackend {
  std::string_view kind;                   // Target::kind()
  std::span<const LowerPass> (*passes)();  // From scheduled TensorIR to what `compile` takes.
  StatusOr<CompiledModule> (*compile)(std::span<const PrimFunc> kernels, std::span<const ArtifactSection> sections,
                                      const Target& target, const CodegenOptions& options);
};
constexpr TargetBackend kBackends[] = {
    {"llvm", CpuPasses, CompileModule},
};

StatusOr<const TargetBackend*> BackendOf(const Target& target) {
  for (const TargetBackend& backend : kBackends)
    if (backend.kind == target.kind()) return &backend;
  return Unimplemented(fmt::format("build for target \"{}\": no code generator for kind \"{}\"; rebuild lathe-builder",
                                   target.ToString(), target.kind()));
}

class MappedFile {
 public:
  static StatusOr<MappedFile> Open(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat info;
    if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
      const std::string why = fd < 0 ? std::strerror(errno) : "not a regular file";
      if (fd >= 0) close(fd);
      return NotFound(fmt::format("read section file {}: {}", path, why));
    }
    MappedFile file;
    file.size_ = static_cast<size_t>(info.st_size);
    if (file.size_ > 0) file.data_ = mmap(nullptr, file.size_, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (file.data_ == MAP_FAILED)
      return ResourceExhausted(fmt::format("map section file {}: {}", path, std::strerror(errno)));
    return file;
  }
  MappedFile(MappedFile&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}
  ~MappedFile() {
    if (data_ != nullptr && data_ != MAP_FAILED) munmap(data_, size_);
  }
  std::string_view bytes() const { return {static_cast<const char*>(data_), data_ == nullptr ? 0 : size_}; }

 private:
  MappedFile() = default;
  void* data_ = nullptr;
  size_t size_ = 0;
};

Status OutputError(const std::string& path) {
  const bool is_full = MeansFullDisk(errno);
  return Status(is_full ? StatusCode::kResourceExhausted : StatusCode::kFailedPrecondition,
                fmt::format("write {}: {}; {}choose another output path", path, std::strerror(errno),
                            is_full ? "free some space or " : ""));
}

Status WriteWhole(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return OutputError(path);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return OkStatus();
}

Status WriteArtifact(const std::string& path, std::string_view bytes) {
  const std::string temporary = fmt::format("{}.{}.tmp", path, getpid());
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return OutputError(path);
  Status status = WriteWhole(fd, bytes, path);
  close(fd);
  if (status.ok() && std::rename(temporary.c_str(), path.c_str()) != 0) status = OutputError(path);
  if (!status.ok()) unlink(temporary.c_str());
  return status;
}

// The functions of one source, scheduled and lowered.
Status AddKernels(const KernelSource& source, size_t position, const TargetBackend& backend, PhaseClock& clock,
                  BuildTimes& times, std::vector<PrimFunc>& kernels) {
  ASSIGN_OR_RETURN(IRModule module, ParseModule(source.text, fmt::format("kernel {}", position)));
  clock.Add(times.parse);
  if (module.prim_funcs.empty())
    return InvalidArgument(fmt::format("kernel {}: the text has no T.prim_func", position));
  if ((!source.trace_json.empty() || !source.name.empty()) && module.prim_funcs.size() != 1) {
    return InvalidArgument(fmt::format("kernel {}: the text has {} functions, a trace or a name needs exactly one",
                                       position, module.prim_funcs.size()));
  }
  module = InlineCalls(std::move(module));
  for (PrimFunc& func : module.prim_funcs) {
    if (!source.trace_json.empty()) {
      ASSIGN_OR_RETURN(const ScheduleTrace trace, ScheduleTrace::FromJson(source.trace_json));
      ASSIGN_OR_RETURN(Schedule schedule, Schedule::Create(std::move(func)));
      RETURN_IF_ERROR(trace.Replay(schedule));
      func = schedule.func();
    }
    if (!source.name.empty()) func.name = source.name;
    clock.Add(times.schedule);
    // A search has thousands of these; what they are lowered to is checked as a whole in any case.
    const bool is_candidate = !source.trace_json.empty();
    const LowerOptions options{.verify = !is_candidate, .observer = {}};
    ASSIGN_OR_RETURN(PrimFunc lowered, LowerBy(backend.passes(), std::move(func), options));
    kernels.push_back(std::move(lowered));
    clock.Add(times.lower);
  }
  return OkStatus();
}

// `kind` is what an error is: raised before the output is written.
StatusOr<BuildArtifact> BuildOrError(const BuildSpec& spec, BuildErrorKind& kind) {
  BuildArtifact artifact{.path = spec.output_path};
  BuildTimes& times = artifact.times;
  PhaseClock clock;
  ASSIGN_OR_RETURN(const Target target, Target::Parse(spec.target));
  ASSIGN_OR_RETURN(const TargetBackend* backend, BackendOf(target));
  std::vector<PrimFunc> kernels;
  for (size_t i = 0; i < spec.kernels.size(); ++i)
    RETURN_IF_ERROR(AddKernels(spec.kernels[i], i, *backend, clock, times, kernels));
  std::vector<MappedFile> files;
  std::vector<ArtifactSection> sections;
  for (const SectionSource& section : spec.sections) {
    ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open(section.path));
    files.push_back(std::move(file));
    sections.push_back({section.name, files.back().bytes()});
  }
  ASSIGN_OR_RETURN(CompiledModule module,
                   backend->compile(kernels, sections, target, {spec.kernel_abi, spec.refuses_spills}));
  times.emit = module.times.emit, times.optimize = module.times.optimize, times.generate = module.times.generate,
  times.link = module.times.link;
  Duration compile{};
  clock.Add(compile);
  artifact.digest = Sha256(module.bytes);
  artifact.size_bytes = module.bytes.size();
  artifact.warnings = std::move(module.warnings);
  kind = BuildErrorKind::kOutputError;
  RETURN_IF_ERROR(WriteArtifact(spec.output_path, module.bytes));
  clock.Add(times.write);
  return artifact;
}

}  // namespace

BuildResult Build(const BuildSpec& spec) {
  BuildResult result{.id = spec.id};
  BuildErrorKind kind = BuildErrorKind::kBuildError;
  StatusOr<BuildArtifact> artifact = BuildOrError(spec, kind);
  if (artifact.ok())
    result.outcome = *std::move(artifact);
  else
    result.outcome = BuildError{kind, artifact.status().code(), artifact.status().message()};
  return result;
}

}  // namespace lathe
