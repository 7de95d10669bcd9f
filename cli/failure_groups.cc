#include "cli/failure_groups.h"

#include <algorithm>
#include <map>

namespace lathe {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// "block b12 covers 96" -> "block b# covers #"
std::string WithoutNumbers(const std::string& words) {
  std::string result;
  for (const char c : words) {
    if (!IsDigit(c))
      result += c;
    else if (result.empty() || result.back() != '#')
      result += '#';
  }
  return result;
}

}  // namespace

std::vector<FailureGroup> GroupFailures(const std::vector<v1::Trial>& failed) {
  std::map<std::pair<std::string, std::string>, FailureGroup> groups;
  for (const v1::Trial& trial : failed) {
    FailureGroup& group = groups[{trial.state(), WithoutNumbers(trial.error())}];
    if (group.trial_ids.empty()) group = {trial.state(), trial.error(), {}};
    group.trial_ids.push_back(trial.id());
  }
  std::vector<FailureGroup> sorted;
  for (auto& [reason, group] : groups) sorted.push_back(std::move(group));
  std::stable_sort(sorted.begin(), sorted.end(), [](const FailureGroup& a, const FailureGroup& b) {
    return a.trial_ids.size() > b.trial_ids.size();
  });
  return sorted;
}

}  // namespace lathe
