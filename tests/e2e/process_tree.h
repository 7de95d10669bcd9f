// Other processes as /proc shows them.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace lathe {

inline std::string TextOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

struct ProcessStat {
  std::string name;
  char state = 0;
  pid_t parent = 0;
};
inline std::optional<ProcessStat> StatOf(pid_t pid) {
  const std::string stat = TextOf("/proc/" + std::to_string(pid) + "/stat");  // "12 (lathe-builder) S 11 ..."
  const size_t open = stat.find('('), close = stat.rfind(')');
  ProcessStat found;
  if (open == std::string::npos || close == std::string::npos ||
      std::sscanf(stat.c_str() + close + 1, " %c %d", &found.state, &found.parent) != 2)
    return std::nullopt;
  found.name = stat.substr(open + 1, close - open - 1);
  return found;
}

// Processes of a name that another one has started, or that such have, e.g. the lathe-builder of a worker.
inline std::vector<pid_t> DescendantsOf(pid_t ancestor, const std::string& name) {
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0) continue;
    std::optional<ProcessStat> stat = StatOf(pid);
    if (!stat || stat->state == 'Z' || stat->name != name.substr(0, 15)) continue;
    while (stat && stat->parent > 1 && stat->parent != ancestor) stat = StatOf(stat->parent);
    if (stat && stat->parent == ancestor) found.push_back(pid);
  }
  return found;
}

}  // namespace lathe
