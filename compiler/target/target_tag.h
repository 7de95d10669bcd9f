// The tag of a target.
#pragma once

#include <string_view>

#include "compiler/target/target.h"

namespace lathe {

// The tag that stands for exactly this target ("raspberry-pi/4b-aarch64"); empty: none does.
std::string_view TagOf(const Target& target);

}  // namespace lathe
