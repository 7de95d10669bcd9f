// lathe-chaos: does bad things to a farm of real processes, and says which promise it broke.
#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "tests/e2e/chaos/chaos_run.h"

namespace {

constexpr char kUsage[] =
    "usage: lathe-chaos [--seed N] [--seconds S] [--folder FOLDER] [--only WORDS] [--plan]\n"
    "  --seed N         of the plan and of what links do (default: $LATHE_SEED, else drawn)\n"
    "  --seconds S      faults happen for so long (default 90); it takes as long again until all is quiet\n"
    "  --folder FOLDER  the farm's; stays (default: one in /tmp, which goes unless a promise was broken)\n"
    "  --only WORDS     leave out faults whose words do not have these in them: to find out which one it takes\n"
    "  --plan           print what would happen, and do nothing\n";

struct Options {
  lathe::chaos::ChaosOptions chaos;
  bool only_plans = false, keeps_folder = false;
};

uint64_t DefaultSeed() {
  const char* given = std::getenv("LATHE_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10)
                          : static_cast<uint64_t>(lathe::SystemClock().UnixNanos()) % 1'000'000;
}

// Nullopt after a word on what is wrong.
std::optional<Options> Parse(int argc, char** argv) {
  Options options;
  options.chaos.seed = DefaultSeed();
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--plan") {
      options.only_plans = true;
      continue;
    }
    const char* value = i + 1 < argc ? argv[++i] : "";
    if (flag == "--seed" && *value != '\0') {
      options.chaos.seed = std::strtoull(value, nullptr, 10);
    } else if (flag == "--seconds" && std::atoi(value) > 0) {
      options.chaos.faults_for = std::chrono::seconds(std::atoi(value));
    } else if (flag == "--only") {
      options.chaos.only = value;
    } else if (flag == "--folder" && *value != '\0') {
      options.chaos.folder = value;
      options.keeps_folder = true;
    } else {
      fmt::print(stderr, "lathe-chaos: {} {}: no such flag, or its value is missing\n{}", flag, value, kUsage);
      return std::nullopt;
    }
  }
  return options;
}

void PrintPlan(const lathe::chaos::ChaosOptions& options) {
  for (const lathe::chaos::Fault& fault : lathe::chaos::DrawPlan(options.seed, options.faults_for, {}))
    fmt::print("{}\n", fault.ToString());
}

std::string FreshFolder() {
  std::string name = "/tmp/lathe-chaos-XXXXXX";
  return mkdtemp(name.data()) != nullptr ? name : "";
}

}  // namespace

int main(int argc, char** argv) {
  std::optional<Options> options = Parse(argc, argv);
  if (!options) return 2;
  fmt::print("LATHE_SEED={}\n", options->chaos.seed);
  if (options->only_plans) {
    PrintPlan(options->chaos);
    return 0;
  }
  if (!options->keeps_folder) options->chaos.folder = FreshFolder();
  const auto report = lathe::chaos::RunChaos(options->chaos);
  if (!report.ok()) {
    fmt::print(stderr, "lathe-chaos: {}\n", report.status().ToString());
    return 1;
  }
  fmt::print("{}\n", report->Summary());
  for (const std::string& broken : report->broken) fmt::print("BROKEN: {}\n", broken);
  if (report->broken.empty() && !options->keeps_folder) std::filesystem::remove_all(options->chaos.folder);
  if (!report->broken.empty()) fmt::print("what was seen is in {}\n", options->chaos.folder);
  return report->broken.empty() ? 0 : 1;
}
