// On whose behalf a call is answered.
#pragma once

#include <string>

#include "support/role.h"

namespace lathe {

struct Principal {
  Role role = Role::kAdmin;
  std::string name;  // Of the user or machine; empty: whoever may use the server's own socket, or the file itself.
  std::string ToString() const { return name.empty() ? "who may use the server's socket" : '"' + name + '"'; }
  bool operator==(const Principal&) const = default;
};

}  // namespace lathe
