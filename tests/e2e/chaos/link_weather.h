// What a link does to the bytes that it carries one way. Time and bytes in, bytes out: no socket.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "support/clock.h"
#include "support/random.h"

namespace lathe::chaos {

struct Weather {
  bool is_silent = false;        // Holds everything back until that ends.
  Duration delay{};              // Each piece arrives this late, at most twice that; never before an earlier one.
  int64_t bytes_per_second = 0;  // 0: as fast as they come.
  int64_t garbles_one_in = 0;    // Of the pieces, one bit each; 0: none.
};

class LinkDirection {
 public:
  explicit LinkDirection(Random random) : random_(random) {}

  // Of what is under way already as well.
  void Set(const Weather& weather) { weather_ = weather; }
  // False: what is under way is enough, the sender has to wait, as with a full socket.
  bool HasRoom() const { return held_bytes_ < kMostHeld; }
  void Take(std::string bytes, TimePoint now);
  // What arrives at `now`, at most kPiece bytes.
  std::string Arrived(TimePoint now);
  // When the next bytes arrive; nullopt: none are under way, or nobody knows.
  std::optional<TimePoint> NextArrival() const;
  bool IsEmpty() const { return pieces_.empty(); }

  static constexpr size_t kMostHeld = 256 << 10, kPiece = 16 << 10;

 private:
  struct Piece {
    std::string bytes;
    TimePoint at;
  };
  void Garble(std::string& bytes);

  Random random_;
  Weather weather_;
  std::deque<Piece> pieces_;
  size_t held_bytes_ = 0;
  TimePoint free_at_{};  // When the slow link has passed on what it gave last.
};

}  // namespace lathe::chaos
