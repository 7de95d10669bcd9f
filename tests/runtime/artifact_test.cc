#include "runtime/artifact.h"

#include <gmock/gmock.h>

#include <cstring>
#include <fstream>
#include <numeric>

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
  EXPECT_EQ(message({right.view()}), "call add: 1 buffers and 0 scalars given, 3 and 0 required");
}

TEST(Artifact, SaysHowManyThreadsItsTargetHas) {
  const auto cores = [](const char* target) { return ArtifactMeta{.target = target}.num_cores(); };
  EXPECT_EQ(cores("llvm -mcpu=x86-64-v3 -mtriple=x86_64-linux-gnu -num-cores=12"), 12);
  EXPECT_EQ(cores("llvm -num-cores=2 -mcpu=x86-64-v3"), 2);
  for (const char* none : {"llvm", "", "llvm -num-cores=", "llvm -num-cores=-3"}) EXPECT_EQ(cores(none), 1) << none;
}

TEST(Artifact, StillRunsKernelAbi1) {
  const RuntimeResult<Artifact> artifact = Artifact::Open(KernelPath("layout1"));
  ASSERT_TRUE(artifact.ok()) << artifact.error().message;
  EXPECT_EQ(artifact->meta().abi_version, 1u);
  const RuntimeResult<Artifact::Kernel> kernel = artifact->Find("twice");
  EXPECT_EQ(kernel->meta->symbols, std::vector<std::string>{"s0"});
  NDArray a = *NDArray::Create(kFloat32, {3, 2}), b = *NDArray::Create(kFloat32, {3, 2});
  std::iota(a.as<float>().begin(), a.as<float>().end(), 1.0f);
  const std::vector<TensorView> views = {a.view(), b.view()};
  const RuntimeResult<KernelArguments> arguments = BindArguments(*kernel->meta, views);
  ASSERT_TRUE(arguments.ok()) << arguments.error().message;
  const std::unique_ptr<ThreadPool> pool = *ThreadPool::Create(1);
  KernelContext context(*pool, 1 << 20);
  ASSERT_TRUE(CallKernel(*kernel, *arguments, context).ok());
  EXPECT_THAT(b.as<float>(), testing::ElementsAre(2, 4, 6, 8, 10, 12));
}

// A is (n, 4) with strides (s, 1) from element o on, B is (4 * n,), P an address, k a scalar.
class StridedKernel : public testing::Test {
 protected:
  StridedKernel() { std::iota(memory_.as<float>().begin(), memory_.as<float>().end(), 0.0f); }
  TensorView A() const { return {memory_.data(), kFloat32, a_shape_, a_strides_, a_offset_}; }
  TensorView B() const { return {out_.data(), kFloat32, b_shape_}; }
  RuntimeResult<KernelArguments> Bind() const {
    return BindArguments(*kernel_.meta, std::vector<TensorView>{A(), B(), pointer_.view()}, scalars_);
  }

  const Artifact artifact_ = *Artifact::Open(KernelPath("strided"));
  const Artifact::Kernel kernel_ = *artifact_.Find("copy");
  NDArray memory_ = *NDArray::Create(kFloat32, {40}), out_ = *NDArray::Create(kFloat32, {12});
  NDArray pointer_ = *NDArray::Create(kInt64, {1});
  std::vector<int64_t> a_shape_{3, 4}, a_strides_{10, 1}, b_shape_{12}, scalars_{100};
  int64_t a_offset_ = 2;
};

TEST_F(StridedKernel, IsGivenStridesOffsetScalarsAndAddresses) {
  const RuntimeResult<KernelArguments> arguments = Bind();
  ASSERT_TRUE(arguments.ok()) << arguments.error().message;
  EXPECT_EQ(arguments->scalars, (std::vector<int64_t>{100, 3, 10, 2}));
  const std::unique_ptr<ThreadPool> pool = *ThreadPool::Create(1);
  KernelContext context(*pool, 1 << 20);
  ASSERT_TRUE(CallKernel(kernel_, *arguments, context).ok());
  EXPECT_THAT(out_.as<float>(), testing::ElementsAre(102, 103, 104, 105, 112, 113, 114, 115, 122, 123, 124, 125));
  EXPECT_EQ(pointer_.as<int64_t>()[0], 2);
}

TEST_F(StridedKernel, TakesACompactTensorForAStridedOne) {
  a_strides_.clear();
  a_offset_ = 0;
  EXPECT_EQ(Bind()->scalars, (std::vector<int64_t>{100, 3, 4, 0}));
}

TEST_F(StridedKernel, RefusesAnExtentThatItsProgramDoesNotGive) {
  b_shape_ = {13};
  EXPECT_EQ(Bind().error().message, "call copy: \"B\" dimension 0 is 13, 12 required");
  b_shape_ = {12};
  a_strides_ = {10, 2};
  EXPECT_EQ(Bind().error().message, "call copy: \"A\" stride 1 is 2, 1 required");
  a_shape_ = {3, 1};
  EXPECT_EQ(Bind().error().message, "call copy: \"A\" dimension 1 is 1, 4 required");
}

TEST_F(StridedKernel, RefusesStridesWhereTheKernelKnowsNone) {
  const std::vector<int64_t> strides = {2};
  const std::vector<TensorView> views = {A(), {out_.data(), kFloat32, b_shape_, strides}, pointer_.view()};
  EXPECT_EQ(BindArguments(*kernel_.meta, views, scalars_).error().message,
            "call copy: \"B\" has strides, a compact tensor is required; copy it");
}

TEST_F(StridedKernel, ChecksTheAlignmentThatItsMetadataAsksFor) {
  const std::vector<TensorView> views = {{memory_.as<float>().data() + 1, kFloat32, a_shape_, a_strides_, 0},
                                         {memory_.as<float>().data() + 1, kFloat32, b_shape_},
                                         pointer_.view()};
  EXPECT_EQ(BindArguments(*kernel_.meta, views, scalars_).error().message,
            "call copy: \"B\" is not aligned to 64 bytes");
}

TEST_F(StridedKernel, SaysWhatElseIsInItsArtifact) {
  const ArtifactMeta& meta = artifact_.meta();
  EXPECT_EQ(kernel_.meta->symbols, (std::vector<std::string>{"n", "stride", "offset"}));
  EXPECT_EQ(kernel_.meta->params[1].dims[0].ToString(kernel_.meta->symbols), "(n * 4)");
  EXPECT_EQ(kernel_.meta->workspace.value, 256);
  EXPECT_TRUE(kernel_.meta->params[2].may_alias && !kernel_.meta->params[0].may_alias);
  ASSERT_EQ(meta.images.size(), 1u);
  EXPECT_EQ(meta.images[0].arch, "sm_90a");
  ASSERT_EQ(meta.device_kernels.size(), 1u);
  EXPECT_EQ(meta.device_kernels[0].arg_bytes, (std::vector<uint32_t>{8, 4}));
  EXPECT_EQ(meta.device_kernels[0].shared_bytes, 49152u);
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
                         testing::Values(RefusalCase{"other_abi", "kernel ABI 99, this program calls ABI 1 to 2"},
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

class DamagedMetaTest : public testing::TestWithParam<const char*> {
 protected:
  std::vector<std::byte> Section() const { return *FindMetaSection(MemoryFile(ReadAll(KernelPath(GetParam())))); }
};
TEST_P(DamagedMetaTest, SurvivesEveryChangedByteOfItsSection) {
  std::vector<std::byte> section = Section();
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
  EXPECT_GT(refused, 400);
}
TEST_P(DamagedMetaTest, RefusesEveryTruncation) {
  const std::vector<std::byte> section = Section();
  for (size_t size = 0; size < section.size(); ++size)
    EXPECT_FALSE(DecodesExactly(std::span(section).first(size))) << size;
}
INSTANTIATE_TEST_SUITE_P(Layouts, DamagedMetaTest, testing::Values("good", "strided", "layout1"),
                         [](const auto& info) { return info.param; });

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
