#include "runner/run_delay.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <string>

namespace lathe {

RunDelayMeter::RunDelayMeter(const char* tasks) {
  DIR* folder = opendir(tasks);
  if (folder == nullptr) return;
  while (const dirent* entry = readdir(folder)) {
    if (entry->d_name[0] == '.') continue;
    const int file = open((std::string(tasks) + "/" + entry->d_name + "/schedstat").c_str(), O_RDONLY | O_CLOEXEC);
    if (file >= 0) files_.push_back(file);
  }
  closedir(folder);
}

RunDelayMeter::~RunDelayMeter() {
  for (const int file : files_) close(file);
}

std::vector<int64_t> RunDelayMeter::Read() const {
  std::vector<int64_t> delays;
  for (const int file : files_) {
    char text[96] = "";  // Nanoseconds on a CPU, nanoseconds of waiting, number of time slices.
    int64_t delay = 0;
    if (pread(file, text, sizeof(text) - 1, 0) <= 0 || std::sscanf(text, "%*s %" SCNd64, &delay) != 1) delay = 0;
    delays.push_back(delay);
  }
  return delays;
}

int64_t RunDelayMeter::LongestSince(const std::vector<int64_t>& before) const {
  const std::vector<int64_t> now = Read();
  int64_t longest = 0;
  for (size_t i = 0; i < std::min(now.size(), before.size()); ++i) longest = std::max(longest, now[i] - before[i]);
  return longest;
}

}  // namespace lathe
