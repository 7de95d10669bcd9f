// Who somebody on a farm is (docs/decisions/0061-identity.md). What each may do: rpc/permissions.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lathe {

enum class Role : uint8_t {
  kJoining,    // A machine that has shown nothing yet: it may hand in an invitation's code.
  kViewer,     // A person who reads.
  kSubmitter,  // A person who submits jobs, and cancels those.
  kDevice,     // A machine that measures, under the name in its certificate.
  kWorker,     // A machine that builds, likewise.
  kServer,     // The farm's server, as it shows itself to others; nobody's client.
  kAdmin,      // A person who may do all that people may.
};

std::string_view RoleName(Role role);  // "submitter".
std::optional<Role> ParseRole(std::string_view name);

// [a-z0-9._-]{1,64}: of a device, a worker, a server, a person.
bool IsFarmName(std::string_view name);

}  // namespace lathe
