#include "runtime/tile_permission.h"

#include <gmock/gmock.h>

#include <cerrno>

#include "runtime/artifact.h"
#include "runtime/cpu_features.h"

namespace lathe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(TilePermission, AsksForTheStateOfTileData) {
  static int code = 0;
  static unsigned long argument = 0;
  const RuntimeError granted = AskForTiles([](int asked, unsigned long of) -> long {
    code = asked;
    argument = of;
    return 0;
  });
  EXPECT_TRUE(granted.ok()) << granted.message;
  EXPECT_EQ(code, 0x1023);
  EXPECT_EQ(argument, 18u);
}

TEST(TilePermission, SaysWhyAndWhatToDoWhereTheKernelRefuses) {
  const RuntimeError refused = AskForTiles([](int, unsigned long) -> long {
    errno = EOPNOTSUPP;
    return -1;
  });
  EXPECT_EQ(refused.code, RuntimeCode::kFailedPrecondition);
  EXPECT_THAT(refused.message, HasSubstr("arch_prctl ARCH_REQ_XCOMP_PERM: Operation not supported"));
  EXPECT_THAT(refused.message, HasSubstr("build for a target without amx-tile"));
}

TEST(TilePermission, LeavesTilesOutWhereThereIsNone) {
  const std::vector<std::string> features = {"avx2", "amx-tile", "amx-int8"};
  EXPECT_TRUE(UsesTiles(features));
  EXPECT_FALSE(UsesTiles({"avx2", "fma"}));
  EXPECT_EQ(UsableFeatures(features, {}), features);
  EXPECT_THAT(UsableFeatures(features, {RuntimeCode::kFailedPrecondition, "refused"}), ElementsAre("avx2"));
}

TEST(TilePermission, IsNotAskedForOnACpuWithoutTiles) {
  if (HostHasCpuFeature("amx-tile")) GTEST_SKIP() << "this CPU has AMX";
  ArtifactMeta meta;
  meta.abi_version = LATHE_KERNEL_ABI_VERSION;
  meta.target = "llvm -mcpu=sapphirerapids";
  meta.features = {"amx-int8", "amx-tile"};
  EXPECT_THAT(CheckArtifactRunsHere(meta, 0).message, HasSubstr("this CPU lacks amx-int8, amx-tile"));
}

}  // namespace
}  // namespace lathe
