// Target strings as users write them, completed by what the devices of the farm say of themselves.
#pragma once

#include <string>

#include "tuner/database/store.h"

namespace lathe {

// Canonical text. What is left out, and all of "auto", is taken from the devices with that key. Without such a device
// "auto" is kNotFound, and any other target is completed as on this machine. kFailedPrecondition if two devices would
// give different targets.
StatusOr<std::string> ResolveTarget(const std::string& target, const std::string& device_key, Store& store);

}  // namespace lathe
