// Python's tokens, as far as TVMScript needs them: names, numbers, strings, operators, and indentation as tokens of its
// own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/status.h"

namespace lathe {

// A text with its name; the caller keeps both alive while tokens or syntax trees point into them.
struct Source {
  std::string_view file_name;
  std::string_view text;
};

enum class TokenKind : uint8_t { kName, kInt, kFloat, kString, kOperator, kNewline, kIndent, kDedent, kEnd };
struct Token {
  TokenKind kind;
  uint32_t offset;        // Of the first byte in the source.
  std::string_view text;  // As written. Strings: with quotes.
  uint64_t word = 0;      // PackWord of the text of a name or an operator.
};

// The bytes of a text of at most 8, as one number; 0 for a longer one. Every operator and keyword has one: a parser
// asks for them all the time.
constexpr uint64_t PackWord(std::string_view text) {
  if (text.size() > 8) return 0;
  uint64_t word = 0;
  for (const char c : text) word = word << 8 | static_cast<unsigned char>(c);
  return word;
}

// Ends with kEnd. Comments and blank lines vanish, and so do line ends inside brackets and after a backslash.
StatusOr<std::vector<Token>> Tokenize(const Source& source);

// The characters that a string token means.
StatusOr<std::string> DecodeString(const Source& source, const Token& token);

// InvalidArgument "file.py:12:17: message"; its detail is the line with a caret under the place.
Status ErrorAt(const Source& source, uint32_t offset, std::string_view message);

// What an error message calls a token: its text in quotes, or "end of line" and the like.
std::string Describe(const Token& token);

}  // namespace lathe
