#include "tuner/job/activity.h"

#include <algorithm>

namespace lathe {

Duration& ActivityMeter::Part() {
  if (measuring_ > 0) return shares_.measuring;
  if (building_ > 0) return shares_.building;
  if (searching_ > 0) return shares_.searching;
  return shares_.idle;
}

void ActivityMeter::Set(int measuring, int building, int searching, TimePoint now) {
  Part() += now - since_;
  since_ = now;
  measuring_ = measuring;
  building_ = building;
  searching_ = searching;
}

ActivityShares ActivityMeter::Shares(TimePoint now) const {
  ActivityMeter until_now = *this;
  until_now.Set(measuring_, building_, searching_, now);
  return until_now.shares_;
}

double MedianNs(std::vector<int64_t> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return static_cast<double>(*middle);
}

void TrialLatencies::Add(const TrialTimes& times, int64_t idle_ns, int64_t measure_ns) {
  if (idle_ns >= 0) idle_gap_ns.push_back(idle_ns);
  result_to_commit_ns.push_back((times.committed - times.result).count());
  if (times.built != TimePoint{}) built_to_commit_ns.push_back((times.committed - times.built).count() - measure_ns);
}

}  // namespace lathe
