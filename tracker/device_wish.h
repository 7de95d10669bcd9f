// Which devices somebody wants, in words: a key, or conditions too. Pure.
//
//   pi4                           devices with this key, the class whose records belong together
//   pi4 & mem>=4GiB & !loud       of these, those with as much memory and without the tag "loud"
//   pi4 & (rack=3 | name=pi4-7)   and of these, the ones in rack 3, and one by name
//
// A word alone holds for a device of that name, key or architecture, or with that tag or CPU feature. A comparison (=,
// !=, <, <=, >, >=) is of numbers if both sides are numbers, with a unit KiB, MiB, GiB or TiB if there is one; else of
// text, by = and != only. What a device does not say of itself compares as false, but != as true. Names: name, key,
// arch, cores, mem, gflops, and the device's tags of the form a=b.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "support/status.h"

namespace lathe {

inline constexpr size_t kLongestWish = 512;  // Characters.

// What a wish can ask for.
struct DeviceTraits {
  std::set<std::string> words;
  std::map<std::string, std::string> values;  // "mem" -> "8589934592"
  bool operator==(const DeviceTraits&) const = default;
};

class DeviceWish {
 public:
  DeviceWish() = default;  // Any device.
  static DeviceWish OfKey(std::string key);
  // Of a job: records hold for devices of one key, so it has to begin with one: KEY, or KEY & CONDITION.
  static StatusOr<DeviceWish> ParseForJob(std::string_view text);
  static StatusOr<DeviceWish> Parse(std::string_view text);

  const std::string& key() const { return key_; }  // Empty: whatever the key.
  // Without the key, in one form for equal wishes; "": none.
  const std::string& condition() const { return condition_; }
  std::string ToString() const;  // Parse reads it.
  bool Matches(std::string_view key, const DeviceTraits& traits) const;
  // 'mem>=4GiB: its mem is 2GiB'; empty: it matches.
  std::string WhyNot(std::string_view key, const DeviceTraits& traits) const;
  bool operator==(const DeviceWish& other) const { return key_ == other.key_ && condition_ == other.condition_; }

  struct Node;

 private:
  std::string key_, condition_;
  std::shared_ptr<const Node> root_;  // Null: no condition.
};

}  // namespace lathe
