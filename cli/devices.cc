// lathe devices: what the farm has.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/message_json.h"
#include "cli/report_error.h"
#include "cli/session.h"
#include "cli/text_table.h"
#include "cli/time_text.h"
#include "cli/verbs.h"
#include "support/clock.h"

namespace lathe {
namespace {

// "4 cores, aarch64, Cortex-A72": of the facts that the device gave.
std::string Describe(const std::string& facts) {
  const nlohmann::json json = nlohmann::json::parse(facts, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return "";
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() || part.empty() ? "" : ", ") + part; };
  if (json.contains("num_cores") && json["num_cores"].is_number_integer())
    add(std::to_string(json["num_cores"].get<int64_t>()) + " cores");
  for (const char* field : {"arch", "cpu_model"}) {
    if (json.contains(field) && json[field].is_string()) add(json[field].get<std::string>());
  }
  if (json.contains("tags") && json["tags"].is_array())
    for (const auto& tag : json["tags"])
      if (tag.is_string()) add(tag.get<std::string>());
  return text;
}

// What people or the farm decided about it goes before what it is.
std::string StateOf(const v1::Device& device) {
  const bool is_out =
      device.service() == v1::DEVICE_SERVICE_DRAINED || device.service() == v1::DEVICE_SERVICE_QUARANTINED;
  if (!is_out) return std::string(DeviceStateText(device.state()));
  const std::string reason = device.service_reason().empty() ? "" : ": " + Shorten(device.service_reason(), 40);
  const bool is_online = device.state() == v1::DEVICE_STATE_ONLINE;
  return std::string(DeviceServiceText(device.service())) +
         (is_online ? "" : ", " + std::string(DeviceStateText(device.state()))) + reason;
}

std::string HolderOf(const v1::Device& device, int64_t now) {
  if (device.reserved_by().empty()) return device.lease_holder();
  const double left = static_cast<double>(device.lease_expires_unix_ns() - now) / 1e9;
  return fmt::format("{}, reserved for {}", device.reserved_by(), FormatSeconds(std::max(left, 0.0)));
}

// Of a farm that checks nothing: nothing. What is wrong with a quarantined one its state says already.
std::string HealthOf(const v1::Device& device) {
  if (device.health() == v1::DEVICE_HEALTH_BAD) return "bad";
  if (!device.health_words().empty()) return Shorten(device.health_words(), 40);
  return device.health() == v1::DEVICE_HEALTH_GOOD ? "good" : "";
}

void Print(const v1::ListDevicesResponse& response) {
  TextTable table({"NAME", "KEY", "STATE", "HEALTH", "LENT TO", "LAST SEEN", "WHAT"});
  const int64_t now = SystemClock().UnixNanos();
  for (const v1::Device& device : response.devices()) {
    table.Add({device.name(), device.key(), StateOf(device), HealthOf(device), HolderOf(device, now),
               FormatAge(device.last_seen_unix_ns(), now), Describe(device.facts())});
  }
  if (table.empty()) {
    std::fprintf(stderr, "lathe: no devices; lend this machine with `lathe device --connect ADDRESS`\n");
  } else {
    std::fputs(table.Render().c_str(), stdout);
  }
}

struct DevicesOptions {
  Place place;
  std::string key;
  bool as_json = false;
};

int Run(const DevicesOptions& options) {
  StatusOr<Session> session = Session::Open(options.place, Access::kLive);
  if (!session.ok()) return ReportError(session.status());
  v1::ListDevicesRequest request;
  request.set_key(options.key);
  const StatusOr<v1::ListDevicesResponse> response = session->farm().ListDevices(request);
  if (!response.ok()) return ReportError(response.status());
  if (!options.as_json) {
    Print(*response);
    return kExitOk;
  }
  nlohmann::ordered_json json = {{"devices", nlohmann::ordered_json::array()}};
  for (const v1::Device& device : response->devices()) json["devices"].push_back(ToJson(device));
  PrintJson(json);
  return kExitOk;
}

}  // namespace

void AddDevices(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<DevicesOptions>();
  CLI::App* verb = app.add_subcommand("devices", "List devices, whether they are online, and who uses them");
  verb->add_option("--key", options->key, "only devices with this key");
  verb->add_flag("--json", options->as_json, "machine-readable (docs/formats/cli_json.md)");
  AddPlaceFlags(*verb, options->place);
  verb->callback([options, &exit_code] { exit_code = Run(*options); });
}

}  // namespace lathe
