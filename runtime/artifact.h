// A loaded artifact: its metadata, checked against this machine, and its kernels as function pointers.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/artifact_meta.h"
#include "runtime/error.h"
#include "runtime/kernel_abi.h"

namespace lathe {

// Reads and checks the metadata of the file at `path` without running or mapping any of its code: ELF machine, section
// bounds.
RuntimeResult<ArtifactMeta> ReadArtifactMeta(const std::string& path);
// The bytes of section `name` of the file at `path`, e.g. ".lathe.graph".
RuntimeResult<std::vector<std::byte>> ReadArtifactSection(const std::string& path, const std::string& name,
                                                          uint64_t limit_bytes);

// Whether code with this metadata may run here: kernel ABI, CPU features and, unless 0, `codegen_version`.
RuntimeError CheckArtifactRunsHere(const ArtifactMeta& meta, uint32_t codegen_version = 0);

class LoadedObject;

// Keeps the shared object loaded while it lives; copies share it. Kernels may be called from any thread.
class Artifact {
 public:
  // Reads, checks and then maps `path` (runtime/loaded_object.h). No code of the file runs before a kernel is called.
  static RuntimeResult<Artifact> Open(const std::string& path, uint32_t codegen_version = 0);

  struct Kernel {
    const KernelMeta* meta;  // Lives as long as the artifact.
    LatheKernel function;
  };
  const ArtifactMeta& meta() const { return *meta_; }
  // Finds kernel `name`; the empty name means the only kernel of the artifact.
  RuntimeResult<Kernel> Find(std::string_view name) const;

 private:
  Artifact() = default;
  std::string path_;
  std::shared_ptr<const ArtifactMeta> meta_;
  std::shared_ptr<const LoadedObject> object_;
};

}  // namespace lathe
