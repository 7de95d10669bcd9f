#include "compiler/schedule/amx_intrin.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "compiler/schedule/intrin_row.h"

namespace lathe {
namespace {

constexpr std::string_view kText =
#include "amx_intrin.inc"
    ;

constexpr DataType kU8 = DataType::UInt(8), kS8 = DataType::Int(8), kS32 = DataType::Int(32);
constexpr AmxProduct kProducts[] = {
    {"tdpbusd", "amx-int8", kU8, kS8, kS32, 4},
    {"tdpbssd", "amx-int8", kS8, kS8, kS32, 4},
    {"tdpbsud", "amx-int8", kS8, kU8, kS32, 4},
    {"tdpbuud", "amx-int8", kU8, kU8, kS32, 4},
    {"tdpbf16ps", "amx-bf16", DataType::BFloat(), DataType::BFloat(), DataType::Float(32), 2},
};

std::string InQuotes(std::string_view text) { return fmt::format("\"{}\"", text); }

IntrinRow MultiplyRow(const AmxProduct& product, int64_t rows, int64_t depth) {
  IntrinRow row{AmxIntrinsFor(product, rows, depth).multiply, kText, "multiply_desc", "multiply", {}};
  row.words = {{"ROWS", fmt::to_string(rows)},
               {"COLUMNS", fmt::to_string(kAmxColumns)},
               {"DEPTH", fmt::to_string(depth)},
               {"STEPS", fmt::to_string(depth / product.parts)},
               {"PARTS", fmt::to_string(product.parts)},
               {"INSTRUCTION", InQuotes(product.instruction)},
               {"A_TYPE", InQuotes(product.a.ToString())},
               {"B_TYPE", InQuotes(product.b.ToString())},
               {"C_TYPE", InQuotes(product.c.ToString())}};
  return row;
}

IntrinRow RowOfSums(std::string name, const char* function, const char* description, DataType sum, int64_t rows) {
  IntrinRow row{std::move(name), kText, description, function, {}};
  row.words = {{"ROWS", fmt::to_string(rows)},
               {"COLUMNS", fmt::to_string(kAmxColumns)},
               {"C_TYPE", InQuotes(sum.ToString())},
               {"ZERO", fmt::format("T.{}(0)", sum.ToString())}};
  return row;
}

// Of tiles of these rows and this depth, the one with that name.
std::optional<IntrinRow> RowOf(const AmxProduct& product, int64_t rows, int64_t depth, std::string_view name) {
  const AmxIntrins names = AmxIntrinsFor(product, rows, depth);
  if (name == names.multiply) return MultiplyRow(product, rows, depth);
  if (name == names.zero) return RowOfSums(names.zero, "zero", "zero_desc", product.c, rows);
  if (name == names.store) return RowOfSums(names.store, "store", "store_desc", product.c, rows);
  return std::nullopt;
}

}  // namespace

std::span<const AmxProduct> AmxProducts() { return kProducts; }

AmxIntrins AmxIntrinsFor(const AmxProduct& product, int64_t rows, int64_t depth) {
  return {fmt::format("amx_{}_{}x{}x{}", product.instruction, rows, kAmxColumns, depth),
          fmt::format("amx_tilezero_{}x{}_{}", rows, kAmxColumns, product.c.ToString()),
          fmt::format("amx_tilestored_{}x{}_{}", rows, kAmxColumns, product.c.ToString())};
}

std::optional<IntrinRow> AmxIntrinRow(std::string_view name) {
  if (!name.starts_with("amx_")) return std::nullopt;
  for (const AmxProduct& product : kProducts) {
    for (int rows = 1; rows <= kAmxMostRows; ++rows) {
      for (int depth = product.parts; depth <= product.most_depth(); depth += product.parts)
        if (std::optional<IntrinRow> row = RowOf(product, rows, depth, name)) return row;
    }
  }
  return std::nullopt;
}

}  // namespace lathe
