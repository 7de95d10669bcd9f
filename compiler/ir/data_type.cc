#include "compiler/ir/data_type.h"

#include <fmt/core.h>

#include <charconv>
#include <optional>

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
// Whole names with their width; the longest of those with one beginning comes first. The last ones are TVM 0.18's.
struct NarrowFloat {
  std::string_view name;
  DataType::Code code;
  uint8_t bits;
};
constexpr NarrowFloat kNarrowFloats[] = {{"float8_e4m3b11fnuz", DataType::Code::kFloat8E4M3B11FNUZ, 8},
                                         {"float8_e4m3fnuz", DataType::Code::kFloat8E4M3FNUZ, 8},
                                         {"float8_e4m3fn", DataType::Code::kFloat8E4M3FN, 8},
                                         {"float8_e4m3", DataType::Code::kFloat8E4M3, 8},
                                         {"float8_e3m4", DataType::Code::kFloat8E3M4, 8},
                                         {"float8_e5m2fnuz", DataType::Code::kFloat8E5M2FNUZ, 8},
                                         {"float8_e5m2", DataType::Code::kFloat8E5M2, 8},
                                         {"float8_e8m0fnu", DataType::Code::kFloat8E8M0FNU, 8},
                                         {"float6_e2m3fn", DataType::Code::kFloat6E2M3FN, 6},
                                         {"float6_e3m2fn", DataType::Code::kFloat6E3M2FN, 6},
                                         {"float4_e2m1fn", DataType::Code::kFloat4E2M1FN, 4},
                                         {"e4m3_float8", DataType::Code::kFloat8E4M3FN, 8},
                                         {"e5m2_float8", DataType::Code::kFloat8E5M2, 8}};

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

namespace {

// The element type at the front of `text`, which loses it.
std::optional<DataType> TakeElement(std::string_view& text) {
  if (text.starts_with("bool")) {
    text.remove_prefix(4);
    return DataType::Bool();
  }
  for (const NarrowFloat& row : kNarrowFloats) {
    if (!text.starts_with(row.name)) continue;
    text.remove_prefix(row.name.size());
    return DataType{row.code, row.bits, 1};
  }
  for (const NamedCode& row : kCodes) {
    if (!text.starts_with(row.name)) continue;
    text.remove_prefix(row.name.size());
    const int bits = TakeNumber(text);
    if (!IsSupportedWidth(row.code, bits)) return std::nullopt;
    return DataType{row.code, uint8_t(bits), 1};
  }
  return std::nullopt;
}

}  // namespace

StatusOr<DataType> DataType::Parse(std::string_view text) {
  if (text == "handle") return Handle();
  if (text == "void") return Void();
  std::string_view rest = text;
  std::optional<DataType> type = TakeElement(rest);
  if (!type) return UnknownType(text);
  if (rest.starts_with("xvscale")) {
    rest.remove_prefix(7);
    type->is_scalable = true;
  }
  if (rest.empty() && !type->is_scalable) return *type;
  if (rest.empty() || rest[0] != 'x') return UnknownType(text);
  rest.remove_prefix(1);
  const int lanes = TakeNumber(rest);
  if (lanes == 0 || !rest.empty()) return UnknownType(text);
  type->lanes = uint16_t(lanes);
  return *type;
}

std::string DataType::ToString() const {
  if (code == Code::kHandle) return bits == 0 ? "void" : "handle";
  std::string text = "bool";
  for (const NamedCode& row : kCodes) {
    if (row.code == code) text = fmt::format("{}{}", row.name, bits);
  }
  for (const NarrowFloat& row : kNarrowFloats) {
    if (row.code == code && row.name.starts_with("float")) text = row.name;
  }
  if (is_scalable) return fmt::format("{}xvscalex{}", text, lanes);
  return lanes == 1 ? text : fmt::format("{}x{}", text, lanes);
}

}  // namespace lathe
