// lathe-runner: runs one trial and exits. Started by a supervisor (runner/runner_process.h) with a socket on
// descriptor 3 and its process id as an argument, and "group" where descriptor 4 is the door of a memory group; says
// that it is ready, then waits for a RunSpec.
#include <malloc.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "runner/program/crash_report.h"
#include "runner/program/limits.h"
#include "runner/program/trial.h"
#include "runner/runner_protocol.h"
#include "runner/sandbox.h"

namespace lathe {
namespace {

uint32_t record_key = 0;

bool Send(std::vector<std::byte> record, int flags = 0) {
  SetRecordKey(record, record_key);
  ssize_t sent = 0;
  do {
    sent = send(kRunnerSocketFd, record.data(), record.size(), MSG_NOSIGNAL | flags);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(record.size());
}

// The next packet; empty when the supervisor has closed its end.
std::span<const std::byte> Receive(std::span<std::byte> storage) {
  ssize_t got = 0;
  do {
    got = recv(kRunnerSocketFd, storage.data(), storage.size(), 0);
  } while (got < 0 && errno == EINTR);
  return storage.first(got > 0 ? static_cast<size_t>(got) : 0);
}

int Fail(const RuntimeError& error) {
  (void)Send(EncodeReport({.status = RunStatus::kRunnerError, .message = error.message}));
  return 1;
}

// Everything that is started from here on is counted with it.
RuntimeError JoinGroup() {
  const bool joined = write(kRunnerGroupFd, "0", 1) == 1;
  const RuntimeError error =
      joined ? RuntimeError{} : RuntimeError{RuntimeCode::kUnavailable, "join its memory group: " + ErrnoText(errno)};
  close(kRunnerGroupFd);
  return error;
}

int Serve(int32_t parent, bool has_group) {
  mallopt(M_ARENA_MAX, 1);  // Each further arena would take 64 MiB of the address space limit.
  if (const RuntimeError detached = DetachFromPrivileges(parent); !detached.ok()) return Fail(detached);
  if (has_group) {
    if (const RuntimeError joined = JoinGroup(); !joined.ok()) return Fail(joined);
  }
  const uint32_t offered = OfferedConfinement() | (has_group ? kSandboxMemory : 0u);
  const RuntimeResult<uint32_t> enclosed =
      EncloseProcesses([&](pid_t inner, uint32_t reached) { (void)Send(EncodeReady({inner, reached | offered})); });
  if (!enclosed.ok()) return Fail(enclosed.error());
  static std::array<std::byte, kMaxRecordBytes> storage;
  const std::span<const std::byte> record = Receive(storage);
  if (record.empty()) return 0;  // Not needed any more.
  if (DecodeRecordType(record).ok()) record_key = RecordKey(record);
  const RuntimeResult<RunSpec> spec = DecodeSpec(record);
  if (!spec.ok()) return Fail(spec.error());
  storage.fill(std::byte{0});
  InstallCrashReporter(kRunnerSocketFd, EffectiveMemoryLimit(*spec), record_key);
  WatchMemory();
  const RunReport report = RunTrial(*spec, [](const RunProgress& progress) {
    if (!Send(EncodeProgress(progress), MSG_DONTWAIT) && errno == EPIPE) _exit(1);  // Nobody waits for the result.
  });
  return Send(EncodeReport(report)) ? 0 : 1;
}

}  // namespace
}  // namespace lathe

int main(int argc, char** argv) {
  int32_t parent = 0;
  const bool has_group = argc == 3 && std::strcmp(argv[2], "group") == 0;
  const bool valid =
      (argc == 2 || has_group) && std::from_chars(argv[1], argv[1] + std::strlen(argv[1]), parent).ec == std::errc();
  int type = 0;
  socklen_t size = sizeof(type);
  if (!valid || getsockopt(lathe::kRunnerSocketFd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_SEQPACKET) {
    std::fputs("lathe-runner: started by lathe and lathe-device, not by hand: descriptor 3 must be their socket\n",
               stderr);
    return 2;
  }
  _exit(lathe::Serve(parent, has_group));  // No destructors: pool threads may hang inside a kernel.
}
