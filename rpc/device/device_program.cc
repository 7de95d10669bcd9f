#include "rpc/device/device_program.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <thread>

#include "rpc/device/cpu_lock.h"
#include "rpc/device/device_server.h"
#include "rpc/device/process_trial_runner.h"
#include "rpc/device/runtime_status.h"
#include "rpc/device_message.h"
#include "rpc/hello_check.h"
#include "rpc/machine_identity.h"
#include "runner/memory_group.h"
#include "runner/peak.h"
#include "runner/sandbox.h"
#include "runtime/cpu_features.h"
#include "runtime/kernel_abi.h"
#include "runtime/tile_permission.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

// What this program was built for: a 64-bit kernel may run 32-bit systems, and calls itself what it is.
#if defined(__x86_64__)
constexpr const char* kMachine = "x86_64";
#elif defined(__aarch64__)
constexpr const char* kMachine = "aarch64";
#elif defined(__arm__)
constexpr const char* kMachine = "armv7l";
#else
#error "rpc/device/device_program.cc: name this machine as uname does"
#endif

std::string HostName() {
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  std::string text = name[0] != '\0' ? name : "device";
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z')
      c = static_cast<char>(c - 'A' + 'a');
    else if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.'))
      c = '-';
  }
  return text.substr(0, 48);
}

std::string DefaultDataDirectory(const std::string& name) {
  const char* data = std::getenv("XDG_DATA_HOME");
  const char* home = std::getenv("HOME");
  const std::string base =
      data != nullptr && *data != '\0' ? data : std::string(home != nullptr ? home : "/tmp") + "/.local/share";
  return base + "/lathe/device-" + name;
}

// The name that the machine whose data is in `directory` has joined a farm with; empty: none.
std::string JoinedName(const std::string& directory) {
  if (directory.empty()) return "";
  const StatusOr<MachineIdentity> identity = MachineIdentity::Read(directory + "/identity.pem");
  if (!identity.ok()) return "";
  const StatusOr<CertificateFacts> facts = identity->Facts();
  return facts.ok() && facts->subject.role == Role::kDevice ? facts->subject.name : "";
}

StatusOr<int> ParseNumber(std::string_view text, std::string_view whole) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  return InvalidArgument(fmt::format("cpus \"{}\": \"{}\" is no number; write a list like 0-3,6", whole, text));
}

// Measured CPUs are for kernels: this process stays on the others, if there are any.
void KeepOff(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  int others = 0;
  for (const int cpu : AvailableCpus()) {
    if (std::find(cpus.begin(), cpus.end(), cpu) != cpus.end()) continue;
    CPU_SET(cpu, &set);
    ++others;
  }
  if (others > 0) sched_setaffinity(0, sizeof(set), &set);
}

}  // namespace

StatusOr<std::vector<int>> ParseDeviceCpus(std::string_view text) {
  const std::vector<int> available = AvailableCpus();
  if (text.empty()) return available;
  std::vector<int> cpus;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view item = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    const size_t dash = item.find('-');
    ASSIGN_OR_RETURN(const int first, ParseNumber(item.substr(0, dash), text));
    int last = first;
    if (dash != std::string_view::npos) {
      ASSIGN_OR_RETURN(last, ParseNumber(item.substr(dash + 1), text));
    }
    for (int cpu = first; cpu <= last; ++cpu) {
      if (std::find(available.begin(), available.end(), cpu) == available.end()) {
        return InvalidArgument(fmt::format("cpus \"{}\": this process may not use cpu {}; it may use {}", text, cpu,
                                           fmt::join(available, ",")));
      }
      if (std::find(cpus.begin(), cpus.end(), cpu) == cpus.end()) cpus.push_back(cpu);
    }
  }
  if (cpus.empty()) return InvalidArgument(fmt::format("cpus \"{}\": names none; write a list like 0-3,6", text));
  return cpus;
}

Status SetDefaults(DeviceProgramOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<int> cpus, ParseDeviceCpus(options.cpus));
  if (options.name.empty()) options.name = JoinedName(options.data_directory);
  if (options.name.empty()) options.name = fmt::format("{}-cpu{}", HostName(), cpus.front());
  RETURN_IF_ERROR(CheckDeviceName("device name", options.name));
  if (options.data_directory.empty()) options.data_directory = DefaultDataDirectory(options.name);
  if (options.identity_path.empty()) options.identity_path = options.data_directory + "/identity.pem";
  return OkStatus();
}

v1::DeviceFacts CollectDeviceFacts(std::string name, std::string key, const std::vector<int>& cpus) {
  v1::DeviceFacts facts;
  facts.set_name(std::move(name));
  facts.set_key(std::move(key));
  for (const int cpu : cpus) facts.add_cpus(cpu);
  utsname host{};
  uname(&host);
  facts.set_arch(kMachine);
  facts.set_os(PrintableFact(fmt::format("{} {}", host.sysname, host.release)));
  facts.set_cpu_model(PrintableFact(CpuModelName()));
  for (const std::string& feature : UsableFeatures(HostCpuFeatures(), TilePermission()))
    facts.add_cpu_features(feature);
  facts.set_memory_bytes(static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE));
  facts.set_kernel_abi(LATHE_KERNEL_ABI_VERSION);
  facts.set_num_cores(static_cast<int32_t>(cpus.size()));
  return facts;
}

StatusOr<v1::DeviceFacts> MeasureDevice(std::string name, std::string key, const std::vector<int>& cpus,
                                        const ProcessTrialRunnerFactory& runners) {
  v1::DeviceFacts facts = CollectDeviceFacts(std::move(name), std::move(key), cpus);
  ASSIGN_OR_RETURN(const uint32_t sandbox, runners.Sandbox());
  facts.set_sandbox(SandboxText(sandbox));
  const DevicePeak peak = MeasureDevicePeak(cpus);
  facts.set_peak_gflops(peak.gflops_f32);
  facts.set_peak_gops(peak.gops);
  return facts;
}

namespace {

// A farm that has moved is asked for further certificates where it is now.
Status FollowFarm(MachineIdentity identity, const DeviceProgramOptions& options) {
  ASSIGN_OR_RETURN(const Endpoint now, ParseEndpoint(options.connect));
  if (!now.unix_path.empty() || now == identity.farm) return OkStatus();
  identity.farm = now;
  return identity.Write(options.identity_path);
}

// Whether this machine has joined a farm; then it has the name that it joined with, and connects there if nothing else
// is said.
StatusOr<bool> UseIdentity(DeviceProgramOptions& options) {
  if (access(options.identity_path.c_str(), F_OK) != 0) {
    if (options.connect.empty())
      return InvalidArgument(
          "start device: no --connect, and this machine has joined no farm (lathe-device join HOST:PORT CODE)");
    return false;
  }
  ASSIGN_OR_RETURN(MachineIdentity identity, MachineIdentity::Read(options.identity_path));
  ASSIGN_OR_RETURN(const CertificateFacts facts, identity.Facts());
  if (facts.subject != CertificateSubject{Role::kDevice, options.name})
    return FailedPrecondition(
        fmt::format("start device: {} is of {} \"{}\", this device is \"{}\"; choose that --name, or join "
                    "with this one",
                    options.identity_path, RoleName(facts.subject.role), facts.subject.name, options.name));
  if (options.connect.empty()) options.connect = identity.farm.ToString();
  RETURN_IF_ERROR(FollowFarm(std::move(identity), options));
  return true;
}

}  // namespace

Status RunDeviceProgram(DeviceProgramOptions options) {
  ASSIGN_OR_RETURN(const std::vector<int> cpus, ParseDeviceCpus(options.cpus));
  ASSIGN_OR_RETURN(const CpuLocks locks, CpuLocks::Take(cpus));
  RETURN_IF_ERROR(SetDefaults(options));
  RETURN_IF_ERROR(CheckDeviceTags(options.tags).WithContext("start device"));
  ASSIGN_OR_RETURN(const bool has_joined, UseIdentity(options));
  ASSIGN_OR_RETURN(const Endpoint endpoint, ParseEndpoint(options.connect));
  if (!has_joined) RETURN_IF_ERROR(CheckMayDialUnknown(endpoint, {Role::kDevice, options.name}, "lathe-device join"));
  if (options.runner_program.empty()) options.runner_program = ProcessTrialRunnerFactory::DefaultProgram();
  if (access(options.runner_program.c_str(), X_OK) != 0) {
    return NotFound(
        fmt::format("start device: no program {}; install lathe-runner beside this one", options.runner_program));
  }
  const RuntimeResult<uint32_t> required = ParseSandboxText(options.required_sandbox);
  if (!required.ok()) return FromRuntime(required.error());
  const RuntimeResult<std::unique_ptr<MemoryGroups>> groups = MemoryGroups::Open();
  if (!groups.ok() && (*required & kSandboxMemory) != 0) return FromRuntime(groups.error());
  ProcessTrialRunnerFactory runners(options.runner_program, cpus, *required, groups.ok() ? groups->get() : nullptr);
  ASSIGN_OR_RETURN(v1::DeviceFacts facts, MeasureDevice(options.name, options.key, cpus, runners));
  for (const std::string& tag : options.tags) facts.add_tags(tag);
  const std::string sandbox = facts.sandbox();
  DeviceServerOptions server_options{.facts = std::move(facts),
                                     .build_id = options.build_id,
                                     .data_directory = options.data_directory,
                                     .server = endpoint,
                                     .identity_path = has_joined ? options.identity_path : "",
                                     .log = options.log};
  ASSIGN_OR_RETURN(const std::unique_ptr<DeviceServer> server,
                   DeviceServer::Create(std::move(server_options), runners));
  KeepOff(cpus);

  sigset_t ends;  // Taken by one thread by waiting, so that nothing runs inside a signal handler.
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  std::optional<IdentityKeeper> keeper;
  if (has_joined) keeper.emplace(options.identity_path, options.log);
  std::thread stopper([&] {
    int signal = 0;
    sigwait(&ends, &signal);
    server->Stop();
  });
  options.log(fmt::format("device \"{}\", key \"{}\", cpus {}, sandbox: {}, server {}", options.name, options.key,
                          fmt::join(cpus, ","), sandbox, endpoint.ToString()));
  server->Run();
  stopper.join();
  return OkStatus();
}

}  // namespace lathe
