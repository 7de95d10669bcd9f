#include "compiler/ir/data_type.h"

#include <fmt/core.h>

#include <charconv>

namespace lathe {
namespace {

struct NamedCode {
  std::string_view name;
  DataType::Code code;
};
constexpr NamedCode kCodes[] = {{"int", DataType::Code::kInt},
                                {"uint", DataType::Code::kUInt},
                                {"float", DataType::Code::kFloat},
                                {"bfloat", DataType::Code::kBFloat}};

// Reads digits from the front of `text`; 0 if there are none or too many.
int TakeNumber(std::string_view& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value <= 0 || value > 65535) return 0;
  text.remove_prefix(end - text.data());
  return value;
}

bool IsSupportedWidth(DataType::Code code, int bits) {
  switch (code) {
    case DataType::Code::kInt:
    case DataType::Code::kUInt:
      return bits == 1 || bits == 4 || bits == 8 || bits == 16 || bits == 32 || bits == 64;
    case DataType::Code::kFloat:
      return bits == 16 || bits == 32 || bits == 64;
    case DataType::Code::kBFloat:
      return bits == 16;
    default:
      return false;
  }
}

Status UnknownType(std::string_view text) {
  return InvalidArgument(fmt::format("read dtype \"{}\": unknown type; examples: float32, int8, uint8x16, bool, handle",
                                     text.substr(0, 40)));
}

}  // namespace

StatusOr<DataType> DataType::Parse(std::string_view text) {
  std::string_view rest = text;
  DataType type;
  if (rest == "handle") return Handle();
  if (rest.starts_with("bool")) {
    rest.remove_prefix(4);
    type = Bool();
  } else {
    const NamedCode* found = nullptr;
    for (const NamedCode& row : kCodes) {
      if (rest.starts_with(row.name)) found = &row;
    }
    if (found == nullptr) return UnknownType(text);
    rest.remove_prefix(found->name.size());
    const int bits = TakeNumber(rest);
    if (!IsSupportedWidth(found->code, bits)) return UnknownType(text);
    type = {found->code, uint8_t(bits), 1};
  }
  if (!rest.empty()) {
    if (rest[0] != 'x') return UnknownType(text);
    rest.remove_prefix(1);
    const int lanes = TakeNumber(rest);
    if (lanes == 0 || !rest.empty()) return UnknownType(text);
    type.lanes = uint16_t(lanes);
  }
  return type;
}

std::string DataType::ToString() const {
  if (code == Code::kHandle) return "handle";
  std::string text = "bool";
  for (const NamedCode& row : kCodes) {
    if (row.code == code) text = fmt::format("{}{}", row.name, bits);
  }
  return lanes == 1 ? text : fmt::format("{}x{}", text, lanes);
}

}  // namespace lathe
