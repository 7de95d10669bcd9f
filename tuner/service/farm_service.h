// FarmService on the wire. For the gRPC shells only.
#pragma once

#include "proto/lathe/v1/farm.grpc.pb.h"
#include "tuner/service/api.h"
#include "tuner/service/call_pool.h"

namespace lathe {

class FarmService : public v1::FarmService::CallbackService {
 public:
  FarmService(FarmApi& api, CallPool& pool) : api_(api), pool_(pool) {}

  grpc::ServerUnaryReactor* ListDevices(grpc::CallbackServerContext* context, const v1::ListDevicesRequest* request,
                                        v1::ListDevicesResponse* response) override;
  grpc::ServerUnaryReactor* GetDevice(grpc::CallbackServerContext* context, const v1::GetDeviceRequest* request,
                                      v1::GetDeviceResponse* response) override;

 private:
  FarmApi& api_;
  CallPool& pool_;
};

}  // namespace lathe
