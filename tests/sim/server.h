// The server's process: the real core, gateway sessions and store; what its threads would do is an event.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rpc/gateway/device_gateway_session.h"
#include "tests/sim/plan.h"
#include "tests/sim/sim_store.h"
#include "tests/sim/world.h"
#include "tuner/job/farm_core.h"

namespace lathe::sim {

// One connection, seen by both ends. The board learns of its end by `on_device_end`.
struct Link {
  int board = 0;
  uint64_t server_life = 0;
  std::unique_ptr<DeviceGatewaySession> session;
  std::function<void(DeviceMessage)> to_board;
  std::function<void(std::string)> on_device_end;
  TimePoint arrives_at_board{}, arrives_at_server{};  // The last message under way: a stream keeps its order.
  bool has_board = true, has_server = true, is_up = false, is_silent = false;
  uint64_t instance = 0;
};

class Server : public FarmPorts {
 public:
  Server(World& world, const Plan& plan);
  ~Server() override;

  void Start();
  void Kill(Duration down);
  void KillAtVerb(int64_t n, bool after, Duration down);
  void CutPower(Duration down);
  void Pause(Duration time);
  void FillDisk(bool is_full);
  bool is_up() const { return core_ != nullptr; }
  bool is_paused() const { return is_paused_; }
  uint64_t life() const { return life_; }
  SqliteStore& rows() { return disk_.store(); }  // What is so, whatever the process does.

  // ---- Clients. False: nobody answered, or it failed for now.
  bool Submit(const NewJob& job, const Workload& workload, int64_t& id);
  bool Cancel(int64_t job_id);
  // ---- Workers. `answer` may never be called.
  void Synchronize(v1::SynchronizeRequest request, FarmCore::Answer answer);
  bool StoreArtifact(const std::string& content);
  void LoseArtifact(size_t which);
  // ---- Boards.
  std::shared_ptr<Link> Connect(int board);  // Null: refused.
  void FromBoard(const std::shared_ptr<Link>& link, DeviceMessage message);
  void Cut(const std::shared_ptr<Link>& link);
  void Silence(const std::shared_ptr<Link>& link);

  // ---- What it keeps count of.
  std::map<Digest, v1::AckVerdict> acknowledged;  // By key of the result.
  int64_t steps_by_time = 0;                      // The core woke up by itself.
  std::set<int64_t> unpreparable;                 // Tasks that fail to be prepared from the second life on.

 private:
  class Search;
  // FarmPorts.
  Status SetDesired(const std::string& device, v1::Desired desired) override;
  void Acknowledge(const std::string& device, const Digest& key, v1::AckVerdict verdict) override;
  void Commit(ResultCommit commit) override;
  void Grant(LeaseGrant grant) override;
  bool HasBlob(const Digest& digest, int64_t size_bytes) override;
  StatusOr<int64_t> BlobSize(const Digest& digest) override;
  StatusOr<Digest> PutBlob(const std::string& content) override;
  void Pin(const Digest&) override {}
  void Unpin(const Digest&) override {}
  std::unique_ptr<JobSearcher> BeginSearch(const JobRow& job, const JobSpec& spec,
                                           const std::vector<TaskRow>& tasks) override;
  void EndSearch(std::unique_ptr<JobSearcher> search) override;
  void OnJobTakenUp(int64_t) override {}
  void OnJobLeft(int64_t) override {}
  void Log(const std::string& words) override { world_.Say("server: {}", words); }

  void CommitGroup();
  // Something reaches the process; while it is stopped it waits.
  void Do(std::function<void()> event);
  void StepCore();
  void StepGateway(const std::shared_ptr<Link>& link, const GatewayEvent& event);
  void Deliver(const std::shared_ptr<Link>& link, DeviceMessage message);
  std::optional<GatewayEvent> Act(const std::shared_ptr<Link>& link, GatewayAction& action);
  GatewayEvent Admit(const std::shared_ptr<Link>& link, const v1::Hello& hello);
  void End(const std::shared_ptr<Link>& link);
  void WatchSilence(const std::shared_ptr<Link>& link);
  std::shared_ptr<Link> LinkOf(const std::string& device);
  bool is_dying() const { return store_ == nullptr || store_->is_dead(); }

  World& world_;
  const Plan& plan_;
  WorldClock clock_{world_};
  class FrozenClock;
  std::unique_ptr<FrozenClock> frozen_;
  Disk disk_;
  std::map<Digest, std::string> blobs_;
  uint64_t life_ = 0, wake_ = 0;
  std::unique_ptr<SimStore> store_;
  std::unique_ptr<FarmCore> core_;
  bool is_paused_ = false, is_full_ = false, wakes_after_pause_ = false;
  std::deque<std::function<void()>> inbox_;
  std::vector<ResultCommit> group_;  // To be committed together.
  std::vector<std::shared_ptr<Link>> links_;
  std::map<std::string, std::pair<v1::Desired, uint64_t>> desired_;  // And the process that was told so.
};

}  // namespace lathe::sim
