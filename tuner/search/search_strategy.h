// The role that proposes what to measure next for one task, and learns from what was measured.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"
#include "support/digest.h"
#include "tuner/cost_model/cost_model.h"
#include "tuner/space/space_generator.h"

namespace lathe {

// A scheduled PrimFunc to try. `trace` has every decision; replaying it on the workload with any seed gives `func`.
struct MeasureCandidate {
  ScheduleTrace trace;
  std::string trace_json;  // trace.ToJson(): what is stored and sent to workers.
  Digest trace_digest;     // SHA-256 of trace_json: two candidates with the same one are the same.
  PrimFunc func;
  double predicted = 0;  // The cost model's score, higher is better; 0 without a model.
  uint64_t seed = 0;     // Where its random decisions came from.
};

// What became of a candidate. Times are per call.
struct MeasuredCandidate {
  Digest trace_digest;
  std::string trace_json;
  enum class Outcome : uint8_t { kTimed, kCensored, kFailed } outcome = Outcome::kFailed;
  double median_ns = 0;  // kTimed: the median. kCensored: slower than this.
};

// What a strategy searches in. Owned by the caller, outlives the strategy, never changes.
struct TuneTask {
  Digest workload;
  PrimFunc func;
  Target target;
  std::vector<Sketch> sketches;
  double flops = 0;                 // Arithmetic of one call, by the algorithm (2 per multiply-add).
  bool is_float32 = false;          // Floats of 32 bits or more are multiplied, and nothing narrower.
  std::string factors = "float32";  // The type that is multiplied; "": none, or several.
  // Called before each candidate that a strategy replays, on its thread; may wait, e.g. while this machine times a
  // kernel. False: give up, what is proposed from now on means nothing. Empty: go on.
  std::function<bool()> before_replay = nullptr;
  // Only candidates of `sketches` have descendants: what came from other spaces is measured and teaches, no more. Each
  // sketch has some trials before a model may leave it out (SketchTrials).
  bool keeps_to_sketches = false;
};

// Not thread-safe: one thread calls one strategy. Knows nothing of time, threads or stores.
class SearchStrategy {
 public:
  virtual ~SearchStrategy() = default;
  // At most `count` candidates that were never proposed or observed before, most promising first. Fewer, or none, when
  // the space has nothing new to offer after a bounded effort.
  virtual std::vector<MeasureCandidate> Propose(int count) = 0;
  // Proposes the most promising `count` of the candidates that complete traces from elsewhere make of the task; the
  // others may be proposed later. Traces that make none, or one that was proposed before, are left out.
  virtual std::vector<MeasureCandidate> Adopt(std::span<const ScheduleTrace> traces, int count) = 0;
  // Results in any order, also of candidates that an earlier run proposed. An outcome may come twice.
  virtual void Observe(const MeasuredCandidate& measured) = 0;
  // Likewise, of an earlier run: learns from all of them at once.
  virtual void Recall(std::span<const MeasuredCandidate> measured) = 0;
  // These are not proposed either, and teach nothing: known, and too many to be observed. In order; once.
  virtual void Exclude(std::vector<Digest> traces) = 0;
};

// Told how well its model ranked a batch of results, each time that a strategy learned from one; within Observe.
using ModelReportSink = std::function<void(const ModelReport&)>;

// Draws uniformly from the space: a sketch, then every decision.
std::unique_ptr<SearchStrategy> MakeRandomSearch(const TuneTask& task, uint64_t seed);

// Replays `trace` (decisions not set are drawn from `seed`) on the workload and checks the constraints; what is needed
// to build it.
StatusOr<MeasureCandidate> MakeCandidate(const TuneTask& task, const ScheduleTrace& trace, uint64_t seed);

}  // namespace lathe
