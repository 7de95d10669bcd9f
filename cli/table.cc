#include "cli/table.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/text_table.h"

namespace lathe {
std::string RenderTable(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::string> headings = header;
  for (size_t i = 1; i < headings.size(); ++i) headings[i].insert(0, ">");
  TextTable table(std::move(headings), /*has_rule=*/true);
  for (const auto& row : rows) table.Add(row);
  return table.Render();
}

std::string FormatTime(double ns) {
  if (ns <= 0) return "-";
  if (ns < 1e3) return fmt::format("{:.3g} ns", ns);
  if (ns < 999.5e3) return fmt::format("{:.3g} us", ns / 1e3);
  if (ns < 999.5e6) return fmt::format("{:.3g} ms", ns / 1e6);
  return fmt::format("{:.3g} s", ns / 1e9);
}

std::string FormatSeconds(double s) {
  const auto seconds = static_cast<int64_t>(std::llround(s));
  if (seconds < 60) return fmt::format("{} s", seconds);
  if (seconds < 3600) return fmt::format("{} min {} s", seconds / 60, seconds % 60);
  return fmt::format("{} h {} min", seconds / 3600, seconds / 60 % 60);
}

}  // namespace lathe
