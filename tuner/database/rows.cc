#include "tuner/database/rows.h"

#include <fmt/core.h>

#include <charconv>

namespace lathe {
namespace {

constexpr int32_t kLargestPart = 999999;
constexpr std::string_view kJobStateNames[] = {"QUEUED", "RUNNING", "DONE", "FAILED", "CANCELLED"};

std::optional<int32_t> ParsePart(std::string_view text) {
  int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value < 0 || value > kLargestPart)
    return std::nullopt;
  return value;
}

}  // namespace

std::string CodegenVersion::ToString() const { return fmt::format("{}.{}", llvm_major, revision); }

StatusOr<CodegenVersion> CodegenVersion::Parse(std::string_view text) {
  const size_t dot = text.find('.');
  const auto major = ParsePart(text.substr(0, dot));
  const auto revision = dot == std::string_view::npos ? std::nullopt : ParsePart(text.substr(dot + 1));
  if (!major.has_value() || !revision.has_value()) {
    return InvalidArgument(
        fmt::format("parse codegen version \"{}\": two numbers up to {} with a dot between required, e.g. \"19.3\"",
                    text.substr(0, 40), kLargestPart));
  }
  return CodegenVersion{*major, *revision};
}

std::string_view JobStateName(JobState state) { return kJobStateNames[static_cast<size_t>(state)]; }

std::optional<JobState> ParseJobState(std::string_view name) {
  for (size_t i = 0; i < std::size(kJobStateNames); ++i) {
    if (kJobStateNames[i] == name) return static_cast<JobState>(i);
  }
  return std::nullopt;
}

std::string_view StandingName(Standing standing) {
  static constexpr std::string_view kNames[] = {"in force", "expired", "revoked", "taken"};
  return kNames[static_cast<size_t>(standing)];
}

}  // namespace lathe
