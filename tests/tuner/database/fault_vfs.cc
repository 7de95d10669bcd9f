#include "fault_vfs.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "support/check.h"

namespace lathe {
namespace {

constexpr int64_t kSector = 512;

// A change of a file that has not been synced.
struct Change {
  int64_t offset = 0;
  std::string written;  // Empty: the file was cut off at `offset`.
  std::string before;   // What stood there.
  int64_t size_before = 0;
};

void WriteAt(int fd, const std::string& bytes, int64_t offset) {
  CHECK(pwrite(fd, bytes.data(), bytes.size(), offset) == static_cast<ssize_t>(bytes.size())) << "pwrite";
}

void TakeBack(int fd, const Change& change) {
  WriteAt(fd, change.before, change.offset);
  CHECK(ftruncate(fd, change.size_before) == 0) << "ftruncate";
}

// Whole, not at all, or its first sectors.
void DoAgain(int fd, const Change& change, Random& random) {
  const uint64_t choice = random.Below(3);
  if (choice == 0) return;
  if (change.written.empty()) {
    CHECK(ftruncate(fd, change.offset) == 0) << "ftruncate";
    return;
  }
  const auto sectors = static_cast<int64_t>(change.written.size()) / kSector;
  const int64_t kept = static_cast<int64_t>(random.Below(static_cast<uint64_t>(sectors) + 1)) * kSector;
  WriteAt(fd, choice == 1 ? change.written : change.written.substr(0, static_cast<size_t>(kept)), change.offset);
}

}  // namespace

class FaultVfs::Impl {
 public:
  // What SQLite allocates for each open file; the default VFS's own file follows it in memory.
  struct File : sqlite3_file {
    Impl* impl;
    std::string* path;  // Null: of no database, journal or WAL; passed through.
    sqlite3_file* real;
  };

  Impl() : real_(sqlite3_vfs_find(nullptr)) {
    vfs_ = *real_;
    vfs_.zName = "fault";
    vfs_.szOsFile = static_cast<int>(sizeof(File)) + real_->szOsFile;
    vfs_.pAppData = this;
    vfs_.pNext = nullptr;
    vfs_.xOpen = [](sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out) {
      return Of(vfs)->Open(name, static_cast<File*>(file), flags, out);
    };
    vfs_.xDelete = [](sqlite3_vfs* vfs, const char* name, int sync) { return Of(vfs)->Delete(name, sync); };
    CHECK(sqlite3_vfs_register(&vfs_, 1) == SQLITE_OK) << "register a VFS";
  }
  ~Impl() {
    sqlite3_vfs_unregister(&vfs_);
    sqlite3_vfs_register(real_, 1);
  }

  void Arm(int64_t n, DiskFault fault) {
    const std::lock_guard lock(mutex_);
    operations_ = 0;
    fails_at_ = n;
    fault_ = fault;
    has_failed_ = false;
    bytes_read_ = 0;
  }
  int64_t operations() const {
    const std::lock_guard lock(mutex_);
    return operations_;
  }
  bool has_failed() const {
    const std::lock_guard lock(mutex_);
    return has_failed_;
  }
  int64_t bytes_read() const {
    const std::lock_guard lock(mutex_);
    return bytes_read_;
  }

  void OnSync(std::function<void()> hook) {
    const std::lock_guard lock(mutex_);
    on_sync_ = std::move(hook);
  }
  std::function<void()> on_sync() const {
    const std::lock_guard lock(mutex_);
    return on_sync_;
  }

  void Restart(Random* random) {
    const std::lock_guard lock(mutex_);
    for (const auto& [path, changes] : unsynced_) {
      const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
      if (fd < 0) continue;  // Deleted meanwhile.
      for (auto change = changes.rbegin(); change != changes.rend(); ++change) TakeBack(fd, *change);
      for (const Change& change : changes)
        if (random != nullptr) DoAgain(fd, change, *random);
      close(fd);
      unlink((path + "-shm").c_str());
    }
    unsynced_.clear();
    is_dead_ = false;
    fails_at_ = 0;
  }

 private:
  static Impl* Of(sqlite3_vfs* vfs) { return static_cast<Impl*>(vfs->pAppData); }
  static File* As(sqlite3_file* file) { return static_cast<File*>(file); }

  // What an operation that changes a disk answers: SQLITE_OK if it is to happen.
  int Count(int failure) {
    if (is_dead_) return failure;
    if (++operations_ != fails_at_) return SQLITE_OK;
    has_failed_ = true;
    is_dead_ = fault_ == DiskFault::kPowerCut;
    return failure;
  }

  int Open(const char* name, File* file, int flags, int* out) {
    const bool is_ours =
        name != nullptr && (flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL)) != 0;
    file->pMethods = nullptr;
    file->impl = this;
    file->path = nullptr;
    file->real = reinterpret_cast<sqlite3_file*>(file + 1);
    {
      const std::lock_guard lock(mutex_);
      if (is_dead_ && is_ours) return SQLITE_CANTOPEN;
    }
    const int code = real_->xOpen(real_, name, file->real, flags, out);
    if (file->real->pMethods == nullptr) return code;
    file->path = is_ours ? new std::string(name) : nullptr;
    file->pMethods = &Methods();
    return code;
  }

  int Delete(const char* name, int sync) {
    const std::lock_guard lock(mutex_);
    if (const int code = Count(SQLITE_IOERR_DELETE); code != SQLITE_OK) return code;
    unsynced_.erase(name);
    return real_->xDelete(real_, name, sync);
  }

  std::string ContentOf(sqlite3_file* real, int64_t offset, int64_t size) {
    std::string content(static_cast<size_t>(std::max<int64_t>(size, 0)), '\0');
    if (!content.empty()) real->pMethods->xRead(real, content.data(), static_cast<int>(content.size()), offset);
    return content;
  }

  // Remembers what stands where something is about to change.
  void Note(File& file, int64_t offset, std::string written, int64_t reach) {
    sqlite3_int64 size = 0;
    file.real->pMethods->xFileSize(file.real, &size);
    const int64_t end = std::min<int64_t>(size, reach);
    unsynced_[*file.path].push_back({offset, std::move(written), ContentOf(file.real, offset, end - offset), size});
  }

  static int Write(sqlite3_file* base, const void* data, int size, sqlite3_int64 offset) {
    File& file = *As(base);
    if (file.path == nullptr) return file.real->pMethods->xWrite(file.real, data, size, offset);
    const std::lock_guard lock(file.impl->mutex_);
    if (const int code = file.impl->Count(SQLITE_FULL); code != SQLITE_OK) return code;
    file.impl->Note(file, offset, std::string(static_cast<const char*>(data), static_cast<size_t>(size)),
                    offset + size);
    return file.real->pMethods->xWrite(file.real, data, size, offset);
  }
  static int Truncate(sqlite3_file* base, sqlite3_int64 size) {
    File& file = *As(base);
    if (file.path == nullptr) return file.real->pMethods->xTruncate(file.real, size);
    const std::lock_guard lock(file.impl->mutex_);
    if (const int code = file.impl->Count(SQLITE_IOERR_TRUNCATE); code != SQLITE_OK) return code;
    file.impl->Note(file, size, "", INT64_MAX);
    return file.real->pMethods->xTruncate(file.real, size);
  }
  // The real disk is not asked: what counts here is what would be on it.
  static int Sync(sqlite3_file* base, int flags) {
    File& file = *As(base);
    if (file.path == nullptr) return file.real->pMethods->xSync(file.real, flags);
    if (const auto hook = file.impl->on_sync()) hook();
    const std::lock_guard lock(file.impl->mutex_);
    if (const int code = file.impl->Count(SQLITE_IOERR_FSYNC); code != SQLITE_OK) return code;
    file.impl->unsynced_.erase(*file.path);
    return SQLITE_OK;
  }
  static int Read(sqlite3_file* base, void* data, int size, sqlite3_int64 offset) {
    File& file = *As(base);
    if (file.path != nullptr) {
      const std::lock_guard lock(file.impl->mutex_);
      if (file.impl->is_dead_) return SQLITE_IOERR_READ;
      file.impl->bytes_read_ += size;
    }
    return file.real->pMethods->xRead(file.real, data, size, offset);
  }
  static int Close(sqlite3_file* base) {
    File& file = *As(base);
    delete file.path;
    return file.real->pMethods->xClose(file.real);
  }

  static const sqlite3_io_methods& Methods() {
    static const sqlite3_io_methods kMethods = [] {
      sqlite3_io_methods m{};
      m.iVersion = 2;  // With shared memory, without mapped reads.
      m.xClose = Close;
      m.xRead = Read;
      m.xWrite = Write;
      m.xTruncate = Truncate;
      m.xSync = Sync;
      m.xFileSize = [](sqlite3_file* f, sqlite3_int64* size) { return Real(f).xFileSize(As(f)->real, size); };
      m.xLock = [](sqlite3_file* f, int level) { return Real(f).xLock(As(f)->real, level); };
      m.xUnlock = [](sqlite3_file* f, int level) { return Real(f).xUnlock(As(f)->real, level); };
      m.xCheckReservedLock = [](sqlite3_file* f, int* out) { return Real(f).xCheckReservedLock(As(f)->real, out); };
      m.xFileControl = [](sqlite3_file* f, int what, void* out) {
        return Real(f).xFileControl(As(f)->real, what, out);
      };
      m.xSectorSize = [](sqlite3_file* f) { return Real(f).xSectorSize(As(f)->real); };
      m.xDeviceCharacteristics = [](sqlite3_file* f) { return Real(f).xDeviceCharacteristics(As(f)->real); };
      m.xShmMap = [](sqlite3_file* f, int region, int size, int extend, void volatile** out) {
        return Real(f).xShmMap(As(f)->real, region, size, extend, out);
      };
      m.xShmLock = [](sqlite3_file* f, int offset, int n, int flags) {
        return Real(f).xShmLock(As(f)->real, offset, n, flags);
      };
      m.xShmBarrier = [](sqlite3_file* f) { Real(f).xShmBarrier(As(f)->real); };
      m.xShmUnmap = [](sqlite3_file* f, int is_delete) { return Real(f).xShmUnmap(As(f)->real, is_delete); };
      return m;
    }();
    return kMethods;
  }
  static const sqlite3_io_methods& Real(sqlite3_file* file) { return *As(file)->real->pMethods; }

  sqlite3_vfs* const real_;
  sqlite3_vfs vfs_{};
  mutable std::mutex mutex_;  // Guards all that follows.
  int64_t operations_ = 0, fails_at_ = 0, bytes_read_ = 0;
  DiskFault fault_ = DiskFault::kFull;
  bool has_failed_ = false, is_dead_ = false;
  std::map<std::string, std::vector<Change>> unsynced_;  // By file, in order.
  std::function<void()> on_sync_;
};

FaultVfs::FaultVfs() : impl_(std::make_unique<Impl>()) {}
FaultVfs::~FaultVfs() = default;
int64_t FaultVfs::operations() const { return impl_->operations(); }
bool FaultVfs::has_failed() const { return impl_->has_failed(); }
int64_t FaultVfs::bytes_read() const { return impl_->bytes_read(); }
void FaultVfs::Arm(int64_t n, DiskFault fault) { impl_->Arm(n, fault); }
void FaultVfs::OnSync(std::function<void()> hook) { impl_->OnSync(std::move(hook)); }
void FaultVfs::Restart(Random* random) { impl_->Restart(random); }

}  // namespace lathe
