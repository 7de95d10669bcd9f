#include "tracker/device_wish.h"

#include <gmock/gmock.h>

#include "support/random.h"
#include "tests/property_runs.h"

namespace lathe {
namespace {

using testing::HasSubstr;

const DeviceTraits kPi{
    .words = {"pi4-7", "pi4", "aarch64", "neon", "loud"},
    .values = {{"mem", "4147200000"}, {"cores", "4"}, {"rack", "3"}, {"name", "pi4-7"}, {"arch", "aarch64"}}};

bool Matches(std::string_view text) {
  const auto wish = DeviceWish::Parse(text);
  EXPECT_TRUE(wish.ok()) << wish.status().message();
  return wish.ok() && wish->Matches("pi4", kPi);
}

TEST(DeviceWish, AWordIsANameKeyArchitectureTagOrFeature) {
  for (const char* holds : {"pi4", "pi4-7", "aarch64", "neon", "loud", " loud "}) EXPECT_TRUE(Matches(holds)) << holds;
  for (const char* fails : {"pi", "sve", "rack"}) EXPECT_FALSE(Matches(fails)) << fails;
}

TEST(DeviceWish, ComparesNumbersWithUnitsAndText) {
  for (const char* holds : {"mem>=2GiB", "mem<4GiB", "mem > 3900MiB", "cores=4", "cores=4.0", "rack!=4", "arch=aarch64",
                            "arch!=x86_64", "floor!=2"})
    EXPECT_TRUE(Matches(holds)) << holds;
  for (const char* fails : {"mem>=4GiB", "cores>4", "arch=x86_64", "floor=2", "floor<2", "arch<3"})
    EXPECT_FALSE(Matches(fails)) << fails;
}

TEST(DeviceWish, OrBindsLessThanAnd) {
  EXPECT_TRUE(Matches("neon | sve & quiet"));
  EXPECT_FALSE(Matches("(neon | sve) & quiet"));
  EXPECT_FALSE(Matches("!loud | !(cores=4)"));
  EXPECT_TRUE(Matches("!(sve & loud)"));
}

TEST(DeviceWish, OfAJobBeginsWithTheKey) {
  const auto plain = DeviceWish::ParseForJob("pi4");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->key(), "pi4");
  EXPECT_EQ(plain->condition(), "");
  const auto narrow = DeviceWish::ParseForJob("pi4&mem>=2GiB&(rack=3|rack=4)");
  ASSERT_TRUE(narrow.ok());
  EXPECT_EQ(narrow->key(), "pi4");
  EXPECT_EQ(narrow->ToString(), "pi4 & mem>=2GiB & (rack=3 | rack=4)");
  EXPECT_TRUE(narrow->Matches("pi4", kPi));
  EXPECT_FALSE(narrow->Matches("pi5", kPi)) << "the key is the class of the records, whatever else is called so";
  for (const char* text : {"pi4 | pi5", "!pi4", "mem>=2GiB", "(pi4 | pi5) & loud"}) {
    const auto wish = DeviceWish::ParseForJob(text);
    ASSERT_FALSE(wish.ok()) << text;
    EXPECT_THAT(wish.status().message(), HasSubstr("a job is for devices of one key")) << text;
  }
}

TEST(DeviceWish, SaysWhyADeviceDoesNotSuit) {
  const auto why = [](std::string_view text) { return DeviceWish::ParseForJob(text)->WhyNot("pi4", kPi); };
  EXPECT_EQ(why("pi5"), "its key is pi4");
  EXPECT_EQ(why("pi4 & cores=4 & mem>=4GiB"), "mem>=4GiB: its mem is 3.86GiB");
  EXPECT_EQ(why("pi4 & sve"), "sve: it is not, and has no such tag or feature");
  EXPECT_EQ(why("pi4 & floor=2"), "floor=2: it does not say its floor");
  EXPECT_EQ(why("pi4 & !loud"), "!loud: it is not so");
  EXPECT_EQ(why("pi4 & loud"), "");
}

TEST(DeviceWish, SaysWhereItCannotBeRead) {
  const auto message = [](std::string_view text) { return std::string(DeviceWish::Parse(text).status().message()); };
  EXPECT_THAT(message("pi4 &"), HasSubstr("at character 6 there is the end, a word, ! or ( required"));
  EXPECT_THAT(message("pi4 loud"), HasSubstr("at character 5 there is \"l\", & or | or the end required"));
  EXPECT_THAT(message("(pi4"), HasSubstr("there is the end, ) required"));
  EXPECT_THAT(message("mem>=lots"), HasSubstr("a number before this, not \"lots\", required"));
  EXPECT_THAT(message("mem>="), HasSubstr("a value required"));
  EXPECT_THAT(message(""), HasSubstr("0 characters, 1 to 512 required"));
  EXPECT_THAT(message("p\xc3\xa4"), HasSubstr("beyond ASCII"));
  EXPECT_THAT(message(std::string(100, '!') + "a"), HasSubstr("at most 32 levels"));
}

std::string RandomWish(Random& random, int depth) {
  static constexpr const char* kLeaves[] = {"pi4", "loud", "sve", "mem>=2GiB", "cores<4", "rack=3", "floor!=1"};
  const uint64_t kind = depth == 0 ? 0 : random.Below(4);
  if (kind == 0) return kLeaves[random.Below(std::size(kLeaves))];
  if (kind == 1) return "!" + RandomWish(random, depth - 1);
  return "(" + RandomWish(random, depth - 1) + (kind == 2 ? " & " : "|") + RandomWish(random, depth - 1) + ")";
}

TEST(DeviceWish, TextReadAgainMeansTheSame) {
  const SeedRange seeds = SeedsToTry(500);
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    Random random(seed);
    const std::string text = RandomWish(random, 4);
    if (text.size() > kLongestWish) continue;
    const auto wish = DeviceWish::Parse(text);
    ASSERT_TRUE(wish.ok()) << wish.status().message() << ", seed " << seed;
    const auto again = DeviceWish::Parse(wish->ToString());
    ASSERT_TRUE(again.ok()) << again.status().message() << ", seed " << seed;
    EXPECT_EQ(again->ToString(), wish->ToString()) << "seed " << seed;
    EXPECT_EQ(again->Matches("pi4", kPi), wish->Matches("pi4", kPi)) << text << ", seed " << seed;
    const auto of_job = DeviceWish::ParseForJob("pi4 & " + text);
    ASSERT_TRUE(of_job.ok());
    EXPECT_EQ(of_job->Matches("pi4", kPi), wish->Matches("pi4", kPi)) << text << ", seed " << seed;
    EXPECT_EQ(DeviceWish::ParseForJob(of_job->ToString())->ToString(), of_job->ToString());
    EXPECT_EQ(of_job->WhyNot("pi4", kPi).empty(), of_job->Matches("pi4", kPi)) << text;
  }
}

}  // namespace
}  // namespace lathe
