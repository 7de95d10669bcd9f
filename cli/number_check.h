// What a number on the command line must be, with an error that can be read.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>

namespace lathe {

// A whole number from `least` to `most`.
inline CLI::Validator WholeNumber(int64_t least, int64_t most = std::numeric_limits<int64_t>::max()) {
  const auto check = [least, most](std::string& text) -> std::string {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size() && number >= least && number <= most) return "";
    const std::string range = most == std::numeric_limits<int64_t>::max() ? fmt::format("of {} or more", least)
                                                                          : fmt::format("from {} to {}", least, most);
    return fmt::format("\"{}\": a whole number {} required", text, range);
  };
  return CLI::Validator(check, "");
}

inline constexpr int64_t kMostTrialsAsked = 1'000'000'000;
inline constexpr int64_t kMostThreads = 1024;  // Of builds or of a kernel.
inline constexpr int64_t kMostRepeats = 1'000'000;

}  // namespace lathe
