#include "runtime/artifact.h"

#include <gmock/gmock.h>

#include <cstring>
#include <fstream>

#include "runtime/kernel_call.h"
#include "tests/property_runs.h"
#include "tests/runtime/memory_file.h"

namespace lathe {
namespace {

using testing::HasSubstr;

std::string KernelPath(const char* name) { return std::string(LATHE_TEST_KERNEL_DIR "/") + name + ".so"; }

std::vector<std::byte> ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// Copies to memory of exactly its size, so that AddressSanitizer sees a read one byte too far.
bool DecodesExactly(std::span<const std::byte> bytes) {
  const std::unique_ptr<std::byte[]> exact(new std::byte[bytes.size()]);
  std::copy(bytes.begin(), bytes.end(), exact.get());
  const RuntimeResult<ArtifactMeta> meta = DecodeArtifactMeta({exact.get(), bytes.size()});
  EXPECT_EQ(meta.ok(), meta.error().message.empty());
  return meta.ok();
}

TEST(Artifact, TellsItsKernelsAndParameters) {
  const RuntimeResult<ArtifactMeta> meta = ReadArtifactMeta(KernelPath("good"));
  ASSERT_TRUE(meta.ok()) << meta.error().message;
  EXPECT_EQ(meta->target, "llvm -num-cores 1");
  ASSERT_EQ(meta->kernels.size(), 2u);
  const KernelMeta& add = meta->kernels[0];
  EXPECT_EQ(add.name, "add");
  ASSERT_EQ(add.params.size(), 3u);
  EXPECT_EQ(add.params[1].name, "B");
  EXPECT_TRUE(add.params[1].is_constant);
  EXPECT_TRUE(add.params[2].is_written);
  EXPECT_EQ(add.params[2].dtype, kFloat32);
  EXPECT_EQ(*add.ShapeOf(add.params[2], {}), (std::vector<int64_t>{64, 64}));
}

TEST(Artifact, RunsAKernelOnSeveralThreads) {
  const RuntimeResult<Artifact> artifact = Artifact::Open(KernelPath("good"));
  ASSERT_TRUE(artifact.ok()) << artifact.error().message;
  const RuntimeResult<Artifact::Kernel> matmul = artifact->Find("matmul");
  ASSERT_TRUE(matmul.ok());
  const NDArray a = *NDArray::Create(kFloat32, {64, 64}), b = *NDArray::Create(kFloat32, {64, 64}),
                c = *NDArray::Create(kFloat32, {64, 64});
  std::fill_n(a.as<float>().data(), 4096, 2.0f);
  std::fill_n(b.as<float>().data(), 4096, 0.5f);
  const std::vector<TensorView> views = {a.view(), b.view(), c.view()};
  const RuntimeResult<KernelArguments> arguments = BindArguments(*matmul->meta, views);
  ASSERT_TRUE(arguments.ok()) << arguments.error().message;
  const std::unique_ptr<ThreadPool> pool = *ThreadPool::Create(3);
  KernelContext context(*pool, 1 << 24);
  for (int call = 0; call < 50; ++call) {
    const RuntimeError error = CallKernel(*matmul, *arguments, context);
    ASSERT_TRUE(error.ok()) << error.message;
  }
  for (const float value : c.as<float>()) ASSERT_EQ(value, 64.0f);
}

TEST(Artifact, NamesTheArgumentThatDoesNotFit) {
  const RuntimeResult<ArtifactMeta> meta = ReadArtifactMeta(KernelPath("good"));
  const NDArray right = *NDArray::Create(kFloat32, {64, 64}), wrong = *NDArray::Create(kFloat32, {64, 32}),
                ints = *NDArray::Create(kInt32, {64, 64});
  const auto message = [&](std::vector<TensorView> views) {
    return BindArguments(meta->kernels[0], views).error().message;
  };
  EXPECT_EQ(message({right.view(), wrong.view(), right.view()}), "call add: \"B\" dimension 1 is 32, 64 required");
  EXPECT_EQ(message({ints.view(), right.view(), right.view()}), "call add: \"A\" is int32, float32 required");
  EXPECT_EQ(message({right.view()}), "call add: buffer \"B\" is not given");
}

struct RefusalCase {
  const char* file;
  const char* message;
};
class ArtifactRefusalTest : public testing::TestWithParam<RefusalCase> {};
TEST_P(ArtifactRefusalTest, SaysWhyBeforeAnyCodeIsLoaded) {
  const RuntimeResult<Artifact> artifact = Artifact::Open(KernelPath(GetParam().file));
  ASSERT_FALSE(artifact.ok());
  EXPECT_THAT(artifact.error().message, HasSubstr(GetParam().message));
}
INSTANTIATE_TEST_SUITE_P(Files, ArtifactRefusalTest,
                         testing::Values(RefusalCase{"other_abi", "kernel ABI 99, this program calls ABI 1"},
                                         RefusalCase{"other_cpu", "this CPU lacks sse9, teleport"},
                                         RefusalCase{"no_meta", "no section .lathe.meta"},
                                         RefusalCase{"absent", "No such file or directory (ENOENT)"}),
                         [](const auto& info) { return info.param.file; });

TEST(Artifact, RefusesAnotherCodegenVersionAndAnUnknownKernel) {
  EXPECT_THAT(Artifact::Open(KernelPath("good"), 20000).error().message,
              HasSubstr("codegen version 19001, 20000 asked for"));
  const RuntimeResult<Artifact> artifact = Artifact::Open(KernelPath("good"));
  EXPECT_THAT(artifact->Find("conv").error().message, HasSubstr("no such kernel; it has \"add\", \"matmul\""));
}

TEST(ArtifactMeta, SurvivesEveryChangedByteOfItsSection) {
  const std::vector<std::byte> file = ReadAll(KernelPath("good"));
  std::vector<std::byte> section = *FindMetaSection(MemoryFile(file));
  ASSERT_TRUE(DecodesExactly(section));
  int refused = 0;
  for (size_t i = 0; i < section.size(); ++i) {
    const std::byte original = section[i];
    for (const int value : {0x00, 0x01, 0x08, 0x40, 0x7f, 0x80, 0xff}) {
      section[i] = static_cast<std::byte>(value);
      refused += DecodesExactly(section) ? 0 : 1;
    }
    section[i] = original;
  }
  EXPECT_GT(refused, 500);
}

TEST(ArtifactMeta, RefusesEveryTruncation) {
  const std::vector<std::byte> file = ReadAll(KernelPath("good"));
  const std::vector<std::byte> section = *FindMetaSection(MemoryFile(file));
  for (size_t size = 0; size < section.size(); ++size)
    EXPECT_FALSE(DecodesExactly(std::span(section).first(size))) << size;
}

TEST(ArtifactMeta, SurvivesDamagedElfFiles) {
  std::vector<std::byte> file = ReadAll(KernelPath("good"));
  for (size_t size = 0; size < file.size(); size += 61) (void)FindMetaSection(MemoryFile(std::span(file).first(size)));
  const uint64_t seed = 20;
  uint64_t state = seed;
  for (int round = 0; round < PropertyRuns(20000); ++round) {  // Header and section table are where the offsets are.
    state = state * 6364136223846793005u + 1442695040888963407u;
    const size_t table = file.size() > 3000 ? file.size() - 3000 : 0;
    const size_t at = (state >> 63) != 0 ? (state >> 33) % 64 : table + (state >> 33) % (file.size() - table);
    const std::byte original = std::exchange(file[at], static_cast<std::byte>(state >> 20));
    const RuntimeResult<std::vector<std::byte>> section = FindMetaSection(MemoryFile(file));
    if (section.ok()) (void)DecodesExactly(*section);
    file[at] = original;
  }
  SUCCEED() << "seed " << seed;
}

}  // namespace
}  // namespace lathe
