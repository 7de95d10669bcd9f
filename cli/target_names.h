// Short names of targets, for the columns of tables.
#pragma once

#include <map>
#include <span>
#include <string>

namespace lathe {

// The names of the targets of one table. A canonical text is shown by its tag ("raspberry-pi/4b-aarch64"), else by the
// CPU that it is planned for and its threads ("znver4 x2"); as it is where two targets of the table would have one
// name, and where it is not canonical.
class TargetNames {
 public:
  // `is_long`: all as they are.
  TargetNames(std::span<const std::string> targets, bool is_long);
  const std::string& Of(const std::string& target) const { return names_.at(target); }  // One of `targets`.

 private:
  std::map<std::string, std::string> names_;
};

}  // namespace lathe
