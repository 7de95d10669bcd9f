#include "cli/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace lathe {
namespace {

// Columns on the terminal: characters, not bytes.
size_t Width(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string RenderRow(const std::vector<std::string>& cells, const std::vector<size_t>& widths) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    const std::string padding(widths[i] - Width(cells[i]), ' ');
    line += (i == 0 ? "" : "  ") + (i == 0 ? cells[i] + padding : padding + cells[i]);
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line + "\n";
}

}  // namespace

std::string RenderTable(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (size_t i = 0; i < header.size(); ++i) {
    size_t width = Width(header[i]);
    for (const auto& row : rows) width = std::max(width, Width(row[i]));
    widths.push_back(width);
  }
  std::string text = RenderRow(header, widths);
  size_t total = 2 * (widths.size() - 1);
  for (const size_t width : widths) total += width;
  text += std::string(total, '-') + "\n";
  for (const auto& row : rows) text += RenderRow(row, widths);
  return text;
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
