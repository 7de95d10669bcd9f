#include "runner/measure_policy.h"

#include <algorithm>
#include <cmath>

namespace lathe {
namespace {

constexpr double kGrowth = 1.618;
constexpr double kOvershoot =
    1.05;  // Aims a little above min_batch, or every second guess would fall just short of it.
constexpr double kBatchTrust = 1.15;          // A batch may be slower than the median of many by this factor.
constexpr int64_t kShortBatchNs = 3'000'000;  // In a batch this short one context switch shows.
constexpr size_t kRaceRepeats = 2;
constexpr size_t kFewRepeats = 3;        // Enough where they agree this much better than asked: finals decide what is
constexpr double kFarWithinGoal = 0.25;  // nearer than that.
constexpr uint64_t kMaxBatch = 100'000'000;

double PerCall(const BatchTiming& batch, uint64_t calls) {
  return static_cast<double>(batch.timed_ns) / static_cast<double>(calls);
}

}  // namespace

const char* CacheRegimeName(CacheRegime regime) {
  switch (regime) {
    case CacheRegime::kHot:
      return "hot";
    case CacheRegime::kWarmWeights:
      return "warm-weights";
    case CacheRegime::kCold:
      return "cold";
  }
  return "unknown";
}

MeasurePolicy ScreenPolicy() { return {}; }

MeasurePolicy FinalPolicy() {
  MeasurePolicy policy;
  policy.min_batch_ns = 10'000'000;
  policy.max_repeats = 10;
  policy.max_redone = 5;
  policy.goal_half_width = 0.01;
  policy.noisy_half_width = 0.03;
  policy.abandon_factor = policy.abandon_first_factor = policy.abandon_batch_factor = policy.race_factor = 0;
  return policy;
}

MeasureSession::MeasureSession(const MeasurePolicy& policy, double incumbent_ns, int64_t now_ns)
    : policy_(policy), incumbent_ns_(incumbent_ns), begin_ns_(now_ns) {}

void MeasureSession::Report(const BatchTiming& batch, int64_t now_ns) {
  result_.total_calls += batch_;
  switch (phase_) {
    case Phase::kWarmUp:
      return WarmUp(batch, now_ns);
    case Phase::kGrow:
      return Grow(batch, now_ns);
    case Phase::kRepeat:
      return Repeat(batch, now_ns);
    case Phase::kDone:
      return;
  }
}

void MeasureSession::WarmUp(const BatchTiming& batch, int64_t now_ns) {
  const double factor = result_.total_calls == 1 ? std::max(policy_.abandon_factor, policy_.abandon_first_factor)
                                                 : policy_.abandon_factor;
  if (!Disturbed(batch) && Hopeless(PerCall(batch, batch_), factor))
    return Abandon(PerCall(batch, batch_), policy_.abandon_factor * incumbent_ns_);
  if (result_.total_calls < policy_.warmup_calls && now_ns - begin_ns_ < policy_.warmup_ns) return;
  phase_ = Phase::kGrow;  // The last warm-up call is a first guess of what a batch needs.
  const double calls = kOvershoot * static_cast<double>(policy_.min_batch_ns) / std::max<double>(1, batch.wall_ns);
  batch_ = static_cast<uint64_t>(std::clamp(std::ceil(calls), 1.0, static_cast<double>(kMaxBatch)));
}

void MeasureSession::Grow(const BatchTiming& batch, int64_t now_ns) {
  if (batch.wall_ns >= policy_.min_batch_ns || batch_ >= kMaxBatch) {
    phase_ = Phase::kRepeat;
    return Repeat(batch, now_ns);
  }
  const double needed = kOvershoot * static_cast<double>(batch_) * static_cast<double>(policy_.min_batch_ns) /
                        std::max<double>(1, batch.wall_ns);
  const double grown = std::max(static_cast<double>(batch_) * kGrowth, needed);
  batch_ = static_cast<uint64_t>(std::clamp(std::ceil(grown), 1.0, static_cast<double>(kMaxBatch)));
}

void MeasureSession::Repeat(const BatchTiming& batch, int64_t now_ns) {
  const bool disturbed = Disturbed(batch);
  const bool out_of_time = now_ns - begin_ns_ >= policy_.budget_ns;
  if (disturbed && result_.redone < policy_.max_redone && !out_of_time) {
    ++result_.redone;
    return;
  }
  result_.disturbed += disturbed ? 1 : 0;
  const double per_call = PerCall(batch, batch_);
  result_.samples_ns.push_back(per_call);
  if (result_.samples_ns.size() == 1 && !disturbed && Hopeless(per_call, policy_.abandon_batch_factor)) {
    return Abandon(per_call, per_call / kBatchTrust);
  }
  if (HasLostTheRace()) {
    const SampleStatistics both = Summarize(result_.samples_ns);
    if (both.relative_half_width() <= policy_.noisy_half_width) return Finish();
    return Abandon(both.median, std::max(incumbent_ns_, both.min / kBatchTrust));
  }
  const size_t count = result_.samples_ns.size();
  const double half_width = Summarize(result_.samples_ns).relative_half_width();
  const bool is_enough = count >= policy_.min_repeats || out_of_time ||
                         (count >= kFewRepeats && half_width <= kFarWithinGoal * policy_.goal_half_width);
  if (!is_enough) return;
  const bool closed = count > 1 && half_width <= policy_.goal_half_width;
  if (closed || out_of_time || count >= std::min(policy_.max_repeats, kMaxSamples)) Finish();
}

bool MeasureSession::Disturbed(const BatchTiming& batch) const {
  return batch.other_share > policy_.max_other_share ||
         (batch.involuntary_switches > 0 && batch.wall_ns < kShortBatchNs);
}

bool MeasureSession::Hopeless(double per_call_ns, double factor) const {
  return incumbent_ns_ > 0 && factor > 0 && per_call_ns > factor * incumbent_ns_;
}

bool MeasureSession::HasLostTheRace() const {
  return result_.samples_ns.size() == kRaceRepeats && result_.disturbed == 0 &&
         std::all_of(result_.samples_ns.begin(), result_.samples_ns.end(),
                     [this](double per_call_ns) { return Hopeless(per_call_ns, policy_.race_factor); });
}

// Of a single call the bound is what was asked, not what was seen: one may be too slow by accident, but hardly 3 times.
void MeasureSession::Abandon(double per_call_ns, double lower_bound_ns) {
  if (result_.samples_ns.empty()) result_.samples_ns.push_back(per_call_ns);
  Finish();
  result_.status = MeasureStatus::kCensored;
  result_.lower_bound_ns = lower_bound_ns;
}

void MeasureSession::Finish() {
  phase_ = Phase::kDone;
  result_.calls_per_sample = batch_;
  result_.statistics = Summarize(result_.samples_ns);
  const bool noisy = result_.statistics.relative_half_width() > policy_.noisy_half_width;
  result_.status =
      noisy || result_.disturbed > result_.samples_ns.size() / 2 ? MeasureStatus::kNoisy : MeasureStatus::kOk;
}

}  // namespace lathe
