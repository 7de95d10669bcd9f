#include "cli/target_names.h"

#include <fmt/format.h>

#include "compiler/target/target_tag.h"

namespace lathe {
namespace {

std::string ShortName(const std::string& text) {
  const StatusOr<Target> target = Target::Parse(text);
  if (!target.ok() || target->ToString() != text) return text;
  if (const std::string_view tag = TagOf(*target); !tag.empty()) return std::string(tag);
  return fmt::format("{} x{}", target->tuning_cpu(), target->num_cores());
}

}  // namespace

TargetNames::TargetNames(std::span<const std::string> targets, bool is_long) {
  std::map<std::string, int> uses;  // Of a name, by different targets.
  for (const std::string& target : targets) {
    const auto [at, is_new] = names_.emplace(target, target);
    if (!is_new || is_long) continue;
    at->second = ShortName(target);
    ++uses[at->second];
  }
  for (auto& [target, name] : names_)
    if (uses[name] > 1) name = target;
}

}  // namespace lathe
