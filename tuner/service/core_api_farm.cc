// CoreApi's FarmApi.
#include <fmt/format.h>

#include "support/status_macros.h"
#include "tracker/lease_table.h"
#include "tuner/service/core_api.h"
#include "tuner/service/request_fields.h"
#include "tuner/service/row_messages.h"

namespace lathe {
namespace {

constexpr const char* kLocalAdmin = "admin@server";  // Over the server's own socket. No user can be called so.

}  // namespace

StatusOr<v1::ListDevicesResponse> CoreApi::ListDevices(const v1::ListDevicesRequest& request) {
  ASSIGN_OR_RETURN(const std::vector<DeviceRow> devices, core_.store().ListDevices());  // By name.
  ASSIGN_OR_RETURN(const std::vector<LeaseRow> granted, core_.store().ListGrantedLeases());
  std::map<std::string, DeviceStanding> standings;
  for (DeviceStanding& standing : core_.View().devices) standings[standing.name] = std::move(standing);
  v1::ListDevicesResponse response;
  for (const DeviceRow& device : devices) {
    if (!request.key().empty() && request.key() != device.device_class) continue;
    *response.add_devices() = ToMessage(device, granted, clock_.UnixNanos());
    if (const auto standing = standings.find(device.name); standing != standings.end())
      AddStanding(*response.mutable_devices(response.devices_size() - 1), standing->second);
  }
  return response;
}

StatusOr<v1::Device> CoreApi::FindDevice(const std::string& name) {
  ASSIGN_OR_RETURN(const v1::ListDevicesResponse all, ListDevices({}));
  std::string known;
  for (const v1::Device& device : all.devices()) {
    if (device.name() == name) return device;
    known += (known.empty() ? "\"" : ", \"") + device.name() + "\"";
  }
  return NotFound(
      fmt::format("device \"{}\": no such device; known devices: {}", name, known.empty() ? "none" : known));
}

StatusOr<v1::GetDeviceResponse> CoreApi::GetDevice(const v1::GetDeviceRequest& request) {
  ASSIGN_OR_RETURN(const std::string name, ReadName("name", request.name(), 64));
  v1::GetDeviceResponse response;
  ASSIGN_OR_RETURN(*response.mutable_device(), FindDevice(name));
  return response;
}

Petitioner CoreApi::Asking() const {
  return {principal_.name.empty() ? kLocalAdmin : principal_.name, principal_.role == Role::kAdmin};
}

StatusOr<v1::DrainDeviceResponse> CoreApi::DrainDevice(const v1::DrainDeviceRequest& request) {
  ASSIGN_OR_RETURN(const std::string name, ReadName("name", request.name(), 64));
  std::string reason = "by " + Asking().name;
  if (!request.reason().empty()) {
    ASSIGN_OR_RETURN(reason, ReadName("reason", request.reason(), 256));
    reason += fmt::format(" ({})", Asking().name);
  }
  RETURN_IF_ERROR(core_.DrainDevice(name, reason, Asking()));
  v1::DrainDeviceResponse response;
  ASSIGN_OR_RETURN(*response.mutable_device(), FindDevice(name));
  return response;
}

StatusOr<v1::ReserveDeviceResponse> CoreApi::ReserveDevice(const v1::ReserveDeviceRequest& request) {
  ReservationRequest reservation{.user = Asking().name, .lasts = Duration(request.duration_ns())};
  ASSIGN_OR_RETURN(reservation.request_id, ReadName("request_id", request.request_id(), 64));
  if (request.request_id().find(':') != std::string::npos)
    return InvalidArgument("request_id: holds a colon; use letters and digits");
  ASSIGN_OR_RETURN(reservation.wish, DeviceWish::Parse(request.devices()));
  reservation.is_withdrawn = request.withdraw();
  ASSIGN_OR_RETURN(const ReservationStanding standing, core_.ReserveDevice(reservation));
  v1::ReserveDeviceResponse response;
  response.set_device(standing.device);
  response.set_remaining_ns(standing.remaining.count());
  response.set_waits_for(standing.waits_for);
  return response;
}

StatusOr<v1::ReleaseDeviceResponse> CoreApi::ReleaseDevice(const v1::ReleaseDeviceRequest& request) {
  ASSIGN_OR_RETURN(const std::string name, ReadName("name", request.name(), 64));
  RETURN_IF_ERROR(core_.ReleaseDevice(name, Asking()));
  v1::ReleaseDeviceResponse response;
  ASSIGN_OR_RETURN(*response.mutable_device(), FindDevice(name));
  return response;
}

StatusOr<v1::ListWorkersResponse> CoreApi::ListWorkers(const v1::ListWorkersRequest&) {
  v1::ListWorkersResponse response;
  for (const WorkerStanding& worker : core_.View().workers) {
    v1::Worker& message = *response.add_workers();
    message.set_name(worker.name);
    message.set_slots(worker.slots);
    message.set_tasks(worker.tasks);
    message.set_building(worker.building);
    message.set_codegen_version(worker.codegen_version);
    message.set_is_draining(worker.is_draining);
    message.set_silent_ns(worker.silent_for.count());
  }
  return response;
}

}  // namespace lathe
