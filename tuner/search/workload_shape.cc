#include "tuner/search/workload_shape.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include "compiler/script/canonical.h"

namespace lathe {
namespace {

bool IsOfWord(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' || c == '.';
}

// End of the quoted text, word or single character that begins at `begin`.
size_t EndOfToken(std::string_view text, size_t begin) {
  size_t end = begin + 1;
  if (text[begin] == '"') {
    while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
    return std::min(end + 1, text.size());
  }
  while (IsOfWord(text[begin]) && end < text.size() && IsOfWord(text[end])) ++end;
  return end;
}

std::optional<int64_t> ToInteger(std::string_view token) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  return error == std::errc() && end == token.data() + token.size() ? std::optional(value) : std::nullopt;
}

double Doublings(int64_t a, int64_t b) {
  if ((a < 0) != (b < 0)) return 1;
  return std::fabs(std::log2(std::fabs(static_cast<double>(a)) + 1) - std::log2(std::fabs(static_cast<double>(b)) + 1));
}

}  // namespace

WorkloadShape ShapeOfText(std::string_view canonical_text) {
  WorkloadShape shape;
  std::string words;
  for (size_t begin = 0; begin < canonical_text.size();) {
    const size_t end = EndOfToken(canonical_text, begin);
    const std::string_view token = canonical_text.substr(begin, end - begin);
    const std::optional<int64_t> integer = ToInteger(token);
    if (integer) shape.integers.push_back(*integer);
    words += integer ? "#" : token;
    begin = end;
  }
  shape.structure = Sha256(words);
  return shape;
}

WorkloadShape ShapeOf(const PrimFunc& func) { return ShapeOfText(CanonicalText(func)); }

std::optional<double> ShapeDistance(const WorkloadShape& a, const WorkloadShape& b) {
  if (a.structure != b.structure || a.integers.size() != b.integers.size()) return std::nullopt;
  double distance = 0;
  for (size_t i = 0; i < a.integers.size(); ++i) distance += Doublings(a.integers[i], b.integers[i]);
  return distance;
}

}  // namespace lathe
