#include "cli/machine_checks.h"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <filesystem>
#include <fstream>

#include "runtime/cpu_features.h"

namespace lathe {
namespace {

constexpr int64_t kMiB = 1 << 20;

std::optional<std::string> FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

std::optional<int64_t> MemoryAvailable(const std::string& path) {
  std::ifstream file(path);
  std::string field;
  for (int64_t kib = 0; file >> field;) {
    if (field == "MemAvailable:" && file >> kib) return kib * 1024;
  }
  return std::nullopt;
}

std::optional<int64_t> DiskFree(std::filesystem::path folder) {
  std::error_code error;
  while (!folder.empty() && !std::filesystem::exists(folder, error) && folder != folder.parent_path())
    folder = folder.parent_path();
  struct statvfs info{};
  if (statvfs(folder.empty() ? "." : folder.c_str(), &info) != 0) return std::nullopt;
  return static_cast<int64_t>(info.f_bavail) * static_cast<int64_t>(info.f_frsize);
}

Check JudgeCpu(const MachineFacts& facts) {
  std::string vectors = "no vector extension that Lathe knows";
  for (const char* feature : {"neon", "sse4.2", "avx", "avx2", "avx512f", "sve"}) {
    for (const std::string& have : facts.cpu_features) {
      if (have == feature) vectors = feature;
    }
  }
  return {"cpu", Verdict::kOk,
          fmt::format("{}, {} CPUs usable, {} features, widest: {}", facts.cpu_model, facts.num_cpus,
                      facts.cpu_features.size(), vectors),
          ""};
}

Check JudgeGovernor(const MachineFacts& facts) {
  if (facts.governor.empty())
    return {"governor", Verdict::kOk, "the kernel shows none (virtual machine?); clock changes cannot be seen", ""};
  if (facts.governor == "performance") return {"governor", Verdict::kOk, facts.governor, ""};
  return {"governor", Verdict::kWarning,
          fmt::format("{}: the clock changes while kernels are measured", facts.governor),
          "cpupower frequency-set -g performance"};
}

Check JudgeSmt(const MachineFacts& facts) {
  if (!facts.smt_active.has_value()) return {"smt", Verdict::kOk, "unknown", ""};
  if (!*facts.smt_active) return {"smt", Verdict::kOk, "off", ""};
  return {"smt", Verdict::kWarning, "on: two CPUs share a core, so work beside a measurement slows it",
          "lend one CPU of each core (lathe device --cpus), or echo off > /sys/devices/system/cpu/smt/control"};
}

Check JudgeLoad(const MachineFacts& facts) {
  if (!facts.load_1min.has_value()) return {"load", Verdict::kOk, "unknown", ""};
  const std::string finding = fmt::format("{:.2f} over the last minute on {} CPUs", *facts.load_1min, facts.num_cpus);
  if (*facts.load_1min < 0.25 * facts.num_cpus) return {"load", Verdict::kOk, finding, ""};
  return {"load", Verdict::kWarning, finding, "stop other work while measuring"};
}

Check JudgeMemory(const MachineFacts& facts) {
  if (!facts.memory_available_bytes.has_value()) return {"memory", Verdict::kOk, "unknown", ""};
  const int64_t mib = *facts.memory_available_bytes / kMiB;
  const std::string finding = fmt::format("{} MiB available", mib);
  if (mib >= 2048) return {"memory", Verdict::kOk, finding, ""};
  return {"memory", Verdict::kWarning, finding, "a builder may use up to 4 GiB: use fewer slots, or free some"};
}

Check JudgeDisk(const MachineFacts& facts) {
  if (!facts.disk_free_bytes.has_value()) return {"disk", Verdict::kOk, "unknown", ""};
  const int64_t mib = *facts.disk_free_bytes / kMiB;
  const std::string finding = fmt::format("{} MiB free where the database lies", mib);
  if (mib >= 4096) return {"disk", Verdict::kOk, finding, ""};
  return {"disk", mib >= 256 ? Verdict::kWarning : Verdict::kProblem, finding,
          "free some, or choose another place with --db"};
}

}  // namespace

MachineFacts ReadMachine(const std::string& root, const std::string& database_folder) {
  MachineFacts facts;
  facts.num_cpus = std::max<int>(1, static_cast<int>(AvailableCpus().size()));
  facts.cpu_model = CpuModelName();
  facts.cpu_features = HostCpuFeatures();
  facts.governor = FirstLine(root + "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").value_or("");
  if (const auto smt = FirstLine(root + "sys/devices/system/cpu/smt/active")) facts.smt_active = *smt == "1";
  if (const auto load = FirstLine(root + "proc/loadavg")) facts.load_1min = std::atof(load->c_str());
  facts.memory_available_bytes = MemoryAvailable(root + "proc/meminfo");
  facts.disk_free_bytes = DiskFree(database_folder);
  return facts;
}

std::vector<Check> JudgeMachine(const MachineFacts& facts) {
  return {JudgeCpu(facts),  JudgeGovernor(facts), JudgeSmt(facts),
          JudgeLoad(facts), JudgeMemory(facts),   JudgeDisk(facts)};
}

}  // namespace lathe
