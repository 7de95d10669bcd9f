#include "cli/compile_report.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/text_table.h"
#include "cli/time_text.h"
#include "support/file.h"

namespace lathe {
namespace {

nlohmann::ordered_json JsonOf(const NetworkKernel& kernel) {
  nlohmann::ordered_json json = {{"name", kernel.name},
                                 {"workload", kernel.workload.ToHex()},
                                 {"calls", kernel.calls},
                                 {"schedule", std::string(ScheduleSourceName(kernel.source))}};
  if (kernel.source == ScheduleSource::kMiss) json[kernel.is_refused ? "refused" : "why"] = kernel.why;
  return json;
}

}  // namespace

nlohmann::ordered_json ReportOf(const CompiledNetwork& network, const Digest& inputs) {
  nlohmann::ordered_json json = {{"output", network.artifact.path},
                                 {"size_bytes", network.artifact.size_bytes},
                                 {"digest", network.artifact.digest.ToHex()},
                                 {"inputs", inputs.ToHex()},
                                 {"kernels", nlohmann::ordered_json::array()}};
  for (const NetworkKernel& kernel : network.kernels) json["kernels"].push_back(JsonOf(kernel));
  return json;
}

void PrintKernels(const std::vector<NetworkKernel>& kernels) {
  TextTable table({"KERNEL", ">WORKLOAD", ">CALLS", ">SCHEDULE", ">KNOWN TIME"});
  for (const NetworkKernel& kernel : kernels) {
    table.Add({kernel.name, kernel.workload.ToHex().substr(0, 12), std::to_string(kernel.calls),
               std::string(ScheduleSourceName(kernel.source)), FormatNs(kernel.best_ns)});
  }
  std::fputs(table.Render().c_str(), stdout);
}

void PrintSummary(const CompiledNetwork& network, const std::string& next) {
  std::map<std::string, int> misses;
  int known = 0;
  for (const NetworkKernel& kernel : network.kernels) {
    known += kernel.source != ScheduleSource::kMiss;
    if (kernel.is_refused)
      std::fprintf(stderr, "%s: the known schedule does not build any more: %s; tune again for a new one\n",
                   kernel.name.c_str(), kernel.why.c_str());
    else if (kernel.source == ScheduleSource::kMiss)
      ++misses[kernel.why];
  }
  for (const auto& [why, count] : misses) std::fprintf(stderr, "%d MISS: %s\n", count, why.c_str());
  std::fprintf(stderr, "%s: %d of %zu kernels with known schedules, the others by default ones; %.1f MiB\nnext: %s\n",
               network.artifact.path.c_str(), known, network.kernels.size(),
               static_cast<double>(network.artifact.size_bytes) / (1 << 20), next.c_str());
}

namespace {

// A field of what may be anybody's JSON; "" if it is no text.
std::string StringField(const nlohmann::json& json, const char* field) {
  const auto at = json.is_object() ? json.find(field) : json.end();
  return at != json.end() && at->is_string() ? at->get<std::string>() : "";
}

bool HasRefusedKernel(const nlohmann::json& report) {
  return std::ranges::any_of(report.value("kernels", nlohmann::json::array()),
                             [](const nlohmann::json& kernel) { return kernel.contains("refused"); });
}

}  // namespace

std::optional<BuildArtifact> AlreadyBuilt(const std::string& report, const Digest& inputs, const std::string& output) {
  const nlohmann::json json = nlohmann::json::parse(report, nullptr, /*allow_exceptions=*/false);
  if (StringField(json, "inputs") != inputs.ToHex() || HasRefusedKernel(json)) return std::nullopt;
  const StatusOr<std::string> bytes = ReadWholeFile(output);
  if (!bytes.ok()) return std::nullopt;
  const Digest digest = Sha256(*bytes);
  if (StringField(json, "digest") != digest.ToHex()) return std::nullopt;
  return BuildArtifact{.path = output, .digest = digest, .size_bytes = bytes->size()};
}

Status MissError(const std::string& model, const std::string& target, const std::vector<NetworkKernel>& kernels,
                 const std::string& command) {
  std::vector<std::string> missed;
  for (const NetworkKernel& kernel : kernels) {
    if (kernel.source == ScheduleSource::kMiss)
      missed.push_back(fmt::format("MISS {} {}: {}", kernel.name, kernel.workload.ToHex().substr(0, 12), kernel.why));
  }
  return NotFound(fmt::format("compile {}: {} of {} kernels have no schedule for \"{}\": {}; {}", model, missed.size(),
                              kernels.size(), target, fmt::join(missed, "; "), command));
}

}  // namespace lathe
