#include "runner/program/trial.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <optional>

#include "runner/compare.h"
#include "runner/guarded_buffer.h"
#include "runner/input_generator.h"
#include "runner/monotonic.h"
#include "runner/program/crash_report.h"
#include "runner/program/kernel_timer.h"
#include "runner/program/limits.h"
#include "runner/sandbox.h"

namespace lathe {
namespace {

constexpr int64_t kTickNs = 1'000'000'000;

// Why a trial ends before its time.
struct TrialEnd {
  RunStatus status;
  std::string message;
};

RunStatus StatusOf(const RuntimeError& error, RunStatus otherwise) {
  return error.code == RuntimeCode::kResourceExhausted ? RunStatus::kOutOfMemory : otherwise;
}

struct Buffer {
  const ParamMeta* meta;
  uint32_t param;  // Its number: part of the generator's key.
  std::vector<int64_t> shape;
  GuardedBuffer memory;

  TensorView view() const { return {memory.data(), meta->dtype, shape}; }
  int64_t num_scalars() const { return memory.size_bytes() / (meta->dtype.bits / 8); }
};

class Trial {
 public:
  Trial(const RunSpec& spec, const std::function<void(const RunProgress&)>& on_progress, RunReport& report)
      : spec_(spec), on_progress_(on_progress), report_(report) {}

  std::optional<TrialEnd> Run() {
    for (const auto& [phase, step, took] : {Phase{RunPhase::kLoading, &Trial::Load, &report_.load_ns},
                                            Phase{RunPhase::kInputs, &Trial::MakeBuffers, &report_.inputs_ns},
                                            Phase{RunPhase::kChecking, &Trial::CheckOnce, &report_.check_ns},
                                            Phase{RunPhase::kTiming, &Trial::Time, &report_.timing_ns}}) {
      on_progress_({phase, 0});
      const int64_t begin = MonotonicNs();
      const std::optional<TrialEnd> end = (this->*step)();
      *took = MonotonicNs() - begin;
      if (end.has_value()) return end;
    }
    on_progress_({RunPhase::kDone, report_.measured.total_calls});
    return CheckAfterTiming();
  }

 private:
  struct Phase {
    RunPhase phase;
    std::optional<TrialEnd> (Trial::*step)();
    int64_t* took;
  };

  // What foreign code may do is taken away before its file is read, which a mistake of ours might let it use, and what
  // only loading needs before it is called.
  RuntimeError Prepare() {
    if (!spec_.cpus.empty()) RUNTIME_RETURN_IF_ERROR(PinCurrentThread(std::span(spec_.cpus).first(1)));
    // How long threads waited for a CPU is told by their files.
    RUNTIME_RETURN_IF_ERROR(
        ConfineFiles({.readable = {spec_.artifact_path, spec_.reference_path, "/proc/self/task"}, .writable = {}}));
    RUNTIME_ASSIGN_OR_RETURN(pool_, ThreadPool::Create(static_cast<int>(spec_.num_threads), spec_.cpus));
    context_ = std::make_unique<KernelContext>(*pool_, spec_.memory_limit_bytes);
    run_delay_.emplace();
    RUNTIME_RETURN_IF_ERROR(ApplyLimits(spec_));
    if (!spec_.reference_path.empty()) RUNTIME_RETURN_IF_ERROR(OpenReference());
    return ConfineCalls(CallList::kLoad);
  }

  RuntimeError OpenReference() {
    reference_file_ = open(spec_.reference_path.c_str(), O_RDONLY | O_CLOEXEC);
    if (reference_file_ >= 0) return {};
    return {RuntimeCode::kNotFound, "read reference " + spec_.reference_path + ": " + ErrnoText(errno)};
  }

  std::optional<TrialEnd> Load() {
    if (const RuntimeError error = Prepare(); !error.ok()) return TrialEnd{RunStatus::kRunnerError, error.message};
    RuntimeResult<Artifact> artifact = Artifact::Open(spec_.artifact_path, spec_.codegen_version);
    if (!artifact.ok()) return TrialEnd{RunStatus::kBadArtifact, artifact.error().message};
    artifact_.emplace(*std::move(artifact));
    RuntimeResult<Artifact::Kernel> kernel = artifact_->Find(spec_.kernel_name);
    if (!kernel.ok()) return TrialEnd{RunStatus::kBadArtifact, kernel.error().message};
    kernel_ = *kernel;
    return std::nullopt;
  }

  std::optional<TrialEnd> MakeBuffers() {
    std::vector<TensorView> views;
    std::vector<int64_t> scalars;
    uint32_t number = 0;
    for (const ParamMeta& param : kernel_.meta->params) {
      const uint32_t index = number++;
      if (param.kind == ParamKind::kPointer) {
        return TrialEnd{RunStatus::kBadArtifact, "make inputs: parameter \"" + param.name +
                                                     "\" is an address without a shape; give it a buffer"};
      }
      if (!param.is_buffer()) {
        int64_t bits = 0;
        const InputRange range = RangeOf(spec_.input_ranges, index, DefaultScalarRange(param.dtype));
        FillInput(spec_.input_seed, index, param.dtype, range, &bits, 0, 1);
        if (param.dtype.code == DTypeCode::kInt) bits = static_cast<int64_t>(LoadAsDouble(param.dtype, &bits, 0));
        scalars.push_back(bits);
        continue;
      }
      RuntimeResult<std::vector<int64_t>> shape = kernel_.meta->ShapeOf(param, spec_.symbol_values, scalars);
      if (!shape.ok()) return TrialEnd{RunStatus::kBadArtifact, shape.error().message};
      RuntimeResult<GuardedBuffer> memory =
          GuardedBuffer::Create(CountElements(*shape).value_or(0) * param.dtype.bytes());
      if (!memory.ok())
        return TrialEnd{RunStatus::kOutOfMemory,
                        "make inputs: buffer \"" + param.name + "\": " + memory.error().message};
      NameGuardedRange(memory->mapping_begin(), memory->mapping_bytes(), memory->data(), memory->size_bytes(),
                       param.name);
      buffers_.push_back({&param, index, *std::move(shape), *std::move(memory)});
      FillBuffer(buffers_.back());
    }
    for (const Buffer& buffer : buffers_) views.push_back(buffer.view());
    RuntimeResult<KernelArguments> arguments = BindArguments(*kernel_.meta, views, scalars);
    if (!arguments.ok()) return TrialEnd{RunStatus::kBadArtifact, arguments.error().message};
    arguments_ = *std::move(arguments);
    MakeFlusher();
    if (const RuntimeError confined = ConfineCalls(CallList::kKernel); !confined.ok())
      return TrialEnd{RunStatus::kRunnerError, confined.message};
    return std::nullopt;
  }

  void MakeFlusher() {
    if (spec_.policy.regime == CacheRegime::kHot) return;
    std::vector<std::span<std::byte>> flushed, kept;
    for (const Buffer& buffer : buffers_) {
      const std::span<std::byte> memory(static_cast<std::byte*>(buffer.memory.data()), buffer.memory.size_bytes());
      (buffer.meta->is_constant && spec_.policy.regime == CacheRegime::kWarmWeights ? kept : flushed).push_back(memory);
    }
    flusher_.emplace(flushed, kept, spec_.cpus.empty() ? 0 : spec_.cpus[0]);
  }

  void FillBuffer(const Buffer& buffer) {
    if (buffer.meta->is_read || !buffer.meta->is_written) {
      const DType dtype = buffer.meta->dtype;
      FillInput(spec_.input_seed, buffer.param, dtype,
                RangeOf(spec_.input_ranges, buffer.param, DefaultInputRange(dtype)), buffer.memory.data(), 0,
                buffer.num_scalars());
    } else {  // What the kernel forgets to write must not look right: NaN, or a large number.
      std::memset(buffer.memory.data(), buffer.meta->dtype.is_floating() ? 0xff : 0x5a, buffer.memory.size_bytes());
    }
  }

  std::optional<TrialEnd> CheckOnce() {
    if (std::optional<TrialEnd> failure = CallOnce()) return failure;
    if (spec_.reference_path.empty()) return std::nullopt;
    if (std::optional<TrialEnd> failure = ReadReference()) return failure;
    report_.checked = true;
    return CompareOutputs("");
  }

  std::optional<TrialEnd> CallOnce() {
    const RuntimeError called = CallKernel(kernel_, arguments_, *context_);
    if (!called.ok()) return TrialEnd{StatusOf(called, RunStatus::kKernelError), called.message};
    return CheckGuards();
  }

  std::optional<TrialEnd> Time() {
    KernelTimer timer(kernel_, arguments_, *context_, *run_delay_, flusher_ ? &*flusher_ : nullptr);
    MeasureSession session(spec_.policy, spec_.incumbent_ns, MonotonicNs());
    int64_t ticked = MonotonicNs();
    while (session.Next() > 0) {
      RuntimeResult<BatchTiming> batch = timer.Run(session.Next());
      if (!batch.ok()) return TrialEnd{StatusOf(batch.error(), RunStatus::kKernelError), batch.error().message};
      const int64_t now = MonotonicNs();
      session.Report(*batch, now);
      if (now - ticked < kTickNs) continue;
      on_progress_({RunPhase::kTiming, session.result().total_calls});
      ticked = now;
    }
    report_.measured = session.result();
    report_.status = static_cast<RunStatus>(session.result().status);
    return std::nullopt;
  }

  // A race or a state kept between calls shows only after many of them. Outputs are poisoned and inputs made again:
  // what an earlier call wrote must not stand in for this one, and what is computed in place has become something else.
  std::optional<TrialEnd> CheckAfterTiming() {
    if (std::optional<TrialEnd> damage = CheckGuards()) return damage;
    if (!report_.checked) return std::nullopt;
    for (const Buffer& buffer : buffers_) FillBuffer(buffer);
    if (std::optional<TrialEnd> failure = CallOnce()) return failure;
    return CompareOutputs(", after timing");
  }

  std::optional<TrialEnd> CheckGuards() const {
    for (const Buffer& buffer : buffers_) {
      const std::string damage = buffer.memory.FindDamage();
      if (!damage.empty())
        return TrialEnd{RunStatus::kWrongResult, "check buffer \"" + buffer.meta->name + "\": the kernel " + damage};
    }
    return std::nullopt;
  }

  std::optional<TrialEnd> ReadReference() {
    int64_t expected = 0;
    size_t outputs = 0;
    for (const Buffer& buffer : buffers_) {
      expected += buffer.meta->is_written ? buffer.num_scalars() : 0;
      outputs += buffer.meta->is_written ? 1 : 0;
    }
    const std::string place = "read reference " + spec_.reference_path + ": ";
    if (outputs != spec_.tolerances.size()) {
      return TrialEnd{RunStatus::kRunnerError,
                      place + FormatText("%zu tolerances for %zu outputs", spec_.tolerances.size(), outputs)};
    }
    const int64_t size = lseek(reference_file_, 0, SEEK_END);
    const int64_t bytes = expected * static_cast<int64_t>(sizeof(double));
    bool complete = size == bytes;
    if (complete) reference_.resize(static_cast<size_t>(expected));
    for (int64_t at = 0; complete && at < bytes;) {
      const ssize_t got = pread(reference_file_, reinterpret_cast<char*>(reference_.data()) + at, bytes - at, at);
      complete = got > 0 || (got < 0 && errno == EINTR);
      at += got > 0 ? got : 0;
    }
    if (complete) return std::nullopt;
    return TrialEnd{RunStatus::kRunnerError,
                    place + FormatText("%lld bytes, the outputs need %lld", (long long)size, (long long)bytes)};
  }

  std::optional<TrialEnd> CompareOutputs(const char* when) {
    std::span<const double> rest(reference_);
    size_t output = 0;
    for (const Buffer& buffer : buffers_) {
      if (!buffer.meta->is_written) continue;
      const std::span<const double> expected = rest.first(buffer.num_scalars());
      rest = rest.subspan(expected.size());
      const CompareResult result =
          CompareOutput(buffer.meta->name, buffer.view(), expected, spec_.tolerances[output++]);
      report_.max_error = std::max(report_.max_error, result.max_error);
      if (!result.ok) return TrialEnd{RunStatus::kWrongResult, result.message + when};
    }
    return std::nullopt;
  }

  const RunSpec& spec_;
  const std::function<void(const RunProgress&)>& on_progress_;
  RunReport& report_;
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<KernelContext> context_;
  std::optional<Artifact> artifact_;
  Artifact::Kernel kernel_{};
  std::vector<Buffer> buffers_;
  KernelArguments arguments_;
  std::optional<RunDelayMeter> run_delay_;
  std::optional<CacheFlusher> flusher_;
  int reference_file_ = -1;
  std::vector<double> reference_;
};

}  // namespace

RunReport RunTrial(const RunSpec& spec, const std::function<void(const RunProgress&)>& on_progress) {
  RunReport report{.status = RunStatus::kOk};
  // Never destroyed: the process ends next, and unmapping everything would only delay that.
  auto* trial = new (std::nothrow) Trial(spec, on_progress, report);
  std::optional<TrialEnd> end;
  try {
    end = trial == nullptr ? TrialEnd{RunStatus::kOutOfMemory, "start trial: out of memory"} : trial->Run();
  } catch (const std::bad_alloc&) {
    end = TrialEnd{RunStatus::kOutOfMemory, FormatText("run trial: out of memory, the limit is %llu bytes",
                                                       (unsigned long long)spec.memory_limit_bytes)};
  }
  if (end.has_value()) {
    report.status = end->status;
    report.message = end->message;
    report.measured = {};
  }
  return report;
}

}  // namespace lathe
