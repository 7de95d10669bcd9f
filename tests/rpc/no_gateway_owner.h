// An owner of a gateway whose devices have nothing to do.
#pragma once

#include <string>

#include "rpc/gateway/device_gateway.h"

namespace lathe {

class NoGatewayOwner : public DeviceGatewayOwner {
 public:
  void OnDeviceUp(const v1::Hello&) override {}
  void OnDeviceHeard(const std::string&, const v1::Current&) override {}
  void OnDeviceDown(const std::string&, const std::string&) override {}
  void OnResult(const v1::MeasureResult&) override {}
  StatusOr<BlobPiece> ReadBlob(const Digest&, int64_t, int64_t) override { return NotFound("blob: none here"); }
};

}  // namespace lathe
