#include "support/file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "support/status_macros.h"

namespace lathe {

bool MeansFullDisk(int error) { return error == ENOSPC || error == EDQUOT; }

StatusOr<std::string> ReadWholeFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return NotFound(fmt::format("read {}: {}", path, std::strerror(errno)));
  std::string bytes;
  char piece[1 << 16];
  ssize_t got = 0;
  while ((got = read(fd, piece, sizeof(piece))) != 0) {
    if (got > 0)
      bytes.append(piece, static_cast<size_t>(got));
    else if (errno != EINTR)
      break;
  }
  const int error = got < 0 ? errno : 0;
  close(fd);
  if (error == EISDIR) return InvalidArgument(fmt::format("read {}: it is a folder; name a file", path));
  if (error != 0) return Unavailable(fmt::format("read {}: {}", path, std::strerror(error)));
  return bytes;
}

namespace {

// Of SQLite, as records are kept in.
bool IsDatabase(const std::string& path) {
  constexpr std::string_view kBegin = "SQLite format 3";
  char bytes[kBegin.size()];
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool is_whole = read(fd, bytes, sizeof(bytes)) == static_cast<ssize_t>(sizeof(bytes));
  close(fd);
  return is_whole && std::string_view(bytes, sizeof(bytes)) == kBegin;
}

// What a database keeps beside itself.
bool IsBesideADatabase(const std::string& path) {
  for (const std::string_view end : {"-wal", "-shm", ".lock"})
    if (path.ends_with(end) && IsDatabase(path.substr(0, path.size() - end.size()))) return true;
  return false;
}

}  // namespace

StatusOr<std::string> OutputFile(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) return path;
  if (!S_ISREG(info.st_mode)) {
    const char* what = S_ISDIR(info.st_mode)    ? "a folder"
                       : S_ISFIFO(info.st_mode) ? "a pipe"
                       : S_ISSOCK(info.st_mode) ? "a socket"
                                                : "a device";
    return InvalidArgument(fmt::format("write {}: {} is there; name a file", path, what));
  }
  std::error_code error;
  const std::filesystem::path target = std::filesystem::canonical(path, error);
  const std::string name = error ? path : target.string();
  if (IsDatabase(name) || IsBesideADatabase(name))
    return InvalidArgument(
        fmt::format("write {}: a database is there, whose records would be lost; name another file", path));
  return name;
}

Status WriteWholeFile(const std::string& path, std::string_view bytes) {
  StatusOr<std::string> file = OutputFile(path);
  if (!file.ok()) return file.status();
  std::ofstream out(*file, std::ios::binary);
  out << bytes;
  out.close();
  if (out) return OkStatus();
  return Status(errno == ENOENT ? StatusCode::kNotFound : StatusCode::kResourceExhausted,
                fmt::format("write {}: {}", *file, std::strerror(errno)));
}

Status WriteAside(const std::string& path, std::string_view bytes) {
  ASSIGN_OR_RETURN(const std::string place, OutputFile(path));
  const std::string part = place + ".part";
  RETURN_IF_ERROR(WriteWholeFile(part, bytes));
  if (std::rename(part.c_str(), place.c_str()) == 0) return OkStatus();
  const int error = errno;
  std::remove(part.c_str());
  return Unavailable(fmt::format("write {}: {}", path, std::strerror(error)));
}

namespace {

Status SecretFailed(const std::string& path) {
  const bool is_refused = errno == EACCES || errno == EPERM;
  const StatusCode code = errno == ENOENT ? StatusCode::kNotFound
                          : is_refused    ? StatusCode::kPermissionDenied
                                          : StatusCode::kResourceExhausted;
  return Status(code, fmt::format("write {}: {}; check the folder and its free space", path, std::strerror(errno)));
}

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno != EINTR) return false;
    if (wrote > 0) bytes.remove_prefix(static_cast<size_t>(wrote));
  }
  return true;
}

// A new file; it lasts, but for its name.
bool WriteNewSecret(const std::string& path, std::string_view bytes) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return false;
  const bool is_written = WriteAll(fd, bytes) && fsync(fd) == 0;
  const int error = errno;
  close(fd);
  errno = error;
  return is_written;
}

}  // namespace

bool SyncFolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const int fd = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool is_synced = fsync(fd) == 0;
  close(fd);
  return is_synced;
}

Status WriteSecretFile(const std::string& path, std::string_view bytes) {
  const std::string part = path + ".part";
  unlink(part.c_str());  // Of somebody who was killed.
  if (WriteNewSecret(part, bytes) && rename(part.c_str(), path.c_str()) == 0 && SyncFolderOf(path)) return OkStatus();
  const Status status = SecretFailed(path);
  unlink(part.c_str());
  return status;
}

StatusOr<std::string> ReadSecretFile(const std::string& path) {
  struct stat info{};
  const bool is_there = stat(path.c_str(), &info) == 0;
  if (is_there && !S_ISREG(info.st_mode)) return InvalidArgument(fmt::format("read {}: it is no regular file", path));
  if (!is_there || (info.st_mode & 077) == 0) return ReadWholeFile(path);
  return PermissionDenied(fmt::format(
      "read {}: others may read it (mode {:04o}), 0600 required; make it anew, or `chmod 600` it if nobody did", path,
      info.st_mode & 07777));
}

}  // namespace lathe
