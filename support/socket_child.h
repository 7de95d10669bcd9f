// A child that is talked to through a socket and may crash, hang or be killed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/status.h"

namespace lathe {

inline constexpr int kChildSocket = 3;  // The child's end.

// Not thread-safe, but for Signal. The child has a process group of its own (Ctrl-C in a terminal is for the parent to
// interpret), default signals, an empty environment, nothing on descriptors 0 and 1, words on 2, its end of a stream
// socket on kChildSocket. It is expected to end with the thread that called Start (PR_SET_PDEATHSIG).
class SocketChild {
 public:
  ~SocketChild() { (void)Kill(); }
  SocketChild() = default;
  SocketChild(const SocketChild&) = delete;
  SocketChild& operator=(const SocketChild&) = delete;

  // `what` names it in errors: "builder". FailedPrecondition while one runs.
  Status Start(const std::string& what, const std::string& program, const std::vector<std::string>& arguments);
  bool is_running() const { return pid_ >= 0; }
  pid_t pid() const { return pid_; }      // -1 without a child.
  int socket() const { return socket_; }  // Non-blocking; -1 without a child.
  // Ends the child and its process group, if there is one. Its wait status.
  int Kill();
  // For a child that has hung up: lets it die of its own cause for a second, then kills it.
  int WaitOrKill();
  // What it wrote to descriptor 2 last, in one line; the other forgets it. False: it cannot be forgotten.
  std::string LastWords() const;
  bool ForgetWords();
  uint64_t ResidentBytes() const;

 private:
  pid_t pid_ = -1;
  int socket_ = -1;
  int words_ = -1;  // A memory file that the child appends to.
};

// ---- For the child's program.

// Takes up the socket whose number is argv[1] and, unless it is 0, the limit of address space that is argv[2]; from now
// on the process ends with the thread that started it. Returns the socket; -1: nobody started the program so.
int BecomeSocketChild(int argc, char** argv);
// Waits until all is sent. False: nobody is there any more.
bool SendAll(int socket, std::string_view bytes);

// "died with SIGSEGV", "exited with code 3".
std::string HowItEnded(int wait_status);

}  // namespace lathe
