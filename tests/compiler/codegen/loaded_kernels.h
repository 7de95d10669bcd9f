// Compiles PrimFuncs, loads the shared object and calls the kernels with a context of its own, for tests and
// benchmarks.
#pragma once

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "compiler/codegen/llvm/compile_module.h"
#include "runtime/kernel_abi.h"

namespace lathe {

class LoadedKernels {
 public:
  static StatusOr<LoadedKernels> Make(std::span<const PrimFunc> funcs, const Target& target) {
    StatusOr<CompiledModule> compiled = CompileModule(funcs, {}, target);
    if (!compiled.ok()) return compiled.status();
    LoadedKernels loaded;
    loaded.compiled_ = *std::move(compiled);
    const int fd = memfd_create("kernels", 0);
    if (write(fd, loaded.compiled_.bytes.data(), loaded.compiled_.bytes.size()) !=
        static_cast<ssize_t>(loaded.compiled_.bytes.size()))
      return InternalError("write");
    loaded.library_ = std::shared_ptr<void>(
        dlopen(("/proc/self/fd/" + std::to_string(fd)).c_str(), RTLD_NOW | RTLD_LOCAL), [fd](void* library) {
          if (library != nullptr) dlclose(library);
          close(fd);
        });
    if (loaded.library_ == nullptr) return InternalError(dlerror());
    return loaded;
  }
  LatheKernel Find(size_t position, const std::string& name) const {
    return reinterpret_cast<LatheKernel>(
        dlsym(library_.get(), ("lathe_kernel_" + std::to_string(position) + "_" + name).c_str()));
  }
  const CompiledModule& compiled() const { return compiled_; }

 private:
  CompiledModule compiled_;
  std::shared_ptr<void> library_;
};

// A context that runs parallel loops in pieces of 3 on the calling thread and remembers what it was told.
struct TestContext {
  TestContext() {
    context = {
        .abi_version = LATHE_KERNEL_ABI_VERSION,
        .num_threads = 2,
        .device_type = 1,
        .runtime = this,
        .parallel_for = [](const LatheContext* ctx, LatheParallelBody body, void* closure, int64_t extent) -> int32_t {
          static_cast<TestContext*>(ctx->runtime)->num_parallel += 1;
          for (int64_t begin = 0; begin < extent; begin += 3) {
            if (const int32_t code = body(ctx, closure, begin, std::min(begin + 3, extent)); code != 0) return code;
          }
          return 0;
        },
        .alloc_workspace = [](const LatheContext* ctx, uint64_t bytes) -> void* {
          auto* self = static_cast<TestContext*>(ctx->runtime);
          if (self->refuses_workspace) return nullptr;
          self->live_workspaces += 1;
          self->workspace_bytes = std::max(self->workspace_bytes, bytes);
          return std::aligned_alloc(64, (bytes + 63) / 64 * 64);
        },
        .free_workspace =
            [](const LatheContext* ctx, void* memory) {
              static_cast<TestContext*>(ctx->runtime)->live_workspaces -= 1;
              std::free(memory);
            },
        .launch = nullptr,
        .fail = [](const LatheContext* ctx,
                   const char* message) { static_cast<TestContext*>(ctx->runtime)->failure = message; }};
  }
  TestContext(const TestContext&) = delete;
  LatheContext context;
  int num_parallel = 0;
  int live_workspaces = 0;
  uint64_t workspace_bytes = 0;
  bool refuses_workspace = false;
  std::string failure;
};

// 64-byte aligned storage, as the kernel ABI asks for.
template <typename T>
class AlignedArray {
 public:
  explicit AlignedArray(size_t size, T value = T())
      : size_(size), data_(static_cast<T*>(std::aligned_alloc(64, (size * sizeof(T) + 63) / 64 * 64)), std::free) {
    std::fill(begin(), end(), value);
  }
  T* data() { return data_.get(); }
  T* begin() { return data_.get(); }
  T* end() { return data_.get() + size_; }
  T& operator[](size_t i) { return data_.get()[i]; }
  size_t size() const { return size_; }

 private:
  size_t size_;
  std::unique_ptr<T[], void (*)(void*)> data_;
};

}  // namespace lathe
