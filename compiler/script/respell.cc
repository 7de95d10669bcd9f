#include "compiler/script/respell.h"

#include <algorithm>

namespace lathe {
namespace {

bool GoesOnBefore(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

// One line, whose quoted texts stay.
std::string RenamePrefixes(const std::string& line, const PrintOptions& options) {
  std::string out;
  bool in_quotes = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && (i == 0 || line[i - 1] != '\\')) in_quotes = !in_quotes;
    const bool is_prefix = !in_quotes && (c == 'T' || c == 'I') && i + 1 < line.size() && line[i + 1] == '.' &&
                           (i == 0 || !GoesOnBefore(line[i - 1]));
    if (is_prefix) {
      out += c == 'T' ? options.tir_prefix : options.ir_prefix;
    } else {
      out += c;
    }
  }
  if (line.starts_with("# from ")) {
    if (out.ends_with(" as T")) out.replace(out.size() - 1, 1, options.tir_prefix);
    if (out.ends_with(" as I")) out.replace(out.size() - 1, 1, options.ir_prefix);
  }
  return out;
}

std::string Reindent(const std::string& line, int spaces) {
  const size_t depth = std::min(line.find_first_not_of(' '), line.size());
  return std::string(depth / 4 * size_t(spaces) + depth % 4, ' ') + line.substr(depth);
}

}  // namespace

std::string Respell(std::string text, const PrintOptions& options) {
  const bool renames = options.tir_prefix != "T" || options.ir_prefix != "I";
  if (renames || options.indent_spaces != 4) {
    std::string out;
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      std::string line = text.substr(begin, end - begin);
      if (renames) line = RenamePrefixes(line, options);
      out += Reindent(line, options.indent_spaces) + "\n";
      begin = end + 1;
    }
    text = std::move(out);
  }
  if (options.as_tvm && text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace lathe
