#include "tests/e2e/chaos/farm.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/file.h"
#include "support/status_macros.h"
#include "tests/e2e/process_tree.h"

namespace lathe::chaos {
namespace {

namespace fs = std::filesystem;

constexpr double kRestartAfter = 1, kExcusedFor = 5, kAbortExcusedFor = 1;
constexpr int kReadyMs = 30'000, kStopMs = 30'000;
constexpr char kServerDisk[] = "size=192m", kDeviceDisk[] = "size=64m";

void WriteShift(const std::string& path, int64_t seconds) {
  const int64_t nanos = seconds * 1'000'000'000;
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  (void)!write(fd, &nanos, sizeof(nanos));
  close(fd);
}

// What is left of the disk.
void Fill(const std::string& folder) {
  const int fd = open((folder + "/ballast").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return;
  const std::string zeros(4096, '\0');
  for (off_t piece = 64 << 20; piece >= 4096; piece /= 2) {
    struct stat file{};
    while (fstat(fd, &file) == 0 && fallocate(fd, 0, file.st_size, piece) == 0) {
    }
  }
  for (size_t piece = zeros.size(); piece > 0;)
    if (write(fd, zeros.data(), piece) <= 0) piece /= 2;
  close(fd);
}

// So many more than it has open now; nullopt: as many as it may.
void LimitDescriptors(pid_t pid, std::optional<int64_t> more) {
  rlimit limit{};
  if (prlimit(pid, RLIMIT_NOFILE, nullptr, &limit) != 0) return;
  std::error_code error;
  const auto open = std::distance(fs::directory_iterator(fmt::format("/proc/{}/fd", pid), error), {});
  limit.rlim_cur = more ? std::min<rlim_t>(static_cast<rlim_t>(open + *more), limit.rlim_max) : limit.rlim_max;
  prlimit(pid, RLIMIT_NOFILE, &limit, nullptr);
}

std::vector<int> AllowedCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof(set), &set);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

const char* ProgramOf(Role role) {
  if (role == Role::kBuilder) return "lathe-builder";
  return role == Role::kRunner ? "lathe-runner" : "lathe-search";
}

bool IsChild(Role role) { return role == Role::kBuilder || role == Role::kRunner || role == Role::kSearch; }

}  // namespace

StatusOr<std::unique_ptr<Farm>> Farm::Start(FarmPlace place) {
  std::unique_ptr<Farm> farm(new Farm(std::move(place)));
  RETURN_IF_ERROR(farm->SetUp());
  return farm;
}

Farm::~Farm() {
  for (Member* member : Everybody()) member->process.reset();
  for (const std::string& mount : mounts_) umount2(mount.c_str(), MNT_DETACH);
}

Status Farm::SetUp() {
  for (const char* name : {"server", "data", "tmp"}) fs::create_directories(place_.folder + "/" + name);
  for (int i = 0; i < place_.members.devices; ++i) fs::create_directories(fmt::format("{}/device{}", place_.folder, i));
  if (place_.members.has_disks) RETURN_IF_ERROR(MountDisks());
  RETURN_IF_ERROR(MakeLinks());
  MakeMembers();
  RETURN_IF_ERROR(Verb({"lathe", "ca", "init", "--db", database()}).status());
  server_.process->Start();
  RETURN_IF_ERROR(AwaitServer());
  RETURN_IF_ERROR(Join());
  for (Member* member : Everybody())
    if (!member->process->IsRunning()) member->process->Start();
  return OkStatus();
}

Status Farm::MountDisks() {
  const auto mount_disk = [&](const std::string& at, const char* size) {
    if (mount("tmpfs", at.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, size) != 0)
      return Unavailable(fmt::format("mount a disk at {}: {}", at, std::strerror(errno)));
    mounts_.push_back(at);
    return OkStatus();
  };
  RETURN_IF_ERROR(mount_disk(place_.folder + "/server", kServerDisk));
  for (int i = 0; i < place_.members.devices; ++i)
    RETURN_IF_ERROR(mount_disk(fmt::format("{}/device{}", place_.folder, i), kDeviceDisk));
  return OkStatus();
}

// One for each worker, device and client, in this order.
Status Farm::MakeLinks() {
  ASSIGN_OR_RETURN(proxy_, FaultProxy::Start(place_.seed));
  const Endpoint any{.host = "127.0.0.1"};
  for (int i = 0; i < place_.members.workers + place_.members.devices; ++i)
    RETURN_IF_ERROR(proxy_->AddLink(any).status());
  for (int i = 0; i < place_.members.clients; ++i) {
    const Endpoint local{.unix_path = fmt::format("{}/client{}.sock", place_.folder, i)};
    RETURN_IF_ERROR(proxy_->AddLink(i % 2 == 0 ? any : local).status());
  }
  return OkStatus();
}

std::vector<std::string> Farm::EnvironmentOf(const std::string& name) const {
  const std::string& folder = place_.folder;
  return {Marker(),
          "XDG_DATA_HOME=" + folder + "/data",
          "TMPDIR=" + folder + "/tmp",
          fmt::format("LATHE_CPU_LOCKS={}/locks.{}", folder, name),  // Boards may share a CPU: they only pretend.
          fmt::format("LATHE_CHAOS_CLOCK={}/{}.clock", folder, name),
          "GRPC_VERBOSITY=ERROR",  // Its last words.
          "LD_PRELOAD=" LATHE_CLOCK_SHIM};
}

void Farm::MakeMembers() {
  const std::string& folder = place_.folder;
  const std::vector<int> cpus = AllowedCpus();
  const auto make = [&](const std::string& name, const std::string& disk, std::vector<std::string> arguments) {
    Member member;
    member.process =
        std::make_unique<FarmProcess>(ProcessPlace{name, std::move(arguments), EnvironmentOf(name),
                                                   folder + "/" + name + ".out", folder + "/" + name + ".log", folder});
    member.disk = disk;
    member.clock = folder + "/" + name + ".clock";
    WriteShift(member.clock, 0);
    return member;
  };
  server_ =
      make("server", folder + "/server",
           {"lathe", "up", "--json", "--db", database(), "--listen", "127.0.0.1:0", "--device-listen", "127.0.0.1:0"});
  for (int i = 0; i < place_.members.workers; ++i) {
    const std::string name = fmt::format("worker{}", i);
    workers_.push_back(make(
        name, "", {"lathe", "worker", "--connect", proxy_->AddressOf(i).ToString(), "--name", name, "--slots", "1"}));
  }
  for (int i = 0; i < place_.members.devices; ++i) {
    const std::string name = fmt::format("device{}", i);
    const int cpu = cpus[static_cast<size_t>(i) % cpus.size()];
    fs::create_directories(fmt::format("{}/runner{}", folder, i));
    fs::create_symlink(std::string(LATHE_BIN_DIR) + "/lathe-runner", RunnerPaths()[static_cast<size_t>(i)]);
    devices_.push_back(make(name, folder + "/" + name,
                            {"lathe-device", "--connect", proxy_->AddressOf(LinkOf(Role::kDevice, i)).ToString(),
                             "--key", "host", "--name", name, "--cpus", std::to_string(cpu), "--data",
                             folder + "/" + name, "--runner", RunnerPaths()[static_cast<size_t>(i)]}));
  }
}

Status Farm::AwaitServer() {
  constexpr int kPauseMs = 20;
  for (int waited = 0; waited < kReadyMs; waited += kPauseMs, poll(nullptr, 0, kPauseMs)) {
    FindServer();
    if (knows_server_) return OkStatus();
  }
  return Unavailable("start the server: it says nothing; see " + server_.process->place().log);
}

// Invited by the server, through the links by which they will come.
Status Farm::Join() {
  const auto join = [&](const std::string& role, const std::string& name, std::vector<std::string> arguments) {
    StatusOr<std::string> code = Verb({"lathe", "invite", role, "--db", database()});
    if (!code.ok()) return code.status();
    arguments.insert(arguments.end(), {code->substr(0, code->find('\n')), "--name", name});
    if (role == "device") arguments.insert(arguments.end(), {"--data", place_.folder + "/" + name});
    return Verb(arguments).status();
  };
  for (size_t i = 0; i < workers_.size(); ++i)
    RETURN_IF_ERROR(join("worker", fmt::format("worker{}", i), {"lathe", "worker", "join", devices_address_}));
  for (size_t i = 0; i < devices_.size(); ++i) {
    const std::string at = proxy_->AddressOf(LinkOf(Role::kDevice, static_cast<int>(i))).ToString();
    RETURN_IF_ERROR(join("device", fmt::format("device{}", i), {"lathe-device", "join", at}));
  }
  ASSIGN_OR_RETURN(const std::string made,
                   Verb({"lathe", "token", "create", "--user", "ann", "--role", "submitter", "--db", database()}));
  const size_t certificate = made.find("-----BEGIN CERTIFICATE-----");
  token_ = made.substr(0, made.find_first_of("\r\n"));
  authority_pem_ = made.substr(std::min(certificate, made.size()));
  return OkStatus();
}

StatusOr<std::string> Farm::Verb(std::vector<std::string> arguments) {
  const std::string words = fmt::format("{}", fmt::join(arguments, " "));
  FarmProcess verb({"verb",
                    std::move(arguments),
                    {Marker(), "XDG_DATA_HOME=" + place_.folder + "/data"},
                    place_.folder + "/verb.out",
                    place_.folder + "/verb.log"});
  verb.Start();
  if (verb.Wait() != 0) return Unavailable(fmt::format("{}: {}", words, TextOf(verb.place().log)));
  return TextOf(verb.place().out);
}

std::vector<Farm::Member*> Farm::Everybody() {
  std::vector<Member*> everybody{&server_};
  for (Member& worker : workers_) everybody.push_back(&worker);
  for (Member& device : devices_) everybody.push_back(&device);
  return everybody;
}

Farm::Member& Farm::MemberOf(Role role, int which) {
  if (role == Role::kWorker || role == Role::kBuilder) return workers_[static_cast<size_t>(which)];
  if (role == Role::kDevice || role == Role::kRunner) return devices_[static_cast<size_t>(which)];
  return server_;
}

int Farm::LinkOf(Role role, int which) const {
  if (role == Role::kWorker) return which;
  return place_.members.workers + which + (role == Role::kClient ? place_.members.devices : 0);
}

std::string Farm::SpoolOf(int device) const { return fmt::format("{}/device{}/spool", place_.folder, device); }

std::vector<std::string> Farm::RunnerPaths() const {
  std::vector<std::string> paths;
  for (int i = 0; i < place_.members.devices; ++i)
    paths.push_back(fmt::format("{}/runner{}/lathe-runner", place_.folder, i));
  return paths;
}

Endpoint Farm::ClientAddress(int client) const { return proxy_->AddressOf(LinkOf(Role::kClient, client)); }

ServerConnectionOptions Farm::ClientOptions(int client) const {
  if (client % 2 != 0) return {};
  return {.token = token_, .security = {authority_pem_, ""}};
}

bool Farm::Begin(const Fault& fault) {
  if (IsChild(fault.role)) return BeginOnChild(fault);
  Member& member = MemberOf(fault.role, fault.which);
  switch (fault.kind) {
    case FaultKind::kKill:
    case FaultKind::kStop:
    case FaultKind::kDeadBoard:
    case FaultKind::kFewDescriptors:
      return BeginOnProcess(fault);
    case FaultKind::kKillAll:
      for (Member* each : Everybody()) each->process->Signal(SIGKILL);
      for (Member* each : Everybody()) Take(*each);
      return true;
    case FaultKind::kDiskFull:
      ++member.lacks;
      full_.insert(&member);
      Fill(member.disk);
      return true;
    case FaultKind::kClockStep:
      WriteShift(member.clock, fault.detail);
      return true;
    default:
      SetLink(fault, true);
      return true;
  }
}

bool Farm::BeginOnProcess(const Fault& fault) {
  Member& member = MemberOf(fault.role, fault.which);
  if (!member.process->IsRunning()) return false;
  if (fault.kind == FaultKind::kStop) {
    member.process->Signal(SIGSTOP);
    return true;
  }
  if (fault.kind == FaultKind::kFewDescriptors) {
    ++member.lacks;
    LimitDescriptors(member.process->pid(), fault.detail);
    for (int link = 0; &member == &server_ && link < LinkOf(Role::kClient, place_.members.clients); ++link)
      proxy_->Cut(link);
    return true;
  }
  Take(member);
  return true;
}

void Farm::Take(Member& member) {
  member.is_away = true;
  if (&member == &server_) knows_server_ = false;
  member.process->Kill();
}

bool Farm::BeginOnChild(const Fault& fault) {
  const std::vector<pid_t> children =
      DescendantsOf(MemberOf(fault.role, fault.which).process->pid(), ProgramOf(fault.role));
  for (const pid_t child : children) kill(child, fault.kind == FaultKind::kKill ? SIGKILL : SIGSTOP);
  if (fault.kind == FaultKind::kStop) stopped_children_[{fault.role, fault.which}] = children;
  return !children.empty();
}

void Farm::End(const Fault& fault) {
  if (IsChild(fault.role)) {
    for (const pid_t child : std::exchange(stopped_children_[{fault.role, fault.which}], {})) kill(child, SIGCONT);
    return;
  }
  Member& member = MemberOf(fault.role, fault.which);
  if (fault.kind == FaultKind::kKill || fault.kind == FaultKind::kDeadBoard) {
    GiveBack(member);
  } else if (fault.kind == FaultKind::kKillAll) {
    for (Member* each : Everybody()) GiveBack(*each);
  } else if (fault.kind == FaultKind::kStop) {
    member.process->Signal(SIGCONT);
  } else if (fault.kind == FaultKind::kFewDescriptors) {
    --member.lacks;
    LimitDescriptors(member.process->pid(), std::nullopt);
  } else if (fault.kind == FaultKind::kDiskFull) {
    --member.lacks;
    full_.erase(&member);
    fs::remove(member.disk + "/ballast");
  } else if (fault.kind == FaultKind::kClockStep) {
    WriteShift(member.clock, 0);
  } else {
    SetLink(fault, false);
  }
}

void Farm::SetLink(const Fault& fault, bool is_on) {
  const int link = LinkOf(fault.role, fault.which);
  if (fault.kind == FaultKind::kDownLink) return proxy_->SetDown(link, is_on);
  if (is_on && fault.kind == FaultKind::kCutLink) return proxy_->Cut(link);
  if (is_on && fault.kind == FaultKind::kHalfOpen) return proxy_->LeaveHalfOpen(link);
  if (is_on && fault.kind == FaultKind::kTornLink) return proxy_->Tear(link);
  Weather up, down;
  if (is_on) {
    const bool is_silent = fault.kind == FaultKind::kSilentLink;
    up.is_silent = is_silent || fault.kind == FaultKind::kSilentUp;
    down.is_silent = is_silent || fault.kind == FaultKind::kSilentDown;
    if (fault.kind == FaultKind::kSlowLink) up.bytes_per_second = fault.detail;
    if (fault.kind == FaultKind::kDelayedLink) up.delay = std::chrono::milliseconds(fault.detail);
    if (fault.kind == FaultKind::kGarbledLink) up.garbles_one_in = fault.detail;
    down.bytes_per_second = up.bytes_per_second;
    down.delay = up.delay;
    down.garbles_one_in = up.garbles_one_in;
  }
  proxy_->SetWeather(link, Way::kUp, up);
  proxy_->SetWeather(link, Way::kDown, down);
}

void Farm::GiveBack(Member& member) {
  member.is_away = false;
  if (!member.process->IsRunning()) Restart(member);
}

void Farm::Restart(Member& member) {
  member.start_at.reset();
  if (&member == &server_) knows_server_ = false;
  member.process->Start();
}

// The server says where it listens, at another port each time.
void Farm::FindServer() {
  if (knows_server_ || !server_.process->IsRunning()) return;
  const nlohmann::json said = nlohmann::json::parse(server_.process->FirstLine(), nullptr, false);
  if (!said.is_object()) return;
  knows_server_ = true;
  server_address_ = said["server"];
  devices_address_ = said["devices"];
  const Endpoint clients = *ParseEndpoint(server_address_), devices = *ParseEndpoint(devices_address_);
  for (int i = 0; i < place_.members.workers; ++i) proxy_->SetUpstream(LinkOf(Role::kWorker, i), clients);
  for (int i = 0; i < place_.members.devices; ++i) proxy_->SetUpstream(LinkOf(Role::kDevice, i), devices);
  for (int i = 0; i < place_.members.clients; ++i)
    proxy_->SetUpstream(LinkOf(Role::kClient, i), i % 2 == 0 ? clients : Endpoint{.unix_path = database() + ".sock"});
}

void Farm::NoteEnd(Member& member, double seconds) {
  if (member.lacks > 0) member.lacked_at = seconds;
  const std::optional<std::string> end = member.process->TakeEnd();
  if (!end) return;
  // gRPC ends a process where it can have no eventfd.
  const double excused_for = end->starts_with("exit code") ? kExcusedFor : *end == "signal 6" ? kAbortExcusedFor : 0;
  const bool is_excused = seconds - member.lacked_at < excused_for;
  ends_.push_back({seconds, member.process->place().name, *end, is_excused});
  member.start_at = seconds + kRestartAfter;
}

void Farm::Tick(double seconds) {
  FindServer();
  for (Member* member : full_) Fill(member->disk);
  for (Member* member : Everybody()) {
    NoteEnd(*member, seconds);
    if (member->start_at && *member->start_at <= seconds && !member->is_away) Restart(*member);
  }
}

std::vector<std::string> Farm::Stop() {
  std::vector<std::string> odd;
  for (auto* members : {&workers_, &devices_}) {
    for (Member& member : *members) {
      const std::string end = member.process->Stop(kStopMs);
      if (end != "exit code 0") odd.push_back(fmt::format("{}, asked to end: {}", member.process->place().name, end));
    }
  }
  const std::string end = server_.process->Stop(kStopMs);
  if (end != "exit code 0") odd.push_back("server, asked to end: " + end);
  return odd;
}

}  // namespace lathe::chaos
