// Columns of text for people.
#pragma once

#include <string>
#include <vector>

namespace lathe {

class TextTable {
 public:
  // A heading that begins with '>' makes its column flush right.
  explicit TextTable(std::vector<std::string> headings);
  void Add(std::vector<std::string> cells);  // As many as headings.
  // One line per row, columns two blanks apart, no blanks at the ends of lines.
  std::string Render() const;
  bool empty() const { return rows_.empty(); }

 private:
  std::vector<std::string> headings_;
  std::vector<bool> is_right_;
  std::vector<std::vector<std::string>> rows_;
};

// Code points of UTF-8 text: what a terminal shows of it, one column each.
size_t DisplayWidth(const std::string& text);
// The first line, cut to `width` code points with "..." at its end.
std::string Shorten(const std::string& text, size_t width);

}  // namespace lathe
