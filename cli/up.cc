// lathe up: serves a database: coordinator, tracker and device gateway in one process, on request with a worker and a
// device of this machine.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/database_path.h"
#include "cli/interrupts.h"
#include "cli/message_json.h"
#include "cli/number_check.h"
#include "cli/place.h"
#include "cli/report_error.h"
#include "cli/verbs.h"
#include "rpc/device/device_program.h"
#include "support/clock.h"
#include "support/status_macros.h"
#include "tuner/cost_model/base_model.h"
#include "tuner/database/sqlite_store.h"
#include "tuner/job/embedded.h"
#include "tuner/measure/child_program.h"
#include "tuner/service/authority.h"
#include "tuner/service/farm_server.h"
#include "tuner/service/machine_registrar.h"

namespace lathe {
namespace {

struct UpOptions {
  std::string database, base_model, listen = "127.0.0.1:7431", device_listen = "127.0.0.1:7432";
  bool has_local_device = false, checks_devices = false, as_json = false;
  std::string device_key = "local", cpus;
  int slots = 0;
  std::string status_listen;  // Empty: nowhere.
};

// Empty where the farm has no authority.
std::function<StatusOr<std::unique_ptr<MachineAuthenticator>>(Store&)> RegistrarOf(const std::string& database) {
  if (!HasAuthority(database)) return {};
  return [database](Store& store) -> StatusOr<std::unique_ptr<MachineAuthenticator>> {
    ASSIGN_OR_RETURN(std::unique_ptr<MachineRegistrar> made, MachineRegistrar::Make(store, database));
    return std::unique_ptr<MachineAuthenticator>(std::move(made));
  };
}

// The coordinator, alone or with a worker and a device in this process.
class Farm {
 public:
  static StatusOr<std::unique_ptr<Farm>> Start(const UpOptions& options, const std::string& database) {
    auto farm = std::make_unique<Farm>();
    if (!options.base_model.empty()) {
      ASSIGN_OR_RETURN(farm->base_model_, ReadBaseModel(options.base_model));
    }
    RETURN_IF_ERROR(options.has_local_device ? farm->StartEmbedded(options, database)
                                             : farm->StartAlone(options, database));
    return farm;
  }
  ~Farm() { gate_.End(); }
  Coordinator& coordinator() { return embedded_ != nullptr ? embedded_->coordinator() : *coordinator_; }

  // Of an earlier process, whatever has not ended.
  Status ResumeJobs() {
    for (int64_t after = 0;;) {
      ASSIGN_OR_RETURN(const std::vector<JobRow> rows, coordinator().store().ListJobs({after, 1000}));
      for (const JobRow& row : rows) {
        if (!IsTerminal(row.state)) RETURN_IF_ERROR(coordinator().ResumeJob(row.id));
      }
      if (rows.empty()) return OkStatus();
      after = rows.back().id;
    }
  }

 private:
  Status StartEmbedded(const UpOptions& options, const std::string& database) {
    ASSIGN_OR_RETURN(const std::vector<int> cpus, ParseDeviceCpus(options.cpus));
    ASSIGN_OR_RETURN(embedded_, EmbeddedFarm::Start({.database_path = database,
                                                     .device_key = options.device_key,
                                                     .cpus = cpus,
                                                     .slots = options.slots,
                                                     .make_authenticator = RegistrarOf(database),
                                                     .base_model = base_model_,
                                                     .log = LogLine}));
    return OkStatus();
  }
  Status StartAlone(const UpOptions& options, const std::string& database) {
    const std::string files = database + ".files";
    ASSIGN_OR_RETURN(std::unique_ptr<SqliteStore> store, SqliteStore::Open(database));
    CoordinatorOptions coordinator{.directory = files,
                                   .search_program = ProgramBeside("lathe-search"),
                                   .builder_program = ProgramBeside("lathe-builder"),
                                   .database_path = database,
                                   .base_model = base_model_,
                                   .reference_options = {.program = ProgramBeside("lathe-evaluate")},
                                   .resumes_jobs = false,
                                   .checks_devices = options.checks_devices,
                                   .make_authenticator = RegistrarOf(database),
                                   .log = LogLine};
    ASSIGN_OR_RETURN(coordinator_, Coordinator::Create(std::move(coordinator), std::move(store), gate_));
    return OkStatus();
  }

  std::shared_ptr<const BaseModel> base_model_;  // Null: the program's own.
  QuietGate gate_;                               // Never closed here: the devices are elsewhere.
  std::unique_ptr<Coordinator> coordinator_;
  std::unique_ptr<EmbeddedFarm> embedded_;
};

// Whoever reads that all is up may submit for this device at once.
Status AwaitLocalDevice(Store& store, int64_t since_unix_ns) {
  constexpr Duration kPatience = std::chrono::seconds(10), kPause = std::chrono::milliseconds(10);
  for (const TimePoint begin = SystemClock().Now(); SystemClock().Now() - begin < kPatience;) {
    ASSIGN_OR_RETURN(const std::vector<DeviceRow> devices, store.ListDevices());
    for (const DeviceRow& device : devices)
      if (device.last_seen_unix_ns >= since_unix_ns) return OkStatus();
    std::this_thread::sleep_for(kPause);
  }
  return Unavailable("start the local device: it does not come up; see the log above");
}

struct Addresses {
  Endpoint server, devices;
  std::string database;
};

// As others would type it: an address that means all of this machine's is of no use to them.
std::string ForOthers(Endpoint endpoint) {
  if (endpoint.host != "0.0.0.0" && endpoint.host != "::") return endpoint.ToString();
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  endpoint.host = name;
  return endpoint.ToString();
}

void SayReady(const Addresses& at, bool as_json) {
  if (as_json) {
    PrintJsonLine({{"server", at.server.ToString()}, {"devices", at.devices.ToString()}, {"database", at.database}});
    return;
  }
  const std::string server = ForOthers(at.server), devices = ForOthers(at.devices);
  if (!HasAuthority(at.database)) {
    fmt::print(stderr,
               "lathe: serving {}, to this machine alone (`lathe ca init` opens it to others)\n  clients:  lathe tune "
               "FUNC.py --server {}\n  workers:  lathe worker --connect {}\n  devices:  lathe device --connect {}\n",
               at.database, server, server, devices);
    return;
  }
  fmt::print(
      stderr,
      "lathe: serving {}\n  clients:  lathe token create --user USER, then lathe tune FUNC.py --server {} "
      "--token-file FILE\n  workers:  lathe invite worker, then lathe worker join {} CODE, lathe worker --connect "
      "{}\n  devices:  lathe invite device, then lathe-device join {} CODE, lathe-device\n",
      at.database, server, devices, server, devices);
}

// As many connections as this process may have: a thousand that say nothing must keep nobody out.
void RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Machines that have joined would be shut out, and everybody else let in.
Status CheckAuthorityIsThere(Store& store, const std::string& database) {
  if (HasAuthority(database)) return OkStatus();
  ASSIGN_OR_RETURN(const std::vector<CertificateRow> given, store.ListCertificates({0, 1}));
  if (given.empty()) return OkStatus();
  return FailedPrecondition(fmt::format(
      "serve {}: machines have joined this farm, but its authority {} is not there; restore that folder from a backup. "
      "`lathe ca init` would make another one, with which every machine must join again",
      database, AuthorityFolder(database)));
}

// Whoever may open it is the farm's admin.
void CloseToOthers(const Endpoint& owner, const std::string& database) {
  if (HasAuthority(database)) chmod(owner.unix_path.c_str(), 0600);
}

Status Serve(const UpOptions& options) {
  RaiseDescriptorLimit();
  ASSIGN_OR_RETURN(const Endpoint listen, ParseEndpoint(options.listen));
  ASSIGN_OR_RETURN(const Endpoint device_listen, ParseEndpoint(options.device_listen));
  const std::string database = AbsolutePath(DatabasePath(options.database));
  ASSIGN_OR_RETURN(const Endpoint owner, OwnerEndpoint(database));
  RETURN_IF_ERROR(CreateFolderOf(database));
  CountInterrupts();
  const int64_t begin = SystemClock().UnixNanos();
  ASSIGN_OR_RETURN(const std::unique_ptr<Farm> farm, Farm::Start(options, database));
  RETURN_IF_ERROR(CheckAuthorityIsThere(farm->coordinator().store(), database));
  ASSIGN_OR_RETURN(const Endpoint devices, farm->coordinator().gateway().Listen(device_listen));
  ASSIGN_OR_RETURN(std::unique_ptr<FarmServer> server,
                   FarmServer::Start(farm->coordinator(), {listen, owner},
                                     HasAuthority(database) ? AuthorityFolder(database) : "", LogLine));
  CloseToOthers(owner, database);
  RETURN_IF_ERROR(farm->ResumeJobs());
  if (options.has_local_device) RETURN_IF_ERROR(AwaitLocalDevice(farm->coordinator().store(), begin));
  std::unique_ptr<StatusPort> status;
  if (!options.status_listen.empty()) {
    ASSIGN_OR_RETURN(const Endpoint place, ParseEndpoint(options.status_listen));
    ASSIGN_OR_RETURN(status, StatusPort::Start(place, [&farm](const std::string& path) {
                       return StatusPageOf(farm->coordinator(), path);
                     }));
    LogLine("metrics and health on http://" + status->endpoint().ToString() + "/metrics");
  }
  SayReady({server->endpoints().front(), devices, database}, options.as_json);
  AwaitInterrupts(1, [] { return false; }, std::nullopt);
  LogLine("stopping; jobs go on when this database is served again");
  status.reset();
  farm->coordinator().Drain();
  server.reset();
  return OkStatus();
}

}  // namespace

void AddUp(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<UpOptions>();
  CLI::App* verb = app.add_subcommand("up", "Serve a database: coordinator, tracker and device gateway in one process");
  verb->add_option("--db", options->database,
                   "the database file; default: $LATHE_DB, else lathe/lathe.db in the user's data folder");
  verb->add_option("--base-model", options->base_model,
                   "what searches begin with: a file of `lathe model train`; default: a part of this program");
  verb->add_option(
          "--listen", options->listen,
          "for clients and workers: HOST:PORT (port 0: any free one) or unix:PATH; beyond this machine after `lathe ca "
          "init`")
      ->capture_default_str();
  verb->add_option("--device-listen", options->device_listen, "for devices: the same forms")->capture_default_str();
  verb->add_option(
      "--status-listen", options->status_listen,
      "for Prometheus and probes: /metrics, /healthz, /readyz on HOST:PORT of this machine; default: nowhere");
  CLI::Option* checks = verb->add_flag("--check-devices", options->checks_devices,
                                       "quarantine devices on which the golden kernel is wrong, or off by 10 %");
  CLI::Option* local =
      verb->add_flag("--local-device", options->has_local_device, "with a worker and a device of this machine");
  verb->add_option("--device", options->device_key, "the local device's key")->capture_default_str()->needs(local);
  verb->add_option("--cpus", options->cpus, "the local device's CPUs, e.g. 0-3,6; default: all")->needs(local);
  verb->add_option("--slots", options->slots, "builds at once of the local worker; default: one per CPU")
      ->check(WholeNumber(1, kMostThreads))
      ->needs(local);
  checks->excludes(local);
  verb->add_flag("--json", options->as_json,
                 "one line on stdout once everything is up: the real addresses (docs/formats/cli_json.md)");
  verb->callback([options, &exit_code] { exit_code = EndVerb(Serve(*options)); });
}

}  // namespace lathe
