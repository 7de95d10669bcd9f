// The device's side of one farm: what to fetch, start, measure, end, send. step(event, now) -> actions; no I/O, no
// thread, no clock. Rules: docs/formats/device_protocol.md. Lives as long as the process; connections come and go.
//
//   fetching -> starting -> ready -> measuring -> (result)      at most one runner measures, one more waits ready
//                  any of them -> ending -> (nothing, or a result)
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "rpc/device/board_condition.h"
#include "rpc/device_message.h"
#include "support/clock.h"
#include "support/digest.h"
#include "support/random.h"

namespace lathe {

using RunnerId = uint64_t;  // Never used twice by one session.

// Events.
struct LinkUp {};
struct LinkDown {
  std::string reason;
};  // Closed, or dialling failed.
struct MessageArrived {
  DeviceMessage message;
};
struct BlobLookedUp {
  Digest digest;
  bool is_complete;
  int64_t held_bytes;
};  // Answers LookUpBlob.
// Answers WriteBlob. `held_bytes` are in the unfinished file now. DataLoss: the content was wrong and is gone.
struct BlobWritten {
  Digest digest;
  Status status;
  bool is_complete;
  int64_t held_bytes;
};
struct RunnerIsReady {
  RunnerId runner;
};  // Started, waits for Go.
struct RunnerWent {
  RunnerId runner;
};  // GoRunner was done; only for the idle time that results report.
struct RunnerIsTiming {
  RunnerId runner;
  bool is_timing;
};  // Entered or left its timed window.
struct RunnerTicked {
  RunnerId runner;
};  // Any other sign of progress.
// Its process group is gone. `outcome` has the status, samples and texts; the session fills in what identifies it.
struct RunnerEnded {
  RunnerId runner;
  v1::MeasureResult outcome;
};
struct TimeCame {};
using DeviceEvent = std::variant<LinkUp, LinkDown, MessageArrived, BlobLookedUp, BlobWritten, RunnerIsReady, RunnerWent,
                                 RunnerIsTiming, RunnerTicked, RunnerEnded, TimeCame>;

// Actions, to be done in order. Events they cause are stepped after all of them.
struct SendMessage {
  DeviceMessage message;
};  // All of the device's are control messages.
struct CloseLink {
  std::string reason;
};  // No LinkDown follows.
struct ReconnectAfter {
  Duration delay;
};  // Dial then; the answer is LinkUp or LinkDown.
struct LookUpBlob {
  Digest digest;
};  // And keep it from being evicted until ReleaseBlob.
struct ReleaseBlob {
  Digest digest;
};
struct WriteBlob {
  Digest digest;
  int64_t offset;
  std::string data;
  int64_t size;
};
struct StartRunner {
  RunnerId runner;
  v1::MeasureSpec spec;
};  // Answered by RunnerIsReady or RunnerEnded.
struct GoRunner {
  RunnerId runner;
};
struct KillRunner {
  RunnerId runner;
};  // Answered by RunnerEnded, once the whole group is gone.
struct SpoolResult {
  v1::MeasureResult result;
};
struct DeleteSpooled {
  Digest key;
};
struct TellOperator {
  std::string text;
};  // For the log.
using DeviceAction = std::variant<SendMessage, CloseLink, ReconnectAfter, LookUpBlob, ReleaseBlob, WriteBlob,
                                  StartRunner, GoRunner, KillRunner, SpoolResult, DeleteSpooled, TellOperator>;

struct DeviceSessionOptions {
  v1::DeviceFacts facts;
  std::string build_id;
  uint64_t instance = 0;  // Random per process.
  std::vector<std::string> features = {std::string(kAnswersFeature)};
  std::vector<v1::MeasureResult> spooled;  // Found on disk at start.
  size_t spool_limit = 1000;               // Results; and spool_limit_bytes of them.
  int64_t spool_limit_bytes = 64 << 20;
  std::optional<double> start_below_c;  // A measurement waits until the board is no hotter, but not for ever.
};

class DeviceSession {
 public:
  // `random` spreads reconnections.
  DeviceSession(DeviceSessionOptions options, Random random);

  std::vector<DeviceAction> Step(const DeviceEvent& event, TimePoint now);
  // When Step(TimeCame) is due; nullopt while nothing waits, so that an idle, disconnected device sleeps.
  std::optional<TimePoint> NextDeadline() const;
  // Also said in Hello and Current.
  void SetFreeDisk(int64_t bytes) { free_disk_bytes_ = bytes; }
  // As it is now: before RunnerIsReady, RunnerEnded and TimeCame, but never while is_quiet. Never called: unknown.
  void SetBoard(const BoardCondition& now) { board_ = now; }

  int64_t epoch_seen() const { return epoch_seen_; }
  bool is_welcome() const { return link_ == Link::kWelcome; }
  bool is_quiet() const;  // A runner is inside its timed window.
  size_t spooled() const { return spool_.size(); }
  v1::Current Declare() const;

 private:
  enum class Link { kDown, kGreeting, kWelcome };
  enum class Phase { kFetching, kStarting, kReady, kMeasuring, kEnding };
  struct Slot {
    v1::MeasureSpec spec;
    Digest key;
    Phase phase = Phase::kFetching;
    RunnerId runner = 0;  // 0: none started.
    bool is_timing = false, has_timed = false;
    std::optional<TimePoint> deadline;  // Of the phase.
    TimePoint go_at{};
    int64_t idle_ns = -1;
    std::optional<TimePoint> waits_since;  // For the board to cool down.
    BoardCondition at_go;
    bool began_hot = false;
    std::optional<v1::MeasureResult> last_words;  // kEnding: what to report when the runner is gone, if anything.
  };
  enum class BlobPhase { kLookingUp, kMissing, kAsked, kComplete };
  struct Blob {
    int64_t size = 0;
    int users = 0;
    BlobPhase phase = BlobPhase::kLookingUp;
    int64_t held = 0;  // On disk.
    int64_t next = 0;  // Offset of the next chunk from the wire.
    int wrong = 0;     // Times that the content had another digest.
  };
  using Actions = std::vector<DeviceAction>;

  void On(const LinkUp& event, TimePoint now, Actions& actions);
  void On(const LinkDown& event, TimePoint now, Actions& actions);
  void On(const MessageArrived& event, TimePoint now, Actions& actions);
  void On(const BlobLookedUp& event, TimePoint now, Actions& actions);
  void On(const BlobWritten& event, TimePoint now, Actions& actions);
  void On(const RunnerIsReady& event, TimePoint now, Actions& actions);
  void On(const RunnerWent& event, TimePoint now, Actions& actions);
  void On(const RunnerIsTiming& event, TimePoint now, Actions& actions);
  void On(const RunnerTicked& event, TimePoint now, Actions& actions);
  void On(const RunnerEnded& event, TimePoint now, Actions& actions);
  void On(const TimeCame& event, TimePoint now, Actions& actions);

  void Accept(const v1::Welcome& message, TimePoint now, Actions& actions);
  void Accept(const v1::Desired& message, TimePoint now, Actions& actions);
  void Accept(const v1::BlobChunk& message, TimePoint now, Actions& actions);
  void Accept(const v1::BlobUnavailable& message, TimePoint now, Actions& actions);
  void Accept(const v1::ResultAck& message, TimePoint now, Actions& actions);

  void DropLink(const std::string& reason, bool is_hopeless, Actions& actions);
  void WaitAndRedial(Actions& actions);
  // Makes the slots what desired_ says.
  void Reconcile(TimePoint now, Actions& actions);
  void NoLongerDesired(const Digest& key);
  void AddSlot(const v1::MeasureSpec& spec, const Digest& key, Actions& actions);
  // Ends the slot's runner if it has one; then reports `last_words`, if any, and removes the slot.
  void End(Slot& slot, std::optional<v1::MeasureResult> last_words, TimePoint now, Actions& actions);
  void Report(const Slot& slot, v1::MeasureResult outcome, TimePoint now, Actions& actions);
  void Remove(const Digest& key, Actions& actions);
  void FailUsers(const Digest& blob, const std::string& message, TimePoint now, Actions& actions);
  // Whatever may go on now goes on; the end of every step.
  void Advance(TimePoint now, Actions& actions);
  void TakeChunks(Actions& actions);
  void AskForBlobs(Actions& actions);
  void StartRunners(TimePoint now, Actions& actions);
  void GoIfFree(TimePoint now, Actions& actions);
  bool MustCoolDown(Slot& slot, TimePoint now, Actions& actions);
  void NoteBoard(const Slot& slot, v1::MeasureResult& outcome) const;
  void DeclareIfChanged(TimePoint now, Actions& actions);
  bool HasItsBlobs(const Slot& slot) const;
  bool SpoolIsFull() const;
  Slot* FindRunner(RunnerId runner);
  void NoteTimingEnd(TimePoint now);

  const DeviceSessionOptions options_;
  Random random_;
  Link link_ = Link::kDown;
  Duration backoff_;
  Duration heartbeat_;
  std::optional<TimePoint> welcome_deadline_, heartbeat_at_;
  std::optional<TimePoint> hear_by_;  // Of a server that answers: when the link is of no use any more.
  int64_t epoch_seen_ = 0;
  int64_t progress_ = 0;
  int64_t free_disk_bytes_ = 0;
  BoardCondition board_;
  std::optional<TimePoint> look_again_at_;  // Whether it has cooled down.
  RunnerId next_runner_ = 1;
  v1::Desired desired_;
  std::vector<Slot> slots_;           // In the order of desired_, ending ones anywhere.
  std::map<Digest, Blob> blobs_;      // What the slots need.
  std::deque<v1::BlobChunk> chunks_;  // Arrived, not written yet; at most a credit window.
  std::map<Digest, v1::MeasureResult> spool_;
  int64_t spool_bytes_ = 0;
  std::deque<Digest> acknowledged_;    // Newest last; not to be run again in this epoch.
  Actions disk_writes_;                // Spool writes and deletions that wait for the end of a quiet window.
  std::optional<TimePoint> last_end_;  // Of a timed window, or of a runner that had none, if another trial waited then.
  std::string last_declared_;
};

}  // namespace lathe
