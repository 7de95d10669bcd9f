// Who may do what on a farm: the one table (docs/decisions/0061-identity.md). What has no row nobody may.
#pragma once

#include <string_view>

#include "rpc/frame.h"
#include "support/role.h"
#include "support/status.h"

namespace lathe {

// `rpc` is a method of lathe.v1: "TuningService/SubmitJob". kPermissionDenied names the role, the RPC, who may, and the
// command that makes somebody one of those.
Status CheckMayCall(Role role, std::string_view rpc);

// To the other end of the link between server and device; what comes from a server is checked likewise. Types are those
// of the wire, known or not.
Status CheckMaySend(Role role, uint16_t frame_type);

}  // namespace lathe
