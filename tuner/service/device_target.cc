#include "tuner/service/device_target.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "compiler/target/target.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

// Of the JSON that the coordinator keeps for each device.
StatusOr<HostFacts> FactsOf(const DeviceRow& device) {
  const nlohmann::json json = nlohmann::json::parse(device.facts, nullptr, /*allow_exceptions=*/false);
  const auto has = [&](const char* field, auto is_type) {
    return json.is_object() && json.contains(field) && (json[field].*is_type)();
  };
  using Json = nlohmann::json;
  if (!has("arch", &Json::is_string) || !has("num_cores", &Json::is_number_integer) ||
      !has("cpu_features", &Json::is_array)) {
    return FailedPrecondition(
        fmt::format("target of device \"{}\": it has not said what it is; connect it again", device.name));
  }
  HostFacts facts{.triple = TripleOfMachine(json["arch"].get<std::string>()),
                  .num_cores = std::max(json["num_cores"].get<int>(), 1)};
  for (const Json& feature : json["cpu_features"]) {
    if (feature.is_string()) facts.features.push_back(feature);
  }
  std::sort(facts.features.begin(), facts.features.end());
  return facts;
}

Status NoSuchKey(const std::string& device_key, const std::set<std::string>& known) {
  return NotFound(
      fmt::format("target \"auto\" for device key \"{}\": no such device key; known keys: {}; connect such a device or "
                  "name a target",
                  device_key, known.empty() ? "none" : "\"" + fmt::format("{}", fmt::join(known, "\", \"")) + "\""));
}

}  // namespace

StatusOr<std::string> ResolveTarget(const std::string& target, const std::string& device_key, Store& store) {
  ASSIGN_OR_RETURN(const std::vector<DeviceRow> devices, store.ListDevices());
  std::set<std::string> known;
  std::string resolved, by;
  for (const DeviceRow& device : devices) {
    known.insert(device.device_class);
    if (device.device_class != device_key) continue;
    ASSIGN_OR_RETURN(const HostFacts facts, FactsOf(device));
    ASSIGN_OR_RETURN(const Target parsed, Target::Parse(target, facts));
    if (parsed.triple() != facts.triple) {
      return FailedPrecondition(fmt::format(
          "target \"{}\" for device key \"{}\": it is for {}, device {} is {}; name a target of that processor", target,
          device_key, parsed.triple(), device.name, facts.triple));
    }
    if (!resolved.empty() && parsed.ToString() != resolved) {
      return FailedPrecondition(
          fmt::format("target \"{}\" for device key \"{}\": \"{}\" on {}, \"{}\" on {}; name the target in full",
                      target, device_key, resolved, by, parsed.ToString(), device.name));
    }
    resolved = parsed.ToString();
    by = device.name;
  }
  if (!resolved.empty()) return resolved;
  if (target == "auto") return NoSuchKey(device_key, known);
  ASSIGN_OR_RETURN(const Target parsed, Target::Parse(target));
  return parsed.ToString();
}

}  // namespace lathe
