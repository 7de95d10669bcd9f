// What fails again and again, by what was being done: a full disk, a worker whose builder does not start. Decision
// logic: time is an argument.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "support/clock.h"

namespace lathe {

struct Trouble {
  std::string words;  // What was being done, and the error.
  Duration lasts{};   // From its first failure to its latest.
};

class Troubles {
 public:
  static constexpr Duration kForgottenAfter =
      std::chrono::seconds(30);  // Longer than the longest wait before something is tried again (16 s).
  static constexpr Duration kSaidEvery = std::chrono::seconds(10);

  // `what` failed. True if it should be logged: the first time, then once per kSaidEvery.
  bool Failed(std::string_view what, std::string_view error, TimePoint now);
  // `what` went well, which ends its trouble.
  void Succeeded(std::string_view what);
  // The one that has lasted longest; nullopt if nothing has failed more than once of late: once is no trouble yet.
  std::optional<Trouble> Worst(TimePoint now) const;

 private:
  struct Entry {
    std::string error;
    TimePoint since{}, last{}, said{};
  };
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace lathe
