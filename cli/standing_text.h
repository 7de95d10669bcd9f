// Whether what was given out still counts, in words.
#pragma once

#include <string>

#include "proto/lathe/v1/identity.pb.h"

namespace lathe {

inline std::string StandingText(v1::Standing standing) {
  switch (standing) {
    case v1::STANDING_IN_FORCE:
      return "in force";
    case v1::STANDING_EXPIRED:
      return "expired";
    case v1::STANDING_REVOKED:
      return "revoked";
    case v1::STANDING_TAKEN:
      return "taken";
    default:
      return "unknown";
  }
}

}  // namespace lathe
