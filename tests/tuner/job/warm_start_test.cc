#include "tuner/job/warm_start.h"

#include <gmock/gmock.h>

namespace lathe {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TuningKey Key(const char* workload, const char* target = "t", const char* device_class = "local") {
  return {.workload = Sha256(workload), .target = target, .device_class = device_class};
}

KnownKey Known(const char* workload, const char* shape, const char* target = "t", const char* device_class = "local") {
  return {Key(workload, target, device_class), ShapeOfText(shape)};
}

TEST(FindNearest, PrefersTheSameDeviceThenTheNearestExtents) {
  const std::vector known{
      Known("far", "grid 512 64"),       Known("near", "grid 64 32"),    Known("board", "grid 64 64", "t", "board"),
      Known("cores", "grid 64 64", "u"), Known("nearest", "grid 64 60"), Known("other", "loop 64 64")};
  EXPECT_THAT(FindNearest(Key("new"), ShapeOfText("grid 64 64"), known, 8), ElementsAre(4, 1, 0, 3, 2));
  EXPECT_THAT(FindNearest(Key("new"), ShapeOfText("grid 64 64"), known, 2), ElementsAre(4, 1));
  EXPECT_THAT(FindNearest(Key("new"), ShapeOfText("grid 64"), known, 8), IsEmpty());
}

TEST(FindNearest, TakesTheWorkloadItselfFromAnotherDeviceOnly) {
  const std::vector known{Known("same", "grid 64"), Known("same", "grid 64", "t", "board")};
  EXPECT_THAT(FindNearest(Key("same"), ShapeOfText("grid 64"), known, 8), ElementsAre(1));
}

TuningRecord Timed(const char* trace, double median_ns) {
  TuningRecord record{.trace_digest = Sha256(trace), .trace_json = trace};
  record.timings.emplace().median_ns = median_ns;
  return record;
}

std::vector<std::string> TracesOf(const std::vector<TuningRecord>& records) {
  std::vector<std::string> traces;
  for (const TuningRecord& record : records) traces.push_back(record.trace_json);
  return traces;
}

TEST(FastestTraces, HasEachTraceOnceAndNoFailures) {
  std::vector history{Timed("a", 30), Timed("b", 20), Timed("a", 10), Timed("c", 5), Timed("d", 40)};
  history[3].status = TrialState::kCensored;
  history.push_back({.trace_digest = Sha256("e"), .trace_json = "e", .status = TrialState::kCrash});
  EXPECT_THAT(TracesOf(FastestTraces(history, 8)), ElementsAre("a", "b", "d"));
  EXPECT_THAT(TracesOf(FastestTraces(history, 2)), ElementsAre("a", "b"));
}

TEST(EvenlyOver, TakesOfAllParts) {
  const std::vector history{Timed("a", 1), Timed("b", 2), Timed("c", 3), Timed("d", 4), Timed("e", 5)};
  EXPECT_THAT(TracesOf(EvenlyOver(history, 2)), ElementsAre("a", "c"));
  EXPECT_THAT(TracesOf(EvenlyOver(history, 9)), ElementsAre("a", "b", "c", "d", "e"));
  EXPECT_THAT(EvenlyOver({}, 2), IsEmpty());
}

}  // namespace
}  // namespace lathe
