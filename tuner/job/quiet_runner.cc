#include "tuner/job/quiet_runner.h"

#include "support/status_macros.h"

namespace lathe {
namespace {

class QuietRunner : public TrialRunner {
 public:
  QuietRunner(std::unique_ptr<TrialRunner> runner, QuietGate& gate) : runner_(std::move(runner)), gate_(gate) {}
  ~QuietRunner() override { SetInside(false); }
  int event_fd() const override { return runner_->event_fd(); }
  std::vector<RunnerNotice> Poll() override {
    std::vector<RunnerNotice> notices = runner_->Poll();
    for (const RunnerNotice& notice : notices) {
      if (notice.kind == RunnerNotice::Kind::kTimingBegins) SetInside(true);
      if (notice.kind == RunnerNotice::Kind::kTimingEnds || notice.kind == RunnerNotice::Kind::kEnded) SetInside(false);
    }
    return notices;
  }
  void Go() override { runner_->Go(); }
  void Kill() override { runner_->Kill(); }

 private:
  void SetInside(bool is_inside) {
    if (is_inside == is_inside_) return;
    is_inside_ = is_inside;
    if (is_inside)
      gate_.Enter();
    else
      gate_.Leave();
  }

  std::unique_ptr<TrialRunner> runner_;
  QuietGate& gate_;
  bool is_inside_ = false;
};

}  // namespace

StatusOr<std::unique_ptr<TrialRunner>> QuietRunnerFactory::Start(const v1::MeasureSpec& spec,
                                                                 const std::string& module_path,
                                                                 const std::string& reference_path) {
  ASSIGN_OR_RETURN(std::unique_ptr<TrialRunner> runner, runners_.Start(spec, module_path, reference_path));
  return std::unique_ptr<TrialRunner>(std::make_unique<QuietRunner>(std::move(runner), gate_));
}

}  // namespace lathe
