#include "cli/target_names.h"

#include <gtest/gtest.h>

#include <vector>

#include "compiler/target/target.h"

namespace lathe {
namespace {

std::string Canonical(const char* text) { return Target::Parse(text)->ToString(); }

std::string NameOf(const std::string& target, bool is_long = false) {
  return TargetNames(std::vector{target}, is_long).Of(target);
}

TEST(TargetNames, AreTagsOrTheCpuAndItsThreads) {
  EXPECT_EQ(NameOf(Canonical("raspberry-pi/4b-aarch64")), "raspberry-pi/4b-aarch64");
  EXPECT_EQ(NameOf(Canonical("llvm -mcpu=znver4 -mtriple=x86_64-linux-gnu -num-cores=2")), "znver4 x2");
  // Not the tag's: it has other threads.
  EXPECT_EQ(NameOf(Canonical("raspberry-pi/4b-aarch64 -num-cores=2")), "cortex-a72 x2");
}

TEST(TargetNames, AreTheTextWhereItIsAskedForOrSaysMore) {
  const std::string pi = Canonical("raspberry-pi/4b-aarch64");
  EXPECT_EQ(NameOf(pi, /*is_long=*/true), pi);
  EXPECT_EQ(NameOf("llvm -num-cores=4 -mcpu=cortex-a72"), "llvm -num-cores=4 -mcpu=cortex-a72");
  EXPECT_EQ(NameOf("of another release"), "of another release");
}

TEST(TargetNames, NeverStandForTwoTargetsOfOneTable) {
  const std::string plain = Canonical("llvm -mcpu=x86-64-v3 -mtriple=x86_64-linux-gnu -num-cores=2"),
                    more = Canonical("llvm -mcpu=x86-64-v3 -mattr=+f16c,-fma -mtriple=x86_64-linux-gnu -num-cores=2"),
                    other = Canonical("llvm -mcpu=x86-64-v3 -mtriple=x86_64-linux-gnu -num-cores=4");
  ASSERT_NE(plain, more);
  ASSERT_EQ(NameOf(plain), NameOf(more)) << "the test asks nothing";
  const TargetNames names(std::vector{plain, more, other, plain}, /*is_long=*/false);
  EXPECT_EQ(names.Of(plain), plain);
  EXPECT_EQ(names.Of(more), more);
  EXPECT_EQ(names.Of(other), NameOf(other));
  EXPECT_NE(names.Of(other), other);
}

}  // namespace
}  // namespace lathe
