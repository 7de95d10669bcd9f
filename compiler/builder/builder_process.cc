#include "compiler/builder/builder_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "support/status_macros.h"

namespace lathe {

BuilderProcess::BuilderProcess(Options options) : options_(std::move(options)) {}
BuilderProcess::~BuilderProcess() { Kill(); }

Status BuilderProcess::Start() {
  if (child_.is_running()) return OkStatus();
  std::vector<std::string> arguments = {std::to_string(kChildSocket), std::to_string(options_.memory_limit_bytes)};
  if (!options_.folder.empty()) arguments.push_back(options_.folder);
  RETURN_IF_ERROR(child_.Start("builder", options_.program, arguments));
  ++num_starts_;
  return OkStatus();
}

int BuilderProcess::Kill() {
  incoming_.clear();
  outgoing_.clear();
  return child_.Kill();
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
    const ssize_t sent = send(child_.socket(), outgoing_.data(), outgoing_.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    outgoing_.erase(0, static_cast<size_t>(sent));
  }
  return true;
}

BuildResult BuilderProcess::EndBuild(BuildErrorKind kind, StatusCode code, std::string message) {
  return {.id = *std::exchange(build_id_, std::nullopt), .outcome = BuildError{kind, code, std::move(message)}};
}

// The child has hung up: it is dead or about to be. Only with a build under way does anybody need to hear of it.
BuildResult BuilderProcess::ReportDeath() {
  const std::string words = child_.LastWords();
  const int wait_status = child_.WaitOrKill();
  Kill();
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
    const ssize_t got = recv(child_.socket(), chunk, sizeof(chunk), 0);
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
      // Words of one build are not the last words of another.
      if (child_.ResidentBytes() > options_.restart_above_bytes || !child_.ForgetWords()) Kill();
      return std::move(*result);
    }
  }
  if (!has_hung_up) return std::nullopt;
  if (busy()) return ReportDeath();
  Kill();
  return std::nullopt;
}

std::optional<BuildResult> BuilderProcess::Step(TimePoint now) {
  if (!child_.is_running())
    return busy() ? std::optional(EndBuild(BuildErrorKind::kBuilderDied, StatusCode::kInternal, "builder is gone"))
                  : std::nullopt;
  (void)WriteSome();
  if (std::optional<BuildResult> result = ReadMessages()) return result;
  if (!busy()) return std::nullopt;
  if (child_.ResidentBytes() > options_.memory_limit_bytes) {
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
    pollfd wait{.fd = child_.socket(), .events = events(), .revents = 0};
    poll(&wait, 1, static_cast<int>(std::clamp<int64_t>(rest, 0, 1000)));
  }
}

}  // namespace lathe
