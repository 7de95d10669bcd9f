#include "rpc/device/board_condition.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

namespace lathe {
namespace {

using testing::HasSubstr;
using testing::Optional;

// A tree of sysfs as recorded on a board, reduced to what is read.
class Tree {
 public:
  explicit Tree(const std::map<std::string, std::string>& files) : root_(testing::TempDir() + "sensors") {
    std::filesystem::remove_all(root_);
    for (const auto& [path, text] : files) Set(path, text);
  }
  ~Tree() { std::filesystem::remove_all(root_); }
  void Set(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ + "/sys/" + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  const std::string& root() const { return root_; }

 private:
  const std::string root_;
};

constexpr char kPiWord[] = "devices/platform/soc/soc:firmware/get_throttled";

TEST(BoardSensors, ReadARaspberryPi) {
  Tree tree({{"class/thermal/thermal_zone0/type", "cpu-thermal"},
             {"class/thermal/thermal_zone0/temp", "48312"},
             {kPiWord, "50005"}});
  const BoardSensors sensors = BoardSensors::Find(tree.root());
  EXPECT_THAT(sensors.start_below_c(), Optional(65.0));
  const BoardCondition now = sensors.Read();
  EXPECT_THAT(now.temperature_c, Optional(48.312));
  EXPECT_THAT(now.firmware_word, Optional(0x50005u));
  EXPECT_EQ(now.times_held_back, std::nullopt);
  tree.Set(kPiWord, "0");
  EXPECT_THAT(sensors.Read().firmware_word, Optional(0u)) << "read each time";
}

TEST(BoardSensors, ReadTheSupplyOfAPiWithAKernelThatHasNoFirmwareWord) {
  Tree tree({{"class/hwmon/hwmon1/name", "rpi_volt"}, {"class/hwmon/hwmon1/in0_lcrit_alarm", "1"}});
  const BoardCondition now = BoardSensors::Find(tree.root()).Read();
  EXPECT_THAT(now.firmware_word, Optional(1u));
  EXPECT_THAT(WhyNotYet(now, std::nullopt), Optional(HasSubstr("the supply's voltage is too low")));
}

TEST(BoardSensors, ReadAJetsonOrin) {
  Tree tree({{"class/thermal/thermal_zone0/type", "cpu-thermal"},
             {"class/thermal/thermal_zone0/temp", "51000"},
             {"class/thermal/thermal_zone0/trip_point_0_type", "critical"},
             {"class/thermal/thermal_zone0/trip_point_0_temp", "104500"},
             {"class/thermal/thermal_zone0/trip_point_1_type", "passive"},
             {"class/thermal/thermal_zone0/trip_point_1_temp", "99000"},
             {"class/thermal/thermal_zone1/type", "gpu-thermal"},
             {"class/thermal/thermal_zone1/temp", "88000"},
             {"class/hwmon/hwmon3/oc1_event_cnt", "2"},
             {"class/hwmon/hwmon3/oc3_event_cnt", "5"},
             {"class/hwmon/hwmon3/oc3_throt_en", "1"}});
  const BoardSensors sensors = BoardSensors::Find(tree.root());
  EXPECT_THAT(sensors.start_below_c(), Optional(84.0)) << "15 below the first passive trip point";
  const BoardCondition now = sensors.Read();
  EXPECT_THAT(now.temperature_c, Optional(51.0)) << "of the CPU";
  EXPECT_THAT(now.times_held_back, Optional(7u));
}

TEST(BoardSensors, ReadAnX86Machine) {
  Tree tree({{"class/thermal/thermal_zone0/type", "acpitz"},
             {"class/thermal/thermal_zone0/temp", "27800"},
             {"class/thermal/thermal_zone2/type", "x86_pkg_temp"},
             {"class/thermal/thermal_zone2/temp", "64000"},
             {"class/thermal/thermal_zone2/trip_point_0_type", "passive"},
             {"class/thermal/thermal_zone2/trip_point_0_temp", "-274000"},
             {"devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "3"},
             {"devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", "4"},
             {"devices/system/cpu/cpufreq/boost", "1"}});
  const BoardSensors sensors = BoardSensors::Find(tree.root());
  EXPECT_EQ(sensors.start_below_c(), std::nullopt) << "a trip point that is off";
  EXPECT_THAT(sensors.Read().temperature_c, Optional(64.0));
  EXPECT_THAT(sensors.Read().times_held_back, Optional(7u));
}

TEST(BoardSensors, KnowNothingOfAVirtualMachine) {
  for (const auto& files :
       {std::map<std::string, std::string>{}, {{"class/thermal/thermal_zone0/type", ""}, {kPiWord, "?"}}}) {
    const BoardCondition now = BoardSensors::Find(Tree(files).root()).Read();
    EXPECT_EQ(now.temperature_c, std::nullopt);
    EXPECT_EQ(now.firmware_word, std::nullopt);
    EXPECT_EQ(now.times_held_back, std::nullopt);
    EXPECT_EQ(WhyNotYet(now, 65), std::nullopt);
  }
}

struct HeldBackCase {
  const char* name;
  BoardCondition before, after;
  bool was_held_back;
};
class HeldBackTest : public testing::TestWithParam<HeldBackCase> {};
TEST_P(HeldBackTest, TellsByWhatHasChanged) {
  EXPECT_EQ(WasHeldBack(GetParam().before, GetParam().after), GetParam().was_held_back);
}
INSTANTIATE_TEST_SUITE_P(
    Conditions, HeldBackTest,
    testing::Values(HeldBackCase{"Unknown", {}, {}, false},
                    HeldBackCase{"HotterOnly", {.temperature_c = 50}, {.temperature_c = 79}, false},
                    HeldBackCase{"LongAgo", {.firmware_word = 0x50000}, {.firmware_word = 0x50000}, false},
                    HeldBackCase{"NowAfter", {.firmware_word = 0x50000}, {.firmware_word = 0x50004}, true},
                    HeldBackCase{"NowBefore", {.firmware_word = 0x50001}, {.firmware_word = 0x50000}, true},
                    HeldBackCase{"InBetween", {.firmware_word = 0}, {.firmware_word = 0x40000}, true},
                    HeldBackCase{"Counted", {.times_held_back = 7}, {.times_held_back = 8}, true},
                    HeldBackCase{"NotCounted", {.times_held_back = 7}, {.times_held_back = 7}, false},
                    HeldBackCase{"ReadOnce", {}, {.times_held_back = 7}, false}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lathe
