// A worker: one thread per slot, each with a builder, and one that keeps in touch with the coordinator. The shell
// around WorkerCore.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "support/clock.h"
#include "support/status.h"
#include "tuner/worker/builder.h"
#include "tuner/worker/worker_channel.h"

namespace lathe {

struct WorkerOptions {
  std::string name;
  int slots = 1;
  uint32_t codegen_version = 0;
  BuilderFactory builders;                   // Called once per slot, and again after a builder broke.
  Duration wait = std::chrono::seconds(10);  // How long the coordinator may hold its answer.
  std::function<void(std::string)> log = [](std::string) {};
};

class Worker {
 public:
  // Starts the threads. `channel` must outlive the worker.
  Worker(WorkerOptions options, WorkerChannel& channel);
  // Gives up what is being built.
  ~Worker();
  Worker(const Worker&) = delete;

  // Takes no new task, and returns once the present ones are handed in; false after `limit`, or soon if the coordinator
  // does not answer.
  bool Drain(Duration limit);
  // While paused no builder uses the CPU. From any thread; returns at once.
  void SetPaused(bool is_paused);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lathe
