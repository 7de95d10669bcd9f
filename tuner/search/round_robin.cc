#include "tuner/search/task_scheduler.h"

namespace lathe {
namespace {

class RoundRobin : public TaskScheduler {
 public:
  std::optional<size_t> Next(std::span<const TaskProgress> tasks) override {
    for (size_t step = 0; step < tasks.size(); ++step) {
      const size_t task = (next_ + step) % tasks.size();
      if (tasks[task].remaining() <= 0) continue;
      next_ = task + 1;
      return task;
    }
    return std::nullopt;
  }

 private:
  size_t next_ = 0;
};

}  // namespace

std::unique_ptr<TaskScheduler> MakeRoundRobin() { return std::make_unique<RoundRobin>(); }

}  // namespace lathe
