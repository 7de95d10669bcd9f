// lathe devices: what the farm has.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "cli/message_json.h"
#include "cli/parse_flags.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/time_text.h"
#include "cli/verbs.h"

namespace lathe {
namespace {

// "4 cores, aarch64, Cortex-A72": of the facts that the device gave.
std::string Describe(const std::string& facts) {
  const nlohmann::json json = nlohmann::json::parse(facts, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return "";
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() || part.empty() ? "" : ", ") + part; };
  if (json.contains("num_cores") && json["num_cores"].is_number_integer()) add(std::to_string(json["num_cores"].get<int64_t>()) + " cores");
  for (const char* field : {"arch", "cpu_model"}) {
    if (json.contains(field) && json[field].is_string()) add(json[field].get<std::string>());
  }
  return text;
}

void Print(const v1::ListDevicesResponse& response) {
  Table table({"NAME", "KEY", "STATE", "LENT TO", "LAST SEEN", "WHAT"});
  const int64_t now = SystemClock().UnixNanos();
  for (const v1::Device& device : response.devices()) {
    table.Add({device.name(), device.key(), std::string(DeviceStateText(device.state())), device.lease_holder(),
               FormatAge(device.last_seen_unix_ns(), now), Describe(device.facts())});
  }
  if (table.empty()) {
    std::fprintf(stderr, "lathe: no devices; lend this machine with `lathe device --connect ADDRESS`\n");
  } else {
    std::fputs(table.Render().c_str(), stdout);
  }
}

}  // namespace

int RunDevices(int argc, char** argv) {
  CLI::App app("Lists devices, whether they are online, and who uses them", "lathe devices");
  Place place;
  v1::ListDevicesRequest request;
  std::string key;
  bool as_json = false;
  app.add_option("--key", key, "only devices with this key");
  app.add_flag("--json", as_json, "machine-readable (docs/formats/cli_json.md)");
  AddPlaceFlags(app, place);
  if (const auto ended = ParseFlags(app, argc, argv)) return *ended;
  StatusOr<Session> session = Session::Open(place, Access::kLive);
  if (!session.ok()) return Fail(session.status());
  request.set_key(key);
  const StatusOr<v1::ListDevicesResponse> response = session->farm().ListDevices(request);
  if (!response.ok()) return Fail(response.status());
  if (!as_json) {
    Print(*response);
    return kExitOk;
  }
  nlohmann::ordered_json json = {{"devices", nlohmann::ordered_json::array()}};
  for (const v1::Device& device : response->devices()) json["devices"].push_back(ToJson(device));
  PrintJson(json);
  return kExitOk;
}

}  // namespace lathe
