// What simulated candidates are: a trace is a number, and the number says what becomes of it.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "support/digest.h"
#include "support/random.h"

namespace lathe::sim {

enum class Fate { kTimed, kNoisy, kBuildError, kWrong, kCrash, kHangs, kKillsBoard, kFailsOnce };

inline constexpr char kGoldenTrace[] = "[[],[]]";  // Of the kernel by which boards are judged.
inline constexpr int kSpaceSize = 40;              // Candidates of a task.

inline std::string TraceText(uint64_t seed, int64_t task, int number) {
  return fmt::format("trace {} of task {} of seed {}", number, task, seed);
}

// Of a trace, or of the module that is built of it.
inline Fate FateOf(const std::string& trace) {
  if (trace == kGoldenTrace) return Fate::kTimed;
  switch (Random::Mix(Sha256(trace).raw()[0] * 256u + static_cast<uint8_t>(Sha256(trace).raw()[1])) % 40) {
    case 0:
    case 1:
      return Fate::kBuildError;
    case 2:
      return Fate::kWrong;
    case 3:
    case 4:
      return Fate::kCrash;
    case 5:
      return Fate::kHangs;
    case 6:
      return Fate::kKillsBoard;
    case 7:
    case 8:
      return Fate::kNoisy;
    case 9:
    case 10:
      return Fate::kFailsOnce;  // The board's own fault, when it is measured first.
    default:
      return Fate::kTimed;
  }
}

inline double MedianOf(const std::string& trace) {
  return 1000 + static_cast<double>(static_cast<uint8_t>(Sha256(trace).raw()[2]));
}

// Some need several chunks.
inline std::string ModuleOf(const std::string& trace) {
  const bool is_large = static_cast<uint8_t>(Sha256(trace).raw()[3]) < 16;
  return "module of " + trace + "\n" + std::string(is_large ? 150'000 : 10, 'x');
}
inline std::string TraceOf(const std::string& module) { return module.substr(10, module.find('\n') - 10); }

}  // namespace lathe::sim
