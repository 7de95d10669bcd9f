// lathe-builder: builds what its parent asks for, one at a time, until the parent hangs up. Usage: lathe-builder FD
// MEMORY_LIMIT_BYTES [FOLDER], where FD is the inherited end of a stream socket. What it is asked to build comes from
// anybody: it makes no system call that a compiler has no use for, and with a FOLDER opens files there only.
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "compiler/builder/build.h"
#include "compiler/codegen/llvm/compile_module.h"
#include "runner/sandbox.h"

namespace lathe {
namespace {

constexpr int kHungUp = 0, kBadUsage = 2, kBadMessage = 3, kNotConfined = 4;

bool SendAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

RuntimeError Confine(const std::string& folder) {
  const uint32_t offered = OfferedConfinement();
  if (!folder.empty() && (offered & kSandboxFiles) != 0)
    RUNTIME_RETURN_IF_ERROR(
        ConfineFiles({.readable = {"/proc/cpuinfo", "/sys/devices/system/cpu"}, .writable = {folder}}));
  return (offered & kSandboxCalls) != 0 ? ConfineCalls(CallList::kBuild) : RuntimeError{};
}

int Serve(int fd) {
  if (!SendAll(fd, EncodeMessage(BuilderReady{.codegen_version = kCodegenVersion}))) return kHungUp;
  std::string received;
  std::vector<char> chunk(1 << 16);
  while (true) {
    StatusOr<std::optional<BuilderMessage>> message = TakeMessage(received);
    if (!message.ok() || (message->has_value() && !std::holds_alternative<BuildSpec>(**message))) {
      std::fprintf(stderr, "%s\n", message.ok() ? "expected a build spec" : message.status().message().c_str());
      return kBadMessage;
    }
    if (message->has_value()) {
      if (!SendAll(fd, EncodeMessage(Build(std::get<BuildSpec>(**message))))) return kHungUp;
      continue;
    }
    const ssize_t got = recv(fd, chunk.data(), chunk.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return kHungUp;
    received.append(chunk.data(), static_cast<size_t>(got));
  }
}

}  // namespace
}  // namespace lathe

int main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // A build never outlives who asked for it.
  const int fd = argc == 3 || argc == 4 ? std::atoi(argv[1]) : -1;
  int type = 0;
  socklen_t size = sizeof(type);
  if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0) {
    std::fprintf(stderr,
                 "lathe-builder is started by lathe; it is not a command: usage: lathe-builder FD MEMORY_LIMIT_BYTES "
                 "[FOLDER]\n");
    return lathe::kBadUsage;
  }
  const rlim_t limit = std::strtoull(argv[2], nullptr, 10);
  if (limit > 0) {
    const rlimit bytes{limit, limit}, none{0, 0};
#ifndef LATHE_SANITIZE  // A sanitizer reserves terabytes for its shadow.
    setrlimit(RLIMIT_AS, &bytes);
#else
    (void)bytes;
#endif
    setrlimit(RLIMIT_CORE, &none);
  }
  if (const lathe::RuntimeError error = lathe::Confine(argc == 4 ? argv[3] : ""); !error.ok()) {
    std::fprintf(stderr, "%s\n", error.message.c_str());
    return lathe::kNotConfined;
  }
  return lathe::Serve(fd);
}
