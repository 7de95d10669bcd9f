// A worker's process: the real core of a worker, calls that may be lost, builds that pretend.
#pragma once

#include <memory>
#include <string>

#include "tests/sim/server.h"
#include "tuner/worker/worker_core.h"

namespace lathe::sim {

class SimWorker {
 public:
  SimWorker(World& world, Server& server, std::string name);

  void Start();
  void Crash(Duration down);
  void End();  // For good.
  void BeMute(Duration time) { mute_until_ = world_.now + time; }
  void LoseBuilds();  // Those under way come to no end.
  // Another process has taken its name, as far as the server's present life knows; or that one has ended.
  void Superseded() {
    if (answered_in_ != server_.life()) return;  // The other one may have been first.
    superseded_at_ = world_.now;
    superseded_in_ = server_.life();
  }
  void NoLongerSuperseded() { superseded_at_.reset(); }
  std::function<void()> on_answer = [] {};
  bool is_idle() const { return core_ == nullptr || core_->is_idle(); }
  const std::string& name() const { return name_; }

 private:
  static constexpr int kSlots = 2;
  void Later(Duration delay, std::function<void()> run);
  void Call(Duration wait, bool again);
  void Answered(uint64_t call, bool again, TimePoint sent, const StatusOr<v1::SynchronizeResponse>& response);
  void Work();
  void Build(int slot, WorkerCore::Start start);
  void HandIn(int slot, uint64_t build, const std::string& trace);

  World& world_;
  Server& server_;
  const std::string name_;
  std::unique_ptr<WorkerCore> core_;
  uint64_t life_ = 0, next_call_ = 1, next_build_ = 1;
  uint64_t building_[kSlots] = {};  // 0: free.
  std::set<uint64_t> open_calls_;
  Duration backoff_ = std::chrono::milliseconds(500);
  TimePoint mute_until_{};
  std::optional<TimePoint> superseded_at_;
  uint64_t superseded_in_ = 0, answered_in_ = 0;
};

}  // namespace lathe::sim
