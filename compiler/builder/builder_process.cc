#include "compiler/builder/builder_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "support/status_macros.h"

extern char** environ;

namespace lathe {
namespace {

constexpr int kChildSocket = 3;
constexpr size_t kLastWordsBytes = 600;

std::string HowItEnded(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const char* name = sigabbrev_np(WTERMSIG(wait_status));
    return fmt::format("died with {}",
                       name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", WTERMSIG(wait_status)));
  }
  return fmt::format("exited with code {}", WEXITSTATUS(wait_status));
}

// Descriptors of the child: nothing on 0 and 1, words on 2, the socket on 3; all else is close-on-exec.
Status Spawn(const std::string& program, uint64_t memory_limit, int socket, int words, pid_t* pid) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&files, words, 2);
  posix_spawn_file_actions_adddup2(&files, socket, kChildSocket);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);  // Ctrl-C in a terminal is for the parent to interpret.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::string name = program, fd = std::to_string(kChildSocket), limit = std::to_string(memory_limit);
  char* const args[] = {name.data(), fd.data(), limit.data(), nullptr};
  const int error = posix_spawn(pid, program.c_str(), &files, &attributes, args, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error == 0) return OkStatus();
  return Unavailable(fmt::format("start builder {}: {}; is lathe installed whole?", program, std::strerror(error)));
}

}  // namespace

BuilderProcess::BuilderProcess(Options options) : options_(std::move(options)) {}
BuilderProcess::~BuilderProcess() { Kill(); }

Status BuilderProcess::Start() {
  if (pid_ >= 0) return OkStatus();
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    return Unavailable(fmt::format("start builder: {}; is this process out of descriptors?", std::strerror(errno)));
  stderr_ = memfd_create("builder-stderr", MFD_CLOEXEC);
  if (stderr_ >= 0) fcntl(stderr_, F_SETFL, O_APPEND);
  // Numbers above the child's own, or its dup2 calls would overwrite them.
  const int child_end = fcntl(pair[1], F_DUPFD_CLOEXEC, 10),
            words = stderr_ < 0 ? -1 : fcntl(stderr_, F_DUPFD_CLOEXEC, 10);
  close(pair[1]);
  socket_ = pair[0];
  fcntl(socket_, F_SETFL, O_NONBLOCK);
  Status status =
      child_end < 0 || words < 0
          ? Unavailable(fmt::format("start builder: {}; is this process out of descriptors?", std::strerror(errno)))
          : Spawn(options_.program, options_.memory_limit_bytes, child_end, words, &pid_);
  if (child_end >= 0) close(child_end);
  if (words >= 0) close(words);
  if (!status.ok()) {
    pid_ = -1;
    Kill();
    return status;
  }
  ++num_starts_;
  return OkStatus();
}

int BuilderProcess::Kill() {
  int wait_status = 0;
  if (pid_ >= 0) {
    kill(-pid_, SIGKILL);
    kill(pid_, SIGKILL);  // In case it has not reached its own process group yet.
    while (waitpid(pid_, &wait_status, 0) < 0 && errno == EINTR) {
    }
  }
  if (socket_ >= 0) close(socket_);
  if (stderr_ >= 0) close(stderr_);
  pid_ = socket_ = stderr_ = -1;
  incoming_.clear();
  outgoing_.clear();
  return wait_status;
}

Status BuilderProcess::Send(const BuildSpec& spec, TimePoint deadline) {
  if (busy())
    return FailedPrecondition(
        fmt::format("send build {}: build {} is under way; wait for its result", spec.id, *build_id_));
  std::string frame = EncodeMessage(spec);
  if (frame.size() > kMaxBuilderMessageBytes)
    return InvalidArgument(
        fmt::format("send build {}: {} bytes of text, at most {}", spec.id, frame.size(), kMaxBuilderMessageBytes));
  RETURN_IF_ERROR(Start());
  build_id_ = spec.id;
  deadline_ = deadline;
  outgoing_ = std::move(frame);
  (void)WriteSome();  // A child that is gone is noticed by Step.
  return OkStatus();
}

short BuilderProcess::events() const { return static_cast<short>(POLLIN | (outgoing_.empty() ? 0 : POLLOUT)); }

bool BuilderProcess::WriteSome() {
  while (!outgoing_.empty()) {
    const ssize_t sent = send(socket_, outgoing_.data(), outgoing_.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    outgoing_.erase(0, static_cast<size_t>(sent));
  }
  return true;
}

BuildResult BuilderProcess::EndBuild(BuildErrorKind kind, StatusCode code, std::string message) {
  return {.id = *std::exchange(build_id_, std::nullopt), .outcome = BuildError{kind, code, std::move(message)}};
}

std::string BuilderProcess::LastWords() const {
  struct stat info;
  if (stderr_ < 0 || fstat(stderr_, &info) != 0) return "";
  std::string words(std::min<size_t>(kLastWordsBytes, static_cast<size_t>(info.st_size)), '\0');
  const ssize_t got = pread(stderr_, words.data(), words.size(), info.st_size - static_cast<off_t>(words.size()));
  words.resize(got < 0 ? 0 : static_cast<size_t>(got));
  for (char& c : words) c = c == '\n' ? ' ' : static_cast<unsigned char>(c) < 32 ? '?' : c;
  while (!words.empty() && words.back() == ' ') words.pop_back();
  return words;
}

uint64_t BuilderProcess::ResidentBytes() const {
  FILE* file = std::fopen(fmt::format("/proc/{}/statm", pid_).c_str(), "re");
  if (file == nullptr) return 0;
  unsigned long long total = 0, resident = 0;
  const int fields = std::fscanf(file, "%llu %llu", &total, &resident);
  std::fclose(file);
  return fields == 2 ? resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}

// The child has hung up: it is dead or about to be. Only with a build under way does anybody need to hear of it.
BuildResult BuilderProcess::ReportDeath() {
  int wait_status = 0;
  siginfo_t info{};
  // Let it die of its own cause; a child that only closed its socket is killed.
  for (int i = 0; i < 200 && info.si_pid == 0; ++i) {
    if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0) break;
    if (info.si_pid == 0) poll(nullptr, 0, 5);
  }
  std::string words = LastWords();
  wait_status = Kill();
  const bool is_memory =
      words.find("out of memory") != std::string::npos || words.find("bad_alloc") != std::string::npos;
  std::string message = fmt::format("builder {}{}{}", HowItEnded(wait_status), words.empty() ? "" : ": ", words);
  if (is_memory)
    return EndBuild(BuildErrorKind::kBuilderMemory, StatusCode::kResourceExhausted,
                    fmt::format("{}; its limit is {} MiB", message, options_.memory_limit_bytes >> 20));
  return EndBuild(BuildErrorKind::kBuilderDied, StatusCode::kInternal, std::move(message));
}

std::optional<BuildResult> BuilderProcess::ReadMessages() {
  char chunk[1 << 14];
  bool has_hung_up = false;
  while (true) {
    const ssize_t got = recv(socket_, chunk, sizeof(chunk), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (got <= 0) {
      has_hung_up = true;
      break;
    }
    incoming_.append(chunk, static_cast<size_t>(got));
  }
  while (true) {
    StatusOr<std::optional<BuilderMessage>> message = TakeMessage(incoming_);
    if (!message.ok()) {
      Kill();
      if (!busy()) return std::nullopt;
      return EndBuild(BuildErrorKind::kBuilderDied, StatusCode::kInternal,
                      fmt::format("builder sent nonsense and was killed: {}", message.status().message()));
    }
    if (!message->has_value()) break;
    if (const auto* ready = std::get_if<BuilderReady>(&**message)) codegen_version_ = ready->codegen_version;
    if (auto* result = std::get_if<BuildResult>(&**message); result != nullptr && busy() && result->id == *build_id_) {
      build_id_.reset();
      if (ResidentBytes() > options_.restart_above_bytes)
        Kill();
      else if (ftruncate(stderr_, 0) != 0)
        Kill();  // Words of one build are not the last words of another.
      return std::move(*result);
    }
  }
  if (!has_hung_up) return std::nullopt;
  if (busy()) return ReportDeath();
  Kill();
  return std::nullopt;
}

std::optional<BuildResult> BuilderProcess::Step(TimePoint now) {
  if (pid_ < 0)
    return busy() ? std::optional(EndBuild(BuildErrorKind::kBuilderDied, StatusCode::kInternal, "builder is gone"))
                  : std::nullopt;
  (void)WriteSome();
  if (std::optional<BuildResult> result = ReadMessages()) return result;
  if (!busy()) return std::nullopt;
  if (ResidentBytes() > options_.memory_limit_bytes) {
    Kill();
    return EndBuild(BuildErrorKind::kBuilderMemory, StatusCode::kResourceExhausted,
                    fmt::format("builder grew past {} MiB and was killed", options_.memory_limit_bytes >> 20));
  }
  if (now < deadline_) return std::nullopt;
  Kill();
  return EndBuild(BuildErrorKind::kBuildTimeout, StatusCode::kDeadlineExceeded,
                  "build took longer than its deadline; the builder was killed");
}

BuildResult BuilderProcess::BuildAndWait(const BuildSpec& spec, Duration timeout) {
  if (const Status sent = Send(spec, SystemClock().Now() + timeout); !sent.ok()) {
    return {.id = spec.id, .outcome = BuildError{BuildErrorKind::kBuildError, sent.code(), sent.message()}};
  }
  while (true) {
    const TimePoint now = SystemClock().Now();
    if (std::optional<BuildResult> result = Step(now)) return *std::move(result);
    const auto rest = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - now).count();
    pollfd wait{.fd = socket_, .events = events(), .revents = 0};
    poll(&wait, 1, static_cast<int>(std::clamp<int64_t>(rest, 0, 1000)));
  }
}

}  // namespace lathe
