// lathe reserve: a device for a person, for a while.
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/interrupts.h"
#include "cli/message_json.h"
#include "cli/report_error.h"
#include "cli/session.h"
#include "cli/time_text.h"
#include "cli/verbs.h"
#include "support/credential.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr Duration kAskAgainEvery = std::chrono::seconds(2);

struct ReserveOptions {
  Place place;
  std::string devices, time = "30m";
  bool as_json = false;
};

void Print(const v1::ReserveDeviceResponse& reserved, const ReserveOptions& options) {
  const double seconds = static_cast<double>(reserved.remaining_ns()) / 1e9;
  if (options.as_json) {
    PrintJson({{"device", reserved.device()}, {"remaining_ns", reserved.remaining_ns()}});
    return;
  }
  std::printf("%s\n", reserved.device().c_str());
  LogLine("yours for " + FormatSeconds(seconds) + "; `lathe release " + reserved.device() + "` gives it back before");
}

// Asks until it is granted; whoever stops asking has left the line a minute later.
StatusOr<int> Run(const ReserveOptions& options) {
  ASSIGN_OR_RETURN(const Duration lasts, ParseDuration(options.time));
  ASSIGN_OR_RETURN(Session session, Session::Open(options.place, Access::kLive));
  CountInterrupts();
  v1::ReserveDeviceRequest request;
  request.set_request_id(fmt::format("{:02x}", fmt::join(DrawSecret<16>(), "")));
  request.set_devices(options.devices);
  request.set_duration_ns(lasts.count());
  for (std::string told;;) {
    const StatusOr<v1::ReserveDeviceResponse> reserved = session.farm().ReserveDevice(request);
    const bool is_away = reserved.status().code() == StatusCode::kUnavailable;  // The server is being started again.
    if (!reserved.ok() && !is_away) return reserved.status();
    if (reserved.ok() && !reserved->device().empty()) {
      Print(*reserved, options);
      return kExitOk;
    }
    const std::string waits_for(is_away ? reserved.status().message() : reserved->waits_for());
    if (waits_for != told) LogLine("waits: " + waits_for);
    told = waits_for;
    if (!AwaitInterrupts(1, [] { return false; }, kAskAgainEvery)) continue;
    request.set_withdraw(true);
    ASSIGN_OR_RETURN(const v1::ReserveDeviceResponse withdrawn, session.farm().ReserveDevice(request));
    return kExitInterrupted;
  }
}

}  // namespace

void AddReserve(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<ReserveOptions>();
  CLI::App* verb = app.add_subcommand("reserve", "Have a device for yourself for a while: the farm leaves it alone");
  verb->add_option("DEVICES", options->devices, "which: a name, a key, or conditions, e.g. 'pi4 & mem>=4GiB'")
      ->required();
  verb->add_option("--for", options->time, "how long from when you have it, at most 8h")->capture_default_str();
  verb->add_flag("--json", options->as_json, "machine-readable (docs/formats/cli_json.md)");
  AddPlaceFlags(*verb, options->place);
  verb->callback([options, &exit_code] {
    const StatusOr<int> code = Run(*options);
    exit_code = code.ok() ? *code : ReportError(code.status());
  });
}

}  // namespace lathe
