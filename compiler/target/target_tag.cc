#include "compiler/target/target_tag.h"

#include "compiler/target/cpu_table.h"

namespace lathe {

// A row may leave out what its CPU implies, so both are compared in their canonical form.
std::string_view TagOf(const Target& target) {
  for (const TagRow& row : TagRows()) {
    const StatusOr<Target> tagged = Target::Parse(row.target);
    if (tagged.ok() && tagged->ToString() == target.ToString()) return row.tag;
  }
  return {};
}

}  // namespace lathe
