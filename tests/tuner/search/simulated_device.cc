#include "tests/tuner/search/simulated_device.h"

#include <cmath>
#include <cstring>

#include "compiler/script/parser.h"
#include "compiler/script/printer.h"
#include "support/random.h"

namespace lathe {

double SimulatedDevice::TrueNs(const ScheduleTrace& trace) const {
  double penalty = static_cast<double>(Random::Mix(options_.seed + trace.size()) % 100) / 100;  // Sketches differ, too.
  double innermost = 0, before = 0;
  size_t number = 0;
  for (const auto& [index, decision] : trace.decisions()) {
    const auto* tile = std::get_if<std::vector<int64_t>>(&decision);
    if (tile == nullptr) continue;
    Random hidden(Random::Mix(options_.seed * 1000 + ++number));
    for (size_t place = 1; place < tile->size(); ++place) {
      const double wish = 3.5 * hidden.Unit(), weight = 0.04 + 0.2 * hidden.Unit();
      const double distance = std::log2(static_cast<double>((*tile)[place])) - wish;
      penalty += weight * distance * distance;
    }
    const double last = std::log2(static_cast<double>(tile->back()));
    if (number > 1) penalty += 0.08 * std::fabs(last - before);
    before = last;
    innermost += last;
  }
  penalty += 0.06 * (innermost - 4.5) * (innermost - 4.5);
  return 20000 * std::exp2(std::min(penalty, 8.0));
}

MeasuredCandidate SimulatedDevice::Measure(const MeasureCandidate& candidate) {
  uint64_t key = 0;
  std::memcpy(&key, candidate.trace_digest.bytes.data(), sizeof(key));
  Random random(Random::Mix(key ^ options_.seed));
  MeasuredCandidate measured{candidate.trace_digest, candidate.trace_json, MeasuredCandidate::Outcome::kFailed, 0};
  if (random.Unit() < options_.failing_share) return measured;
  const double true_ns = TrueNs(candidate.trace);
  const double ns = true_ns * (1 + options_.noise * (random.Unit() - 0.5) * 2);
  measured.outcome = ns > options_.censor_above * best_ns_ ? MeasuredCandidate::Outcome::kCensored
                                                           : MeasuredCandidate::Outcome::kTimed;
  measured.median_ns = std::min(ns, options_.censor_above * best_ns_);
  best_ns_ = std::min(best_ns_, ns);
  best_true_ns_ = std::min(best_true_ns_, true_ns);
  return measured;
}

TuneTask MakeTestTask(const char* text, int cores) {
  StatusOr<PrimFunc> func = ParsePrimFunc(text, "workload.py");
  CHECK(func.ok()) << func.status().ToString();
  StatusOr<Target> target =
      Target::Parse("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4 -num-cores=" + std::to_string(cores));
  CHECK(target.ok()) << target.status().message();
  TuneTask task{Sha256(text), *std::move(func), *std::move(target), {}, 0};
  StatusOr<std::vector<Sketch>> sketches = MakePostOrderApply()->Generate(task.func, task.target);
  CHECK(sketches.ok()) << sketches.status().ToString();
  task.sketches = *std::move(sketches);
  return task;
}

}  // namespace lathe
