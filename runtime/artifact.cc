#include "runtime/artifact.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/cpu_features.h"
#include "runtime/loaded_object.h"
#include "runtime/tile_permission.h"

namespace lathe {
namespace {

constexpr uint64_t kMaxSectionBytes = 16u << 20;

// Reads instead of mapping: a file that shrinks while it is read gives an error here, and would give SIGBUS in a
// mapping.
class OpenFile : public FileBytes {
 public:
  explicit OpenFile(int fd) : fd_(fd) {
    struct stat info;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) size_ = static_cast<uint64_t>(info.st_size);
  }
  ~OpenFile() override { close(fd_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  uint64_t size() const override { return size_; }
  bool Read(uint64_t offset, std::span<std::byte> out) const override {
    if (offset > size_ || out.size() > size_ - offset) return false;
    while (!out.empty()) {
      const ssize_t got = pread(fd_, out.data(), out.size(), static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      out = out.subspan(static_cast<size_t>(got));
      offset += static_cast<uint64_t>(got);
    }
    return true;
  }

 private:
  int fd_;
  uint64_t size_ = 0;
};

std::string MissingFeatures(const ArtifactMeta& meta) {
  std::string missing;
  for (const std::string& feature : meta.features) {
    if (!HostHasCpuFeature(feature)) missing += (missing.empty() ? "" : ", ") + feature;
  }
  return missing;
}

}  // namespace

RuntimeResult<std::vector<std::byte>> ReadArtifactSection(const std::string& path, const std::string& name,
                                                          uint64_t limit_bytes) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // A FIFO must not block us.
  if (fd < 0) return RuntimeError{RuntimeCode::kNotFound, "open artifact " + path + ": " + ErrnoText(errno)};
  const OpenFile file(fd);
  return FindArtifactSection(file, name, limit_bytes);
}

RuntimeResult<ArtifactMeta> ReadArtifactMeta(const std::string& path) {
  RUNTIME_ASSIGN_OR_RETURN(const std::vector<std::byte> section,
                           ReadArtifactSection(path, ".lathe.meta", kMaxSectionBytes));
  return DecodeArtifactMeta(section);
}

RuntimeError CheckArtifactRunsHere(const ArtifactMeta& meta, uint32_t codegen_version) {
  if (meta.abi_version < LATHE_KERNEL_ABI_OLDEST || meta.abi_version > LATHE_KERNEL_ABI_VERSION) {
    return {
        RuntimeCode::kFailedPrecondition,
        FormatText("load artifact: kernel ABI %u, this program calls ABI %d to %d; build it again with this release",
                   meta.abi_version, LATHE_KERNEL_ABI_OLDEST, LATHE_KERNEL_ABI_VERSION)};
  }
  if (codegen_version != 0 && meta.codegen_version != codegen_version) {
    return {RuntimeCode::kFailedPrecondition,
            FormatText("load artifact: codegen version %u, %u asked for; build it again", meta.codegen_version,
                       codegen_version)};
  }
  if (const std::string missing = MissingFeatures(meta); !missing.empty()) {
    return {RuntimeCode::kFailedPrecondition, "load artifact: built for \"" + meta.target + "\", this CPU lacks " +
                                                  missing + "; build for this machine (--target auto)"};
  }
  if (UsesTiles(meta.features)) return TilePermission();
  return {};
}

RuntimeResult<Artifact> Artifact::Open(const std::string& path, uint32_t codegen_version) {
  Artifact artifact;
  artifact.path_ = path;
  RUNTIME_ASSIGN_OR_RETURN(ArtifactMeta meta, ReadArtifactMeta(path));
  RUNTIME_RETURN_IF_ERROR(CheckArtifactRunsHere(meta, codegen_version));
  artifact.meta_ = std::make_shared<const ArtifactMeta>(std::move(meta));
  RUNTIME_ASSIGN_OR_RETURN(LoadedObject object, LoadedObject::Map(path));
  artifact.object_ = std::make_shared<const LoadedObject>(std::move(object));
  return artifact;
}

RuntimeResult<Artifact::Kernel> Artifact::Find(std::string_view name) const {
  const KernelMeta* found = name.empty() && meta_->kernels.size() == 1 ? &meta_->kernels[0] : nullptr;
  std::string known;
  for (const KernelMeta& kernel : meta_->kernels) {
    if (kernel.name == name) found = &kernel;
    if (known.size() < 400) known += (known.empty() ? "\"" : ", \"") + kernel.name + "\"";
  }
  if (found == nullptr) {
    return RuntimeError{RuntimeCode::kNotFound,
                        FormatText("find kernel \"%s\" in %s: no such kernel; it has %s", std::string(name).c_str(),
                                   path_.c_str(), known.empty() ? "none" : known.c_str())};
  }
  void* address = object_->Find(found->symbol);
  if (address == nullptr) {
    return RuntimeError{RuntimeCode::kDataLoss, FormatText("find kernel \"%s\" in %s: symbol \"%s\" is not exported",
                                                           found->name.c_str(), path_.c_str(), found->symbol.c_str())};
  }
  return Kernel{found, reinterpret_cast<LatheKernel>(address)};
}

}  // namespace lathe
