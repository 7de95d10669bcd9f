// lathe drain: takes a device out of service. lathe release: puts it back, or ends a reservation.
#include <CLI/CLI.hpp>

#include "cli/report_error.h"
#include "cli/session.h"
#include "cli/verbs.h"

namespace lathe {
namespace {

struct DeviceOptions {
  Place place;
  std::string name, reason;
};

int Drain(const DeviceOptions& options) {
  StatusOr<Session> session = Session::Open(options.place, Access::kWrite);
  if (!session.ok()) return ReportError(session.status());
  v1::DrainDeviceRequest request;
  request.set_name(options.name);
  request.set_reason(options.reason);
  const StatusOr<v1::DrainDeviceResponse> response = session->farm().DrainDevice(request);
  if (!response.ok()) return ReportError(response.status());
  const bool is_busy = !response->device().lease_holder().empty();
  LogLine("device \"" + options.name + "\" gets nothing new" +
          (is_busy ? "; what is at its hand is measured yet (`lathe devices` shows when it is free)" : "") +
          "; `lathe release " + options.name + "` puts it back");
  return kExitOk;
}

int Release(const DeviceOptions& options) {
  StatusOr<Session> session = Session::Open(options.place, Access::kWrite);
  if (!session.ok()) return ReportError(session.status());
  v1::ReleaseDeviceRequest request;
  request.set_name(options.name);
  const StatusOr<v1::ReleaseDeviceResponse> response = session->farm().ReleaseDevice(request);
  if (!response.ok()) return ReportError(response.status());
  const bool is_there = response->device().state() == v1::DEVICE_STATE_ONLINE;
  LogLine("device \"" + options.name + "\" is free for jobs again" + (is_there ? "" : ", once it is connected"));
  return kExitOk;
}

}  // namespace

void AddDrain(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<DeviceOptions>();
  CLI::App* verb = app.add_subcommand("drain", "Take a device out of service; what it has at hand is measured yet");
  verb->add_option("DEVICE", options->name, "its name")->required();
  verb->add_option("--reason", options->reason, "for whoever wonders");
  AddPlaceFlags(*verb, options->place);
  verb->callback([options, &exit_code] { exit_code = Drain(*options); });
}

void AddRelease(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<DeviceOptions>();
  CLI::App* verb =
      app.add_subcommand("release", "End a reservation, or put a device back that was taken out of service");
  verb->add_option("DEVICE", options->name, "its name")->required();
  AddPlaceFlags(*verb, options->place);
  verb->callback([options, &exit_code] { exit_code = Release(*options); });
}

}  // namespace lathe
