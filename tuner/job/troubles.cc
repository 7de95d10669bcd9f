#include "tuner/job/troubles.h"

#include <fmt/format.h>

namespace lathe {

bool Troubles::Failed(std::string_view what, std::string_view error, TimePoint now) {
  const auto [it, is_new] = entries_.try_emplace(std::string(what), Entry{.since = now, .last = now, .said = now});
  Entry& entry = it->second;
  const bool was_forgotten = now - entry.last > kForgottenAfter;
  if (was_forgotten) entry.since = now;
  entry.last = now;
  entry.error = error;
  if (!is_new && !was_forgotten && now - entry.said < kSaidEvery) return false;
  entry.said = now;
  return true;
}

void Troubles::Succeeded(std::string_view what) {
  if (const auto it = entries_.find(what); it != entries_.end()) entries_.erase(it);
}

std::optional<Trouble> Troubles::Worst(TimePoint now) const {
  std::optional<Trouble> worst;
  for (const auto& [what, entry] : entries_) {
    const Duration lasts = entry.last - entry.since;
    if (lasts == Duration(0) || now - entry.last > kForgottenAfter) continue;
    if (!worst || lasts > worst->lasts) worst = Trouble{fmt::format("{}: {}", what, entry.error), lasts};
  }
  return worst;
}

}  // namespace lathe
