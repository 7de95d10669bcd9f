// The C API of include/lathe/runtime.h over Executor.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <new>

#include "include/lathe/runtime.h"
#include "runtime/artifact.h"
#include "runtime/cpu_features.h"
#include "runtime/executor.h"

namespace lathe {
namespace {

// An input or output: what it must be, and what is bound to it.
struct Port {
  explicit Port(const TensorInfo& tensor) : info(&tensor) {
    for (const Extent& dim : tensor.dims) shape.push_back(dim.is_constant() ? dim.value : -1);
  }
  TensorView view() const { return {data, info->dtype, bound_shape, bound_strides}; }
  LatheTensor Describe() const {
    const DType dtype = info->dtype;
    return {.name = info->name.c_str(),
            .data = data,
            .dtype = {static_cast<uint8_t>(dtype.code), dtype.bits, dtype.lanes},
            .rank = static_cast<int32_t>(shape.size()),
            .shape = shape.data(),
            .strides = nullptr};
  }

  const TensorInfo* info;
  // -1: the inputs decide; of an output it is what its last run had. Never moves, for it is handed out.
  std::vector<int64_t> shape;
  void* data = nullptr;  // The caller's; null: nothing is bound.
  std::vector<int64_t> bound_shape, bound_strides;
};

// Bytes as a file that the dynamic loader takes. Open for as long as what was loaded from it: the loader knows a
// library by its path, which holds the number of the descriptor.
class MemoryFile {
 public:
  MemoryFile() = default;
  MemoryFile(MemoryFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  MemoryFile& operator=(MemoryFile&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~MemoryFile() {
    if (fd_ >= 0) close(fd_);
  }
  static RuntimeResult<MemoryFile> Create(const void* data, size_t num_bytes) {
    constexpr unsigned kExecutable = 0x10;  // MFD_EXEC, since Linux 6.3, where the other may be forbidden.
    MemoryFile file;
    file.fd_ = memfd_create("lathe-network", MFD_CLOEXEC | kExecutable);
    if (file.fd_ < 0 && errno == EINVAL) file.fd_ = memfd_create("lathe-network", MFD_CLOEXEC);
    if (file.fd_ < 0)
      return RuntimeError{RuntimeCode::kResourceExhausted, "make a file in memory: " + ErrnoText(errno)};
    const auto* bytes = static_cast<const char*>(data);
    for (size_t done = 0; done < num_bytes;) {
      const ssize_t written = write(file.fd_, bytes + done, num_bytes - done);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0)
        return RuntimeError{RuntimeCode::kResourceExhausted, "write a file in memory: " + ErrnoText(errno)};
      done += static_cast<size_t>(written);
    }
    return file;
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_ = -1;
};

thread_local std::string last_error;

LatheStatus Report(const RuntimeError& error) {
  if (error.ok()) return LATHE_OK;
  last_error = error.message;
  return static_cast<LatheStatus>(error.code);
}

// Nothing is thrown out of C: what the standard library throws, when there is no memory, becomes a status.
template <typename F>
LatheStatus Guarded(F body) {
  try {
    return Report(body());
  } catch (const std::exception& error) {
    return Report({RuntimeCode::kResourceExhausted, std::string("lathe: ") + error.what()});
  }
}

RuntimeError CheckThreads(int asked) {
  if (asked >= 0) return {};
  return {RuntimeCode::kInvalidArgument, FormatText("%d threads asked for; 1 or more, or 0 for what there is", asked)};
}

int NumCpus() { return static_cast<int>(std::max<size_t>(AvailableCpus().size(), 1)); }

RuntimeResult<int> ThreadsFor(const std::string& path, int asked) {
  RUNTIME_RETURN_IF_ERROR(CheckThreads(asked));
  if (asked > 0) return asked;
  RUNTIME_ASSIGN_OR_RETURN(const ArtifactMeta meta, ReadArtifactMeta(path));
  return std::clamp(meta.num_cores(), 1, NumCpus());
}

RuntimeError CheckBinding(const char* kind, const Port& port, const LatheTensor& tensor) {
  const DType dtype{static_cast<DTypeCode>(tensor.dtype.code), tensor.dtype.bits, tensor.dtype.lanes};
  const std::string what = std::string("bind ") + kind + " \"" + port.info->name + "\": ";
  if (tensor.data == nullptr) return {RuntimeCode::kInvalidArgument, what + "data is NULL; give it memory"};
  if (dtype != port.info->dtype)
    return {RuntimeCode::kInvalidArgument, what + dtype.Name() + ", " + port.info->dtype.Name() + " required"};
  if (tensor.rank < 0 || static_cast<size_t>(tensor.rank) != port.shape.size())
    return {RuntimeCode::kInvalidArgument,
            what + FormatText("%d dimensions, %zu required", tensor.rank, port.shape.size())};
  if (tensor.rank > 0 && tensor.shape == nullptr)
    return {RuntimeCode::kInvalidArgument, what + "shape is NULL; give its extents"};
  return {};
}

RuntimeError NoSuchPort(const char* kind, size_t index, size_t count) {
  return {RuntimeCode::kInvalidArgument, FormatText("%s %zu: the network has %zu, counted from 0", kind, index, count)};
}

}  // namespace
}  // namespace lathe

// A network, its threads, and what is bound to it.
struct LatheNetwork {
  LatheNetwork(lathe::MemoryFile file, std::unique_ptr<lathe::ThreadPool> threads, lathe::Executor loaded)
      : memory(std::move(file)), pool(std::move(threads)), executor(std::move(loaded)) {
    for (const lathe::TensorInfo& info : executor.inputs()) inputs.emplace_back(info);
    for (const lathe::TensorInfo& info : executor.outputs()) outputs.emplace_back(info);
  }

  lathe::MemoryFile memory;  // Of a network that was not loaded from a path.
  std::unique_ptr<lathe::ThreadPool> pool;
  lathe::Executor executor;
  std::vector<lathe::Port> inputs, outputs;
  std::vector<lathe::NDArray> results;  // Of the last run; empty before one.
};

// What kernels that are called by hand run on.
struct LatheThreads {
  explicit LatheThreads(std::unique_ptr<lathe::ThreadPool> threads)
      : pool(std::move(threads)), context(*pool, kScratchBytes) {}

  static constexpr uint64_t kScratchBytes = uint64_t{1} << 30;  // As of a network.
  std::unique_ptr<lathe::ThreadPool> pool;
  lathe::KernelContext context;
  std::string failure;
};

namespace lathe {
namespace {

RuntimeError Load(const std::string& path, MemoryFile memory, int num_threads, LatheNetwork*& network) {
  RUNTIME_ASSIGN_OR_RETURN(const int threads, ThreadsFor(path, num_threads));
  RUNTIME_ASSIGN_OR_RETURN(std::unique_ptr<ThreadPool> pool, ThreadPool::Create(threads));
  RUNTIME_ASSIGN_OR_RETURN(Executor executor, Executor::Load(path, *pool));
  network = new LatheNetwork(std::move(memory), std::move(pool), std::move(executor));
  return {};
}

RuntimeError WithContext(const std::string& context, RuntimeError error) {
  if (!error.ok()) error.message = context + error.message;
  return error;
}

RuntimeError BindPort(const char* kind, std::vector<Port>& ports, size_t index, const LatheTensor* tensor) {
  if (index >= ports.size()) return NoSuchPort(kind, index, ports.size());
  if (tensor == nullptr)
    return {RuntimeCode::kInvalidArgument,
            "bind " + std::string(kind) + " \"" + ports[index].info->name + "\": NULL given; give it a tensor"};
  Port& port = ports[index];
  RUNTIME_RETURN_IF_ERROR(CheckBinding(kind, port, *tensor));
  std::vector<int64_t> shape, strides;
  const int32_t rank = tensor->rank;
  if (rank > 0) shape.assign(tensor->shape, tensor->shape + rank);
  if (rank > 0 && tensor->strides != nullptr) strides.assign(tensor->strides, tensor->strides + rank);
  port.bound_shape = std::move(shape);
  port.bound_strides = std::move(strides);
  port.data = tensor->data;
  return {};
}

std::vector<TensorView> ViewsOf(const std::vector<Port>& ports) {
  std::vector<TensorView> views;
  for (const Port& port : ports) views.push_back(port.view());
  return views;
}

RuntimeError RunNetwork(LatheNetwork& network) {
  for (const Port& input : network.inputs) {
    if (input.data == nullptr)
      return {RuntimeCode::kFailedPrecondition,
              "run: input \"" + input.info->name + "\" is not bound; lathe_network_bind_input gives it memory"};
  }
  network.results.clear();  // Their memory serves again.
  const std::vector<TensorView> inputs = ViewsOf(network.inputs), outputs = ViewsOf(network.outputs);
  RUNTIME_ASSIGN_OR_RETURN(network.results, network.executor.RunInto(inputs, outputs));
  for (size_t i = 0; i < network.results.size(); ++i)
    std::ranges::copy(network.results[i].shape(), network.outputs[i].shape.begin());
  return {};
}

}  // namespace
}  // namespace lathe

using lathe::Guarded;
using lathe::RuntimeError;

const char* lathe_version(void) { return LATHE_VERSION; }

const char* lathe_last_error(void) { return lathe::last_error.c_str(); }

LatheStatus lathe_network_load(const char* path, int num_threads, LatheNetwork** network) {
  *network = nullptr;
  return Guarded([&] {
    return lathe::WithContext("load " + std::string(path) + ": ", lathe::Load(path, {}, num_threads, *network));
  });
}

LatheStatus lathe_network_load_memory(const void* data, size_t num_bytes, int num_threads, LatheNetwork** network) {
  *network = nullptr;
  return Guarded([&]() -> RuntimeError {
    RUNTIME_ASSIGN_OR_RETURN(lathe::MemoryFile file, lathe::MemoryFile::Create(data, num_bytes));
    const std::string path = file.path();
    return lathe::WithContext(lathe::FormatText("load %zu bytes of memory: ", num_bytes),
                              lathe::Load(path, std::move(file), num_threads, *network));
  });
}

void lathe_network_free(LatheNetwork* network) { delete network; }

size_t lathe_network_num_inputs(const LatheNetwork* network) { return network->inputs.size(); }

size_t lathe_network_num_outputs(const LatheNetwork* network) { return network->outputs.size(); }

LatheStatus lathe_network_input(const LatheNetwork* network, size_t index, LatheTensor* tensor) {
  return Guarded([&]() -> RuntimeError {
    if (index >= network->inputs.size()) return lathe::NoSuchPort("input", index, network->inputs.size());
    *tensor = network->inputs[index].Describe();
    return {};
  });
}

LatheStatus lathe_network_output(const LatheNetwork* network, size_t index, LatheTensor* tensor) {
  return Guarded([&]() -> RuntimeError {
    if (index >= network->outputs.size()) return lathe::NoSuchPort("output", index, network->outputs.size());
    *tensor = network->outputs[index].Describe();
    tensor->data = nullptr;
    if (index >= network->results.size()) return {};
    tensor->data = network->results[index].data();
    return {};
  });
}

LatheStatus lathe_network_bind_input(LatheNetwork* network, size_t index, const LatheTensor* tensor) {
  return Guarded([&] { return lathe::BindPort("input", network->inputs, index, tensor); });
}

LatheStatus lathe_network_bind_output(LatheNetwork* network, size_t index, const LatheTensor* tensor) {
  return Guarded([&]() -> RuntimeError {
    if (tensor != nullptr) return lathe::BindPort("output", network->outputs, index, tensor);
    if (index >= network->outputs.size()) return lathe::NoSuchPort("output", index, network->outputs.size());
    network->outputs[index].data = nullptr;
    return {};
  });
}

LatheStatus lathe_network_run(LatheNetwork* network) {
  return Guarded([&] { return lathe::RunNetwork(*network); });
}

LatheStatus lathe_threads_create(int num_threads, LatheThreads** threads) {
  *threads = nullptr;
  return Guarded([&]() -> RuntimeError {
    RUNTIME_RETURN_IF_ERROR(lathe::CheckThreads(num_threads));
    RUNTIME_ASSIGN_OR_RETURN(auto pool, lathe::ThreadPool::Create(num_threads > 0 ? num_threads : lathe::NumCpus()));
    *threads = new LatheThreads(std::move(pool));
    return {};
  });
}

void lathe_threads_free(LatheThreads* threads) { delete threads; }

const LatheContext* lathe_threads_context(LatheThreads* threads) { return threads->context.get(); }

const char* lathe_threads_failure(LatheThreads* threads) {
  threads->failure = threads->context.failure();
  threads->context.Clear();
  return threads->failure.c_str();
}

size_t lathe_tensor_bytes(const LatheTensor* tensor) {
  const std::optional<int64_t> count =
      lathe::CountElements({tensor->shape, static_cast<size_t>(std::max(tensor->rank, 0))});
  return static_cast<size_t>(count.value_or(0)) * tensor->dtype.bits / 8 * tensor->dtype.lanes;
}
