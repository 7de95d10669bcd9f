#include "cli/text_table.h"

#include <algorithm>

namespace lathe {
namespace {

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

}  // namespace

size_t DisplayWidth(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !IsContinuation(c); }));
}

std::string Shorten(const std::string& text, size_t width) {
  const std::string line = text.substr(0, text.find('\n'));
  if (DisplayWidth(line) <= width) return line;
  std::string result;
  size_t shown = 0;
  for (const char c : line) {
    if (!IsContinuation(c) && ++shown > width - 3) break;
    result += c;
  }
  return result + "...";
}

TextTable::TextTable(std::vector<std::string> headings) : headings_(std::move(headings)) {
  for (std::string& heading : headings_) {
    is_right_.push_back(heading.starts_with('>'));
    if (is_right_.back()) heading.erase(0, 1);
  }
}

void TextTable::Add(std::vector<std::string> cells) {
  cells.resize(headings_.size());
  for (std::string& cell : cells) {
    for (char& c : cell)
      c = static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?'
                                                            : c;  // Names may hold what moves a terminal's cursor.
  }
  rows_.push_back(std::move(cells));
}

std::string TextTable::Render() const {
  std::vector<size_t> widths;
  for (size_t i = 0; i < headings_.size(); ++i) {
    widths.push_back(DisplayWidth(headings_[i]));
    for (const auto& row : rows_) widths[i] = std::max(widths[i], DisplayWidth(row[i]));
  }
  std::string text;
  const auto add = [&](const std::vector<std::string>& row) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - DisplayWidth(row[i]), ' ');
      line += (i == 0 ? "" : "  ") + (is_right_[i] ? blanks + row[i] : row[i] + blanks);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  };
  add(headings_);
  for (const auto& row : rows_) add(row);
  return text;
}

}  // namespace lathe
