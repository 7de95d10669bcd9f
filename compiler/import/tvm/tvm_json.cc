#include "compiler/import/tvm/tvm_json.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>

#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr int kMaxJsonDepth = 200;

void AppendUtf8(uint32_t code, std::string& out) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | ((code >> shift) & 0x3f)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | (code >> 12));
    tail(6), tail(0);
  } else {
    out += static_cast<char>(0xf0 | (code >> 18));
    tail(12), tail(6), tail(0);
  }
}

class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : text_(text) {}

  StatusOr<TvmJson> Document() {
    ASSIGN_OR_RETURN(TvmJson value, Value(0));
    SkipSpace();
    if (at_ != text_.size()) return Wrong("the end of the text");
    return value;
  }

 private:
  Status Wrong(std::string_view expected) const {
    const std::string got =
        at_ < text_.size() ? fmt::format("byte 0x{:02x}", static_cast<uint8_t>(text_[at_])) : "the end";
    return InvalidArgument(fmt::format("read TVM's JSON, byte {}: expected {}, got {}", at_, expected, got));
  }
  void SkipSpace() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  bool Take(char c) {
    SkipSpace();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool TakeWord(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  StatusOr<TvmJson> Value(int depth) {
    if (depth > kMaxJsonDepth) return Wrong(fmt::format("at most {} levels", kMaxJsonDepth));
    if (Take('[')) return List(depth);
    if (Take('{')) return Map(depth);
    if (Take('"')) {
      ASSIGN_OR_RETURN(std::string text, String());
      return TvmJson(std::move(text));
    }
    if (TakeWord("null")) return TvmJson();
    if (TakeWord("true")) return TvmJson(true);
    if (TakeWord("false")) return TvmJson(false);
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (TakeWord("Infinity")) return TvmJson(kInfinity);
    if (TakeWord("-Infinity")) return TvmJson(-kInfinity);
    if (TakeWord("NaN")) return TvmJson(std::numeric_limits<double>::quiet_NaN());
    return Number();
  }
  StatusOr<TvmJson> List(int depth) {
    TvmList items;
    if (Take(']')) return TvmJson(std::move(items));
    do {
      ASSIGN_OR_RETURN(TvmJson item, Value(depth + 1));
      items.push_back(std::move(item));
    } while (Take(','));
    if (!Take(']')) return Wrong("',' or ']'");
    return TvmJson(std::move(items));
  }
  StatusOr<TvmJson> Map(int depth) {
    TvmMap items;
    if (Take('}')) return TvmJson(std::move(items));
    do {
      if (!Take('"')) return Wrong("a key in quotes");
      ASSIGN_OR_RETURN(std::string key, String());
      if (!Take(':')) return Wrong("':'");
      ASSIGN_OR_RETURN(TvmJson item, Value(depth + 1));
      if (!items.emplace(std::move(key), std::move(item)).second) return Wrong("no key twice");
    } while (Take(','));
    if (!Take('}')) return Wrong("',' or '}'");
    return TvmJson(std::move(items));
  }
  StatusOr<TvmJson> Number() {
    const size_t begin = at_;
    while (at_ < text_.size() && std::string_view("+-.0123456789eE").find(text_[at_]) != std::string_view::npos) ++at_;
    const char *first = text_.data() + begin, *last = text_.data() + at_;
    int64_t integer = 0;
    const auto [integer_end, integer_error] = std::from_chars(first, last, integer);
    const bool is_minus_zero = integer == 0 && first != last && *first == '-';
    if (first != last && integer_end == last && integer_error == std::errc() && !is_minus_zero) return TvmJson(integer);
    double real = 0;
    const auto [real_end, real_error] = std::from_chars(first, last, real);
    if (first != last && real_end == last && real_error == std::errc()) return TvmJson(real);
    at_ = begin;
    return Wrong("a value");
  }

  // After the opening quote.
  StatusOr<std::string> String() {
    std::string out;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (static_cast<uint8_t>(text_[at_]) < 0x20) return Wrong("no control character in a string");
      if (text_[at_] != '\\') {
        out += text_[at_++];
        continue;
      }
      ++at_;
      RETURN_IF_ERROR(Escape(out));
    }
    if (at_ >= text_.size()) return Wrong("'\"'");
    ++at_;
    return out;
  }
  Status Escape(std::string& out) {
    static constexpr std::string_view kNames = "\"\\/bfnrt", kMeans = "\"\\/\b\f\n\r\t";
    const size_t named = at_ < text_.size() ? kNames.find(text_[at_]) : std::string_view::npos;
    if (named != std::string_view::npos) {
      ++at_;
      out += kMeans[named];
      return OkStatus();
    }
    if (TakeWord("x")) {
      ASSIGN_OR_RETURN(const uint32_t byte, Hex(2));
      out += static_cast<char>(byte);
      return OkStatus();
    }
    if (!TakeWord("u")) return Wrong("an escape");
    ASSIGN_OR_RETURN(uint32_t code, Hex(4));
    if (code >= 0xd800 && code < 0xdc00 && TakeWord("\\u")) {
      ASSIGN_OR_RETURN(const uint32_t low, Hex(4));
      if (low < 0xdc00 || low > 0xdfff) return Wrong("the second half of a character");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    AppendUtf8(code, out);
    return OkStatus();
  }
  StatusOr<uint32_t> Hex(size_t digits) {
    const std::string_view part = text_.substr(at_, digits);
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value, 16);
    if (part.size() != digits || error != std::errc() || end != part.data() + digits)
      return Wrong("hexadecimal digits");
    at_ += digits;
    return value;
  }

  const std::string_view text_;
  size_t at_ = 0;
};

// How bytes outside of printable ASCII stand: \xC3, as JSON proper has them, or as they are.
enum class TextForm : uint8_t { kTvm, kPlain, kRaw };

class JsonWriter {
 public:
  explicit JsonWriter(TextForm form) : form_(form) {}
  std::string out;

  void Write(const TvmJson& json) {
    std::visit([&](const auto& value) { Put(value); }, static_cast<const TvmJsonVariant&>(json));
  }

 private:
  void Put(std::monostate) { out += "null"; }
  void Put(bool value) { out += value ? "true" : "false"; }
  void Put(int64_t value) { out += std::to_string(value); }
  void Put(double value) {
    if (!std::isfinite(value)) {
      out += std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
      return;
    }
    char text[40];
    out.append(text, static_cast<size_t>(std::snprintf(text, sizeof(text), "%.20g", value)));
    if (form_ == TextForm::kPlain && value == 0 && std::signbit(value)) out += ".0";  // Others read -0 as an integer.
  }
  void Put(const std::string& text) {
    out += '"';
    for (const char c : text) PutByte(c);
    out += '"';
  }
  void PutByte(char c) {
    static constexpr std::string_view kNamed = "\"\\\n\r\t", kNames = "\"\\nrt";
    const uint8_t byte = static_cast<uint8_t>(c);
    if (const size_t named = kNamed.find(c); named != std::string_view::npos)
      out.append({'\\', kNames[named]});
    else if ((byte >= 0x20 && byte < 0x7f) || form_ == TextForm::kRaw || (form_ == TextForm::kPlain && byte >= 0x7f))
      out += c;
    else
      out += form_ == TextForm::kPlain ? fmt::format("\\u{:04x}", byte) : fmt::format("\\x{:02X}", byte);
  }
  void Put(const TvmList& items) {
    out += '[';
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out += ',';
      Write(items[i]);
    }
    out += ']';
  }
  void Put(const TvmMap& items) {
    out += '{';
    for (const auto& [key, value] : items) {
      if (out.back() != '{') out += ',';
      Put(key);
      out += ':';
      Write(value);
    }
    out += '}';
  }

  const TextForm form_;
};

std::string ToText(const TvmJson& json, TextForm form) {
  JsonWriter writer(form);
  writer.Write(json);
  return std::move(writer.out);
}

}  // namespace

std::string Indented(std::string_view text) {
  std::string out;
  size_t level = 0;
  bool in_string = false;
  const auto line = [&] { out += "\n" + std::string(2 * level, ' '); };
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool closes = c == ']' || c == '}', is_empty = closes && i > 0 && (text[i - 1] == '[' || text[i - 1] == '{');
    if (!in_string && closes && (--level, !is_empty)) line();
    out += c;
    if (in_string && c == '\\') out += text[++i];
    if (c == '"') in_string = !in_string;
    if (in_string) continue;
    if (c == '[' || c == '{') ++level;
    const bool next_closes = i + 1 < text.size() && (text[i + 1] == ']' || text[i + 1] == '}');
    if (c == ',' || ((c == '[' || c == '{') && !next_closes)) line();
    if (c == ':') out += ' ';
  }
  return out;
}

StatusOr<TvmJson> ParseTvmJson(std::string_view text) { return JsonReader(text).Document(); }
std::string ToTvmText(const TvmJson& json) { return ToText(json, TextForm::kTvm); }
std::string ToPlainText(const TvmJson& json) { return ToText(json, TextForm::kPlain); }
std::string ToRawText(const TvmJson& json) { return ToText(json, TextForm::kRaw); }

}  // namespace lathe
