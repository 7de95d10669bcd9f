#include "tuner/worker/process_builder.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iterator>

#include "compiler/builder/builder_process.h"
#include "support/file.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

// The child's own deadline is far: time in which it was stopped does not count, and only we know how much that was.
constexpr int kFarDeadline = 100;
constexpr Duration kLookEvery = std::chrono::milliseconds(200);  // For its memory and our deadline.

class ProcessBuilder : public Builder {
 public:
  ProcessBuilder(ProcessBuilderOptions options, int wake)
      : options_(std::move(options)),
        process_(ProcessOptions()),
        wake_(wake),
        output_path_(fmt::format("{}/{}-{}.so", options_.scratch_directory, getpid(), wake)) {}
  ~ProcessBuilder() override {
    close(wake_);
    std::error_code ignored;
    fs::remove(output_path_, ignored);
  }

  Status Start() { return process_.Start(); }

  BuildOutcome Build(const BuildRequest& request) override {
    BuildSpec spec{.id = ++last_id_,
                   .kernels = {{"", request.workload_text, request.trace_json}},
                   .target = request.target,
                   .output_path = output_path_,
                   .kernel_abi = request.kernel_abi,
                   .refuses_spills = request.refuses_spills};
    const Status sent = process_.Send(spec, SystemClock().Now() + request.time_limit * kFarDeadline);
    if (!sent.ok()) return BuildFailed{BuildFailed::Kind::kBroken, sent.message()};
    BuildOutcome outcome = Await(request.time_limit);
    is_cancelled_ = false;
    std::error_code ignored;
    fs::remove(output_path_, ignored);
    return outcome;
  }

  void Cancel() override {
    is_cancelled_ = true;
    Wake();
  }
  void SetPaused(bool is_paused) override {
    is_paused_ = is_paused;
    Wake();
  }

 private:
  void Wake() { eventfd_write(wake_, 1); }

  BuildOutcome Await(Duration limit) {
    Duration worked{};
    for (bool is_stopped = false;;) {
      const TimePoint begin = SystemClock().Now();
      if (std::optional<BuildResult> result = process_.Step(begin)) return Translate(*result);
      if (is_cancelled_) return EndProcess(BuildFailed::Kind::kBroken, "the build was given up");
      if (worked > limit) {
        return EndProcess(BuildFailed::Kind::kTimeout,
                          fmt::format("build took longer than {} s; the builder was killed",
                                      std::chrono::duration_cast<std::chrono::seconds>(limit).count()));
      }
      if (is_paused_ != is_stopped) {
        is_stopped = !is_stopped;
        kill(process_.pid(), is_stopped ? SIGSTOP : SIGCONT);
      }
      pollfd waits[2] = {{.fd = process_.fd(), .events = process_.events(), .revents = 0},
                         {.fd = wake_, .events = POLLIN, .revents = 0}};
      poll(waits, 2, static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(kLookEvery).count()));
      eventfd_t ignored;
      if ((waits[1].revents & POLLIN) != 0) eventfd_read(wake_, &ignored);
      if (!is_stopped) worked += SystemClock().Now() - begin;
    }
  }

  BuildFailed EndProcess(BuildFailed::Kind kind, std::string message) {
    std::destroy_at(&process_);
    std::construct_at(&process_, ProcessOptions());
    return {kind, std::move(message)};
  }

  BuildOutcome Translate(const BuildResult& result) {
    if (const auto* error = std::get_if<BuildError>(&result.outcome)) {
      if (error->kind == BuildErrorKind::kBuildTimeout) return BuildFailed{BuildFailed::Kind::kTimeout, error->message};
      // Our folder is gone, or our disk is full, which the linker may meet first.
      const bool is_disk_full =
          error->kind == BuildErrorKind::kBuildError && error->code == StatusCode::kResourceExhausted;
      if (error->kind == BuildErrorKind::kOutputError || is_disk_full)
        return BuildFailed{BuildFailed::Kind::kBroken, error->message,
                           error->code == StatusCode::kResourceExhausted ? error->code : StatusCode::kUnavailable};
      // Nothing that a compiler does ends in SIGKILL: somebody else ended it.
      const bool was_killed =
          error->kind == BuildErrorKind::kBuilderDied && error->message.starts_with("builder died with SIGKILL");
      return BuildFailed{was_killed ? BuildFailed::Kind::kBroken : BuildFailed::Kind::kCandidate, error->message};
    }
    const auto& artifact = std::get<BuildArtifact>(result.outcome);
    StatusOr<std::string> bytes = ReadWholeFile(artifact.path);
    if (!bytes.ok()) return BuildFailed{BuildFailed::Kind::kBroken, bytes.status().message()};
    BuiltModule module{.bytes = *std::move(bytes),
                       .warnings = artifact.warnings,
                       .replay = artifact.times.parse + artifact.times.schedule,
                       .lower = artifact.times.lower,
                       .compile = artifact.times.emit + artifact.times.optimize + artifact.times.generate,
                       .link = artifact.times.link + artifact.times.write};
    if (Sha256(module.bytes) != artifact.digest)
      return BuildFailed{BuildFailed::Kind::kBroken, fmt::format("read {}: not what the builder wrote", artifact.path)};
    return module;
  }

  BuilderProcess::Options ProcessOptions() const {
    return {.program = options_.program,
            .folder = options_.scratch_directory,
            .memory_limit_bytes = options_.memory_limit_bytes};
  }

  const ProcessBuilderOptions options_;
  BuilderProcess process_;
  const int wake_;
  const std::string output_path_;
  uint64_t last_id_ = 0;
  std::atomic<bool> is_cancelled_ = false, is_paused_ = false;
};

}  // namespace

BuilderFactory MakeProcessBuilders(ProcessBuilderOptions options) {
  return [options]() -> StatusOr<std::unique_ptr<Builder>> {
    std::error_code error;
    fs::create_directories(options.scratch_directory, error);
    if (error) return Unavailable(fmt::format("create {}: {}", options.scratch_directory, error.message()));
    const int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake < 0) return Unavailable("start builder: out of file descriptors");
    auto builder = std::make_unique<ProcessBuilder>(options, wake);
    const Status started = builder->Start();  // Hides its start behind whatever comes before the first build.
    if (!started.ok()) return started;
    return std::unique_ptr<Builder>(std::move(builder));
  };
}

}  // namespace lathe
