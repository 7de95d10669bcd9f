#include "rpc/device/board_condition.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace lathe {
namespace {

namespace fs = std::filesystem;

constexpr double kPiStartsBelowC = 65;
constexpr double kBelowPassiveC = 15;
constexpr uint32_t kHeldBackNow = 0xf;
constexpr uint32_t kHasBeenHeldBack = 0xf0000;

std::string FirstLine(const fs::path& path) {
  std::ifstream stream(path);
  std::string line;
  std::getline(stream, line);
  return line;
}

std::optional<double> NumberIn(const fs::path& path) {
  const std::string line = FirstLine(path);
  char* end = nullptr;
  const double value = std::strtod(line.c_str(), &end);
  return end == line.c_str() ? std::nullopt : std::optional(value);
}

std::optional<uint32_t> HexIn(const fs::path& path) {
  const std::string line = FirstLine(path);
  char* end = nullptr;
  const unsigned long value = std::strtoul(line.c_str(), &end, 16);
  return end == line.c_str() ? std::nullopt : std::optional(static_cast<uint32_t>(value));
}

// Sorted; empty where there is no such folder.
std::vector<fs::path> In(const fs::path& folder, std::string_view prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (entry.path().filename().string().starts_with(prefix)) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

// Batteries, disks and radios have zones too.
bool IsOfCpu(std::string type) {
  std::transform(type.begin(), type.end(), type.begin(), [](unsigned char c) { return std::tolower(c); });
  return type.find("cpu") != std::string::npos || type.find("soc") != std::string::npos || type == "x86_pkg_temp";
}

std::optional<double> FirstPassiveC(const fs::path& zone) {
  std::optional<double> first;
  for (const fs::path& type : In(zone, "trip_point_")) {
    const std::string name = type.string();
    if (!name.ends_with("_type") || FirstLine(type) != "passive") continue;
    const std::optional<double> at = NumberIn(name.substr(0, name.size() - 4) + "temp");
    if (at && *at > 0 && (!first || *at / 1000 < *first)) first = *at / 1000;
  }
  return first;
}

}  // namespace

std::optional<std::string> WhyNotYet(const BoardCondition& now, std::optional<double> start_below_c) {
  if (now.firmware_word.value_or(0) & kHeldBackNow) {
    const uint32_t word = *now.firmware_word;
    return fmt::format("its firmware holds the clock back (0x{:x}{})", word,
                       (word & 1) != 0 ? ", the supply's voltage is too low: try another supply or cable" : "");
  }
  if (start_below_c && now.temperature_c && *now.temperature_c > *start_below_c)
    return fmt::format("{:.0f} degrees Celsius, begins at {:.0f} at most", *now.temperature_c, *start_below_c);
  return std::nullopt;
}

bool WasHeldBack(const BoardCondition& before, const BoardCondition& after) {
  const uint32_t old_word = before.firmware_word.value_or(0), word = after.firmware_word.value_or(0);
  if (((old_word | word) & kHeldBackNow) != 0 || ((old_word ^ word) & kHasBeenHeldBack) != 0) return true;
  return before.times_held_back && after.times_held_back && *before.times_held_back != *after.times_held_back;
}

BoardSensors BoardSensors::Find(const std::string& root) {
  BoardSensors sensors;
  const fs::path sys = fs::path(root) / "sys";
  for (const fs::path& zone : In(sys / "class/thermal", "thermal_zone")) {
    if (!IsOfCpu(FirstLine(zone / "type"))) continue;
    sensors.temperatures_.push_back(zone / "temp");
    const std::optional<double> passive = FirstPassiveC(zone);
    if (!passive) continue;
    const double start = *passive - kBelowPassiveC;
    sensors.start_below_c_ = std::min(sensors.start_below_c_.value_or(start), start);
  }
  for (const fs::path& cpu : In(sys / "devices/system/cpu", "cpu"))
    for (const char* name : {"core_throttle_count", "package_throttle_count"})
      if (fs::exists(cpu / "thermal_throttle" / name)) sensors.counters_.push_back(cpu / "thermal_throttle" / name);
  for (const fs::path& chip : In(sys / "class/hwmon", "hwmon")) {
    for (const fs::path& count : In(chip, "oc"))
      if (count.string().ends_with("_event_cnt")) sensors.counters_.push_back(count);
    if (FirstLine(chip / "name") == "rpi_volt") sensors.supply_alarm_ = chip / "in0_lcrit_alarm";
  }
  const fs::path word = sys / "devices/platform/soc/soc:firmware/get_throttled";
  if (fs::exists(word)) sensors.firmware_word_ = word;
  if (!sensors.firmware_word_.empty() || !sensors.supply_alarm_.empty()) sensors.start_below_c_ = kPiStartsBelowC;
  return sensors;
}

BoardCondition BoardSensors::Read() const {
  BoardCondition now;
  for (const std::string& path : temperatures_)
    if (const std::optional<double> value = NumberIn(path))
      now.temperature_c = std::max(now.temperature_c.value_or(*value / 1000), *value / 1000);
  for (const std::string& path : counters_)
    if (const std::optional<double> value = NumberIn(path))
      now.times_held_back = now.times_held_back.value_or(0) + static_cast<uint64_t>(*value);
  if (!firmware_word_.empty()) now.firmware_word = HexIn(firmware_word_);
  if (!supply_alarm_.empty() && NumberIn(supply_alarm_).value_or(0) != 0)
    now.firmware_word = now.firmware_word.value_or(0) | 1;
  return now;
}

}  // namespace lathe
