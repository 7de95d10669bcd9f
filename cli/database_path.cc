#include "cli/database_path.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace lathe {
namespace {

std::string FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string HomeFolder() {
  const std::string home = FromEnvironment("HOME");
  const passwd* user = home.empty() ? getpwuid(getuid()) : nullptr;
  return user == nullptr ? home : user->pw_dir;
}

}  // namespace

std::string DatabasePath(const std::string& flag) {
  const std::string named = flag.empty() ? FromEnvironment("LATHE_DB") : flag;
  if (!named.empty()) {  // What lies beside a database, lock and socket, lies beside the file and not beside a link to
                         // it.
    std::error_code error;
    return std::filesystem::is_symlink(named, error) ? std::filesystem::weakly_canonical(named, error).string() : named;
  }
  return DataFolder() + "/lathe.db";
}

std::string DataFolder() {
  const std::string data = FromEnvironment("XDG_DATA_HOME");
  return (data.empty() ? HomeFolder() + "/.local/share" : data) + "/lathe";
}

Status CreateFolderOf(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) return OkStatus();
  std::error_code error;
  if (std::filesystem::create_directories(folder, error))
    fmt::print(stderr, "lathe: folder {} made for the database\n", folder.string());
  return error ? Unavailable(fmt::format("create folder {}: {}; choose another --db", folder.string(), error.message()))
               : OkStatus();
}

std::string AbsolutePath(const std::string& path) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(path, error);
  return error ? path : whole.lexically_normal().string();
}

}  // namespace lathe
