#include "runner/runner_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "runner/memory_group.h"
#include "runner/sandbox.h"

namespace lathe {
namespace {

// Closes its descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() { Close(); }
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    Close();
    fd_ = std::exchange(other.fd_, -1);
    return *this;
  }
  int get() const { return fd_; }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

// The same where no descriptor of the child's is: dup2 onto itself would leave close-on-exec set, and one dup2 must not
// take what the next one needs.
Fd AboveTheirs(Fd fd) {
  return fd.get() > kRunnerGroupFd ? std::move(fd) : Fd(fcntl(fd.get(), F_DUPFD_CLOEXEC, kRunnerGroupFd + 1));
}

RuntimeError SystemError(const char* what) {
  return {RuntimeCode::kUnavailable, FormatText("start runner: %s: %s", what, ErrnoText(errno).c_str())};
}

// What a runner may need beside its limit: its own code, its other two processes.
constexpr uint64_t kRunnerBytes = 32u << 20;

// posix_spawn in a process group of its own, with default signals, an empty environment, and only `socket` (as
// descriptor 3) and `door` of its memory group (as descriptor 4), or -1.
RuntimeResult<pid_t> SpawnProcess(const RunnerOptions& options, int socket, int door) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  if (!options.inherit_stderr) posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, socket, kRunnerSocketFd);
  if (door >= 0) posix_spawn_file_actions_adddup2(&actions, door, kRunnerGroupFd);
#if __GLIBC_PREREQ(2, 34)
  posix_spawn_file_actions_addclosefrom_np(&actions, door >= 0 ? kRunnerGroupFd + 1 : kRunnerSocketFd + 1);
#endif
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::string program = options.program, parent = std::to_string(getpid()), group = "group";
  char* argv[] = {program.data(), parent.data(), door >= 0 ? group.data() : nullptr, nullptr};
  char* environment[] = {nullptr};
  pid_t pid = -1;
  const int failure = posix_spawn(&pid, program.c_str(), &actions, &attributes, argv, environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failure == 0) return pid;
  return RuntimeError{RuntimeCode::kUnavailable, "start runner " + options.program + ": " + ErrnoText(failure) +
                                                     "; is lathe-runner installed beside this program?"};
}

}  // namespace

class RunnerProcess::Impl {
 public:
  explicit Impl(RunnerOptions options) : options_(std::move(options)) {}
  ~Impl() {
    if (pid_ <= 0 || state_ == State::kFinished) return;
    KillInner();
    kill(-pid_, SIGKILL);
    Reap();
    pollfd ended{.fd = inner_.get(), .events = POLLIN, .revents = 0};
    if (inner_.get() >= 0) poll(&ended, 1, 5000);
  }

  RuntimeError Spawn() {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return SystemError("socketpair");
    socket_ = Fd(pair[0]);
    const Fd theirs = AboveTheirs(Fd(pair[1]));
    Fd door;
    if (options_.groups != nullptr) {
      RUNTIME_ASSIGN_OR_RETURN(group_, options_.groups->Make());
      door = AboveTheirs(Fd(dup(group_->door())));
    }
    fcntl(socket_.get(), F_SETFL, O_NONBLOCK);
    begin_ns_ = options_.now_ns();
    RUNTIME_ASSIGN_OR_RETURN(pid_, SpawnProcess(options_, theirs.get(), door.get()));
    end_of_process_ = Fd(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
    if (end_of_process_.get() < 0) return SystemError("pidfd_open (Linux 5.3 or newer required)");
    timer_ = Fd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    events_ = Fd(epoll_create1(EPOLL_CLOEXEC));
    if (timer_.get() < 0 || events_.get() < 0) return SystemError("timerfd or epoll");
    for (const int fd : {socket_.get(), end_of_process_.get(), timer_.get()}) {
      if (!Watch(fd)) return SystemError("epoll_ctl");
    }
    SetDeadline(begin_ns_ + options_.start_limit.count());
    return {};
  }

  RuntimeError Start(const RunSpec& spec) {
    if (end_.had_spec || state_ == State::kFinished) {
      return {RuntimeCode::kFailedPrecondition,
              "start trial: this runner has had its trial or has ended; take a fresh one"};
    }
    RUNTIME_ASSIGN_OR_RETURN(std::vector<std::byte> record, EncodeSpec(spec));
    if (group_ != nullptr) RUNTIME_RETURN_IF_ERROR(group_->Limit(spec.memory_limit_bytes + kRunnerBytes));
    if (getrandom(&key_, sizeof(key_), 0) != sizeof(key_)) return SystemError("getrandom");
    SetRecordKey(record, key_);
    if (send(socket_.get(), record.data(), record.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(record.size())) {
      return {RuntimeCode::kUnavailable,
              "start trial: the runner does not take it: " + ErrnoText(errno) + "; take a fresh one"};
    }
    end_.had_spec = true;
    end_.wall_limit_ns = spec.wall_limit_ns;
    const uint64_t machine_bytes =
        static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    end_.memory_limit_bytes = static_cast<int64_t>(std::min(spec.memory_limit_bytes, machine_bytes));
    // As ApplyLimits rounds it: the hard limit is one second behind.
    end_.cpu_limit_ns = ((spec.wall_limit_ns + 999'999'999) / 1'000'000'000 * spec.num_threads + 1) * 1'000'000'000;
    start_ns_ = options_.now_ns();
    if (state_ == State::kReady) BeginRunning();
    return {};
  }

  void Poll() {
    if (state_ == State::kFinished) return;
    ReceiveAll();
    if (HasEnded(end_of_process_)) {
      ReceiveAll();  // What it sent between the two looks.
      if (inner_.get() < 0 || HasEnded(inner_)) return Reap();
      KillInner();  // Whoever waited for it was killed from outside.
      Unwatch(end_of_process_);
      SetDeadline(0);
      return;
    }
    if (inner_.get() >= 0 && HasEnded(inner_)) Unwatch(inner_);  // The outermost process tells how, in a moment.
    if (deadline_ns_ != 0 && options_.now_ns() >= deadline_ns_) {
      OnDeadline();
    }
  }

  void Stop(RunStatus status, std::string reason) {
    if (state_ == State::kFinished || end_.stopped.has_value()) return;
    end_.stopped = status;
    end_.stop_reason = std::move(reason);
    kill(-pid_, SIGTERM);
    SetDeadline(options_.now_ns() + options_.term_grace.count());
  }

  const RunnerOptions options_;
  State state_ = State::kStarting;
  pid_t pid_ = -1;
  Fd socket_, end_of_process_, inner_, timer_, events_;
  uint32_t sandbox_ = 0;
  RunProgress progress_;
  RunOutcome outcome_;

 private:
  bool Watch(int fd) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
    return epoll_ctl(events_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
  }

  // What has ended stays readable.
  void Unwatch(const Fd& process) { epoll_ctl(events_.get(), EPOLL_CTL_DEL, process.get(), nullptr); }

  static bool HasEnded(const Fd& process) {
    pollfd ended{.fd = process.get(), .events = POLLIN, .revents = 0};
    return poll(&ended, 1, 0) > 0;
  }

  // With it all end that the runner has started; its outermost process then tells how.
  void KillInner() {
    if (inner_.get() >= 0) syscall(SYS_pidfd_send_signal, inner_.get(), SIGKILL, nullptr, 0);
  }

  // 0: none. The timer makes poll_fd readable; Poll compares with the clock, so a late look does no harm.
  void SetDeadline(int64_t deadline_ns) {
    deadline_ns_ = deadline_ns;
    const itimerspec at{.it_interval = {},
                        .it_value = {.tv_sec = deadline_ns / 1'000'000'000, .tv_nsec = deadline_ns % 1'000'000'000}};
    timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &at, nullptr);
  }

  void BeginRunning() {
    state_ = State::kRunning;
    SetDeadline(start_ns_ + end_.wall_limit_ns);
  }

  void OnDeadline() {
    if (end_.stopped.has_value()) {  // The grace is over.
      const bool first = inner_.get() >= 0 && !std::exchange(inner_killed_, true);
      if (first) KillInner();
      if (!first) kill(-pid_, SIGKILL);
      SetDeadline(first ? options_.now_ns() + options_.term_grace.count() : 0);
    } else if (state_ == State::kRunning) {
      const bool reported = end_.report.has_value();
      Stop(RunStatus::kRunTimeout, FormatText("run kernel: not done after the wall limit of %.3g s, while %s",
                                              static_cast<double>(end_.wall_limit_ns) * 1e-9,
                                              reported ? "exiting" : RunPhaseName(progress_.phase)));
    } else {
      Stop(RunStatus::kRunnerError, FormatText("start runner: not ready after %.3g s",
                                               static_cast<double>(options_.start_limit.count()) * 1e-9));
    }
  }

  void ReceiveAll() {
    std::array<std::byte, kMaxRecordBytes> storage;
    while (socket_.get() >= 0) {
      const ssize_t got = recv(socket_.get(), storage.data(), storage.size(), MSG_TRUNC);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) return;
      if (got <= 0) {  // Its end is closed; the process will follow. Without this the descriptor stays readable.
        socket_.Close();
        return;
      }
      if (const RuntimeError error = Receive(std::span(storage).first(std::min<size_t>(got, storage.size())));
          !error.ok()) {
        if (end_.protocol_error.empty()) end_.protocol_error = error.message;
        Stop(RunStatus::kRunnerError, "run kernel: the runner sent garbage: " + error.message);
      }
    }
  }

  // The inner process: before it runs anything foreign, so what READY says of it is true.
  RuntimeError TakeReady(const RunnerReady& ready) {
    inner_ = Fd(static_cast<int>(syscall(SYS_pidfd_open, ready.inner_pid, 0)));
    if (inner_.get() >= 0 && !Watch(inner_.get())) return SystemError("epoll_ctl");
    sandbox_ = ready.sandbox;
    const uint32_t missing = options_.required_sandbox & ~ready.sandbox;
    if (missing == 0) return {};
    Stop(RunStatus::kRunnerError, "start runner: its sandbox lacks " + SandboxText(missing) + " (it has " +
                                      SandboxText(ready.sandbox) +
                                      "), which is required here; run it where the kernel has user namespaces, "
                                      "Landlock and seccomp, and in a group of its own that counts memory (systemd: "
                                      "Delegate=yes), or require less");
    return {};
  }

  RuntimeError Receive(std::span<const std::byte> record) {
    RUNTIME_ASSIGN_OR_RETURN(const RecordType type, DecodeRecordType(record));
    if (type != RecordType::kReady && end_.was_ready && end_.had_spec && RecordKey(record) != key_) {
      end_.protocol_error = "a record without the trial's key";
      Stop(RunStatus::kKernelError, "run kernel: it sent a record of its own making in the runner's name");
      return {};
    }
    switch (type) {
      case RecordType::kReady: {
        if (state_ != State::kStarting) return {RuntimeCode::kDataLoss, "a second READY"};
        RUNTIME_ASSIGN_OR_RETURN(const RunnerReady ready, DecodeReady(record));
        RUNTIME_RETURN_IF_ERROR(TakeReady(ready));
        end_.was_ready = true;
        outcome_.start_ns = options_.now_ns() - begin_ns_;
        state_ = State::kReady;
        if (!end_.stopped.has_value()) SetDeadline(0);  // A spare may wait as long as it is needed.
        if (end_.had_spec && !end_.stopped.has_value()) BeginRunning();
        return {};
      }
      case RecordType::kProgress: {
        RUNTIME_ASSIGN_OR_RETURN(progress_, DecodeProgress(record));
        return {};
      }
      case RecordType::kReport: {
        RUNTIME_ASSIGN_OR_RETURN(RunReport report, DecodeReport(record));
        if (end_.report.has_value()) return {RuntimeCode::kDataLoss, "a second report"};
        end_.report = std::move(report);
        return {};
      }
      case RecordType::kSpec:
        break;
    }
    return {RuntimeCode::kDataLoss, "a run spec from a runner"};
  }

  // Kills what is left of the group, then takes its leader away: until then its process id, and so the group, is not
  // reused.
  void Reap() {
    kill(-pid_, SIGKILL);
    struct rusage usage{};
    while (wait4(pid_, &end_.wait_status, 0, &usage) < 0 && errno == EINTR) {
    }
    const auto nanos = [](const timeval& t) { return t.tv_sec * int64_t{1'000'000'000} + t.tv_usec * int64_t{1000}; };
    end_.cpu_ns = nanos(usage.ru_utime) + nanos(usage.ru_stime);
    outcome_.cpu_ns = end_.cpu_ns;
    if (group_ != nullptr) end_.group_kills = group_->Kills();
    group_.reset();
    end_.max_resident_bytes = outcome_.max_resident_bytes = int64_t{usage.ru_maxrss} * 1024;
    outcome_.run_ns = start_ns_ > 0 ? options_.now_ns() - start_ns_ : 0;
    outcome_.runner_started = end_.was_ready;
    outcome_.report = ClassifyRunnerEnd(end_);
    state_ = State::kFinished;
    socket_.Close();
    SetDeadline(0);
  }

  int64_t begin_ns_ = 0, start_ns_ = 0, deadline_ns_ = 0;
  uint32_t key_ = 0;
  bool inner_killed_ = false;
  std::unique_ptr<MemoryGroup> group_;
  RunnerEnd end_;
};

RunnerProcess::RunnerProcess(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RunnerProcess::~RunnerProcess() = default;

RuntimeResult<std::unique_ptr<RunnerProcess>> RunnerProcess::Spawn(const RunnerOptions& options) {
  auto impl = std::make_unique<Impl>(options);
  RUNTIME_RETURN_IF_ERROR(impl->Spawn());
  return std::unique_ptr<RunnerProcess>(new RunnerProcess(std::move(impl)));
}

int RunnerProcess::poll_fd() const { return impl_->events_.get(); }
void RunnerProcess::Poll() { impl_->Poll(); }
RunnerProcess::State RunnerProcess::state() const { return impl_->state_; }
pid_t RunnerProcess::pid() const { return impl_->pid_; }
uint32_t RunnerProcess::sandbox() const { return impl_->sandbox_; }
const RunProgress& RunnerProcess::progress() const { return impl_->progress_; }
RuntimeError RunnerProcess::Start(const RunSpec& spec) { return impl_->Start(spec); }
void RunnerProcess::Stop(RunStatus status, std::string reason) { impl_->Stop(status, std::move(reason)); }
const RunOutcome& RunnerProcess::outcome() const { return impl_->outcome_; }

bool RunnerProcess::Wait(State state, std::chrono::nanoseconds limit) {
  const int64_t end = MonotonicNs() + limit.count();
  while (true) {
    Poll();
    if (impl_->state_ >= state) return true;
    const int64_t left = end - MonotonicNs();
    if (left <= 0) return false;
    pollfd events{.fd = poll_fd(), .events = POLLIN};
    poll(&events, 1, static_cast<int>(std::min<int64_t>(left / 1'000'000 + 1, 60'000)));
  }
}

}  // namespace lathe
