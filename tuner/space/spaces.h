// The generators of spaces by the names that users choose them by.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tuner/space/space_generator.h"

namespace lathe {

inline constexpr std::string_view kDefaultSpace = "rules";

struct SpaceRow {
  const char* name;
  const char* what;  // In a few words.
  std::unique_ptr<SpaceGenerator> (*make)();
};
std::span<const SpaceRow> Spaces();

// "rules", or a list "rules,templates", as one text for equal choices: in the order of Spaces(), each once; "" is the
// default. InvalidArgument names what there is.
StatusOr<std::string> CanonicalSpace(std::string_view space);

// The sketches of all spaces of the list, those that another one has already left out. One that has none for a workload
// adds none; where that holds for all of them, the reasons.
StatusOr<std::unique_ptr<SpaceGenerator>> MakeSpace(std::string_view space);

}  // namespace lathe
