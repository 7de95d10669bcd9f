#include "tuner/job/embedded.h"

#include <fmt/format.h>
#include <unistd.h>

#include <thread>

#include "compiler/codegen/llvm/compile_module.h"
#include "rpc/device/cpu_lock.h"
#include "rpc/device/device_program.h"
#include "rpc/device/device_server.h"
#include "rpc/device/process_trial_runner.h"
#include "support/status_macros.h"
#include "tuner/database/sqlite_store.h"
#include "tuner/job/quiet_runner.h"
#include "tuner/measure/child_program.h"
#include "tuner/worker/process_builder.h"
#include "tuner/worker/worker.h"

namespace lathe {
namespace {

constexpr char kName[] =
    "local";  // Of worker and device: the same at the next start, so that what they held comes back to them.

StatusOr<std::string> FindProgram(const EmbeddedOptions& options, const std::string& name) {
  const std::string path =
      options.program_directory.empty() ? ProgramBeside(name) : options.program_directory + "/" + name;
  if (access(path.c_str(), X_OK) == 0) return path;
  return NotFound(fmt::format("start {}: no program {}; install it beside this one", name, path));
}

}  // namespace

class EmbeddedFarm::Impl {
 public:
  explicit Impl(EmbeddedOptions options) : options_(std::move(options)) {}
  ~Impl() { Stop(); }

  void Stop() {
    gate_.End();
    if (server_ != nullptr) server_->Stop();
    if (device_.joinable()) device_.join();
    server_.reset();  // Nobody enters the gate any more, which tells the worker.
    worker_.reset();
    coordinator_.reset();
  }

  Status Start() {
    const std::string files = options_.database_path + ".files";
    ASSIGN_OR_RETURN(const std::string builder, FindProgram(options_, "lathe-builder"));
    ASSIGN_OR_RETURN(const std::string runner, FindProgram(options_, "lathe-runner"));
    ASSIGN_OR_RETURN(const std::string evaluate, FindProgram(options_, "lathe-evaluate"));
    ASSIGN_OR_RETURN(const std::string search, FindProgram(options_, "lathe-search"));
    ASSIGN_OR_RETURN(std::unique_ptr<SqliteStore> store, SqliteStore::Open(options_.database_path));
    const std::string locks_in =
        options_.cpu_lock_directory.empty() ? CpuLocks::DefaultDirectory() : options_.cpu_lock_directory;
    ASSIGN_OR_RETURN(CpuLocks locks, CpuLocks::Take(options_.cpus, locks_in));
    locks_ = std::move(locks);
    const BuilderFactory builders = MakeProcessBuilders({.program = builder, .scratch_directory = files + "/build"});
    CoordinatorOptions coordinator{.directory = files,
                                   .search_program = search,
                                   .builder_program = builder,
                                   .database_path = options_.database_path,
                                   .searches = options_.searches,
                                   .base_model = options_.base_model,
                                   .schedulers = options_.schedulers,
                                   .reference_options = {.program = evaluate, .builders = builders},
                                   .resumes_jobs = false,
                                   .make_authenticator = options_.make_authenticator,
                                   .log = options_.log};
    ASSIGN_OR_RETURN(coordinator_, Coordinator::Create(std::move(coordinator), std::move(store), gate_));
    const int slots =
        options_.slots > 0 ? options_.slots : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    worker_ = std::make_unique<Worker>(WorkerOptions{.name = kName,
                                                     .slots = slots,
                                                     .codegen_version = kCodegenVersion,
                                                     .builders = builders,
                                                     .log = options_.log},
                                       *coordinator_);
    gate_.OnChange([this](bool is_quiet) { worker_->SetPaused(is_quiet); });
    return StartDevice(runner, files + "/device");
  }

  Coordinator& coordinator() { return *coordinator_; }

 private:
  Status StartDevice(const std::string& runner, const std::string& directory) {
    runners_ = std::make_unique<ProcessTrialRunnerFactory>(runner, options_.cpus);
    quiet_runners_ = std::make_unique<QuietRunnerFactory>(*runners_, gate_);
    ASSIGN_OR_RETURN(v1::DeviceFacts facts, MeasureDevice(kName, options_.device_key, options_.cpus, *runners_));
    DeviceServerOptions server{.facts = std::move(facts),
                               .build_id = "lathe",
                               .data_directory = directory,
                               .server = SocketMaker([this] { return coordinator_->gateway().MakeSocketPair(); }),
                               .log = options_.log};
    TrialRunnerFactory& factory =
        options_.is_quiet_while_timing ? static_cast<TrialRunnerFactory&>(*quiet_runners_) : *runners_;
    ASSIGN_OR_RETURN(server_, DeviceServer::Create(std::move(server), factory));
    device_ = std::thread([this] { server_->Run(); });
    return OkStatus();
  }

  const EmbeddedOptions options_;
  std::optional<CpuLocks> locks_;
  QuietGate gate_;
  std::unique_ptr<Coordinator> coordinator_;
  std::unique_ptr<Worker> worker_;
  std::unique_ptr<ProcessTrialRunnerFactory> runners_;
  std::unique_ptr<QuietRunnerFactory> quiet_runners_;
  std::unique_ptr<DeviceServer> server_;
  std::thread device_;
};

StatusOr<std::unique_ptr<EmbeddedFarm>> EmbeddedFarm::Start(EmbeddedOptions options) {
  if (options.cpus.empty()) {
    ASSIGN_OR_RETURN(options.cpus, ParseDeviceCpus(""));
  }
  auto impl = std::make_unique<Impl>(std::move(options));
  RETURN_IF_ERROR(impl->Start());
  return std::unique_ptr<EmbeddedFarm>(new EmbeddedFarm(std::move(impl)));
}

EmbeddedFarm::EmbeddedFarm(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
EmbeddedFarm::~EmbeddedFarm() = default;
void EmbeddedFarm::Stop() { impl_->Stop(); }
Coordinator& EmbeddedFarm::coordinator() { return impl_->coordinator(); }

}  // namespace lathe
