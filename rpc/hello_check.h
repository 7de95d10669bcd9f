// What the server takes of a device's word about itself: how long, how many, of which characters. A peer's memory and
// the database are not for strangers to fill.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "proto/lathe/v1/device.pb.h"
#include "support/status.h"

namespace lathe {

// InvalidArgument names the field, what it has and the limit (docs/formats/device_protocol.md, "Limits").
Status CheckHello(const v1::Hello& hello);
Status CheckCurrent(const v1::Current& current);
Status CheckDeviceTags(const std::vector<std::string>& tags);  // That an owner gives a device.

// What a machine says of itself, made fit for such a field: other characters become '?', and the end is cut off.
std::string PrintableFact(std::string_view text);

}  // namespace lathe
