// How often a property test tries: as often as it says, or at most $LATHE_PROPERTY_RUNS times. The sanitizer presets
// set the variable: a run costs ten times as much there, and what a sanitizer can find shows in the first runs.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace lathe {

// `cost`: what one run of this test costs, in runs of an ordinary one.
inline int PropertyRuns(int usual, int cost = 1) {
  const char* most = std::getenv("LATHE_PROPERTY_RUNS");
  const int limit = most != nullptr ? std::atoi(most) : 0;
  return limit > 0 ? std::min(std::max(limit / cost, 1), usual) : usual;
}

// False if fewer runs than `usual` were asked for: then counts over all runs prove nothing.
inline bool AllRuns(int usual) { return PropertyRuns(usual) == usual; }

// The cases of a test whose seeds count upwards: LATHE_SEED=N and no other; LATHE_FIRST_SEED=N and LATHE_NUM_SEEDS=M as
// many from there on (deploy/test-long); else `usual` of them from 0 on, bounded as above.
struct SeedRange {
  uint64_t first = 0, count = 0;
};
inline SeedRange SeedsToTry(int usual, int cost = 1) {
  const auto number = [](const char* name) { return std::strtoull(std::getenv(name), nullptr, 10); };
  if (std::getenv("LATHE_SEED") != nullptr) return {number("LATHE_SEED"), 1};
  if (std::getenv("LATHE_FIRST_SEED") != nullptr && std::getenv("LATHE_NUM_SEEDS") != nullptr)
    return {number("LATHE_FIRST_SEED"), number("LATHE_NUM_SEEDS")};
  return {0, static_cast<uint64_t>(PropertyRuns(usual, cost))};
}

// While it lives, a crash of the process says which seed was at work.
class SeedOnCrash {
 public:
  explicit SeedOnCrash(uint64_t seed) {
    current_ = seed;
    for (const int which : {SIGSEGV, SIGABRT, SIGFPE, SIGILL}) signal(which, Report);
  }
  ~SeedOnCrash() {
    for (const int which : {SIGSEGV, SIGABRT, SIGFPE, SIGILL}) signal(which, SIG_DFL);
  }
  SeedOnCrash(const SeedOnCrash&) = delete;

 private:
  static void Report(int which) {
    char text[] = "crashed with LATHE_SEED=00000000000000000000\n";
    char* digit = text + sizeof(text) - 3;
    for (uint64_t rest = current_; rest != 0; rest /= 10) *digit-- = static_cast<char>('0' + rest % 10);
    if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0) std::_Exit(which);
    signal(which, SIG_DFL);
    raise(which);
  }
  static inline volatile uint64_t current_ = 0;
};

}  // namespace lathe
