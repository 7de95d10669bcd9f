#include "tracker/device_wish.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <optional>
#include <vector>

#include "support/status_macros.h"

namespace lathe {

struct DeviceWish::Node {
  enum class Kind : uint8_t { kWord, kCompare, kNot, kAnd, kOr } kind = Kind::kWord;
  std::string name, op, value;  // kWord: name only.
  std::vector<std::shared_ptr<const Node>> parts;
};

namespace {

using Node = DeviceWish::Node;
using NodePtr = std::shared_ptr<const Node>;
constexpr int kDeepest = 32;

bool IsWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
         c == '-' || c == '+';
}

// "4GiB" -> 4294967296; nullopt: no number.
std::optional<double> NumberOf(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  if (unit.empty()) return number;
  static constexpr std::string_view kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  for (const std::string_view known : kUnits) {
    number *= 1024;
    if (unit == known) return number;
  }
  return std::nullopt;
}

bool CompareNumbers(double left, std::string_view op, double right) {
  if (op == "=") return left == right;
  if (op == "!=") return left != right;
  if (op == "<") return left < right;
  if (op == "<=") return left <= right;
  return op == ">" ? left > right : left >= right;
}

bool HoldsFor(const Node& comparison, const DeviceTraits& traits) {
  const auto value = traits.values.find(comparison.name);
  if (value == traits.values.end()) return comparison.op == "!=";
  const auto left = NumberOf(value->second), right = NumberOf(comparison.value);
  if (left && right) return CompareNumbers(*left, comparison.op, *right);
  if (comparison.op == "=") return value->second == comparison.value;
  return comparison.op == "!=" && value->second != comparison.value;
}

bool Holds(const Node& node, const DeviceTraits& traits) {
  switch (node.kind) {
    case Node::Kind::kWord:
      return traits.words.contains(node.name);
    case Node::Kind::kCompare:
      return HoldsFor(node, traits);
    case Node::Kind::kNot:
      return !Holds(*node.parts.front(), traits);
    case Node::Kind::kAnd:
    case Node::Kind::kOr:
      break;
  }
  const bool wanted = node.kind == Node::Kind::kOr;  // One such part decides.
  for (const NodePtr& part : node.parts)
    if (Holds(*part, traits) == wanted) return wanted;
  return !wanted;
}

// An "or" inside of an "and", and either inside of a "not", in parentheses.
std::string Text(const Node& node, bool is_inside = false) {
  switch (node.kind) {
    case Node::Kind::kWord:
      return node.name;
    case Node::Kind::kCompare:
      return node.name + node.op + node.value;
    case Node::Kind::kNot:
      return "!" + Text(*node.parts.front(), true);
    case Node::Kind::kAnd:
    case Node::Kind::kOr:
      break;
  }
  std::string text;
  for (const NodePtr& part : node.parts)
    text += (text.empty() ? "" : node.kind == Node::Kind::kAnd ? " & " : " | ") + Text(*part, true);
  return is_inside ? "(" + text + ")" : text;
}

std::string Readable(const std::string& value) {
  const std::optional<double> number = NumberOf(value);
  if (!number || *number < (1 << 20)) return value;
  return *number >= (1 << 30) ? fmt::format("{:.3g}GiB", *number / (1 << 30))
                              : fmt::format("{:.3g}MiB", *number / (1 << 20));
}

// Why this part does not hold.
std::string WhyPartDoesNot(const Node& node, const DeviceTraits& traits) {
  if (node.kind == Node::Kind::kWord) return fmt::format("{}: it is not, and has no such tag or feature", node.name);
  if (node.kind != Node::Kind::kCompare) return Text(node) + ": it is not so";
  const auto value = traits.values.find(node.name);
  if (value == traits.values.end()) return fmt::format("{}: it does not say its {}", Text(node), node.name);
  return fmt::format("{}: its {} is {}", Text(node), node.name, Readable(value->second));
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  StatusOr<NodePtr> ParseAll() {
    ASSIGN_OR_RETURN(NodePtr whole, ParseList(0, '|'));
    Skip();
    if (at_ < text_.size()) return Wrong("& or | or the end");
    return whole;
  }

 private:
  Status Wrong(std::string_view required) const {
    return InvalidArgument(
        fmt::format("devices \"{}\": at character {} there is {}, {} required; for example: pi4 & mem>=4GiB & !loud",
                    text_, at_ + 1, at_ < text_.size() ? fmt::format("\"{}\"", text_[at_]) : "the end", required));
  }
  void Skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool Take(char c) {
    Skip();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::string TakeWord() {
    Skip();
    const size_t begin = at_;
    while (at_ < text_.size() && IsWordCharacter(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }
  std::string TakeOperator() {
    Skip();
    for (const std::string_view op : {"!=", "<=", ">=", "=", "<", ">"}) {
      if (!text_.substr(at_).starts_with(op)) continue;
      at_ += op.size();
      return std::string(op);
    }
    return "";
  }

  // "or" binds less than "and".
  StatusOr<NodePtr> ParseList(int depth, char separator) {
    auto list = std::make_shared<Node>();
    list->kind = separator == '|' ? Node::Kind::kOr : Node::Kind::kAnd;
    do {
      ASSIGN_OR_RETURN(NodePtr part, separator == '|' ? ParseList(depth, '&') : ParsePart(depth));
      // a & (b & c) is a & b & c.
      if (part->kind == list->kind)
        list->parts.insert(list->parts.end(), part->parts.begin(), part->parts.end());
      else
        list->parts.push_back(std::move(part));
    } while (Take(separator));
    return list->parts.size() == 1 ? list->parts.front() : NodePtr(list);
  }

  StatusOr<NodePtr> ParsePart(int depth) {
    if (depth == kDeepest) return Wrong(fmt::format("at most {} levels of parentheses and !", kDeepest));
    if (Take('!')) {
      ASSIGN_OR_RETURN(NodePtr part, ParsePart(depth + 1));
      return NodePtr(std::make_shared<Node>(Node{Node::Kind::kNot, "", "", "", {std::move(part)}}));
    }
    if (Take('(')) {
      ASSIGN_OR_RETURN(NodePtr inside, ParseList(depth + 1, '|'));
      if (!Take(')')) return Wrong(")");
      return inside;
    }
    Node node{.name = TakeWord()};
    if (node.name.empty()) return Wrong("a word, ! or (");
    node.op = TakeOperator();
    if (!node.op.empty()) {
      node.kind = Node::Kind::kCompare;
      node.value = TakeWord();
      if (node.value.empty()) return Wrong("a value");
      const bool is_order = node.op != "=" && node.op != "!=";
      if (is_order && !NumberOf(node.value)) return Wrong(fmt::format("a number before this, not \"{}\",", node.value));
    }
    return NodePtr(std::make_shared<Node>(std::move(node)));
  }

  const std::string_view text_;
  size_t at_ = 0;
};

StatusOr<NodePtr> ParseWish(std::string_view text) {
  if (text.empty() || text.size() > kLongestWish)
    return InvalidArgument(fmt::format("devices: {} characters, 1 to {} required", text.size(), kLongestWish));
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f)
      return InvalidArgument("devices: holds a control character or one beyond ASCII; use printable ASCII");
  }
  return Parser(text).ParseAll();
}

}  // namespace

DeviceWish DeviceWish::OfKey(std::string key) {
  DeviceWish wish;
  wish.key_ = std::move(key);
  return wish;
}

StatusOr<DeviceWish> DeviceWish::Parse(std::string_view text) {
  DeviceWish wish;
  ASSIGN_OR_RETURN(wish.root_, ParseWish(text));
  wish.condition_ = Text(*wish.root_);
  return wish;
}

StatusOr<DeviceWish> DeviceWish::ParseForJob(std::string_view text) {
  ASSIGN_OR_RETURN(const NodePtr root, ParseWish(text));
  const bool is_list = root->kind == Node::Kind::kAnd;
  const Node& first = is_list ? *root->parts.front() : *root;
  if (first.kind != Node::Kind::kWord) {
    return InvalidArgument(
        fmt::format("devices \"{}\": begins with \"{}\"; a job is for devices of one key, so it has to begin with one: "
                    "pi4 & mem>=4GiB",
                    text, Text(first)));
  }
  DeviceWish wish = OfKey(first.name);
  if (!is_list) return wish;
  Node rest{.kind = Node::Kind::kAnd, .parts = {root->parts.begin() + 1, root->parts.end()}};
  wish.root_ = rest.parts.size() == 1 ? rest.parts.front() : std::make_shared<Node>(std::move(rest));
  wish.condition_ = Text(*wish.root_);
  return wish;
}

std::string DeviceWish::ToString() const {
  if (key_.empty() || condition_.empty()) return key_.empty() ? condition_ : key_;
  const bool is_or = root_->kind == Node::Kind::kOr;
  return fmt::format(fmt::runtime(is_or ? "{} & ({})" : "{} & {}"), key_, condition_);
}

bool DeviceWish::Matches(std::string_view key, const DeviceTraits& traits) const {
  return (key_.empty() || key_ == key) && (root_ == nullptr || Holds(*root_, traits));
}

std::string DeviceWish::WhyNot(std::string_view key, const DeviceTraits& traits) const {
  if (!key_.empty() && key_ != key) return fmt::format("its key is {}", key);
  if (root_ == nullptr || Holds(*root_, traits)) return "";
  if (root_->kind != Node::Kind::kAnd) return WhyPartDoesNot(*root_, traits);
  for (const NodePtr& part : root_->parts)
    if (!Holds(*part, traits)) return WhyPartDoesNot(*part, traits);
  return "";
}

}  // namespace lathe
