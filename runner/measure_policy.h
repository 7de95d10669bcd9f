// When to call the kernel how often, and when to stop: the decisions of a measurement. Pure: time comes in with each
// result.
//
//   warm up -> grow the batch until it lasts min_batch -> repeat until the interval closes -> done
// A candidate that is hopeless against the best known time is abandoned on the way; its result is a lower bound.
#pragma once

#include <cstdint>
#include <vector>

#include "runner/measure_statistics.h"

namespace lathe {

// Raised whenever the same machine and kernel could get another number. Times of different versions are never compared.
inline constexpr uint32_t kMeasurePolicyVersion = 5;

// What the caches hold when a timed call begins; part of a record's key
// (docs/decisions/0003-screening-measures-hot.md).
enum class CacheRegime : uint32_t {
  kHot = 0,          // Whatever the call before left: calls are timed back to back.
  kWarmWeights = 1,  // Parameters marked constant are cached as the call before left them, all others are not.
  kCold = 2,         // No parameter is cached.
};
const char* CacheRegimeName(CacheRegime regime);

struct MeasurePolicy {
  uint32_t version = kMeasurePolicyVersion;
  CacheRegime regime = CacheRegime::kHot;
  int64_t warmup_ns =
      10'000'000;  // Warm-up ends after this time or warmup_calls calls, whichever is first; at least 1 call.
  uint32_t warmup_calls = 3;
  int64_t min_batch_ns = 4'000'000;
  uint32_t min_repeats = 5;           // Or 3 that agree within a quarter of goal_half_width.
  uint32_t max_repeats = 20;          // <= kMaxSamples
  int64_t budget_ns = 2'000'000'000;  // No further batch is begun after this much measuring.
  double goal_half_width = 0.02;      // Relative to the median: stop.
  double noisy_half_width = 0.05;     // Wider at the end: the result is called noisy.
  // A candidate is abandoned when it takes longer than this many times the incumbent; 0: never. What may be an accident
  // has to be worse:
  double abandon_factor = 3;          // a call of the warm-up,
  double abandon_first_factor = 10;   // the first call, which also pays for page faults and cold caches,
  double abandon_batch_factor = 1.3;  // the first whole, undisturbed batch.
  // Two batches that were both slower than this many times the incumbent are enough of a candidate that will not be the
  // best: their median, where they agree within noisy_half_width, else a lower bound. 0: never.
  double race_factor = 1.06;
  uint32_t max_redone = 10;       // Disturbed repeats that are measured again.
  double max_other_share = 0.01;  // CPU time of others on our CPUs, as a share of a batch.
};
inline constexpr uint32_t kMaxSamples = 256;

// Screening is MeasurePolicy's defaults: a typical kernel takes 3 to 5 batches of 4 ms and one or two to find the
// batch size.
MeasurePolicy ScreenPolicy();
// For the few finalists, once per round: 3 to 5 batches of 10 ms.
MeasurePolicy FinalPolicy();

// What one batch of calls did.
struct BatchTiming {
  int64_t timed_ns = 0;              // Sum over the calls, without what happens between them (cache flushes).
  int64_t wall_ns = 0;               // First call's begin to last call's end.
  int64_t involuntary_switches = 0;  // Of the threads that measure.
  double other_share = 0;            // CPU time that others took from them, as a share of wall_ns; 0 when unknown.
};

enum class MeasureStatus : uint32_t { kOk = 0, kNoisy = 1, kCensored = 2 };

struct MeasureResult {
  MeasureStatus status = MeasureStatus::kOk;
  std::vector<double> samples_ns;  // Nanoseconds per call, one per repeat, in order.
  SampleStatistics statistics;     // Of samples_ns.
  double lower_bound_ns = 0;       // kCensored: a call takes longer than this. A little below what was seen.
  uint64_t calls_per_sample = 0;
  uint64_t total_calls = 0;
  uint32_t redone = 0;     // Disturbed repeats that were measured again.
  uint32_t disturbed = 0;  // Disturbed repeats that were kept, because max_redone was used up.
};

// Drives one measurement: while (Next(now) > 0) run that many calls and Report them.
class MeasureSession {
 public:
  // `incumbent_ns`: the best known time per call, 0 if none. `now_ns` on any monotonic clock.
  MeasureSession(const MeasurePolicy& policy, double incumbent_ns, int64_t now_ns);

  // Calls to run next; 0 when the measurement is over. Never changes between two reports.
  uint64_t Next() const { return phase_ == Phase::kDone ? 0 : batch_; }
  void Report(const BatchTiming& batch, int64_t now_ns);
  // Valid once Next() is 0.
  const MeasureResult& result() const { return result_; }

 private:
  enum class Phase { kWarmUp, kGrow, kRepeat, kDone };
  void WarmUp(const BatchTiming& batch, int64_t now_ns);
  void Grow(const BatchTiming& batch, int64_t now_ns);
  void Repeat(const BatchTiming& batch, int64_t now_ns);
  bool Disturbed(const BatchTiming& batch) const;
  bool Hopeless(double per_call_ns, double factor) const;
  bool HasLostTheRace() const;
  void Abandon(double per_call_ns, double lower_bound_ns);
  void Finish();

  const MeasurePolicy policy_;
  const double incumbent_ns_;
  const int64_t begin_ns_;
  Phase phase_ = Phase::kWarmUp;
  uint64_t batch_ = 1;
  MeasureResult result_;
};

}  // namespace lathe
