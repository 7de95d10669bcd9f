// CoreApi's FarmApi.
#include <fmt/format.h>

#include "support/status_macros.h"
#include "tuner/service/core_api.h"
#include "tuner/service/request_fields.h"
#include "tuner/service/row_messages.h"

namespace lathe {

StatusOr<v1::ListDevicesResponse> CoreApi::ListDevices(const v1::ListDevicesRequest& request) {
  ASSIGN_OR_RETURN(std::vector<DeviceRow> devices, core_.store().ListDevices());
  ASSIGN_OR_RETURN(const std::vector<LeaseRow> granted, core_.store().ListGrantedLeases());
  std::sort(devices.begin(), devices.end(), [](const DeviceRow& a, const DeviceRow& b) { return a.name < b.name; });
  v1::ListDevicesResponse response;
  for (const DeviceRow& device : devices) {
    if (!request.key().empty() && request.key() != device.device_class) continue;
    *response.add_devices() = ToMessage(device, granted, clock_.UnixNanos());
  }
  return response;
}

StatusOr<v1::GetDeviceResponse> CoreApi::GetDevice(const v1::GetDeviceRequest& request) {
  ASSIGN_OR_RETURN(const std::string name, ReadName("name", request.name(), 64));
  ASSIGN_OR_RETURN(const v1::ListDevicesResponse all, ListDevices({}));
  v1::GetDeviceResponse response;
  std::string known;
  for (const v1::Device& device : all.devices()) {
    if (device.name() == name) {
      *response.mutable_device() = device;
      return response;
    }
    known += (known.empty() ? "\"" : ", \"") + device.name() + "\"";
  }
  return NotFound(
      fmt::format("device \"{}\": no such device; known devices: {}", name, known.empty() ? "none" : known));
}

}  // namespace lathe
