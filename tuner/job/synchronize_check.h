// What the coordinator takes of a worker's word: how long, how many, of which characters.
#pragma once

#include "proto/lathe/v1/worker.pb.h"
#include "support/status.h"

namespace lathe {

// InvalidArgument names the field, what it has and the limit (docs/formats/worker_protocol.md, "Limits").
Status CheckSynchronizeRequest(const v1::SynchronizeRequest& request);

}  // namespace lathe
