#include "support/blob_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "support/file.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPartEnd = ".part";

class File {
 public:
  File(const std::string& path, int flags) : fd_(open(path.c_str(), flags | O_CLOEXEC, 0644)) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  bool ok() const { return fd_ >= 0; }
  int fd() const { return fd_; }

 private:
  int fd_;
};

Status FileError(std::string_view verb, const std::string& path) {
  const int error = errno;
  const auto code = MeansFullDisk(error) ? StatusCode::kResourceExhausted
                    : error == ENOENT    ? StatusCode::kNotFound
                                         : StatusCode::kUnavailable;
  return Status(code, fmt::format("{} {}: {}", verb, path, std::strerror(error)));
}

Status WriteAll(const File& file, const std::string& path, std::string_view data, int64_t offset) {
  while (!data.empty()) {
    const ssize_t written = pwrite(file.fd(), data.data(), data.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FileError("write", path);
    data.remove_prefix(static_cast<size_t>(written));
    offset += written;
  }
  return OkStatus();
}

StatusOr<Digest> DigestOfFile(const std::string& path) {
  const File file(path, O_RDONLY);
  if (!file.ok()) return FileError("open", path);
  Sha256Stream stream;
  std::string buffer(256 << 10, '\0');
  while (true) {
    const ssize_t got = read(file.fd(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FileError("read", path);
    if (got == 0) return stream.Finish();
    stream.Update(std::string_view(buffer).substr(0, static_cast<size_t>(got)));
  }
}

Status Sync(const std::string& path, int flags) {
  const File file(path, flags);
  if (!file.ok()) return FileError("open", path);
  return fsync(file.fd()) == 0 ? OkStatus() : FileError("sync", path);
}

int64_t Nanoseconds(const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

}  // namespace

StatusOr<BlobStore> BlobStore::Open(std::string directory, int64_t limit_bytes) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error)
    return Unavailable(fmt::format("open blob store {}: {}; check its permissions", directory, error.message()));
  BlobStore store(std::move(directory), limit_bytes);
  RETURN_IF_ERROR(store.TakeInFolder());
  RETURN_IF_ERROR(store.MakeRoom(0));
  return store;
}

Status BlobStore::TakeInFolder() {
  struct Found {
    Digest digest;
    FileStamp stamp;
  };
  std::vector<Found> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory_, error)) {
    const std::string name = entry.path().filename().string();
    const bool is_part = name.ends_with(kPartEnd);
    const StatusOr<Digest> digest = Digest::FromHex(is_part ? name.substr(0, name.size() - kPartEnd.size()) : name);
    const std::optional<FileStamp> stamp = digest.ok() ? StampOf(entry.path().string()) : std::nullopt;
    if (stamp && is_part) {
      parts_[*digest] = stamp->size;
      part_bytes_ += stamp->size;
    } else if (stamp) {
      found.push_back({*digest, *stamp});
    } else if (name.ends_with(".tmp")) {
      std::error_code ignored;
      fs::remove(entry.path(), ignored);
    }
  }
  if (error)
    return Unavailable(fmt::format("read blob store {}: {}; check its permissions", directory_, error.message()));
  std::sort(found.begin(), found.end(),
            [](const Found& a, const Found& b) { return a.stamp.modified_ns < b.stamp.modified_ns; });
  for (const Found& blob : found) Remember(blob.digest, blob.stamp.size, blob.stamp.modified_ns);
  return OkStatus();
}

std::optional<BlobStore::FileStamp> BlobStore::StampOf(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) return std::nullopt;
  return FileStamp{info.st_size, Nanoseconds(info.st_mtim), Nanoseconds(info.st_ctim)};
}

BlobStore::Blob* BlobStore::Find(const Digest& digest) {
  const auto it = blobs_.find(digest);
  if (it == blobs_.end()) return nullptr;
  const std::string path = FinalPath(digest);
  const std::optional<FileStamp> stamp = StampOf(path);
  if (stamp && it->second.checked == stamp) return &it->second;
  const StatusOr<Digest> actual = DigestOfFile(path);
  if (!actual.ok() && actual.code() != StatusCode::kNotFound) return nullptr;  // It may be readable again.
  if (!actual.ok() || *actual != digest) {
    Delete(digest);
    return nullptr;
  }
  it->second.checked = stamp;
  return &it->second;
}

Status BlobStore::NotHere(const Digest& digest) const {
  return NotFound(fmt::format("blob {}: not in {}", digest.ToHex(), directory_));
}

// The content is on the disk before the name is, and the name before anybody is told.
Status BlobStore::GiveName(const std::string& temporary, const Digest& digest, int64_t size) {
  RETURN_IF_ERROR(Sync(temporary, O_WRONLY));
  const std::string path = FinalPath(digest);
  if (std::rename(temporary.c_str(), path.c_str()) != 0) return FileError("rename", temporary);
  RETURN_IF_ERROR(Sync(directory_, O_RDONLY | O_DIRECTORY));
  const std::optional<FileStamp> stamp = StampOf(path);
  Remember(digest, size, stamp ? stamp->modified_ns : 0);
  blobs_.at(digest).checked = stamp;
  return OkStatus();
}

StatusOr<Digest> BlobStore::Put(std::string_view content) {
  const Digest digest = Sha256(content);
  if (Blob* blob = Find(digest)) {
    Touch(digest, *blob);
    return digest;
  }
  RETURN_IF_ERROR(MakeRoom(static_cast<int64_t>(content.size())));
  const std::string temporary = FinalPath(digest) + ".tmp";
  {
    const File file(temporary, O_WRONLY | O_CREAT | O_TRUNC);
    if (!file.ok()) return FileError("create", temporary);
    RETURN_IF_ERROR(WriteAll(file, temporary, content, 0));
  }
  RETURN_IF_ERROR(GiveName(temporary, digest, static_cast<int64_t>(content.size())));
  return digest;
}

StatusOr<std::string> BlobStore::Path(const Digest& digest) {
  Blob* blob = Find(digest);
  if (blob == nullptr) return NotHere(digest);
  Touch(digest, *blob);
  return FinalPath(digest);
}

StatusOr<std::string> BlobStore::Read(const Digest& digest, int64_t offset, int64_t limit) {
  ASSIGN_OR_RETURN(const int64_t size, Size(digest));
  if (offset < 0 || offset > size) {
    return Status(StatusCode::kOutOfRange,
                  fmt::format("read blob {}: offset {}, size is {}", digest.ToHex(), offset, size));
  }
  const std::string path = FinalPath(digest);
  const File file(path, O_RDONLY);
  if (!file.ok()) return FileError("open", path);
  std::string data(static_cast<size_t>(std::min(limit, size - offset)), '\0');
  size_t got = 0;
  while (got < data.size()) {
    const ssize_t n = pread(file.fd(), data.data() + got, data.size() - got, offset + static_cast<int64_t>(got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileError("read", path);
    if (n == 0) return DataLoss(fmt::format("read {}: the file became shorter than {} bytes", path, size));
    got += static_cast<size_t>(n);
  }
  return data;
}

StatusOr<int64_t> BlobStore::Size(const Digest& digest) {
  const Blob* blob = Find(digest);
  if (blob == nullptr) return NotHere(digest);
  return blob->size;
}

int64_t BlobStore::PartialSize(const Digest& digest) const {
  struct stat info{};
  return stat(PartPath(digest).c_str(), &info) == 0 ? info.st_size : 0;
}

StatusOr<bool> BlobStore::Append(const Digest& digest, int64_t offset, std::string_view data, int64_t total) {
  if (Contains(digest)) return true;
  const int64_t held = PartialSize(digest), end = offset + static_cast<int64_t>(data.size());
  if (offset != held) {
    return FailedPrecondition(
        fmt::format("append to blob {}: offset {}, {} bytes are held; resume there", digest.ToHex(), offset, held));
  }
  if (end > total)
    return InvalidArgument(fmt::format("append to blob {}: {} bytes, its size is {}", digest.ToHex(), end, total));
  RETURN_IF_ERROR(MakeRoom(total - held, digest));
  const std::string part = PartPath(digest);
  {
    const File file(part, O_WRONLY | O_CREAT);
    if (!file.ok()) return FileError("create", part);
    const Status written = WriteAll(file, part, data, offset);
    const int64_t size = PartialSize(digest);
    part_bytes_ += size - std::exchange(parts_[digest], size);
    RETURN_IF_ERROR(written);
  }
  if (end < total) return false;
  ASSIGN_OR_RETURN(const Digest actual, DigestOfFile(part));
  if (actual != digest) {
    DropPart(digest);
    return DataLoss(fmt::format("blob {}: the {} bytes received have digest {}; fetch it again", digest.ToHex(), total,
                                actual.ToHex()));
  }
  RETURN_IF_ERROR(GiveName(part, digest, total));
  DropPart(digest);  // It is a blob now.
  return true;
}

void BlobStore::Unpin(const Digest& digest) {
  const auto it = pins_.find(digest);
  if (it != pins_.end() && --it->second == 0) pins_.erase(it);
}

Status BlobStore::MakeRoom(int64_t bytes, const Digest& blob) {
  if (limit_bytes_ <= 0) return OkStatus();
  const auto used = [&] { return bytes_ + part_bytes_; };
  DropParts(blob, used() + bytes - limit_bytes_);
  for (auto it = uses_.begin(); it != uses_.end() && used() + bytes > limit_bytes_;) {
    const Digest digest = *it++;
    if (pins_.contains(digest)) continue;
    Delete(digest);
  }
  if (used() + bytes <= limit_bytes_) return OkStatus();
  return ResourceExhausted(fmt::format("blob store {}: {} bytes asked for, {} of {} are in use; raise the limit",
                                       directory_, bytes, used(), limit_bytes_));
}

// Nobody fetches these at present; whoever does later begins anew.
void BlobStore::DropParts(const Digest& except, int64_t bytes) {
  std::vector<Digest> dropped;
  for (const auto& [digest, size] : parts_) {
    if (bytes <= 0) break;
    if (digest == except || pins_.contains(digest)) continue;
    bytes -= size;
    dropped.push_back(digest);
  }
  for (const Digest& digest : dropped) DropPart(digest);
}

void BlobStore::DropPart(const Digest& digest) {
  unlink(PartPath(digest).c_str());
  const auto part = parts_.find(digest);
  if (part == parts_.end()) return;
  part_bytes_ -= part->second;
  parts_.erase(part);
}

std::vector<StoredBlob> BlobStore::List() const {
  std::vector<StoredBlob> list;
  for (const Digest& digest : uses_) {
    const Blob& blob = blobs_.at(digest);
    list.push_back({digest, blob.size, blob.used_unix_ns, pins_.contains(digest)});
  }
  return list;
}

bool BlobStore::DeleteUnused(const StoredBlob& blob) {
  const auto it = blobs_.find(blob.digest);
  if (it == blobs_.end() || pins_.contains(blob.digest) || it->second.used_unix_ns != blob.last_used_unix_ns)
    return false;
  Delete(blob.digest);
  return true;
}

// The file says so, too: to the next process, and to whoever asks how long nobody used it.
void BlobStore::Touch(const Digest& digest, Blob& blob) {
  uses_.splice(uses_.end(), uses_, blob.use);
  const std::string path = FinalPath(digest);
  if (utimensat(AT_FDCWD, path.c_str(), nullptr, 0) != 0) return;
  blob.checked = StampOf(path);
  if (blob.checked) blob.used_unix_ns = blob.checked->modified_ns;
}

void BlobStore::Remember(const Digest& digest, int64_t size, int64_t used_unix_ns) {
  blobs_[digest] = {size, uses_.insert(uses_.end(), digest), used_unix_ns, std::nullopt};
  bytes_ += size;
}

void BlobStore::Delete(const Digest& digest) {
  const auto blob = blobs_.find(digest);
  unlink(FinalPath(digest).c_str());
  bytes_ -= blob->second.size;
  uses_.erase(blob->second.use);
  blobs_.erase(blob);
}

}  // namespace lathe
