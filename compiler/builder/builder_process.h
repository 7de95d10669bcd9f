// The parent's side of lathe-builder: a child that may crash, hang or grow, and costs one build when it does. Knows no
// LLVM.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>

#include "compiler/builder/build_spec.h"
#include "support/socket_child.h"

namespace lathe {

// One child at a time, one build at a time. After a crash, a missed deadline or growth the next Send starts a fresh
// child. Not thread-safe.
//
// The child dies with the thread that started it (PR_SET_PDEATHSIG): call Start and Send on a thread that lives as long
// as this object.
class BuilderProcess {
 public:
  struct Options {
    std::string program;  // Path of lathe-builder.
    std::string folder;   // The only one in which it opens files; empty: any. Sources may then be anybody's.
    uint64_t memory_limit_bytes = uint64_t{4} << 30;   // Of address space, enforced by the kernel.
    uint64_t restart_above_bytes = uint64_t{1} << 30;  // Resident after a build: then a fresh child is started.
  };
  explicit BuilderProcess(Options options);
  ~BuilderProcess();  // Kills the child and its process group.
  BuilderProcess(const BuilderProcess&) = delete;
  BuilderProcess& operator=(const BuilderProcess&) = delete;

  // Starts the child if none runs. Send does so too; starting ahead hides the start-up time.
  Status Start();
  // Hands over a build, which fails with BUILD_TIMEOUT at `deadline`. FailedPrecondition while another build is under
  // way.
  Status Send(const BuildSpec& spec, TimePoint deadline);

  // For poll: wait for events() on fd() until deadline(), then call Step. -1 without a child.
  int fd() const { return child_.socket(); }
  short events() const;
  bool busy() const { return build_id_.has_value(); }
  std::optional<TimePoint> deadline() const { return busy() ? std::optional(deadline_) : std::nullopt; }
  // Does what can be done without waiting. The result of the build, once there is one; whatever happens to the child,
  // every Send is followed by exactly one.
  std::optional<BuildResult> Step(TimePoint now);

  // Send, then Step until the result is there. Waits.
  BuildResult BuildAndWait(const BuildSpec& spec, Duration timeout);

  pid_t pid() const { return child_.pid(); }                     // -1 without a child.
  uint32_t codegen_version() const { return codegen_version_; }  // 0 until the child has said so.
  int num_starts() const { return num_starts_; }

 private:
  BuildResult EndBuild(BuildErrorKind kind, StatusCode code, std::string message);
  std::optional<BuildResult> ReadMessages();
  bool WriteSome();
  BuildResult ReportDeath();
  int Kill();  // Returns the wait status.

  const Options options_;
  SocketChild child_;
  std::string incoming_, outgoing_;
  std::optional<uint64_t> build_id_;
  TimePoint deadline_{};
  uint32_t codegen_version_ = 0;
  int num_starts_ = 0;
};

}  // namespace lathe
