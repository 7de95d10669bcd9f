// Trials in lathe-runner processes (runner/runner_process.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rpc/device/trial_runner.h"

namespace lathe {

class MemoryGroups;

class ProcessTrialRunnerFactory : public TrialRunnerFactory {
 public:
  // `program` is the path of lathe-runner; kernels run on `cpus`, behind `required_sandbox` (SandboxSteps) at least,
  // each in a memory group of its own where `groups` are given, which outlive this.
  ProcessTrialRunnerFactory(std::string program, std::vector<int> cpus, uint32_t required_sandbox = 0,
                            MemoryGroups* groups = nullptr)
      : program_(std::move(program)), cpus_(std::move(cpus)), required_sandbox_(required_sandbox), groups_(groups) {}
  // lathe-runner beside the running program.
  static std::string DefaultProgram();
  // Starts a runner and asks it: the SandboxSteps that trials will run behind. FailedPrecondition where one that is
  // required is not among them.
  StatusOr<uint32_t> Sandbox() const;

  StatusOr<std::unique_ptr<TrialRunner>> Start(const v1::MeasureSpec& spec, const std::string& module_path,
                                               const std::string& reference_path) override;

 private:
  const std::string program_;
  const std::vector<int> cpus_;
  const uint32_t required_sandbox_;
  MemoryGroups* const groups_;
};

}  // namespace lathe
