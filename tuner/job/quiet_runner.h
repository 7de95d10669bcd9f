// Runners whose timed windows close a gate.
#pragma once

#include "rpc/device/trial_runner.h"
#include "tuner/job/quiet_gate.h"

namespace lathe {

class QuietRunnerFactory : public TrialRunnerFactory {
 public:
  // Both must outlive the factory and its runners.
  QuietRunnerFactory(TrialRunnerFactory& runners, QuietGate& gate) : runners_(runners), gate_(gate) {}
  StatusOr<std::unique_ptr<TrialRunner>> Start(const v1::MeasureSpec& spec, const std::string& module_path,
                                               const std::string& reference_path) override;

 private:
  TrialRunnerFactory& runners_;
  QuietGate& gate_;
};

}  // namespace lathe
