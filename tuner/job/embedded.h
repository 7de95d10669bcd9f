// The whole farm in one process: coordinator, one worker, one device, joined by short wires; the same code and messages
// as between processes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "support/status.h"
#include "tuner/job/coordinator.h"

namespace lathe {

struct EmbeddedOptions {
  std::string database_path;  // Its folder exists. Blobs and the like go to "<database_path>.files".
  std::string device_key = "local";
  std::vector<int> cpus;              // Of the device; empty: all that this process may use.
  std::string cpu_lock_directory;     // Empty: the one that all users of this host share.
  int slots = 0;                      // Builds at once; 0: as many as this process may use CPUs.
  bool is_quiet_while_timing = true;  // Building and searching pause while the device times a kernel.
  std::string program_directory;  // Of lathe-builder, lathe-runner, lathe-evaluate and lathe-search; empty: beside the
                                  // running program.
  std::function<StatusOr<std::unique_ptr<MachineAuthenticator>>(Store&)> make_authenticator;  // As CoordinatorOptions.
  SearchFactory searches;                       // Empty: as CoordinatorOptions.
  std::shared_ptr<const BaseModel> base_model;  // As CoordinatorOptions.
  std::function<std::unique_ptr<TaskScheduler>()> schedulers;
  std::function<void(std::string)> log = [](std::string) {};
};

class EmbeddedFarm {
 public:
  // Takes the database (Unavailable while another process owns it) and the CPUs (FailedPrecondition while another
  // device measures on them). Unfinished jobs of the database are not taken up by themselves: ResumeJob.
  static StatusOr<std::unique_ptr<EmbeddedFarm>> Start(EmbeddedOptions options);
  // Gives up what is under way; it is as in the Store.
  ~EmbeddedFarm();
  EmbeddedFarm(const EmbeddedFarm&) = delete;

  Coordinator& coordinator();  // Before Stop.
  // As the destructor, but the CPUs stay ours, so that something can be timed in peace.
  void Stop();

 private:
  class Impl;
  explicit EmbeddedFarm(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lathe
