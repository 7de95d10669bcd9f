// The real state machines of tracker, gateway and device under virtual time: connections are cut, requests are lost,
// doubled and reordered, stores fail, servers and devices crash and come back. After every step:
//   - no board ever runs two measurements, a killed one counting until it is gone;
//   - epochs never fall;
//   - a device forgets a result only when the store has it, and each result key is stored once;
//   - inside a timed window a device neither starts runners nor touches its disk.
// In the end, when faults stop: every trial has exactly one counted result.
#include <gmock/gmock.h>

#include <cstdlib>
#include <queue>
#include <set>

#include "rpc/device/device_session.h"
#include "rpc/gateway/device_gateway_session.h"
#include "tests/property_runs.h"
#include "tracker/tracker_core.h"

namespace lathe {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kBoards = 3, kJobs = 3, kTrialsPerJob = 150;  // Two boards have the key that three jobs want.
constexpr Duration kFaultTime = seconds(240), kHealTime = seconds(600);

// Every module; some need several chunks.
const std::map<Digest, std::string>& Modules() {
  static const auto& modules = *new auto([] {
    std::map<Digest, std::string> made;
    for (int trial = 1; trial <= kJobs * kTrialsPerJob; ++trial) {
      const std::string text =
          "module of trial " + std::to_string(trial) + std::string(trial % 20 == 0 ? 300'000 : 10, 'x');
      made[Sha256(text)] = text;
    }
    return made;
  }());
  return modules;
}

struct Trial {
  int job;
  int32_t attempt = 1;
  int counted = 0;
};

// What survives a crash of the server.
struct Durable {
  std::map<std::string, DeviceRecord> devices;
  std::map<std::string, LeaseRecord> leases;
  std::map<int64_t, Trial> trials;
  std::set<Digest> results;

  int64_t Grant(LeaseRecord lease, int64_t floor) {
    int64_t& epoch = devices.at(lease.device).epoch;
    epoch = std::max(epoch, floor) + 1;
    lease.epoch = epoch;
    leases[lease.device] = lease;
    return epoch;
  }
  v1::AckVerdict Commit(const v1::MeasureResult& result) {
    if (!results.insert(*Digest::FromBytes(result.key())).second) return v1::ACK_VERDICT_DUPLICATE;
    Trial& trial = trials.at(result.trial_id());
    if (trial.attempt != result.attempt() || trial.counted > 0) return v1::ACK_VERDICT_STALE;
    ++trial.counted;
    return v1::ACK_VERDICT_ACK;
  }
};

class Simulation {
 public:
  explicit Simulation(uint64_t seed) : random_(seed) {
    for (int i = 0; i < kJobs * kTrialsPerJob; ++i) store_.trials[i + 1] = {i / kTrialsPerJob};
    for (int i = 0; i < kBoards; ++i) boards_.push_back({"board-" + std::to_string(i), i == 2 ? "slow" : "local"});
    StartServer();
    for (Board& board : boards_) StartDevice(board);
    At(milliseconds(500), [this] { MakeTrouble(); });
  }

  void Run() {
    while (!events_.empty() && now_ < TimePoint(kFaultTime + kHealTime) && !testing::Test::HasFatalFailure()) {
      auto event = std::move(const_cast<Event&>(events_.top()));
      events_.pop();
      now_ = event.time;
      event.run();
      if (now_ > TimePoint(kFaultTime) && IsDone()) break;
    }
    for (const auto& [id, trial] : store_.trials)
      EXPECT_EQ(trial.counted, 1) << "trial " << id << ", attempt " << trial.attempt;
    EXPECT_GT(cuts_ + crashes_, 20);
    if (std::getenv("LATHE_SEED") != nullptr) {
      std::printf("%zu results, %d cuts, %d crashes, done after %lld virtual s\n", store_.results.size(), cuts_,
                  crashes_, static_cast<long long>(now_.time_since_epoch() / seconds(1)));
    }
  }

 private:
  struct Event {
    TimePoint time;
    uint64_t order;
    std::function<void()> run;
    bool operator<(const Event& other) const { return std::tie(other.time, other.order) < std::tie(time, order); }
  };
  struct Connection {
    int board;
    uint64_t device_life, server_life;
    std::unique_ptr<DeviceGatewaySession> session;
    TimePoint to_device{}, to_server{};  // When the last message under way arrives: a stream keeps its order.
    bool device_end = true, server_end = true, is_up = false;
    uint64_t instance = 0;
  };
  struct Runner {
    v1::MeasureSpec spec;
    bool is_measuring = false;
  };
  struct Board {
    std::string name, key;
    std::unique_ptr<DeviceSession> session;
    uint64_t life = 0;
    std::map<RunnerId, Runner> runners;
    std::map<Digest, v1::MeasureResult> spool;   // On disk.
    std::map<Digest, std::string> blobs, parts;  // On disk.
    std::shared_ptr<Connection> connection;
    int64_t epoch_seen = 0;
    std::optional<TimePoint> alarm;
  };
  struct Job {
    int number;
    uint64_t asked = 0;
    std::string request;
    std::optional<LeaseRecord> lease;
    TimePoint valid_until{}, asked_at{};
    std::vector<int64_t> assigned;
  };

  bool Chance(int percent) {
    return now_ < TimePoint(kFaultTime) && random_.Below(100) < static_cast<uint64_t>(percent);
  }
  Duration Within(int64_t low_ms, int64_t high_ms) {
    return milliseconds(low_ms + static_cast<int64_t>(random_.Below(static_cast<uint64_t>(high_ms - low_ms + 1))));
  }
  void At(Duration delay, std::function<void()> run) { events_.push({now_ + delay, order_++, std::move(run)}); }
  bool IsDone() const {
    return std::all_of(store_.trials.begin(), store_.trials.end(),
                       [](const auto& entry) { return entry.second.counted > 0; });
  }

  // ---- The server: tracker, gateway, one holder per job.

  void StartServer() {
    ++server_life_;
    is_server_up_ = true;
    TrackerSnapshot snapshot;
    for (const auto& [name, device] : store_.devices) snapshot.devices.push_back(device);
    for (const auto& [name, lease] : store_.leases) snapshot.live_leases.push_back(lease);
    tracker_ = std::make_unique<TrackerCore>(snapshot, now_);
    jobs_.clear();
    desired_.clear();
    for (int i = 0; i < kJobs; ++i) jobs_.push_back({i});
    Beat(server_life_);
  }

  void Beat(uint64_t life) {
    if (life != server_life_ || !is_server_up_) return;
    Track(TimePassed{});
    for (Job& job : jobs_) Hold(job);
    for (const auto& connection : connections_) {
      if (connection->server_end) StepGateway(connection, GatewayTime{});
    }
    At(milliseconds(1000), [this, life] { Beat(life); });
  }

  void CrashServer() {
    is_server_up_ = false;
    ++server_life_;
    ++crashes_;
    for (const auto& connection : connections_) {
      connection->server_end = false;
      At(Within(0, 200), [this, connection] { DeviceSeesEnd(connection); });
    }
    connections_.clear();
    At(Within(100, 20'000), [this] { StartServer(); });
  }

  // A message between a holder and the tracker: may be lost, late or doubled, and so out of order.
  void Say(TrackerEvent event) {
    for (int copies = Chance(10) ? 0 : Chance(10) ? 2 : 1; copies > 0; --copies) {
      At(Within(0, Chance(5) ? 15'000 : 50), [this, event, life = server_life_] {
        if (life == server_life_ && is_server_up_) Track(event);
      });
    }
  }

  void Track(const TrackerEvent& event) {
    for (const TrackerAction& action : tracker_->Step(event, now_))
      std::visit([this](const auto& a) { Do(a); }, action);
  }

  void Do(const PersistDevice& action) {
    DeviceRecord& row = store_.devices[action.record.name];
    const int64_t epoch = std::max(row.epoch, action.record.epoch);
    row = action.record;
    row.epoch = epoch;
  }
  void Do(const DeviceChange&) {}
  void Do(const PersistGrant& action) {
    At(Within(1, 50), [this, action, life = server_life_] {
      if (life != server_life_ && random_.Below(2) == 0) return;  // The crash came before the commit ...
      const bool fails = Chance(5);
      const int64_t before = store_.devices.at(action.lease.device).epoch;
      const int64_t epoch = fails ? 0 : store_.Grant(action.lease, action.epoch_floor);
      ASSERT_TRUE(fails || epoch > before);
      if (life != server_life_) return;  // ... or between commit and answer.
      Track(GrantCommitted{action.lease.device, action.lease.request_id, fails ? Unavailable("disk full") : OkStatus(),
                           epoch});
    });
  }
  void Do(const PersistRenewal&) {}
  void Do(const PersistEnd& action) {
    const auto it = store_.leases.find(action.device);
    if (it != store_.leases.end() && it->second.epoch == action.epoch) store_.leases.erase(it);
  }
  void Do(const AnswerGranted& action) {
    for (Job& job : jobs_) {
      if (job.request != action.lease.request_id || job.lease) continue;
      job.lease = action.lease;
      job.valid_until = now_ + kLeaseTtl;
      Refill(job);
      return;
    }
    for (const Job& job : jobs_) {
      if (job.lease && job.lease->device == action.lease.device && job.lease->epoch == action.lease.epoch) return;
    }
    Say(LeaseReleased{action.lease.device, action.lease.epoch});  // Nobody waits for it any more.
  }
  void Do(const AnswerRenewed& action) {
    for (Job& job : jobs_) {
      if (job.lease && job.lease->device == action.device && job.lease->epoch == action.epoch)
        job.valid_until = now_ + kLeaseTtl;
    }
  }
  void Do(const AnswerEnded& action) {
    for (Job& job : jobs_) {
      if (job.lease && job.lease->device == action.device && job.lease->epoch == action.epoch) Lose(job);
    }
  }

  void Hold(Job& job) {
    const bool is_done = std::none_of(store_.trials.begin(), store_.trials.end(), [&](const auto& entry) {
      return entry.second.job == job.number && entry.second.counted == 0;
    });
    if (job.lease && now_ >= job.valid_until) Lose(job);
    if (job.lease && is_done) {
      Say(LeaseReleased{job.lease->device, job.lease->epoch});
      job.lease.reset();
    } else if (job.lease) {
      Say(LeaseRenewed{job.lease->device, job.lease->epoch});
      Refill(job);
    } else if (!is_done) {
      if (job.request.empty()) job.request = "job-" + std::to_string(job.number) + "/" + std::to_string(job.asked);
      Say(LeaseRequested{job.request, "local"});
    }
  }

  void Lose(Job& job) {
    for (const int64_t id : job.assigned) ++store_.trials.at(id).attempt;
    job.assigned.clear();
    job.lease.reset();
    job.request.clear();
    ++job.asked;
  }

  void Refill(Job& job) {
    std::erase_if(job.assigned, [this](int64_t id) { return store_.trials.at(id).counted > 0; });
    for (auto& [id, trial] : store_.trials) {
      const bool is_assigned = std::find(job.assigned.begin(), job.assigned.end(), id) != job.assigned.end();
      if (job.assigned.size() < 2 && trial.job == job.number && trial.counted == 0 && !is_assigned)
        job.assigned.push_back(id);
    }
    v1::Desired desired;
    desired.set_epoch(job.lease->epoch);
    for (const int64_t id : job.assigned) *desired.add_specs() = SpecOf(id, job.lease->epoch);
    v1::Desired& stored = desired_[job.lease->device];
    if (stored.SerializeAsString() == desired.SerializeAsString() || stored.epoch() > desired.epoch()) return;
    stored = desired;
    for (const auto& connection : connections_) {
      if (connection->server_end && connection->is_up && boards_[connection->board].name == job.lease->device) {
        StepGateway(connection, DesiredChanged{desired});
      }
    }
  }

  v1::MeasureSpec SpecOf(int64_t id, int64_t epoch) const {
    const auto& [digest, module] = *std::next(Modules().begin(), id - 1);
    v1::MeasureSpec spec;
    spec.set_trial_id(id);
    spec.set_attempt(store_.trials.at(id).attempt);
    spec.set_epoch(epoch);
    spec.mutable_module()->set_digest(std::string(digest.raw()));
    spec.mutable_module()->set_size(static_cast<int64_t>(module.size()));
    spec.set_kernel("main");
    spec.set_wall_limit_ns(Duration(seconds(2)).count());
    spec.set_threads(1);
    return spec;
  }

  void StepGateway(const std::shared_ptr<Connection>& connection, const GatewayEvent& event) {
    std::deque<GatewayEvent> events = {event};
    for (; !events.empty(); events.pop_front()) {
      for (GatewayAction& action : connection->session->Step(events.front(), now_)) {
        if (auto* send = std::get_if<GatewaySend>(&action)) Deliver(connection, std::move(send->message));
        if (auto* arrived = std::get_if<DeviceArrived>(&action)) events.push_back(Admit(connection, arrived->hello));
        if (std::holds_alternative<DeviceSpoke>(action)) Track(DeviceHeard{boards_[connection->board].name});
        if (auto* read = std::get_if<ReadBlob>(&action)) events.push_back(Read(*read));
        if (auto* result = std::get_if<ResultArrived>(&action)) Commit(connection, result->result);
        if (std::holds_alternative<GatewayClose>(action)) Cut(connection);
      }
    }
  }

  GatewayEvent Admit(const std::shared_ptr<Connection>& connection, const v1::Hello& hello) {
    for (const auto& other : connections_) {
      if (other == connection || !other->is_up || !other->server_end || other->board != connection->board) continue;
      if (other->instance != hello.instance()) return DeviceRejected{"taken"};
      Cut(other);
      other->server_end = false;
    }
    connection->is_up = true;
    connection->instance = hello.instance();
    Track(DeviceReported{{hello.facts().name(), hello.facts().key(), "{}", hello.epoch_seen()}});
    return DeviceAdmitted{desired_[hello.facts().name()]};
  }

  BlobRead Read(const ReadBlob& read) {
    const auto it = Modules().find(read.digest);
    if (it == Modules().end() || Chance(1)) return {read.digest, read.offset, NotFound("blob"), "", 0};
    std::string data = it->second.substr(static_cast<size_t>(read.offset), static_cast<size_t>(read.limit));
    if (Chance(2) && !data.empty()) data[0] ^= 1;
    return {read.digest, read.offset, OkStatus(), data, static_cast<int64_t>(it->second.size())};
  }

  void Commit(const std::shared_ptr<Connection>& connection, const v1::MeasureResult& result) {
    At(Within(1, 30), [this, connection, result, life = server_life_] {
      if (life != server_life_ && random_.Below(2) == 0) return;
      v1::AckVerdict verdict = v1::ACK_VERDICT_STALE;
      if (result.status() == v1::MEASURE_STATUS_INFRA_FAILED) {  // Told nothing about the candidate: measured again.
        if (store_.results.insert(*Digest::FromBytes(result.key())).second) {
          Trial& trial = store_.trials.at(result.trial_id());
          if (trial.attempt == result.attempt()) ++trial.attempt;
        }
      } else {
        verdict = store_.Commit(result);
      }
      if (life != server_life_) return;
      if (connection->server_end) StepGateway(connection, ResultCommitted{*Digest::FromBytes(result.key()), verdict});
      for (Job& job : jobs_) {
        if (job.lease) Refill(job);
      }
    });
  }

  // ---- Connections.

  void Deliver(const std::shared_ptr<Connection>& connection, DeviceMessage message) {
    connection->to_device = std::max(connection->to_device, now_ + Within(0, Chance(3) ? 3000 : 20));
    if (const auto* desired = std::get_if<v1::Desired>(&message)) old_desired_.push_back(*desired);
    At(connection->to_device - now_, [this, connection, message] {
      Board& board = boards_[connection->board];
      if (connection->device_end && board.connection == connection) StepDevice(board, MessageArrived{message});
    });
  }

  void Send(const std::shared_ptr<Connection>& connection, DeviceMessage message) {
    connection->to_server = std::max(connection->to_server, now_ + Within(0, Chance(3) ? 3000 : 20));
    for (int copies = std::holds_alternative<v1::MeasureResult>(message) && Chance(20) ? 2 : 1; copies > 0; --copies) {
      At(connection->to_server - now_, [this, connection, message] {
        if (connection->server_end && is_server_up_ && connection->server_life == server_life_)
          StepGateway(connection, GatewayReceived{message});
      });
    }
  }

  // Each end learns of it at its own time; the server perhaps only by silence.
  void Cut(const std::shared_ptr<Connection>& connection) {
    ++cuts_;
    At(Within(0, 500), [this, connection] { DeviceSeesEnd(connection); });
    At(Within(0, Chance(20) ? 25'000 : 500), [this, connection] {
      if (!connection->server_end) return;
      connection->server_end = false;
      std::erase(connections_, connection);
      const bool is_newest = std::none_of(connections_.begin(), connections_.end(), [&](const auto& other) {
        return other->is_up && other->board == connection->board;
      });
      if (connection->is_up && is_newest && connection->server_life == server_life_)
        Track(DeviceLeft{boards_[connection->board].name});
    });
  }

  void DeviceSeesEnd(const std::shared_ptr<Connection>& connection) {
    if (!std::exchange(connection->device_end, false)) return;
    Board& board = boards_[connection->board];
    if (board.connection == connection && connection->device_life == board.life) {
      board.connection.reset();
      StepDevice(board, LinkDown{"cut"});
    }
  }

  void Dial(Board& board) {
    if (!is_server_up_ || Chance(10)) return StepDevice(board, LinkDown{"refused"});
    board.connection = std::make_shared<Connection>();
    board.connection->board = static_cast<int>(&board - boards_.data());
    board.connection->device_life = board.life;
    board.connection->server_life = server_life_;
    board.connection->session = std::make_unique<DeviceGatewaySession>(GatewaySessionOptions{}, now_);
    connections_.push_back(board.connection);
    StepDevice(board, LinkUp{});
  }

  // ---- Devices.

  void StartDevice(Board& board) {
    DeviceSessionOptions options;
    options.facts.set_name(board.name);
    options.facts.set_key(board.key);
    options.instance = random_.Next();
    for (const auto& [key, result] : board.spool) options.spooled.push_back(result);
    board.session = std::make_unique<DeviceSession>(std::move(options), random_.Fork());
    board.epoch_seen = 0;
    Later(board, milliseconds(1), [this](Board& b) { Dial(b); });
  }

  void CrashDevice(Board& board) {
    ++crashes_;
    ++board.life;
    board.runners.clear();  // They die with their parent.
    board.session.reset();
    board.alarm.reset();
    if (board.connection) Cut(board.connection);
    board.connection.reset();
    At(Within(100, 10'000), [this, &board] { StartDevice(board); });
  }

  // Does `run` unless the device process has died in between.
  void Later(Board& board, Duration delay, std::function<void(Board&)> run) {
    At(delay, [&board, life = board.life, run = std::move(run)] {
      if (board.life == life) run(board);
    });
  }

  void StepDevice(Board& board, const DeviceEvent& first) {
    std::deque<DeviceEvent> events = {first};
    for (; !events.empty(); events.pop_front()) {
      for (DeviceAction& action : board.session->Step(events.front(), now_)) {
        if (const std::optional<DeviceEvent> answer = std::visit([&](auto& a) { return Do(board, a); }, action))
          events.push_back(*answer);
        if (testing::Test::HasFatalFailure()) return;
      }
      ASSERT_GE(board.session->epoch_seen(), board.epoch_seen);
      board.epoch_seen = board.session->epoch_seen();
    }
    const std::optional<TimePoint> deadline = board.session->NextDeadline();
    if (!deadline || deadline == board.alarm) return;
    board.alarm = deadline;
    Later(board, std::max(Duration(0), *deadline - now_), [this](Board& b) {
      b.alarm.reset();
      StepDevice(b, TimeCame{});
    });
  }

  using Answer = std::optional<DeviceEvent>;
  Answer Do(Board& board, SendMessage& action) {
    if (board.connection) Send(board.connection, std::move(action.message));
    return {};
  }
  Answer Do(Board& board, CloseLink&) {
    if (board.connection) {
      board.connection->device_end = false;
      Cut(board.connection);
    }
    board.connection.reset();
    return {};
  }
  Answer Do(Board& board, ReconnectAfter& action) {
    Later(board, action.delay, [this](Board& b) { Dial(b); });
    return {};
  }
  Answer Do(Board&, TellOperator&) { return {}; }
  Answer Do(Board& board, LookUpBlob& action) {
    return BlobLookedUp{action.digest, board.blobs.contains(action.digest),
                        static_cast<int64_t>(board.parts[action.digest].size())};
  }
  Answer Do(Board&, ReleaseBlob&) { return {}; }
  Answer Do(Board& board, WriteBlob& action) {
    EXPECT_FALSE(board.session->is_quiet());
    std::string& part = board.parts[action.digest];
    EXPECT_EQ(static_cast<int64_t>(part.size()), action.offset);
    part += action.data;
    if (static_cast<int64_t>(part.size()) < action.size)
      return BlobWritten{action.digest, OkStatus(), false, static_cast<int64_t>(part.size())};
    const bool is_right = Sha256(part) == action.digest;
    if (is_right) board.blobs[action.digest] = part;
    part.clear();
    return BlobWritten{action.digest, is_right ? OkStatus() : DataLoss("digest"), is_right, 0};
  }
  Answer Do(Board& board, StartRunner& action) {
    EXPECT_FALSE(board.session->is_quiet());
    EXPECT_TRUE(board.blobs.contains(*Digest::FromBytes(action.spec.module().digest())));
    board.runners[action.runner] = {action.spec};
    if (!Chance(2))
      Later(board, Within(1, 20), [this, id = action.runner](Board& b) {
        if (b.runners.contains(id)) StepDevice(b, RunnerIsReady{id});
      });
    return {};
  }
  Answer Do(Board& board, GoRunner& action) {
    for (const auto& [id, runner] : board.runners)
      EXPECT_FALSE(runner.is_measuring) << board.name << ": runner " << id << " still measures";
    board.runners.at(action.runner).is_measuring = true;
    const RunnerId id = action.runner;
    Later(board, Within(1, 20), [this, id](Board& b) {
      if (b.runners.contains(id)) StepDevice(b, RunnerIsTiming{id, true});
    });
    if (Chance(3)) return {};  // Hangs.
    Later(board, Within(30, 400), [this, id](Board& b) { EndRunner(b, id, v1::MEASURE_STATUS_OK); });
    return {};
  }
  Answer Do(Board& board, KillRunner& action) {
    Later(board, Within(0, 700), [this, id = action.runner](Board& b) { EndRunner(b, id, v1::MEASURE_STATUS_CRASH); });
    return {};
  }
  Answer Do(Board& board, SpoolResult& action) {
    EXPECT_FALSE(board.session->is_quiet());
    board.spool[*Digest::FromBytes(action.result.key())] = action.result;
    return {};
  }
  Answer Do(Board& board, DeleteSpooled& action) {
    EXPECT_TRUE(store_.results.contains(action.key)) << board.name << " forgets a result that is not committed";
    board.spool.erase(action.key);
    return {};
  }

  void EndRunner(Board& board, RunnerId id, v1::MeasureStatus status) {
    if (board.runners.erase(id) == 0) return;
    v1::MeasureResult outcome;
    outcome.set_status(status);
    StepDevice(board, RunnerEnded{id, outcome});
  }

  // ---- Faults.

  void MakeTrouble() {
    if (now_ >= TimePoint(kFaultTime)) return;
    At(Within(50, 2500), [this] { MakeTrouble(); });
    Board& board = boards_[random_.Below(boards_.size())];
    switch (random_.Below(6)) {
      case 0:
        if (is_server_up_ && random_.Below(4) == 0) CrashServer();
        break;
      case 1:
        if (board.session && random_.Below(3) == 0) CrashDevice(board);
        break;
      case 2: {  // A former server's word arrives late.
        if (!board.session || !board.session->is_welcome() || old_desired_.empty()) break;
        const v1::Desired& old = old_desired_[random_.Below(old_desired_.size())];
        if (old.epoch() < board.session->epoch_seen()) StepDevice(board, MessageArrived{old});
        break;
      }
      default:
        if (board.connection) Cut(board.connection);
    }
  }

  Random random_;
  TimePoint now_{};
  uint64_t order_ = 0;
  std::priority_queue<Event> events_;
  Durable store_;
  std::unique_ptr<TrackerCore> tracker_;
  std::vector<Job> jobs_;
  std::map<std::string, v1::Desired> desired_;
  std::vector<v1::Desired> old_desired_;
  std::vector<std::shared_ptr<Connection>> connections_;
  std::vector<Board> boards_;
  uint64_t server_life_ = 0;
  bool is_server_up_ = false;
  int cuts_ = 0, crashes_ = 0;
};

TEST(FarmSimulation, KeepsItsPromisesUnderFaults) {
  const char* given = std::getenv("LATHE_SEED");
  const uint64_t first = given != nullptr
                             ? std::strtoull(given, nullptr, 10)
                             : static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  const int rounds = given != nullptr ? 1 : PropertyRuns(10, 30);
  for (int round = 0; round < rounds; ++round) {
    const uint64_t seed = first + static_cast<uint64_t>(round);
    SCOPED_TRACE("LATHE_SEED=" + std::to_string(seed));
    Simulation(seed).Run();
    if (testing::Test::HasFailure()) {
      std::printf("failed with LATHE_SEED=%llu\n", static_cast<unsigned long long>(seed));
      return;
    }
  }
  std::printf("seeds from %llu\n", static_cast<unsigned long long>(first));
}

}  // namespace
}  // namespace lathe
