#include "rpc/permissions.h"

#include <gmock/gmock.h>

namespace lathe {
namespace {

using testing::HasSubstr;

constexpr Role kEveryRole[] = {Role::kJoining, Role::kViewer, Role::kSubmitter, Role::kDevice,
                               Role::kWorker,  Role::kServer, Role::kAdmin};

// That every RPC has a row is tested where the services' descriptors are, tests/tuner/service.
TEST(FramePermissions, EveryFrameHasASenderAndNoUnknownOneHas) {
  for (uint32_t type = 0; type < 0x10000; ++type) {
    bool may_anybody = false;
    for (const Role role : kEveryRole) may_anybody |= CheckMaySend(role, static_cast<uint16_t>(type)).ok();
    EXPECT_EQ(may_anybody, IsKnownFrameType(static_cast<uint16_t>(type))) << "a row for type " << type;
  }
}

TEST(FramePermissions, ADeviceAndAServerSaySomethingElse) {
  for (uint32_t type = 0; type < 100; ++type) {
    const bool may_device = CheckMaySend(Role::kDevice, static_cast<uint16_t>(type)).ok();
    const bool may_server = CheckMaySend(Role::kServer, static_cast<uint16_t>(type)).ok();
    EXPECT_EQ(may_device && may_server, type == static_cast<uint32_t>(FrameType::kUnsupported)) << type;
  }
  const auto refusal = [](Role role, FrameType type) {
    return CheckMaySend(role, static_cast<uint16_t>(type)).message();
  };
  EXPECT_EQ(refusal(Role::kDevice, FrameType::kMeasureResult), "");
  EXPECT_EQ(refusal(Role::kDevice, FrameType::kDesired),
            "frame of type 3: the role \"device\" may not send it, server may");
  for (const Role role : {Role::kJoining, Role::kViewer, Role::kSubmitter, Role::kWorker, Role::kAdmin})
    EXPECT_THAT(refusal(role, FrameType::kHello), HasSubstr("may not send it, device may"));
}

TEST(RpcPermissions, ARefusalNamesRoleCallAndTheWayThere) {
  const Status status = CheckMayCall(Role::kViewer, "TuningService/SubmitJob");
  EXPECT_EQ(status.code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(status.message(),
            "TuningService/SubmitJob: the role \"viewer\" may not, submitter or admin may; `lathe token create --user "
            "USER --role submitter` beside the server gives a token");
  EXPECT_THAT(CheckMayCall(Role::kSubmitter, "WorkerService/Synchronize").message(),
              HasSubstr("worker or admin may; `lathe invite worker` lets one join"));
  for (const Role role : kEveryRole)
    EXPECT_THAT(CheckMayCall(role, "TuningService/DropTables").message(), HasSubstr("nobody may; upgrade the server"));
}

}  // namespace
}  // namespace lathe
