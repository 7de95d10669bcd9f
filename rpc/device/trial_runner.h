// One measurement in a process of its own, as the device server sees it. A fresh runner per trial; nothing here waits.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "proto/lathe/v1/device.pb.h"
#include "support/status.h"

namespace lathe {

struct RunnerNotice {
  enum class Kind {
    kReady,         // Started; waits for Go, has not seen its module yet, and uses no CPU.
    kTimingBegins,  // Nothing else should happen on this machine ...
    kTimingEnds,    // ... until now.
    kTicked,        // Some other sign of progress.
    kEnded,         // The whole process group is gone. Always the last notice; `outcome` is set.
  };
  Kind kind;
  v1::MeasureResult outcome;  // Status, message, samples, statistics, env; the identity is the caller's to fill in.
};

class TrialRunner {
 public:
  // Ends the process group and waits for it if kEnded was not delivered yet.
  virtual ~TrialRunner() = default;
  // Readable whenever Poll has something to say. Belongs to the runner.
  virtual int event_fd() const = 0;
  // What happened since the last call. Never waits.
  virtual std::vector<RunnerNotice> Poll() = 0;
  // Once, after kReady.
  virtual void Go() = 0;
  // Ends the whole process group; kEnded follows. Harmless at any time.
  virtual void Kill() = 0;
};

class TrialRunnerFactory {
 public:
  virtual ~TrialRunnerFactory() = default;
  // Starts a runner for a checked spec. `reference_path` is empty if the spec names no reference. The files stay where
  // they are until kEnded. A failure costs the trial as INFRA_FAILED.
  virtual StatusOr<std::unique_ptr<TrialRunner>> Start(const v1::MeasureSpec& spec, const std::string& module_path,
                                                       const std::string& reference_path) = 0;
};

}  // namespace lathe
