// A program of this build as a process of a farm: started, ended and started again, with an environment of its own.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace lathe::chaos {

struct ProcessPlace {
  std::string name;                      // For people, e.g. "worker 0".
  std::vector<std::string> arguments;    // The program first, in the build's bin folder or as a path.
  std::vector<std::string> environment;  // "NAME=value", beside what this process has.
  std::string out, log;                  // Files: its stdout, new at each start; its stderr, which goes on.
  std::string folder;                    // It runs there, and leaves its core there if it crashes; empty: here.
};

// Not thread-safe, and to be started by the main thread: the process ends with the thread that started it.
class FarmProcess {
 public:
  explicit FarmProcess(ProcessPlace place) : place_(std::move(place)) {}
  ~FarmProcess();
  FarmProcess(const FarmProcess&) = delete;

  void Start();
  void Signal(int signal) const;
  // kill -9, and waits for the end.
  void Kill();
  // How it ended ("signal 11", "exit code 1"), if it has since the last look; waits for nothing.
  std::optional<std::string> TakeEnd();
  // Ends it as an operator would; kill -9 after `patience_ms`. How it ended.
  std::string Stop(int patience_ms);
  // Waits for its end; the exit code, minus the signal.
  int Wait();
  // A whole first line of its stdout, or "".
  std::string FirstLine() const;

  bool IsRunning() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }
  const ProcessPlace& place() const { return place_; }

 private:
  const ProcessPlace place_;
  pid_t pid_ = -1;
};

}  // namespace lathe::chaos
