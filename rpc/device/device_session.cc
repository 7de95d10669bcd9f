#include "rpc/device/device_session.h"

#include <fmt/format.h>

#include <algorithm>

namespace lathe {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kWelcomeWithin = seconds(5);
// Longer than a server that was only stopped is given: its devices need not come back all at once.
constexpr Duration kHearWithin = seconds(60);
constexpr Duration kFirstBackoff = milliseconds(500);
constexpr Duration kLastBackoff = seconds(30);
constexpr Duration kDefaultHeartbeat = seconds(5);
constexpr Duration kStartWithin = seconds(10);
constexpr Duration kEndGrace = seconds(5);  // Beyond the wall limit, which the runner keeps itself.
constexpr Duration kCoolWithin = seconds(180);
constexpr Duration kLookAgainAfter = seconds(2);
constexpr int kMaxWrongContents = 3;
constexpr size_t kMaxAcknowledged = 1024;
constexpr size_t kMaxDetailBytes = 8 << 10;

v1::MeasureResult Outcome(v1::MeasureStatus status, std::string message) {
  v1::MeasureResult outcome;
  outcome.set_status(status);
  outcome.set_message(std::move(message));
  return outcome;
}

// nullopt for anything but 32 bytes.
std::optional<Digest> AsDigest(const std::string& raw) {
  const StatusOr<Digest> digest = Digest::FromBytes(raw);
  return digest.ok() ? std::optional(*digest) : std::nullopt;
}

Digest DigestOf(const v1::BlobRef& ref) { return *Digest::FromBytes(ref.digest()); }  // Of a checked spec.

template <typename Use>
void ForEachBlob(const v1::MeasureSpec& spec, Use&& use) {
  use(DigestOf(spec.module()), spec.module().size());
  if (spec.has_reference()) use(DigestOf(spec.reference()), spec.reference().size());
}

}  // namespace

DeviceSession::DeviceSession(DeviceSessionOptions options, Random random)
    : options_(std::move(options)), random_(random), backoff_(kFirstBackoff), heartbeat_(kDefaultHeartbeat) {
  for (const v1::MeasureResult& result : options_.spooled) {
    const std::optional<Digest> key = AsDigest(result.key());
    if (key && spool_.emplace(*key, result).second) spool_bytes_ += static_cast<int64_t>(result.ByteSizeLong());
  }
}

std::vector<DeviceAction> DeviceSession::Step(const DeviceEvent& event, TimePoint now) {
  Actions actions;
  std::visit([&](const auto& e) { On(e, now, actions); }, event);
  Advance(now, actions);
  return actions;
}

bool DeviceSession::is_quiet() const {
  return std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.is_timing; });
}

// ---- The link.

void DeviceSession::On(const LinkUp&, TimePoint now, Actions& actions) {
  link_ = Link::kGreeting;
  welcome_deadline_ = now + kWelcomeWithin;
  v1::Hello hello;
  hello.set_proto_min(kDeviceProtocolMin);
  hello.set_proto_max(kDeviceProtocolMax);
  hello.set_build_id(options_.build_id);
  for (const std::string& feature : options_.features) hello.add_features(feature);
  *hello.mutable_facts() = options_.facts;
  hello.set_instance(options_.instance);
  hello.set_epoch_seen(epoch_seen_);
  for (const auto& [key, result] : spool_) hello.add_spooled_keys(std::string(key.raw()));
  *hello.mutable_current() = Declare();
  actions.push_back(SendMessage{std::move(hello)});
}

void DeviceSession::On(const LinkDown& event, TimePoint, Actions& actions) {
  if (link_ != Link::kDown) actions.push_back(TellOperator{"connection lost: " + event.reason});
  WaitAndRedial(actions);
}

void DeviceSession::DropLink(const std::string& reason, bool is_hopeless, Actions& actions) {
  if (is_hopeless) backoff_ = kLastBackoff;
  actions.push_back(TellOperator{reason});
  actions.push_back(CloseLink{reason});
  WaitAndRedial(actions);
}

void DeviceSession::WaitAndRedial(Actions& actions) {
  link_ = Link::kDown;
  welcome_deadline_ = heartbeat_at_ = hear_by_ = std::nullopt;
  last_declared_.clear();
  chunks_.clear();
  for (auto& [digest, blob] : blobs_) {
    blob.next = blob.held;
    if (blob.phase == BlobPhase::kAsked) blob.phase = BlobPhase::kMissing;
  }
  const auto delay = Duration(static_cast<int64_t>(random_.Unit() * static_cast<double>(backoff_.count())));
  actions.push_back(ReconnectAfter{delay});
  backoff_ = std::min(backoff_ * 2, kLastBackoff);
}

void DeviceSession::On(const MessageArrived& event, TimePoint now, Actions& actions) {
  if (link_ == Link::kDown) return;  // Was on its way when the link was closed.
  if (hear_by_) hear_by_ = now + kHearWithin;
  const DeviceMessage& message = event.message;
  if (const auto* welcome = std::get_if<v1::Welcome>(&message)) return Accept(*welcome, now, actions);
  if (const auto* mismatch = std::get_if<v1::VersionMismatch>(&message))
    return DropLink(mismatch->message(), true, actions);
  if (const auto* refused = std::get_if<v1::Refused>(&message)) return DropLink(refused->message(), false, actions);
  if (const auto* unknown = std::get_if<UnknownMessage>(&message)) {
    v1::Unsupported answer;
    answer.set_type(unknown->type);
    actions.push_back(SendMessage{std::move(answer)});
    return;
  }
  if (std::holds_alternative<v1::Unsupported>(message)) return;
  if (link_ != Link::kWelcome) {
    return DropLink(
        fmt::format("greet server: {} arrived before Welcome; connection closed", DeviceMessageName(message)), false,
        actions);
  }
  if (const auto* desired = std::get_if<v1::Desired>(&message))
    Accept(*desired, now, actions);
  else if (const auto* chunk = std::get_if<v1::BlobChunk>(&message))
    Accept(*chunk, now, actions);
  else if (const auto* missing = std::get_if<v1::BlobUnavailable>(&message))
    Accept(*missing, now, actions);
  else if (const auto* ack = std::get_if<v1::ResultAck>(&message))
    Accept(*ack, now, actions);
  else
    DropLink(fmt::format("device link: a server does not send {}; connection closed", DeviceMessageName(message)),
             false, actions);
}

void DeviceSession::Accept(const v1::Welcome& message, TimePoint now, Actions& actions) {
  if (link_ == Link::kWelcome) return;
  if (message.version() < kDeviceProtocolMin || message.version() > kDeviceProtocolMax) {
    return DropLink(
        fmt::format("greet server: it chose protocol version {}, this device speaks {} to {}; upgrade the older side",
                    message.version(), kDeviceProtocolMin, kDeviceProtocolMax),
        true, actions);
  }
  link_ = Link::kWelcome;
  welcome_deadline_ = std::nullopt;
  backoff_ = kFirstBackoff;
  if (message.heartbeat_ns() > 0)
    heartbeat_ = std::clamp<Duration>(Duration(message.heartbeat_ns()), milliseconds(100), seconds(10));
  const auto& agreed = message.features();
  if (std::find(agreed.begin(), agreed.end(), kAnswersFeature) != agreed.end()) hear_by_ = now + kHearWithin;
  actions.push_back(TellOperator{"connected"});
  for (const auto& [key, result] : spool_) actions.push_back(SendMessage{result});
  if (message.has_desired()) Accept(message.desired(), now, actions);
}

// ---- What should run.

void DeviceSession::Accept(const v1::Desired& message, TimePoint now, Actions& actions) {
  const Status status = CheckDesired(message);
  if (!status.ok()) return DropLink(status.message() + "; connection closed", false, actions);
  if (message.epoch() < epoch_seen_) return;  // Rule 1: somebody who lost the device.
  if (message.epoch() > epoch_seen_) acknowledged_.clear();
  epoch_seen_ = message.epoch();
  desired_ = message;
  Reconcile(now, actions);
}

void DeviceSession::Reconcile(TimePoint now, Actions& actions) {
  std::vector<Digest> wanted;
  for (const v1::MeasureSpec& spec : desired_.specs()) wanted.push_back(ResultKey(spec, options_.facts.name()));
  const auto is_cancelled = [this](int64_t trial) {
    return std::find(desired_.cancel().begin(), desired_.cancel().end(), trial) != desired_.cancel().end();
  };
  std::vector<Digest> ends;
  for (const Slot& slot : slots_) {
    const bool is_wanted = std::find(wanted.begin(), wanted.end(), slot.key) != wanted.end();
    const bool cancels = slot.spec.epoch() == epoch_seen_ && is_cancelled(slot.spec.trial_id());
    if (slot.phase != Phase::kEnding && (!is_wanted || cancels)) ends.push_back(slot.key);
  }
  for (const Digest& key : ends) {
    Slot& slot = *std::find_if(slots_.begin(), slots_.end(), [&](const Slot& s) { return s.key == key; });
    const bool cancels = slot.spec.epoch() == epoch_seen_ && is_cancelled(slot.spec.trial_id());
    End(slot, cancels ? std::optional(Outcome(v1::MEASURE_STATUS_CANCELLED, "cancelled by the server")) : std::nullopt,
        now, actions);
  }
  for (int i = 0; i < desired_.specs_size(); ++i) {
    const v1::MeasureSpec& spec = desired_.specs(i);
    const bool is_here =
        std::any_of(slots_.begin(), slots_.end(), [&](const Slot& slot) { return slot.key == wanted[i]; });
    const bool has_run = spool_.contains(wanted[i]) ||
                         std::find(acknowledged_.begin(), acknowledged_.end(), wanted[i]) != acknowledged_.end();
    if (!is_here && !has_run && !is_cancelled(spec.trial_id())) AddSlot(spec, wanted[i], actions);
  }
  const auto place = [&](const Slot& slot) { return std::find(wanted.begin(), wanted.end(), slot.key); };
  std::stable_sort(slots_.begin(), slots_.end(), [&](const Slot& a, const Slot& b) { return place(a) < place(b); });
}

void DeviceSession::AddSlot(const v1::MeasureSpec& spec, const Digest& key, Actions& actions) {
  slots_.push_back({.spec = spec, .key = key});
  ForEachBlob(spec, [&](const Digest& digest, int64_t size) {
    Blob& blob = blobs_[digest];
    if (blob.users++ > 0) return;
    blob.size = size;
    actions.push_back(LookUpBlob{digest});
  });
}

void DeviceSession::End(Slot& slot, std::optional<v1::MeasureResult> last_words, TimePoint now, Actions& actions) {
  if (slot.phase == Phase::kEnding) return;
  if (slot.runner != 0) {
    slot.phase = Phase::kEnding;
    slot.is_timing = false;
    slot.deadline = std::nullopt;
    slot.last_words = std::move(last_words);
    actions.push_back(KillRunner{slot.runner});
    return;
  }
  if (last_words) Report(slot, *std::move(last_words), now, actions);
  Remove(slot.key, actions);
}

void DeviceSession::Report(const Slot& slot, v1::MeasureResult outcome, TimePoint now, Actions& actions) {
  outcome.set_key(std::string(slot.key.raw()));
  outcome.set_trial_id(slot.spec.trial_id());
  outcome.set_attempt(slot.spec.attempt());
  outcome.set_epoch(slot.spec.epoch());
  outcome.set_module_digest(slot.spec.module().digest());
  outcome.set_policy_version(slot.spec.policy().version());
  outcome.set_device(options_.facts.name());
  outcome.set_idle_ns(slot.idle_ns);
  outcome.set_measure_ns(slot.go_at == TimePoint{} ? 0 : (now - slot.go_at).count());
  if (outcome.detail().size() > kMaxDetailBytes)
    outcome.mutable_detail()->erase(0, outcome.detail().size() - kMaxDetailBytes);
  spool_[slot.key] = outcome;
  spool_bytes_ += static_cast<int64_t>(outcome.ByteSizeLong());
  disk_writes_.push_back(SpoolResult{outcome});
  if (link_ == Link::kWelcome) actions.push_back(SendMessage{std::move(outcome)});
}

void DeviceSession::Remove(const Digest& key, Actions& actions) {
  const auto it = std::find_if(slots_.begin(), slots_.end(), [&](const Slot& slot) { return slot.key == key; });
  if (it == slots_.end()) return;
  ForEachBlob(it->spec, [&](const Digest& digest, int64_t) {
    const auto blob = blobs_.find(digest);
    if (--blob->second.users > 0) return;
    actions.push_back(ReleaseBlob{digest});
    blobs_.erase(blob);
  });
  slots_.erase(it);
}

void DeviceSession::NoLongerDesired(const Digest& key) {
  v1::Desired rest = desired_;
  rest.clear_specs();
  for (const v1::MeasureSpec& spec : desired_.specs())
    if (ResultKey(spec, options_.facts.name()) != key) *rest.add_specs() = spec;
  desired_ = std::move(rest);
}

void DeviceSession::Accept(const v1::ResultAck& message, TimePoint, Actions&) {
  const std::optional<Digest> key = AsDigest(message.key());
  if (!key) return;
  const auto it = spool_.find(*key);
  if (it == spool_.end()) return;
  spool_bytes_ -= static_cast<int64_t>(it->second.ByteSizeLong());
  // A server whose power was cut may not know that it gave this out, and gives it out once more under the same name:
  // then it is run again, but not because it was desired before.
  const bool may_come_again = message.verdict() == v1::ACK_VERDICT_STALE;
  if (may_come_again)
    NoLongerDesired(*key);
  else if (it->second.epoch() == epoch_seen_)
    acknowledged_.push_back(*key);
  if (acknowledged_.size() > kMaxAcknowledged) acknowledged_.pop_front();
  spool_.erase(it);
  disk_writes_.push_back(DeleteSpooled{*key});
}

// ---- Blobs.

void DeviceSession::On(const BlobLookedUp& event, TimePoint, Actions&) {
  const auto it = blobs_.find(event.digest);
  if (it == blobs_.end() || it->second.phase != BlobPhase::kLookingUp) return;
  it->second.phase = event.is_complete ? BlobPhase::kComplete : BlobPhase::kMissing;
  it->second.held = it->second.next = event.held_bytes;
}

void DeviceSession::Accept(const v1::BlobChunk& message, TimePoint, Actions& actions) {
  if (message.zstd() || message.data().size() > kMaxBlobData) {
    return DropLink(fmt::format("receive blob: {}; connection closed",
                                message.zstd() ? "a compressed chunk was not agreed upon" : "chunk above 64 KiB"),
                    false, actions);
  }
  chunks_.push_back(message);
}

void DeviceSession::TakeChunks(Actions& actions) {
  int64_t credit = 0;
  while (!chunks_.empty()) {
    v1::BlobChunk chunk = std::move(chunks_.front());
    chunks_.pop_front();
    credit += static_cast<int64_t>(chunk.data().size());
    const std::optional<Digest> digest = AsDigest(chunk.digest());
    const auto it = digest ? blobs_.find(*digest) : blobs_.end();
    if (it == blobs_.end() || it->second.phase != BlobPhase::kAsked || chunk.offset() < it->second.next) continue;
    Blob& blob = it->second;
    if (chunk.offset() > blob.next) {  // A hole: ask again from where it begins.
      blob.phase = BlobPhase::kMissing;
      continue;
    }
    blob.next += static_cast<int64_t>(chunk.data().size());
    actions.push_back(WriteBlob{*digest, chunk.offset(), std::move(*chunk.mutable_data()), blob.size});
  }
  if (credit > 0 && link_ == Link::kWelcome) {
    v1::BlobCredit message;
    message.set_bytes(credit);
    actions.push_back(SendMessage{std::move(message)});
  }
}

void DeviceSession::On(const BlobWritten& event, TimePoint now, Actions& actions) {
  const auto it = blobs_.find(event.digest);
  if (it == blobs_.end()) return;
  Blob& blob = it->second;
  blob.held = event.held_bytes;
  if (event.status.ok()) {
    if (event.is_complete) blob.phase = BlobPhase::kComplete;
    return;
  }
  if (event.status.code() == StatusCode::kDataLoss && ++blob.wrong < kMaxWrongContents) {
    blob.phase = BlobPhase::kMissing;
    blob.held = blob.next = 0;
    return;
  }
  FailUsers(event.digest, event.status.message(), now, actions);
}

void DeviceSession::Accept(const v1::BlobUnavailable& message, TimePoint now, Actions& actions) {
  const std::optional<Digest> digest = AsDigest(message.digest());
  if (digest) FailUsers(*digest, "the server cannot send it: " + message.message(), now, actions);
}

void DeviceSession::FailUsers(const Digest& blob, const std::string& message, TimePoint now, Actions& actions) {
  std::vector<Digest> users;
  for (const Slot& slot : slots_) {
    bool uses = false;
    ForEachBlob(slot.spec, [&](const Digest& digest, int64_t) { uses = uses || digest == blob; });
    if (uses && slot.phase == Phase::kFetching) users.push_back(slot.key);
  }
  for (const Digest& key : users) {
    Slot& slot = *std::find_if(slots_.begin(), slots_.end(), [&](const Slot& s) { return s.key == key; });
    End(slot, Outcome(v1::MEASURE_STATUS_INFRA_FAILED, fmt::format("fetch blob {}: {}", blob.ToHex(), message)), now,
        actions);
  }
}

void DeviceSession::AskForBlobs(Actions& actions) {
  v1::NeedBlobs message;
  for (auto& [digest, blob] : blobs_) {
    if (blob.phase != BlobPhase::kMissing) continue;
    blob.phase = BlobPhase::kAsked;
    v1::NeedBlobs::Need* need = message.add_blobs();
    need->set_digest(std::string(digest.raw()));
    need->set_offset(blob.next);
  }
  if (message.blobs_size() > 0) actions.push_back(SendMessage{std::move(message)});
}

// ---- Runners.

DeviceSession::Slot* DeviceSession::FindRunner(RunnerId runner) {
  const auto it = std::find_if(slots_.begin(), slots_.end(), [&](const Slot& slot) { return slot.runner == runner; });
  return it == slots_.end() ? nullptr : &*it;
}

void DeviceSession::On(const RunnerIsReady& event, TimePoint, Actions&) {
  Slot* slot = FindRunner(event.runner);
  ++progress_;
  if (slot == nullptr || slot->phase != Phase::kStarting) return;
  slot->phase = Phase::kReady;
  slot->deadline = std::nullopt;
}

void DeviceSession::On(const RunnerWent& event, TimePoint now, Actions&) {
  Slot* slot = FindRunner(event.runner);
  if (slot == nullptr || slot->phase != Phase::kMeasuring) return;
  slot->go_at = now;
  slot->idle_ns = last_end_ ? (now - *last_end_).count() : -1;
}

void DeviceSession::On(const RunnerIsTiming& event, TimePoint now, Actions&) {
  Slot* slot = FindRunner(event.runner);
  ++progress_;
  if (slot == nullptr || slot->phase != Phase::kMeasuring) return;
  slot->has_timed = true;
  slot->is_timing = event.is_timing;
  if (!event.is_timing) NoteTimingEnd(now);
}

void DeviceSession::NoteTimingEnd(TimePoint now) { last_end_ = slots_.size() >= 2 ? std::optional(now) : std::nullopt; }

void DeviceSession::On(const RunnerTicked&, TimePoint, Actions&) { ++progress_; }

void DeviceSession::On(const RunnerEnded& event, TimePoint now, Actions& actions) {
  Slot* slot = FindRunner(event.runner);
  ++progress_;
  if (slot == nullptr) return;
  if (slot->go_at != TimePoint{} && (!slot->has_timed || slot->is_timing)) NoteTimingEnd(now);
  if (slot->phase == Phase::kEnding) {
    if (slot->last_words) Report(*slot, *slot->last_words, now, actions);
  } else {
    v1::MeasureResult outcome = event.outcome;
    if (slot->phase == Phase::kMeasuring) NoteBoard(*slot, outcome);
    Report(*slot, std::move(outcome), now, actions);
  }
  Remove(slot->key, actions);
}

bool DeviceSession::HasItsBlobs(const Slot& slot) const {
  bool all = true;
  ForEachBlob(slot.spec,
              [&](const Digest& digest, int64_t) { all = all && blobs_.at(digest).phase == BlobPhase::kComplete; });
  return all;
}

bool DeviceSession::SpoolIsFull() const {
  return spool_.size() >= options_.spool_limit || spool_bytes_ >= options_.spool_limit_bytes;
}

void DeviceSession::StartRunners(TimePoint now, Actions& actions) {
  for (Slot& slot : slots_) {
    if (slot.phase != Phase::kFetching || !HasItsBlobs(slot) || SpoolIsFull()) continue;
    slot.phase = Phase::kStarting;
    slot.runner = next_runner_++;
    slot.deadline = now + kStartWithin;
    actions.push_back(StartRunner{slot.runner, slot.spec});
  }
}

void DeviceSession::GoIfFree(TimePoint now, Actions& actions) {
  // A runner that is being killed may still run: wait until it is gone.
  const bool is_busy = std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) {
    return slot.phase == Phase::kMeasuring || slot.phase == Phase::kEnding;
  });
  if (is_busy) return;
  const auto it =
      std::find_if(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.phase == Phase::kReady; });
  if (it == slots_.end() || MustCoolDown(*it, now, actions)) return;
  it->phase = Phase::kMeasuring;
  it->at_go = board_;
  it->go_at = now;
  it->idle_ns = last_end_ ? (now - *last_end_).count() : -1;
  it->deadline =
      now + Duration(std::min<int64_t>(it->spec.wall_limit_ns(), Duration(std::chrono::hours(1)).count())) + kEndGrace;
  actions.push_back(GoRunner{it->runner});
}

// A board that does not cool down measures all the same, and says so.
bool DeviceSession::MustCoolDown(Slot& slot, TimePoint now, Actions& actions) {
  const std::optional<std::string> why = WhyNotYet(board_, options_.start_below_c);
  if (why && !slot.waits_since) {
    slot.waits_since = now;
    actions.push_back(TellOperator{"waits to measure: " + *why});
  }
  slot.began_hot = why && now - *slot.waits_since >= kCoolWithin;
  if (!why || slot.began_hot) {
    look_again_at_ = std::nullopt;
    return false;
  }
  if (!look_again_at_ || *look_again_at_ <= now) {
    look_again_at_ = now + kLookAgainAfter;
    ++progress_;  // It has not hung.
  }
  return true;
}

// Equal words, as they are stored once.
void DeviceSession::NoteBoard(const Slot& slot, v1::MeasureResult& outcome) const {
  v1::MeasureEnv& env = *outcome.mutable_env();
  env.set_temperature_before_c(slot.at_go.temperature_c.value_or(0));
  env.set_temperature_after_c(board_.temperature_c.value_or(0));
  if (slot.began_hot) env.add_degraded("the board was too hot to begin, and did not cool down in 180 s");
  if (!WasHeldBack(slot.at_go, board_)) return;
  env.add_degraded("heat, current or the supply held the clock back");
  // Another run may have better luck. A bound from a clock that was held back might give up a good candidate.
  if (outcome.status() == v1::MEASURE_STATUS_OK || outcome.status() == v1::MEASURE_STATUS_CENSORED)
    outcome.set_status(v1::MEASURE_STATUS_NOISY);
}

// ---- Time.

void DeviceSession::On(const TimeCame&, TimePoint now, Actions& actions) {
  if (welcome_deadline_ && *welcome_deadline_ <= now)
    DropLink("greet server: no Welcome within 5 s; connection closed", false, actions);
  if (look_again_at_ && *look_again_at_ <= now) look_again_at_ = std::nullopt;
  if (hear_by_ && *hear_by_ <= now)
    DropLink("device link: nothing from the server for 60 s; connection closed", false, actions);
  for (Slot& slot : slots_) {
    if (!slot.deadline || *slot.deadline > now) continue;
    if (slot.phase == Phase::kStarting) {
      End(slot, Outcome(v1::MEASURE_STATUS_INFRA_FAILED, "start runner: not ready within 10 s"), now, actions);
    } else {
      End(slot,
          Outcome(v1::MEASURE_STATUS_RUN_TIMEOUT, fmt::format("run: not ended 5 s after its limit of {:.3g} s; killed",
                                                              static_cast<double>(slot.spec.wall_limit_ns()) * 1e-9)),
          now, actions);
    }
  }
}

std::optional<TimePoint> DeviceSession::NextDeadline() const {
  std::optional<TimePoint> next;
  const auto consider = [&next](const std::optional<TimePoint>& time) {
    if (time && (!next || *time < *next)) next = time;
  };
  consider(welcome_deadline_);
  consider(hear_by_);
  consider(heartbeat_at_);
  consider(look_again_at_);
  for (const Slot& slot : slots_) consider(slot.deadline);
  return next;
}

// ---- The end of every step.

void DeviceSession::Advance(TimePoint now, Actions& actions) {
  if (!is_quiet()) {
    for (DeviceAction& write : disk_writes_) actions.push_back(std::move(write));
    disk_writes_.clear();
    TakeChunks(actions);
    Reconcile(now, actions);  // A slot that ended may have made room for what is desired again.
    if (link_ == Link::kWelcome) AskForBlobs(actions);
    StartRunners(now, actions);
    GoIfFree(now, actions);
  }
  DeclareIfChanged(now, actions);
}

v1::Current DeviceSession::Declare() const {
  static constexpr v1::TrialPhase kPhases[] = {v1::TRIAL_PHASE_FETCHING, v1::TRIAL_PHASE_STARTING,
                                               v1::TRIAL_PHASE_READY, v1::TRIAL_PHASE_MEASURING,
                                               v1::TRIAL_PHASE_ENDING};
  v1::Current current;
  current.set_epoch_seen(epoch_seen_);
  for (const Slot& slot : slots_) {
    v1::Current::Trial* trial = current.add_trials();
    trial->set_trial_id(slot.spec.trial_id());
    trial->set_attempt(slot.spec.attempt());
    trial->set_epoch(slot.spec.epoch());
    trial->set_phase(kPhases[static_cast<int>(slot.phase)]);
  }
  current.set_spooled(static_cast<int32_t>(spool_.size()));
  return current;
}

void DeviceSession::DeclareIfChanged(TimePoint now, Actions& actions) {
  if (link_ != Link::kWelcome) return;
  v1::Current current = Declare();
  std::string declared = current.SerializeAsString();
  if (declared == last_declared_ && heartbeat_at_ && now < *heartbeat_at_) return;
  last_declared_ = std::move(declared);
  heartbeat_at_ = now + heartbeat_;
  current.set_progress(progress_);
  current.set_free_disk_bytes(free_disk_bytes_);
  current.set_temperature_c(board_.temperature_c.value_or(0));
  actions.push_back(SendMessage{std::move(current)});
}

}  // namespace lathe
