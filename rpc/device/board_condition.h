// How hot a board is, and whether heat, current or its supply holds its clock back: what a measurement waits for, and
// what makes one worth little. What a board does not say is unknown, and holds nothing up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lathe {

struct BoardCondition {
  std::optional<double> temperature_c;      // Of the hottest sensor of the CPU.
  std::optional<uint32_t> firmware_word;    // Raspberry Pi: bits 0 to 3 hold now, 16 to 19 have held since it started.
  std::optional<uint64_t> times_held_back;  // x86, Jetson: counts up; differences mean something.
};

// Why a measurement should not begin yet: hotter than `start_below_c`, or held back already. For people.
std::optional<std::string> WhyNotYet(const BoardCondition& now, std::optional<double> start_below_c);
// Whether the clock was held back between two readings.
bool WasHeldBack(const BoardCondition& before, const BoardCondition& after);

// The files in which Linux says it: docs/boards.md, "Heat".
class BoardSensors {
 public:
  // Looks for them below `root`, which is "/" but in tests. Few or none is no error.
  static BoardSensors Find(const std::string& root);
  // Some small files, each time.
  BoardCondition Read() const;
  // Where a measurement may begin: 65 degrees on a Raspberry Pi, elsewhere 15 below the first at which the kernel slows
  // the CPU down; nullopt where neither is known.
  std::optional<double> start_below_c() const { return start_below_c_; }

 private:
  std::vector<std::string> temperatures_, counters_;
  std::string firmware_word_, supply_alarm_;  // Empty: none.
  std::optional<double> start_below_c_;
};

}  // namespace lathe
