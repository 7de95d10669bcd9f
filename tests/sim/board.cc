#include "tests/sim/board.h"

#include <deque>

#include "tests/sim/workload.h"

namespace lathe::sim {

using std::chrono::milliseconds;
using std::chrono::seconds;

Board::Board(World& world, const Plan& plan, Server& server, int number)
    : world_(world), plan_(plan), server_(server), number_(number), name_(fmt::format("board-{}", number)) {}

// ---- The process.

void Board::Start() {
  DeviceSessionOptions options;
  options.facts.set_name(name_);
  options.facts.set_key("local");
  options.facts.set_arch("x86_64");
  options.facts.set_kernel_abi(LATHE_KERNEL_ABI_VERSION);
  options.instance = world_.random.Next();
  for (const auto& [key, result] : spool_) options.spooled.push_back(result);
  session_ = std::make_unique<DeviceSession>(std::move(options), world_.random.Fork());
  epoch_seen_ = 0;
  world_.Say("{} starts", name_);
  Later(milliseconds(1), [this] { Dial(); });
}

void Board::Crash(Duration down) {
  if (!is_up()) return;
  world_.Say("{} crashes", name_);
  ++crashes;
  ++life_;
  runners_.clear();  // They die with it.
  measuring_ = 0;
  session_.reset();
  missed_.clear();
  alarm_.reset();
  if (link_ != nullptr) {
    link_->has_board = false;
    server_.Cut(link_);
  }
  link_.reset();
  if (plan_.plant == Plant::kSpoolInMemory) spool_.clear();
  world_.At(down, [this] { Start(); });
}

void Board::BeDeaf(Duration time) { deaf_until_ = world_.now + time; }

void Board::BeStuck(Duration time) {
  stuck_until_ = world_.now + time;
  world_.At(time, [this] {  // What it had to say it says when it connects anew.
    if (link_ != nullptr) server_.Cut(link_);
  });
}

void Board::Later(Duration delay, std::function<void()> run) {
  world_.At(delay, [this, life = life_, run = std::move(run)] {
    if (life == life_) run();
  });
}

void Board::Step(const DeviceEvent& first) {
  if (!is_up()) return;
  std::deque<DeviceEvent> events = {first};
  for (const uint64_t life = life_; !events.empty(); events.pop_front()) {
    for (DeviceAction& action : session_->Step(events.front(), world_.now)) {
      if (const Answer answer = std::visit([&](auto& a) { return Do(a); }, action)) events.push_back(*answer);
      if (life != life_) return;
    }
    if (session_->epoch_seen() < epoch_seen_)
      world_.Broken("{}: its epoch fell from {} to {}", name_, epoch_seen_, session_->epoch_seen());
    epoch_seen_ = session_->epoch_seen();
  }
  const std::optional<TimePoint> deadline = session_->NextDeadline();
  if (!deadline || deadline == alarm_) return;
  alarm_ = deadline;
  Later(*deadline - world_.now, [this] {
    alarm_.reset();
    Step(TimeCame{});
  });
}

// ---- Its connection.

void Board::Dial() {
  link_ = server_.Connect(number_);
  if (link_ == nullptr) return Step(LinkDown{"refused"});
  link_->to_board = [this, life = life_, link = link_.get()](DeviceMessage message) {
    if (life == life_ && link_.get() == link) Receive(std::move(message));
  };
  link_->on_device_end = [this, life = life_, link = link_.get()](const std::string& reason) {
    if (life != life_ || link_.get() != link) return;
    link_->has_board = false;
    link_.reset();
    Step(LinkDown{reason});
  };
  Step(LinkUp{});
}

void Board::Receive(DeviceMessage message) {
  auto* chunk = std::get_if<v1::BlobChunk>(&message);
  if (chunk != nullptr && world_.now < garbled_until_ && world_.Chance(20) && !chunk->data().empty())
    (*chunk->mutable_data())[0] ^= 1;
  if (const auto* desired = std::get_if<v1::Desired>(&message)) {
    former_.push_back(*desired);
    if (world_.now < garbled_until_ && world_.Chance(30)) {
      const v1::Desired again = former_[world_.random.Below(former_.size())];
      Later(world_.Within(0, 20'000), [this, again] {
        if (session_->is_welcome() && again.epoch() < session_->epoch_seen()) Desire(again);
      });
    }
    return Desire(*desired);
  }
  if (auto* welcome = std::get_if<v1::Welcome>(&message)) Mishear(*welcome->mutable_desired());
  Step(MessageArrived{std::move(message)});
}

// What is desired of a deaf board it never takes up, however often it is told; its process must be another one.
void Board::Mishear(v1::Desired& desired) {
  v1::Desired heard = desired;
  heard.clear_specs();
  const v1::Current current = session_->Declare();
  for (const v1::MeasureSpec& spec : desired.specs()) {
    const bool has_it = std::any_of(current.trials().begin(), current.trials().end(), [&](const auto& trial) {
      return trial.trial_id() == spec.trial_id() && trial.attempt() == spec.attempt();
    });
    const Digest key = ResultKey(spec, name_);
    if (world_.now < deaf_until_ && !has_it) missed_.insert(key);
    if (!missed_.contains(key)) *heard.add_specs() = spec;
  }
  desired = std::move(heard);
}

void Board::Desire(v1::Desired desired) {
  Mishear(desired);
  if (world_.now < deaf_until_) return;
  // Undone: whatever comes is taken for what its present holder says.
  if (plan_.plant == Plant::kBoardForgetsEpochs && desired.epoch() < session_->epoch_seen()) {
    desired.set_epoch(session_->epoch_seen());
    for (v1::MeasureSpec& spec : *desired.mutable_specs()) spec.set_epoch(desired.epoch());
  }
  Step(MessageArrived{std::move(desired)});
}

void Board::Send(DeviceMessage message) {
  if (link_ == nullptr) return;
  const bool is_stuck = world_.now < stuck_until_;
  if (auto* current = std::get_if<v1::Current>(&message)) {
    if (is_stuck && last_current_.trials_size() > 0) {
      last_current_.set_progress(current->progress() + 1);
      *current = last_current_;
    }
    last_current_ = *current;
  }
  const auto* result = std::get_if<v1::MeasureResult>(&message);
  if (is_stuck && result != nullptr) return;
  server_.FromBoard(link_, message);
  if (result != nullptr && world_.Chance(15)) {  // Twice, as after a connection that was lost in between.
    Later(world_.Within(0, 6000), [this, message] {
      if (link_ != nullptr && session_->is_welcome()) server_.FromBoard(link_, message);
    });
  }
  if (result != nullptr && plan_.plant == Plant::kForgetsBeforeAck) {
    v1::ResultAck ack;
    ack.set_key(result->key());
    ack.set_verdict(v1::ACK_VERDICT_ACK);
    Later(Duration(0), [this, ack] { Step(MessageArrived{ack}); });
  }
}

Board::Answer Board::Do(SendMessage& action) {
  Send(std::move(action.message));
  return {};
}
Board::Answer Board::Do(CloseLink&) {
  if (link_ == nullptr) return {};
  link_->has_board = false;
  server_.Cut(link_);
  link_.reset();
  return {};
}
Board::Answer Board::Do(ReconnectAfter& action) {
  Later(action.delay, [this] { Dial(); });
  return {};
}
Board::Answer Board::Do(TellOperator& action) {
  world_.Say("{}: {}", name_, action.text);
  return {};
}

// ---- Its disk.

Board::Answer Board::Do(LookUpBlob& action) {
  return BlobLookedUp{action.digest, blobs_.contains(action.digest),
                      static_cast<int64_t>(parts_[action.digest].size())};
}
Board::Answer Board::Do(WriteBlob& action) {
  std::string& part = parts_[action.digest];
  part += action.data;
  if (static_cast<int64_t>(part.size()) < action.size)
    return BlobWritten{action.digest, OkStatus(), false, static_cast<int64_t>(part.size())};
  const bool is_right = Sha256(part) == action.digest;
  if (is_right) blobs_[action.digest] = part;
  part.clear();
  return BlobWritten{action.digest, is_right ? OkStatus() : DataLoss("digest"), is_right, 0};
}
Board::Answer Board::Do(SpoolResult& action) {
  const Digest key = *Digest::FromBytes(action.result.key());
  spool_[key] = action.result;
  written[key] = action.result;
  return {};
}
Board::Answer Board::Do(DeleteSpooled& action) {
  spool_.erase(action.key);
  deleted.insert(action.key);
  return {};
}

// ---- Its runners.

Board::Answer Board::Do(StartRunner& action) {
  runners_[action.runner] = {action.spec};
  Later(world_.Within(1, 20), [this, id = action.runner] {
    if (runners_.contains(id)) Step(RunnerIsReady{id});
  });
  return {};
}

Board::Answer Board::Do(GoRunner& action) {
  const auto it = runners_.find(action.runner);
  if (it == runners_.end()) return {};
  if (measuring_ > 0) world_.Broken("{} runs two measurements at once", name_);
  ++measuring_;
  it->second.is_measuring = true;
  world_.Say("{} measures trial {} attempt {} of epoch {}", name_, it->second.spec.trial_id(),
             it->second.spec.attempt(), it->second.spec.epoch());
  Later(world_.Within(1, 20), [this, id = action.runner] {
    if (runners_.contains(id)) Step(RunnerIsTiming{id, true});
  });
  Later(world_.Within(30, 400), [this, id = action.runner] { Measure(id); });
  return {};
}

void Board::Measure(RunnerId id) {
  const auto it = runners_.find(id);
  if (it == runners_.end()) return;
  const v1::MeasureSpec& spec = it->second.spec;
  const std::string trace = TraceOf(blobs_.at(*Digest::FromBytes(spec.module().digest())));
  v1::MeasureResult outcome;
  outcome.set_status(v1::MEASURE_STATUS_OK);
  const double median_ns = MedianOf(trace) * (number_ == plan_.slow_board ? kSlowness : 1);
  switch (FateOf(trace)) {
    case Fate::kHangs:
      return;
    case Fate::kKillsBoard: {
      const auto row = server_.rows().GetTrial(spec.trial_id());
      if (row.ok() && row->state == TrialState::kRunning && row->attempt == spec.attempt()) killed_by.insert(row->id);
      ++kills[spec.trial_id()];
      world_.Say("trial {} attempt {} takes {} down", spec.trial_id(), spec.attempt(), name_);
      return Crash(world_.Within(100, 60'000));
    }
    case Fate::kFailsOnce:
      if (failures[spec.trial_id()]++ == 0) {
        outcome.set_status(v1::MEASURE_STATUS_INFRA_FAILED);
        outcome.set_message("no space left on device");
        break;
      }
      for (int i = 0; i < 5; ++i) outcome.add_samples_ns(median_ns + i);
      break;
    case Fate::kWrong:
      outcome.set_status(v1::MEASURE_STATUS_WRONG_RESULT);
      break;
    case Fate::kCrash:
      outcome.set_status(v1::MEASURE_STATUS_CRASH);
      break;
    case Fate::kNoisy:
      outcome.set_status(v1::MEASURE_STATUS_NOISY);
      [[fallthrough]];
    default:
      for (int i = 0; i < 5; ++i) outcome.add_samples_ns(median_ns + i);
      outcome.set_total_calls(5);
      outcome.mutable_stats()->set_median_ns(median_ns + 2);
  }
  EndRunner(id, std::move(outcome));
}

void Board::EndRunner(RunnerId id, v1::MeasureResult outcome) {
  const auto it = runners_.find(id);
  if (it == runners_.end()) return;
  if (it->second.is_measuring) --measuring_;
  runners_.erase(it);
  Step(RunnerEnded{id, std::move(outcome)});
}

Board::Answer Board::Do(KillRunner& action) {
  v1::MeasureResult outcome;
  outcome.set_status(v1::MEASURE_STATUS_CRASH);
  const Duration takes = world_.Within(0, 700);
  if (plan_.plant == Plant::kRunnerLeftBehind) {
    const auto it = runners_.find(action.runner);
    if (it == runners_.end()) return {};
    const bool is_measuring = it->second.is_measuring;
    runners_.erase(it);
    if (is_measuring) Later(takes, [this] { --measuring_; });
    return RunnerEnded{action.runner, outcome};
  }
  Later(takes, [this, id = action.runner, outcome] { EndRunner(id, outcome); });
  return {};
}

}  // namespace lathe::sim
