// JSON as TVM's meta schedule writes it (docs/formats/tvm_records.md): no spaces, keys in order, numbers as %.20g, so
// that 1.0 is 1, and bytes outside of printable ASCII as \xC3, which JSON proper does not know.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "support/status.h"

namespace lathe {

struct TvmJson;
using TvmList = std::vector<TvmJson>;
using TvmMap = std::map<std::string, TvmJson>;
using TvmJsonVariant = std::variant<std::monostate, bool, int64_t, double, std::string, TvmList, TvmMap>;
struct TvmJson : TvmJsonVariant {  // std::monostate is null.
  TvmJson() = default;
  using variant::variant;
  TvmJson(int value) : variant(int64_t{value}) {}            // NOLINT: implicit on purpose
  TvmJson(const char* text) : variant(std::string(text)) {}  // NOLINT: implicit on purpose

  // nullptr if the value is of another kind.
  template <typename T>
  const T* As() const {
    return std::get_if<T>(static_cast<const TvmJsonVariant*>(this));
  }
};

// Reads what TVM writes (Infinity, -Infinity and NaN, too), and JSON proper. Integers that int64 does not hold become
// doubles. InvalidArgument names the byte; nesting is limited to 200, so that no text ends the process.
StatusOr<TvmJson> ParseTvmJson(std::string_view text);
// JSON text without spaces, laid out over lines with two blanks for each level, as SaveJSON does.
std::string Indented(std::string_view text);
// What TVM would write.
std::string ToTvmText(const TvmJson& json);
// The same value as JSON proper: strings hold their bytes, which are UTF-8 if those of the value are.
std::string ToPlainText(const TvmJson& json);
// What 0.27 reads in a record, whatever a text holds: bytes as they are but for \" \\ \n \r \t.
std::string ToRawText(const TvmJson& json);

}  // namespace lathe
