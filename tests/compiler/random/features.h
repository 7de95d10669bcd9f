// What a program consists of that a schedule or a pass might get wrong, found by looking at it (not told by who made
// it), so that a generator that stops drawing something is noticed.
#pragma once

#include <set>
#include <span>
#include <string_view>

#include "compiler/ir/stmt.h"

namespace lathe {

std::set<std::string_view> FeaturesOf(const PrimFunc& func);
std::span<const std::string_view> AllFeatures();

}  // namespace lathe
