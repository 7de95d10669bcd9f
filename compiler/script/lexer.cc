#include "compiler/script/lexer.h"

#include <fmt/core.h>

#include <algorithm>

#include "support/status_macros.h"

namespace lathe {
namespace {

// Longest first.
constexpr std::string_view kOperators[] = {"**=", "//=", ">>=", "<<=", "...", "**", "//", "<<", ">>", "<=", ">=", "==",
                                           "!=",  "->",  "+=",  "-=",  "*=",  "/=", "%=", "&=", "|=", "^=", "+",  "-",
                                           "*",   "/",   "%",   "<",   ">",   "=",  "(",  ")",  "[",  "]",  "{",  "}",
                                           ",",   ":",   ".",   "@",   "&",   "|",  "^",  "~",  ";"};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
bool IsNamePart(char c) { return IsNameStart(c) || IsDigit(c); }

class SourceLine : public StatusDetail {
 public:
  SourceLine(std::string line, size_t caret) : line_(std::move(line)), caret_(caret) {}
  std::string Render() const override { return fmt::format("  {}\n  {:>{}}", line_, "^", caret_); }

 private:
  std::string line_;
  size_t caret_;  // Column of the caret, from 1.
};

class Lexer {
 public:
  explicit Lexer(const Source& source) : source_(source), text_(source.text) {}

  StatusOr<std::vector<Token>> Run() {
    tokens_.reserve(text_.size() / 4 + 16);
    RETURN_IF_ERROR(StartLine());
    while (at_ < text_.size()) RETURN_IF_ERROR(Next());
    if (!tokens_.empty() && tokens_.back().kind != TokenKind::kNewline && tokens_.back().kind != TokenKind::kDedent)
      Add(TokenKind::kNewline, at_, 0);
    while (indents_.size() > 1) {
      indents_.pop_back();
      Add(TokenKind::kDedent, at_, 0);
    }
    Add(TokenKind::kEnd, at_, 0);
    return std::move(tokens_);
  }

 private:
  void Add(TokenKind kind, size_t offset, size_t length) {
    const std::string_view text = text_.substr(offset, length);
    const bool has_word = kind == TokenKind::kName || kind == TokenKind::kOperator;
    tokens_.push_back({kind, uint32_t(offset), text, has_word ? PackWord(text) : 0});
  }
  Status Error(size_t offset, std::string_view message) const { return ErrorAt(source_, uint32_t(offset), message); }
  char Peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  // Compares the indentation of the first line that is not blank with the levels that are open.
  Status StartLine() {
    size_t column = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == ' ') {
        ++column;
      } else if (c == '\t') {
        column = (column / 8 + 1) * 8;
      } else if (c == '\n' || c == '\r' || c == '\f') {
        column = 0;
      } else if (c == '#') {
        SkipComment();
        continue;
      } else {
        return Indent(column);
      }
      ++at_;
    }
    return OkStatus();
  }
  Status Indent(size_t column) {
    if (column > indents_.back()) {
      indents_.push_back(column);
      Add(TokenKind::kIndent, at_, 0);
    }
    while (column < indents_.back()) {
      indents_.pop_back();
      Add(TokenKind::kDedent, at_, 0);
    }
    if (column != indents_.back()) return Error(at_, "expected the indentation of an enclosing line");
    return OkStatus();
  }
  void SkipComment() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }

  Status Next() {
    const char c = text_[at_];
    if (c == ' ' || c == '\t' || c == '\r' || c == '\f') return ++at_, OkStatus();
    if (c == '#') return SkipComment(), OkStatus();
    if (c == '\\' && (Peek(1) == '\n' || (Peek(1) == '\r' && Peek(2) == '\n')))
      return at_ += Peek(1) == '\n' ? 2 : 3, OkStatus();
    if (c == '\n') return EndLine();
    if (IsNameStart(c)) return Name();
    if (IsDigit(c) || (c == '.' && IsDigit(Peek(1)))) return Number();
    if (c == '"' || c == '\'') return String();
    return Operator();
  }
  Status EndLine() {
    if (depth_ > 0) return ++at_, OkStatus();
    Add(TokenKind::kNewline, at_, 0);
    ++at_;
    return StartLine();
  }
  Status Name() {
    const size_t begin = at_;
    while (at_ < text_.size() && IsNamePart(text_[at_])) ++at_;
    Add(TokenKind::kName, begin, at_ - begin);
    return OkStatus();
  }
  void Digits() {
    while (IsDigit(Peek()) || Peek() == '_') ++at_;
  }
  Status Number() {
    const size_t begin = at_;
    bool is_float = false;
    if (Peek() == '0' &&
        (Peek(1) == 'x' || Peek(1) == 'X' || Peek(1) == 'b' || Peek(1) == 'B' || Peek(1) == 'o' || Peek(1) == 'O')) {
      at_ += 2;
      while (IsNamePart(Peek())) ++at_;
    } else {
      Digits();
      if (Peek() == '.') {
        is_float = true;
        ++at_;
        Digits();
      }
      const size_t sign = Peek(1) == '+' || Peek(1) == '-' ? 1 : 0;
      if ((Peek() == 'e' || Peek() == 'E') && IsDigit(Peek(1 + sign))) {
        is_float = true;
        at_ += 1 + sign;
        Digits();
      }
    }
    if (at_ < text_.size() && IsNameStart(text_[at_]))
      return Error(begin, fmt::format("expected a number, got \"{}\"", text_.substr(begin, at_ + 1 - begin)));
    Add(is_float ? TokenKind::kFloat : TokenKind::kInt, begin, at_ - begin);
    return OkStatus();
  }
  Status String() {
    const size_t begin = at_;
    const std::string_view triple = text_.substr(at_, 3);
    const bool is_triple = triple == "\"\"\"" || triple == "'''";
    const std::string_view quote = is_triple ? triple : text_.substr(at_, 1);
    at_ += quote.size();
    while (text_.substr(at_, quote.size()) != quote) {
      if (at_ >= text_.size() || (!is_triple && text_[at_] == '\n'))
        return Error(begin, fmt::format("expected {} at the end of the string", quote));
      at_ = std::min(at_ + (text_[at_] == '\\' ? 2 : 1), text_.size());
    }
    at_ += quote.size();
    Add(TokenKind::kString, begin, at_ - begin);
    return OkStatus();
  }
  Status Operator() {
    const char first = text_[at_];
    for (const std::string_view op : kOperators) {
      if (op[0] != first || (op.size() > 1 && text_.substr(at_, op.size()) != op)) continue;
      if (first == '(' || first == '[' || first == '{') ++depth_;
      if ((first == ')' || first == ']' || first == '}') && depth_ > 0) --depth_;
      Add(TokenKind::kOperator, at_, op.size());
      at_ += op.size();
      return OkStatus();
    }
    return Error(at_, fmt::format("unexpected character 0x{:02x}", static_cast<unsigned char>(text_[at_])));
  }

  const Source& source_;
  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;  // Of brackets.
  std::vector<size_t> indents_ = {0};
  std::vector<Token> tokens_;
};

void AppendUtf8(uint32_t code, std::string& out) {
  if (code < 0x80) {
    out += char(code);
  } else if (code < 0x800) {
    out += char(0xc0 | code >> 6);
    out += char(0x80 | (code & 0x3f));
  } else {
    out += char(0xe0 | code >> 12);
    out += char(0x80 | (code >> 6 & 0x3f));
    out += char(0x80 | (code & 0x3f));
  }
}

// The value of `count` hex digits at `at`, or -1.
int64_t HexDigits(std::string_view text, size_t at, size_t count) {
  int64_t value = 0;
  if (at + count > text.size()) return -1;
  for (const char c : text.substr(at, count)) {
    const int digit = IsDigit(c)             ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

}  // namespace

StatusOr<std::vector<Token>> Tokenize(const Source& source) {
  constexpr size_t kMaxBytes = size_t{1} << 30;
  if (source.text.size() > kMaxBytes)
    return InvalidArgument(fmt::format("read {}: {} bytes, the limit is 1 GiB", source.file_name, source.text.size()));
  return Lexer(source).Run();
}

StatusOr<std::string> DecodeString(const Source& source, const Token& token) {
  const size_t quote =
      token.text.size() >= 6 && (token.text.starts_with("\"\"\"") || token.text.starts_with("'''")) ? 3 : 1;
  const std::string_view body = token.text.substr(quote, token.text.size() - 2 * quote);
  constexpr std::string_view kPairs("n\nt\tr\r0\0\\\\'\'\"\"a\ab\bf\fv\v", 22);
  std::string out;
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i] != '\\') {
      out += body[i];
      continue;
    }
    if (++i >= body.size()) break;
    if (body[i] == '\n') continue;
    if (body[i] == 'x' || body[i] == 'u') {
      const size_t count = body[i] == 'x' ? 2 : 4;
      const int64_t code = HexDigits(body, i + 1, count);
      if (code < 0)
        return ErrorAt(source, uint32_t(token.offset + quote + i), fmt::format("expected {} hex digits", count));
      AppendUtf8(uint32_t(code), out);
      i += count;
      continue;
    }
    size_t pair = 0;
    while (pair < kPairs.size() && kPairs[pair] != body[i]) pair += 2;
    if (pair < kPairs.size()) {
      out += kPairs[pair + 1];
    } else {
      out += '\\';
      out += body[i];
    }
  }
  return out;
}

Status ErrorAt(const Source& source, uint32_t offset, std::string_view message) {
  const std::string_view before = source.text.substr(0, std::min<size_t>(offset, source.text.size()));
  const size_t line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t line_begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  const std::string_view lead = before.substr(line_begin);
  const size_t column = 1 + std::count_if(lead.begin(), lead.end(), [](char c) { return (c & 0xc0) != 0x80; });
  std::string shown(source.text.substr(line_begin, source.text.find('\n', line_begin) - line_begin));
  std::replace(shown.begin(), shown.end(), '\t', ' ');
  if (!shown.empty() && shown.back() == '\r') shown.pop_back();
  return Status(StatusCode::kInvalidArgument, fmt::format("{}:{}:{}: {}", source.file_name, line, column, message),
                std::make_shared<SourceLine>(std::move(shown), column));
}

std::string Describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::kNewline:
      return "end of line";
    case TokenKind::kIndent:
      return "deeper indentation";
    case TokenKind::kDedent:
      return "end of the indented lines";
    case TokenKind::kEnd:
      return "end of file";
    default:
      break;
  }
  if (token.kind == TokenKind::kString) return fmt::format("{}", token.text.substr(0, 60));
  return fmt::format("\"{}\"", token.text.substr(0, 60));
}

}  // namespace lathe
