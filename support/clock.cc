#include "support/clock.h"

namespace lathe {
namespace {

class RealClock : public Clock {
 public:
  TimePoint Now() override { return std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now()); }
  int64_t UnixNanos() override {
    return std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch()).count();
  }
};

}  // namespace

Clock& SystemClock() {
  static RealClock clock;
  return clock;
}

}  // namespace lathe
