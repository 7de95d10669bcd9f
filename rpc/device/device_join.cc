#include "rpc/device/device_join.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "rpc/device/device_program.h"
#include "rpc/machine_identity.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr auto kPatience = std::chrono::seconds(30);

Status MakeFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  return error ? Unavailable(fmt::format("make folder {}: {}", path, error.message())) : OkStatus();
}

// A file that root has made in somebody's folder is that user's, as all in there.
Status GiveToOwner(const std::string& file, const std::string& folder) {
  struct stat info;
  if (geteuid() != 0 || stat(folder.c_str(), &info) != 0 || info.st_uid == 0) return OkStatus();
  if (chown(file.c_str(), info.st_uid, info.st_gid) == 0) return OkStatus();
  return Unavailable(fmt::format("give {} to the owner of its folder: {}", file, std::strerror(errno)));
}

}  // namespace

StatusOr<std::string> JoinAsDevice(const DeviceJoinOptions& options) {
  ASSIGN_OR_RETURN(const Endpoint farm, ParseEndpoint(options.farm));
  ASSIGN_OR_RETURN(const InvitationCode code, ParseInvitationCode(options.code));
  DeviceProgramOptions program{.name = options.name, .cpus = options.cpus, .data_directory = options.data_directory};
  RETURN_IF_ERROR(SetDefaults(program));
  RETURN_IF_ERROR(MakeFolder(program.data_directory));
  ASSIGN_OR_RETURN(const MachineIdentity identity, JoinFarm(farm, code, {Role::kDevice, program.name}, kPatience));
  RETURN_IF_ERROR(identity.Write(program.identity_path));
  RETURN_IF_ERROR(GiveToOwner(program.identity_path, program.data_directory));
  const std::string start = !options.start.empty() ? options.start
                            : options.name.empty() ? "start it: lathe-device"
                                                   : "start it: lathe-device --name " + program.name;
  return fmt::format("device \"{}\" has joined the farm at {}; its key is in {}\n{}\n", program.name, farm.ToString(),
                     program.identity_path, start);
}

}  // namespace lathe
