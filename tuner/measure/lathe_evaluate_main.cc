// lathe-evaluate: calls one kernel once on generated inputs and writes what it computed, as float64. A process of its
// own, because the kernel comes from a user's program and may do anything.
//
//   lathe-evaluate ARTIFACT KERNEL SEED INPUTS OUTPUT MEMORY_LIMIT_BYTES CPU_LIMIT_SECONDS
// INPUTS: for each parameter, in order, the type whose generated values it gets ("float32" for a float64 parameter of a
// widened function) and, where integers are not drawn from their default range, ":LOW:HIGH".
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runner/guarded_buffer.h"
#include "runner/input_generator.h"
#include "runner/sandbox.h"
#include "runtime/artifact.h"
#include "runtime/context.h"
#include "runtime/kernel_call.h"
#include "tuner/measure/child_program.h"

namespace lathe {
namespace {

constexpr int64_t kPieceElements = 1 << 16;

int Fail(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  return 1;
}

int FailToWrite(const char* path) {
  const bool is_full = errno == ENOSPC || errno == EDQUOT;
  const int exit_code = Fail(std::string("write ") + path + ": " + ErrnoText(errno));
  return is_full ? kExitDiskFull : exit_code;
}

RuntimeResult<DType> ParseDType(std::string_view name) {
  for (const DType dtype :
       {kFloat32, kFloat64, kFloat16, kBFloat16, kInt8, kInt32, kInt64, kUInt8, kBool, DType{DTypeCode::kInt, 16, 1},
        DType{DTypeCode::kUInt, 16, 1}, DType{DTypeCode::kUInt, 32, 1}, DType{DTypeCode::kUInt, 64, 1}}) {
    if (dtype.Name() == name) return dtype;
  }
  return RuntimeError{RuntimeCode::kUnimplemented, "make inputs: no generator for " + std::string(name)};
}

struct InputKind {
  DType dtype;
  std::optional<InputRange> range;
};

RuntimeResult<InputKind> ParseInput(const std::string& text) {
  const size_t colon = std::min(text.find(':'), text.size());
  RUNTIME_ASSIGN_OR_RETURN(const DType dtype, ParseDType(std::string_view(text).substr(0, colon)));
  if (colon == text.size()) return InputKind{dtype, std::nullopt};
  InputRange range;
  if (std::sscanf(text.c_str() + colon, ":%" SCNd64 ":%" SCNd64, &range.low, &range.high) != 2)
    return RuntimeError{RuntimeCode::kInvalidArgument, "make inputs: \"" + text + "\"; TYPE:LOW:HIGH required"};
  return InputKind{dtype, range};
}

RuntimeResult<std::vector<InputKind>> ParseInputs(std::string_view text) {
  std::vector<InputKind> inputs;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    RUNTIME_ASSIGN_OR_RETURN(const InputKind input, ParseInput(std::string(text.substr(0, comma))));
    inputs.push_back(input);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return inputs;
}

// Element `index` of parameter `param`, generated as `narrow` and stored as `dtype`.
void FillWidened(uint64_t seed, uint32_t param, DType narrow, InputRange range, DType dtype, void* data,
                 int64_t count) {
  if (narrow == dtype) return FillInput(seed, param, dtype, range, data, 0, count);
  auto* out = static_cast<double*>(data);
  for (int64_t i = 0; i < count; ++i) out[i] = InputValue(seed, param, narrow, range, i);
}

bool WriteAll(int file, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t written = write(file, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    data += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

bool WriteOutput(int file, DType dtype, const void* data, int64_t count) {
  std::vector<double> piece;
  for (int64_t begin = 0; begin < count; begin += kPieceElements) {
    piece.clear();
    for (int64_t i = begin; i < std::min(count, begin + kPieceElements); ++i)
      piece.push_back(LoadAsDouble(dtype, data, i));
    if (!WriteAll(file, reinterpret_cast<const char*>(piece.data()), piece.size() * sizeof(double))) return false;
  }
  return true;
}

struct Buffer {
  const ParamMeta* meta;
  std::vector<int64_t> shape;
  GuardedBuffer memory;
};

// Before the function is loaded; less may be done when it is called.
RuntimeError ConfineTo(const char* artifact_path) {
  RUNTIME_RETURN_IF_ERROR(ConfineFiles({.readable = {artifact_path}, .writable = {}}));
  return ConfineCalls(CallList::kLoad);
}

int Run(const char* artifact_path, const char* kernel_name, uint64_t seed, std::string_view input_kinds,
        const char* output_path) {
  RuntimeResult<std::unique_ptr<ThreadPool>> pool = ThreadPool::Create(1);
  if (!pool.ok()) return Fail(pool.error().message);
  const int file = open(output_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return FailToWrite(output_path);
  if (const RuntimeError error = ConfineTo(artifact_path); !error.ok()) return Fail(error.message);
  RuntimeResult<Artifact> artifact = Artifact::Open(artifact_path);
  if (!artifact.ok()) return Fail(artifact.error().message);
  const RuntimeResult<Artifact::Kernel> kernel = artifact->Find(kernel_name);
  if (!kernel.ok()) return Fail(kernel.error().message);
  const RuntimeResult<std::vector<InputKind>> inputs = ParseInputs(input_kinds);
  if (!inputs.ok()) return Fail(inputs.error().message);
  if (inputs->size() != kernel->meta->params.size()) return Fail("make inputs: as many types as parameters required");
  if (kernel->meta->num_symbols() != 0)
    return Fail("make inputs: the kernel has symbolic extents; write its shapes with numbers");

  std::deque<Buffer> buffers;
  std::vector<TensorView> views;
  std::vector<int64_t> scalars;
  for (uint32_t i = 0; i < inputs->size(); ++i) {
    const ParamMeta& param = kernel->meta->params[i];
    const auto& [narrow, known_range] = (*inputs)[i];
    const InputRange range =
        known_range.value_or(param.is_buffer() ? DefaultInputRange(narrow) : DefaultScalarRange(narrow));
    if (param.dtype != narrow && param.dtype != kFloat64)
      return Fail("make inputs: parameter \"" + param.name + "\" is neither widened nor the same");
    if (param.kind == ParamKind::kPointer)
      return Fail("make inputs: parameter \"" + param.name + "\" is an address without a shape; give it a buffer");
    if (!param.is_buffer()) {
      int64_t bits = 0;
      FillWidened(seed, i, narrow, range, param.dtype, &bits, 1);
      if (param.dtype.code == DTypeCode::kInt) bits = static_cast<int64_t>(LoadAsDouble(param.dtype, &bits, 0));
      scalars.push_back(bits);
      continue;
    }
    const RuntimeResult<std::vector<int64_t>> shape = kernel->meta->ShapeOf(param, {}, scalars);
    if (!shape.ok()) return Fail(shape.error().message);
    const int64_t count = CountElements(*shape).value_or(0);
    RuntimeResult<GuardedBuffer> memory = GuardedBuffer::Create(count * param.dtype.bytes());
    if (!memory.ok()) return Fail("make inputs: buffer \"" + param.name + "\": " + memory.error().message);
    buffers.push_back({&param, *shape, *std::move(memory)});
    Buffer& buffer = buffers.back();
    if (param.is_read || !param.is_written)
      FillWidened(seed, i, narrow, range, param.dtype, buffer.memory.data(), count);
    else
      std::memset(buffer.memory.data(), param.dtype.is_floating() ? 0xff : 0x5a,
                  static_cast<size_t>(buffer.memory.size_bytes()));
    views.push_back({buffer.memory.data(), param.dtype, buffer.shape});
  }
  const RuntimeResult<KernelArguments> arguments = BindArguments(*kernel->meta, views, scalars);
  if (!arguments.ok()) return Fail(arguments.error().message);
  KernelContext context(**pool, UINT64_MAX);
  if (const RuntimeError error = ConfineCalls(CallList::kKernel); !error.ok()) return Fail(error.message);
  const RuntimeError called = CallKernel(*kernel, *arguments, context);
  if (!called.ok()) return Fail(called.message);
  for (const Buffer& buffer : buffers) {
    const std::string damage = buffer.memory.FindDamage();
    if (!damage.empty()) return Fail("buffer \"" + buffer.meta->name + "\": the function " + damage);
  }
  for (const Buffer& buffer : buffers) {
    if (!buffer.meta->is_written) continue;
    if (!WriteOutput(file, buffer.meta->dtype, buffer.memory.data(), CountElements(buffer.shape).value_or(0))) {
      return FailToWrite(output_path);
    }
  }
  if (close(file) != 0) return FailToWrite(output_path);
  return 0;
}

void Limit(int what, uint64_t amount) {
  const rlimit limit{amount, amount};
  (void)setrlimit(what, &limit);  // Best effort: the caller has a deadline of its own.
}

}  // namespace
}  // namespace lathe

int main(int argc, char** argv) {
  if (argc != 8) {
    std::fputs("lathe-evaluate: started by lathe, not by hand\n", stderr);
    return 2;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  lathe::Limit(RLIMIT_CORE, 0);
#ifndef LATHE_SANITIZE
  lathe::Limit(RLIMIT_DATA, std::strtoull(argv[6], nullptr, 10));
#endif
  lathe::Limit(RLIMIT_CPU, std::strtoull(argv[7], nullptr, 10));
  if (const lathe::RuntimeResult<uint32_t> enclosed = lathe::EncloseProcesses([](pid_t, uint32_t) {}); !enclosed.ok())
    _exit(lathe::Fail(enclosed.error().message));
  _exit(lathe::Run(argv[1], argv[2], std::strtoull(argv[3], nullptr, 10), argv[4], argv[5]));
}
