// The other side of the artifact: runtime/ reads, checks and loads what the compiler wrote.
#include "runtime/artifact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "tests/compiler/codegen/loaded_kernels.h"

namespace lathe {
namespace {

TEST(ArtifactTest, SaysWhatWasCompiled) {
  Var n("n"), i("i"), scale("scale", DataType::Float(32));
  const Buffer a = MakeBuffer("A", {n, 4}), w = MakeBuffer("W", {4}, DataType::Float(16)), b = MakeBuffer("B", {n, 4});
  const Stmt body =
      MakeFor(i, n, MakeStore(b, Load(a, {i, 1}) * MakeCast(DataType::Float(32), Load(w, {2})) * scale, {i, 0}));
  const PrimFunc first{.name = "scale it",
                       .params = {a, w, scale, b},
                       .attrs = {{"constant_params", std::vector<Attr>{1}}},
                       .body = body};
  const PrimFunc second{.name = "other", .body = Evaluate{0}};
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

}  // namespace
}  // namespace lathe
