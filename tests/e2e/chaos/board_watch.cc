#include "tests/e2e/chaos/board_watch.h"

#include <dirent.h>

#include <cstdlib>

#include "tests/e2e/process_tree.h"

namespace lathe::chaos {
namespace {

std::string ReadProc(pid_t pid, const char* file) { return TextOf("/proc/" + std::to_string(pid) + "/" + file); }

constexpr int kLooksToBecome = 20;

}  // namespace

std::vector<pid_t> AllProcesses() {
  std::vector<pid_t> found;
  DIR* folder = opendir("/proc");
  if (folder == nullptr) return found;
  while (const dirent* entry = readdir(folder))
    if (const pid_t pid = std::atoi(entry->d_name); pid > 0) found.push_back(pid);
  closedir(folder);
  return found;
}

int64_t ProcessorNanos(pid_t pid) {
  const std::string text = ReadProc(pid, "schedstat");
  return text.empty() ? -1 : std::strtoll(text.c_str(), nullptr, 10);
}

bool HasInEnvironment(pid_t pid, const std::string& assignment) {
  const std::string text = '\0' + ReadProc(pid, "environ") + '\0';
  return text.find('\0' + assignment + '\0') != std::string::npos;
}

int BoardWatch::DeviceOf(pid_t pid) const {
  const std::string command = ReadProc(pid, "cmdline");
  for (size_t i = 0; i < runner_paths_.size(); ++i)
    if (command.starts_with(runner_paths_[i] + '\0')) return static_cast<int>(i);
  return -1;
}

std::vector<BoardSample> BoardWatch::Look(double at) {
  std::vector<BoardSample> samples(runner_paths_.size());
  for (auto& [pid, process] : processes_) process.is_seen = false;
  for (const pid_t pid : AllProcesses()) {
    Process& process = processes_[pid];
    process.is_seen = true;
    if (process.device < 0 && process.looks++ < kLooksToBecome) process.device = DeviceOf(pid);
    if (process.device < 0 || DeviceOf(pid) < 0) continue;  // One that has ended and was not waited for has no command.
    const int64_t ran_ns = ProcessorNanos(pid);
    if (ran_ns > process.ran_ns) samples[static_cast<size_t>(process.device)].ran_ns[pid] = ran_ns - process.ran_ns;
    process.ran_ns = ran_ns;
  }
  std::erase_if(processes_, [](const auto& entry) { return !entry.second.is_seen; });
  std::vector<BoardSample> found;
  for (size_t i = 0; i < samples.size(); ++i) {
    if (samples[i].ran_ns.size() < 2) continue;
    found.push_back({at, static_cast<int>(i), std::move(samples[i].ran_ns)});
  }
  return found;
}

}  // namespace lathe::chaos
