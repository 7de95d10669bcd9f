#include "support/role.h"

#include <algorithm>
#include <utility>

namespace lathe {
namespace {

constexpr std::pair<Role, std::string_view> kNames[] = {
    {Role::kJoining, "joining"}, {Role::kViewer, "viewer"}, {Role::kSubmitter, "submitter"}, {Role::kDevice, "device"},
    {Role::kWorker, "worker"},   {Role::kServer, "server"}, {Role::kAdmin, "admin"}};

bool IsFarmNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

}  // namespace

std::string_view RoleName(Role role) {
  for (const auto& [known, name] : kNames)
    if (known == role) return name;
  return "unknown";
}

std::optional<Role> ParseRole(std::string_view name) {
  for (const auto& [role, known] : kNames)
    if (known == name) return role;
  return std::nullopt;
}

bool IsFarmName(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), IsFarmNameCharacter);
}

}  // namespace lathe
