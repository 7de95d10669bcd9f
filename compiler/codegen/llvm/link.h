// lld as a library: objects in memory in, one checked shared object out.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "compiler/target/target.h"
#include "support/status.h"

namespace lathe {

// Not thread-safe, as lld is not. Nothing is written to a disk.
StatusOr<std::string> LinkSharedObject(std::span<const std::string_view> objects, const Target& target);

// Refuses a file that needs another library, an undefined symbol or a constructor, and names it.
Status CheckSelfContained(std::string_view shared_object);

}  // namespace lathe
