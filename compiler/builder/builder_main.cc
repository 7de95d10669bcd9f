// lathe-builder: builds what its parent asks for, one at a time, until the parent hangs up. Usage: lathe-builder FD
// MEMORY_LIMIT_BYTES [FOLDER], where FD is the inherited end of a stream socket. What it is asked to build comes from
// anybody: it makes no system call that a compiler has no use for, and with a FOLDER opens files there only.
#include <sys/socket.h>

#include <cerrno>
#include <cstdio>

#include "compiler/builder/build.h"
#include "compiler/codegen/llvm/compile_module.h"
#include "runner/sandbox.h"
#include "support/socket_child.h"

namespace lathe {
namespace {

constexpr int kHungUp = 0, kBadUsage = 2, kBadMessage = 3, kNotConfined = 4;

RuntimeError Confine(const std::string& folder) {
  if (!folder.empty()) RUNTIME_RETURN_IF_ERROR(ConfineFiles({.readable = {}, .writable = {folder}}));
  return ConfineCalls(CallList::kBuild);
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
  const int fd = argc <= 4 ? lathe::BecomeSocketChild(argc, argv) : -1;
  if (fd < 0) {
    std::fprintf(stderr,
                 "lathe-builder is started by lathe; it is not a command: usage: lathe-builder FD MEMORY_LIMIT_BYTES "
                 "[FOLDER]\n");
    return lathe::kBadUsage;
  }
  if (const lathe::RuntimeError error = lathe::Confine(argc == 4 ? argv[3] : ""); !error.ok()) {
    std::fprintf(stderr, "%s\n", error.message.c_str());
    return lathe::kNotConfined;
  }
  return lathe::Serve(fd);
}
