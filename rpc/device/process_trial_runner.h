// Trials in lathe-runner processes (runtime/runner_process.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rpc/device/trial_runner.h"

namespace lathe {

class ProcessTrialRunnerFactory : public TrialRunnerFactory {
 public:
  // `program` is the path of lathe-runner; kernels run on `cpus`.
  ProcessTrialRunnerFactory(std::string program, std::vector<int> cpus)
      : program_(std::move(program)), cpus_(std::move(cpus)) {}
  // lathe-runner beside the running program.
  static std::string DefaultProgram();

  StatusOr<std::unique_ptr<TrialRunner>> Start(const v1::MeasureSpec& spec, const std::string& module_path,
                                               const std::string& reference_path) override;

 private:
  const std::string program_;
  const std::vector<int> cpus_;
};

}  // namespace lathe
