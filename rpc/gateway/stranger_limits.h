// What peers that have not shown who they are may cost (docs/decisions/0061-identity.md). Pure: time is an argument.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "support/clock.h"

namespace lathe {

// Addresses from which somebody was refused more than a few times lately: their next handshakes wait a little, so that
// guessing is slow and costs us little, and a neighbour behind the same address still comes in.
class RefusalLog {
 public:
  static constexpr size_t kFree = 5;  // In a minute.
  static constexpr Duration kDelay = std::chrono::seconds(2);
  static constexpr size_t kMostAddresses = 4096;

  void Refused(const std::string& address, TimePoint now);
  // How long the next handshake from there waits.
  Duration DelayFor(const std::string& address, TimePoint now);

 private:
  void Forget(TimePoint now);
  std::map<std::string, std::deque<TimePoint>> refusals_;  // Of the last minute, at most kFree + 1 of each.
};

// Which of the strangers at these addresses, the oldest first, makes room for another one: the oldest of the address
// that has the most, so that whoever comes in numbers keeps nobody else out. `addresses` is not empty.
size_t WhoMakesRoom(const std::vector<std::string>& addresses);

}  // namespace lathe
