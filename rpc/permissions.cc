#include "rpc/permissions.h"

#include <fmt/format.h>

#include <initializer_list>
#include <string>

namespace lathe {
namespace {

// A set of roles.
class Roles {
 public:
  constexpr Roles(std::initializer_list<Role> roles) {
    for (const Role role : roles) bits_ |= Bit(role);
  }
  constexpr bool Has(Role role) const { return (bits_ & Bit(role)) != 0; }

 private:
  static constexpr uint32_t Bit(Role role) { return uint32_t{1} << static_cast<uint32_t>(role); }
  uint32_t bits_ = 0;
};

constexpr Roles kReaders = {Role::kViewer, Role::kSubmitter, Role::kAdmin};
constexpr Roles kSubmitters = {Role::kSubmitter, Role::kAdmin};  // Cancel their own jobs; an admin any.
constexpr Roles kAdmins = {Role::kAdmin};
constexpr Roles kWorkers = {Role::kWorker, Role::kAdmin};  // An admin runs one over the server's own socket.
constexpr Roles kDevices = {Role::kDevice};
constexpr Roles kServers = {Role::kServer};

struct RpcRow {
  std::string_view rpc;
  Roles roles;
};
constexpr RpcRow kRpcs[] = {
    {"TuningService/SubmitJob", kSubmitters},
    {"TuningService/GetJob", kReaders},
    {"TuningService/ListJobs", kReaders},
    {"TuningService/CancelJob", kSubmitters},
    {"TuningService/WhyJob", kReaders},
    {"TuningService/ListTrials", kReaders},
    {"TuningService/ExplainTrial", kReaders},
    {"TuningService/ExplainTask", kReaders},
    {"TuningService/WatchJob", kReaders},
    {"ScheduleService/QueryBest", kReaders},
    {"ScheduleService/ListBest", kReaders},
    {"ScheduleService/FindWorkload", kReaders},
    {"ScheduleService/ListWorkloads", kReaders},
    {"ScheduleService/ImportRecords", kAdmins},  // They become best without a measurement of ours.
    {"ScheduleService/ReportAsked", kReaders},   // Builds; a bounded number of rows.
    {"ScheduleService/ListAsked", kReaders},
    {"FarmService/ListDevices", kReaders},
    {"FarmService/GetDevice", kReaders},
    {"FarmService/DrainDevice", kAdmins},
    {"FarmService/ReserveDevice", kSubmitters},
    {"FarmService/ReleaseDevice", kSubmitters},  // Their own reservations; an admin any, and what is out of service.
    {"FarmService/ListWorkers", kReaders},
    {"WorkerService/Synchronize", kWorkers},
    {"WorkerService/StoreArtifact", kWorkers},
    {"IdentityService/Invite", kAdmins},
    {"IdentityService/ListInvitations", kAdmins},
    {"IdentityService/ListCertificates", kAdmins},
    {"IdentityService/RevokeCertificates", kAdmins},
    {"IdentityService/CreateToken", kAdmins},
    {"IdentityService/ListTokens", kAdmins},
    {"IdentityService/RevokeToken", kAdmins},
};

struct FrameRow {
  FrameType type;
  Roles roles;
};
constexpr FrameRow kFrames[] = {
    {FrameType::kHello, kDevices},
    {FrameType::kWelcome, kServers},
    {FrameType::kDesired, kServers},
    {FrameType::kCurrent, kDevices},
    {FrameType::kNeedBlobs, kDevices},
    {FrameType::kBlobChunk, kServers},
    {FrameType::kBlobCredit, kDevices},
    {FrameType::kBlobUnavailable, kServers},
    {FrameType::kMeasureResult, kDevices},
    {FrameType::kResultAck, kServers},
    {FrameType::kUnsupported, {Role::kDevice, Role::kServer}},
    {FrameType::kVersionMismatch, kServers},
    {FrameType::kRefused, kServers},
    {FrameType::kJoin, {Role::kJoining}},
    {FrameType::kRenew, {Role::kDevice, Role::kWorker}},
    {FrameType::kSigned, kServers},
};

constexpr Role kAllRoles[] = {Role::kJoining, Role::kViewer, Role::kSubmitter, Role::kDevice,
                              Role::kWorker,  Role::kServer, Role::kAdmin};

// "submitter or admin".
std::string NamesOf(Roles roles) {
  std::string names;
  for (const Role role : kAllRoles)
    if (roles.Has(role)) names += fmt::format("{}{}", names.empty() ? "" : " or ", RoleName(role));
  return names.empty() ? "nobody" : names;
}

std::string HowToBecome(Roles roles) {
  for (const Role role : kAllRoles) {
    if (!roles.Has(role)) continue;
    if (role == Role::kDevice || role == Role::kWorker)
      return fmt::format("`lathe invite {}` lets one join", RoleName(role));
    return fmt::format("`lathe token create --user USER --role {}` beside the server gives a token", RoleName(role));
  }
  return "upgrade the server";
}

}  // namespace

Status CheckMayCall(Role role, std::string_view rpc) {
  for (const RpcRow& row : kRpcs) {
    if (row.rpc != rpc) continue;
    if (row.roles.Has(role)) return OkStatus();
    return PermissionDenied(fmt::format("{}: the role \"{}\" may not, {} may; {}", rpc, RoleName(role),
                                        NamesOf(row.roles), HowToBecome(row.roles)));
  }
  return PermissionDenied(fmt::format("{}: nobody may; upgrade the server", rpc));
}

Status CheckMaySend(Role role, uint16_t frame_type) {
  for (const FrameRow& row : kFrames) {
    if (static_cast<uint16_t>(row.type) != frame_type) continue;
    if (row.roles.Has(role)) return OkStatus();
    return PermissionDenied(fmt::format("frame of type {}: the role \"{}\" may not send it, {} may", frame_type,
                                        RoleName(role), NamesOf(row.roles)));
  }
  return PermissionDenied(fmt::format("frame of type {}: nobody may send it", frame_type));
}

}  // namespace lathe
