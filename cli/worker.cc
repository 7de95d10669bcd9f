// lathe worker: builds candidates for a server.
#include "tuner/worker/worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <thread>

#include "cli/database_path.h"
#include "cli/interrupts.h"
#include "cli/number_check.h"
#include "cli/report_error.h"
#include "cli/verbs.h"
#include "compiler/codegen/llvm/compile_module.h"
#include "rpc/machine_identity.h"
#include "support/status_macros.h"
#include "tuner/measure/child_program.h"
#include "tuner/service/client.h"
#include "tuner/worker/process_builder.h"

namespace lathe {
namespace {

constexpr auto kDrainLimit = std::chrono::seconds(60);
constexpr int kMaxWorkersPerHost = 64;

struct WorkerVerbOptions {
  std::string connect, name;
  int slots = 0;
};

struct WorkerJoinOptions {
  std::string farm, code, name;
};

constexpr auto kJoinPatience = std::chrono::seconds(30);

std::string HostName() {
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  std::string text = name[0] != '\0' ? name : "worker";
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z')
      c = static_cast<char>(c - 'A' + 'a');
    else if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.'))
      c = '-';
  }
  return text.substr(0, 48);
}

// A worker's name and its folder. A lock on the folder keeps two workers of one host apart, and gives a restarted one
// its name again.
struct Identity {
  std::string name, folder;
  int lock = -1;  // Held until the process ends.
};

std::optional<Identity> TryTake(const std::string& name) {
  std::error_code error;
  const std::string folder =
      std::filesystem::temp_directory_path(error).string() + "/lathe-worker-" + std::to_string(getuid()) + "-" + name;
  std::filesystem::create_directories(folder, error);
  const int lock = open((folder + "/lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (lock < 0) return std::nullopt;
  if (flock(lock, LOCK_EX | LOCK_NB) == 0) return Identity{name, folder, lock};
  close(lock);
  return std::nullopt;
}

StatusOr<Identity> TakeIdentity(const std::string& wanted) {
  if (!wanted.empty()) {
    if (auto identity = TryTake(wanted)) return *std::move(identity);
    return Unavailable(
        fmt::format("start worker \"{}\": another one of this name runs here, or its folder cannot be written; choose "
                    "another --name",
                    wanted));
  }
  for (int number = 1; number <= kMaxWorkersPerHost; ++number) {
    if (auto identity = TryTake(fmt::format("{}-w{}", HostName(), number))) return *std::move(identity);
  }
  return Unavailable(
      fmt::format("start worker: {} run here already, or the folder for temporary files cannot be written; set TMPDIR "
                  "to one that can",
                  kMaxWorkersPerHost));
}

// Where the certificate of the worker of this name is kept; unlike its folder it outlives a restart of the machine.
std::string IdentityPath(const std::string& name) { return DataFolder() + "/worker-" + name + ".pem"; }

// What the worker shows and believes; nothing, if it has joined no farm.
StatusOr<ConnectionSecurity> SecurityOf(const std::string& name) {
  const StatusOr<MachineIdentity> identity = MachineIdentity::Read(IdentityPath(name));
  if (identity.status().code() == StatusCode::kNotFound) return ConnectionSecurity{};
  if (!identity.ok()) return identity.status();
  return ConnectionSecurity{identity->authority_pem, IdentityPath(name)};
}

Status Join(const WorkerJoinOptions& options) {
  ASSIGN_OR_RETURN(const Endpoint farm, ParseEndpoint(options.farm));
  ASSIGN_OR_RETURN(const InvitationCode code, ParseInvitationCode(options.code));
  const std::string name = options.name.empty() ? HostName() + "-w1" : options.name;
  const std::string path = IdentityPath(name);
  RETURN_IF_ERROR(CreateFolderOf(path));  // A code counts once: what can fail fails before.
  ASSIGN_OR_RETURN(const MachineIdentity identity, JoinFarm(farm, code, {Role::kWorker, name}, kJoinPatience));
  RETURN_IF_ERROR(identity.Write(path));
  fmt::print(
      "worker \"{}\" has joined the farm at {}; its key is in {}\nstart it: lathe worker --connect HOST:PORT{}, "
      "with the server's port for clients\n",
      name, farm.ToString(), path, options.name.empty() ? "" : " --name " + name);
  return OkStatus();
}

bool IsName(const std::string& name) {
  return name.size() <= 64 && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789._-") == std::string::npos;
}

Status Work(const WorkerVerbOptions& options) {
  if (options.connect.empty())
    return InvalidArgument("start worker: --connect is missing; name the server: HOST:PORT or unix:PATH");
  ASSIGN_OR_RETURN(const Endpoint server, ParseEndpoint(options.connect));
  if (!IsName(options.name))
    return InvalidArgument(
        fmt::format("--name \"{}\": at most 64 of a-z, 0-9, '.', '_' and '-' required", options.name));
  const std::string builder = ProgramBeside("lathe-builder");
  if (access(builder.c_str(), X_OK) != 0)
    return NotFound(fmt::format("start worker: no program {}; install lathe-builder beside this one", builder));
  CountInterrupts();
  ASSIGN_OR_RETURN(const Identity identity, TakeIdentity(options.name));
  ASSIGN_OR_RETURN(ConnectionSecurity security, SecurityOf(identity.name));
  std::optional<IdentityKeeper> keeper;
  if (!security.authority_pem.empty()) keeper.emplace(IdentityPath(identity.name), LogLine);
  if (security.authority_pem.empty())
    RETURN_IF_ERROR(CheckMayDialUnknown(server, {Role::kWorker, identity.name}, "lathe worker join"));
  const std::unique_ptr<ServerConnection> connection = ConnectToServer(server, {.security = std::move(security)});
  const int slots =
      options.slots > 0 ? options.slots : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  Worker worker({.name = identity.name,
                 .slots = slots,
                 .codegen_version = kCodegenVersion,
                 .builders = MakeProcessBuilders({.program = builder, .scratch_directory = identity.folder}),
                 .log = LogLine},
                connection->workers());
  LogLine(fmt::format("worker \"{}\", {} slots, server {}", identity.name, slots, server.ToString()));
  AwaitInterrupts(1, [] { return false; }, std::nullopt);
  LogLine("finishing what is being built; interrupt again to give it up");
  std::atomic<bool> is_drained = false;
  std::thread drain([&] {
    worker.Drain(kDrainLimit);
    is_drained = true;
    WakeMainThread();
  });
  AwaitInterrupts(2, [&] { return is_drained.load(); }, std::nullopt);
  if (!is_drained)
    _exit(kExitInterrupted);  // The builders die with this process; the server hands their tasks to others.
  drain.join();
  return OkStatus();
}

}  // namespace

void AddWorker(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<WorkerVerbOptions>();
  CLI::App* verb = app.add_subcommand("worker", "Build candidates for a server");
  verb->add_option("--connect", options->connect, "the server: HOST:PORT or unix:PATH");
  verb->add_option("--slots", options->slots, "builds at once; default: one per CPU")
      ->check(WholeNumber(1, kMostThreads));
  verb->add_option("--name", options->name, "this worker's own name; default: host name and a number");
  const auto join = std::make_shared<WorkerJoinOptions>();
  CLI::App* joining = verb->add_subcommand("join", "Make this machine a worker of a farm, by a code of `lathe invite`");
  joining->add_option("FARM", join->farm, "the server's port for devices: HOST:PORT")->required();
  joining->add_option("CODE", join->code, "what `lathe invite worker` printed")->required();
  joining->add_option("--name", join->name, "the worker's own name; default: host name and -w1");
  verb->callback([options, join, joining, &exit_code] {
    const Status status = joining->parsed() ? Join(*join) : Work(*options);
    exit_code = status.ok() ? kExitOk : ReportError(status);
  });
}

}  // namespace lathe
