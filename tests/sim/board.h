// A board: the real session of a device, its disk, and runners that pretend.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "rpc/device/device_session.h"
#include "tests/sim/server.h"

namespace lathe::sim {

class Board {
 public:
  Board(World& world, const Plan& plan, Server& server, int number);

  void Start();
  void Crash(Duration down);
  // Takes in nothing that is desired, or comes to no end with what it measures.
  void BeDeaf(Duration time);
  void BeStuck(Duration time);
  void GarbleUntil(TimePoint end) { garbled_until_ = end; }
  std::shared_ptr<Link> link() const { return link_; }
  bool is_up() const { return session_ != nullptr; }
  bool is_idle() const { return runners_.empty() && spool_.empty(); }
  const std::string& name() const { return name_; }

  // ---- What it keeps count of.
  std::map<Digest, v1::MeasureResult> written;  // Results that were on its disk at any time.
  std::set<Digest> deleted;                     // Of these, those that it forgot.
  int crashes = 0;
  std::map<int64_t, int> failures;  // Results that said it was the board's fault, by trial.
  std::map<int64_t, int> kills;     // By trial.
  std::set<int64_t> killed_by;      // Trials that took it down while the server knew that they ran.

 private:
  struct Runner {
    v1::MeasureSpec spec;
    bool is_measuring = false;
  };
  using Answer = std::optional<DeviceEvent>;
  void Later(Duration delay, std::function<void()> run);
  void Step(const DeviceEvent& event);
  void Dial();
  void Receive(DeviceMessage message);
  void Mishear(v1::Desired& desired);
  void Desire(v1::Desired desired);
  void Send(DeviceMessage message);
  void EndRunner(RunnerId id, v1::MeasureResult outcome);
  void Measure(RunnerId id);
  Answer Do(SendMessage& action);
  Answer Do(CloseLink& action);
  Answer Do(ReconnectAfter& action);
  Answer Do(LookUpBlob& action);
  Answer Do(ReleaseBlob&) { return {}; }
  Answer Do(WriteBlob& action);
  Answer Do(StartRunner& action);
  Answer Do(GoRunner& action);
  Answer Do(KillRunner& action);
  Answer Do(SpoolResult& action);
  Answer Do(DeleteSpooled& action);
  Answer Do(TellOperator& action);

  World& world_;
  const Plan& plan_;
  Server& server_;
  const int number_;
  const std::string name_;
  std::unique_ptr<DeviceSession> session_;
  uint64_t life_ = 0;
  std::map<RunnerId, Runner> runners_;
  int measuring_ = 0;                            // Processes that use the CPU, those left behind included.
  std::map<Digest, v1::MeasureResult> spool_;    // On disk.
  std::map<Digest, std::string> blobs_, parts_;  // On disk.
  std::shared_ptr<Link> link_;
  int64_t epoch_seen_ = 0;
  std::optional<TimePoint> alarm_;
  TimePoint deaf_until_{}, stuck_until_{}, garbled_until_{};
  std::vector<v1::Desired> former_;  // What was desired of it, whoever did.
  std::set<Digest> missed_;          // Results that never will be: they were desired while it was deaf.
  v1::Current last_current_;
};

}  // namespace lathe::sim
