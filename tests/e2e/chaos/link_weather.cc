#include "tests/e2e/chaos/link_weather.h"

#include <algorithm>

namespace lathe::chaos {

void LinkDirection::Take(std::string bytes, TimePoint now) {
  if (bytes.empty()) return;
  Garble(bytes);
  TimePoint at = now + weather_.delay;
  if (weather_.delay > Duration(0)) at += Duration(random_.Below(static_cast<uint64_t>(weather_.delay.count())));
  if (!pieces_.empty()) at = std::max(at, pieces_.back().at);
  held_bytes_ += bytes.size();
  pieces_.push_back({std::move(bytes), at});
}

void LinkDirection::Garble(std::string& bytes) {
  if (weather_.garbles_one_in == 0 || random_.Below(static_cast<uint64_t>(weather_.garbles_one_in)) != 0) return;
  char& byte = bytes[random_.Below(bytes.size())];
  byte = static_cast<char>(byte ^ (1 << random_.Below(8)));
}

std::string LinkDirection::Arrived(TimePoint now) {
  const std::optional<TimePoint> next = NextArrival();
  if (!next || *next > now) return "";
  Piece& first = pieces_.front();
  size_t count = std::min(first.bytes.size(), kPiece);
  if (weather_.bytes_per_second > 0) {
    constexpr int64_t kStepsPerSecond = 10;
    count = std::min(count, static_cast<size_t>(std::max<int64_t>(weather_.bytes_per_second / kStepsPerSecond, 1)));
    free_at_ = now + Duration(std::chrono::seconds(1)) * static_cast<int64_t>(count) / weather_.bytes_per_second;
  }
  std::string arrived = first.bytes.substr(0, count);
  first.bytes.erase(0, count);
  held_bytes_ -= count;
  if (first.bytes.empty()) pieces_.pop_front();
  return arrived;
}

std::optional<TimePoint> LinkDirection::NextArrival() const {
  if (pieces_.empty() || weather_.is_silent) return std::nullopt;
  return weather_.bytes_per_second > 0 ? std::max(pieces_.front().at, free_at_) : pieces_.front().at;
}

}  // namespace lathe::chaos
