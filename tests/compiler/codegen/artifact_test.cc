// The other side of the artifact: runtime/ reads, checks and loads what the compiler wrote.
#include "runtime/artifact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "compiler/lower.h"
#include "compiler/script/parser.h"
#include "runtime/kernel_call.h"
#include "support/status_macros.h"
#include "tests/compiler/codegen/loaded_kernels.h"

namespace lathe {
namespace {

TEST(ArtifactTest, SaysWhatWasCompiled) {
  Var n("n"), i("i"), scale("scale", DataType::Float(32));
  const Buffer a = MakeBuffer("A", {n, 4}), w = MakeBuffer("W", {4}, DataType::Float(16)), b = MakeBuffer("B", {n, 4});
  const Stmt body =
      MakeFor(i, n, MakeStore(b, Load(a, {i, 1}) * MakeCast(DataType::Float(32), Load(w, {2})) * scale, {i, 0}));
  const PrimFunc first = MakePrimFunc("scale it", {a, w, scale, b}, body, {{"constant_params", std::vector<Attr>{1}}});
  const PrimFunc second = MakePrimFunc("other", {}, Evaluate{0});
  const Target target = *Target::Parse("auto");
  const StatusOr<CompiledModule> module = CompileModule(std::vector<PrimFunc>{first, second}, {}, target);
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  char path[] = "/tmp/lathe-artifact-XXXXXX";
  const int fd = mkstemp(path);
  ASSERT_EQ(write(fd, module->bytes.data(), module->bytes.size()), static_cast<ssize_t>(module->bytes.size()));
  close(fd);
  const auto artifact = Artifact::Open(path, kCodegenVersion);
  unlink(path);
  ASSERT_TRUE(artifact.ok()) << artifact.error().message;
  const ArtifactMeta& meta = artifact->meta();
  EXPECT_EQ(meta.target, target.ToString());
  EXPECT_EQ(meta.features, target.features());
  EXPECT_EQ(meta.codegen_version, static_cast<uint32_t>(kCodegenVersion));
  ASSERT_EQ(meta.kernels.size(), 2u);
  const KernelMeta& kernel = meta.kernels[0];
  EXPECT_EQ(kernel.name, "scale it");
  EXPECT_EQ(kernel.num_symbols(), 1u);
  ASSERT_EQ(kernel.params.size(), 4u);
  EXPECT_TRUE(kernel.params[0].is_read && !kernel.params[0].is_written && kernel.params[0].dims[0].is_symbol() &&
              kernel.params[0].dims[1].value == 4);
  EXPECT_TRUE(kernel.params[1].is_constant && kernel.params[1].dtype.bits == 16);
  EXPECT_FALSE(kernel.params[2].is_buffer());
  EXPECT_TRUE(kernel.params[3].is_written && !kernel.params[3].is_read);
  EXPECT_TRUE(artifact->Find("scale it").ok());
  EXPECT_TRUE(artifact->Find("other").ok());
}

constexpr char kStridedCopy[] = R"(
@T.prim_func
def copy(k: T.int32, a: T.handle, b: T.handle):
    n = T.int32()
    s = T.int32()
    o = T.int32()
    A = T.match_buffer(a, (n, 4), "float32", strides=(s, 1), elem_offset=o)
    B = T.match_buffer(b, (n * 4 + k,), "float32")
    for i, j in T.grid(n, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi * 4 + vj + k] = A[vi, vj] + T.float32(1)
)";

PrimFunc LoweredOrDie(const char* text) {
  const StatusOr<PrimFunc> func = ParsePrimFunc(text, "test.py");
  CHECK(func.ok()) << func.status().ToString();
  const StatusOr<PrimFunc> lowered = Lower(*func);
  CHECK(lowered.ok()) << lowered.status().ToString();
  return *lowered;
}

StatusOr<Artifact> Load(const PrimFunc& func, uint32_t kernel_abi = 0) {
  ASSIGN_OR_RETURN(const CompiledModule module,
                   CompileModule({&func, 1}, {}, *Target::Parse("auto"), {.kernel_abi = kernel_abi}));
  const std::string path = testing::TempDir() + "lathe-artifact-" + std::to_string(getpid()) + ".so";
  std::ofstream(path, std::ios::binary) << module.bytes;
  RuntimeResult<Artifact> artifact = Artifact::Open(path, kCodegenVersion);
  unlink(path.c_str());
  if (!artifact.ok()) return InternalError(artifact.error().message);
  return *artifact;
}

TEST(ArtifactTest, ReadsAStridedViewWhoseExtentsAreExpressions) {
  const StatusOr<Artifact> artifact = Load(LoweredOrDie(kStridedCopy));
  ASSERT_TRUE(artifact.ok()) << artifact.status().ToString();
  const Artifact::Kernel kernel = *artifact->Find("copy");
  EXPECT_EQ(kernel.meta->symbols, (std::vector<std::string>{"n", "s", "o"}));
  EXPECT_EQ(kernel.meta->params[2].dims[0].ToString(kernel.meta->symbols), "((n * 4) + scalar0)");
  NDArray memory = *NDArray::Create(kFloat32, {40}), out = *NDArray::Create(kFloat32, {10});
  for (int i = 0; i < 40; ++i) memory.as<float>()[i] = static_cast<float>(i);
  out.as<float>()[0] = out.as<float>()[1] = -1;
  const std::vector<int64_t> shape = {2, 4}, strides = {10, 1};
  const RuntimeResult<KernelArguments> arguments =
      BindArguments(*kernel.meta, std::vector<TensorView>{{memory.data(), kFloat32, shape, strides, 3}, out.view()},
                    std::vector<int64_t>{2});
  ASSERT_TRUE(arguments.ok()) << arguments.error().message;
  const std::unique_ptr<ThreadPool> pool = *ThreadPool::Create(1);
  KernelContext context(*pool, 1 << 20);
  ASSERT_TRUE(CallKernel(kernel, *arguments, context).ok());
  const std::vector<float> values(out.as<float>().begin(), out.as<float>().end());
  EXPECT_THAT(values, testing::ElementsAre(-1, -1, 4, 5, 6, 7, 14, 15, 16, 17));
}

TEST(ArtifactTest, EmitsTheKernelAbiThatADeviceRuns) {
  const PrimFunc plain = LoweredOrDie(R"(
@T.prim_func
def double(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi] * T.float32(2)
)");
  for (const uint32_t abi : {1u, 2u}) {
    const StatusOr<Artifact> artifact = Load(plain, abi);
    ASSERT_TRUE(artifact.ok()) << artifact.status().ToString();
    EXPECT_EQ(artifact->meta().abi_version, abi);
    EXPECT_EQ(artifact->Find("double")->meta->num_symbols(), 1u);
  }
  EXPECT_THAT(Load(LoweredOrDie(kStridedCopy), 1).status().message(),
              testing::HasSubstr("codegen @copy parameter \"A\": kernel ABI 1 knows compact tensors"));
  EXPECT_THAT(Load(plain, 3).status().message(),
              testing::HasSubstr("kernel ABI 3 is asked for, this builder emits 1 to 2"));
}

}  // namespace
}  // namespace lathe
