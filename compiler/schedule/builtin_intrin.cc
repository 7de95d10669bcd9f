#include "compiler/schedule/builtin_intrin.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "compiler/schedule/intrin_row.h"
#include "compiler/script/parser.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr std::string_view kDotProduct =
#include "dot_product_intrin.inc"
    ;
constexpr std::string_view kDp4a =
#include "dp4a_intrin.inc"
    ;

struct DotRow {
  const char *name, *implementation, *a_type, *b_type, *c_type;
  int lanes = 4, parts = 4;
  const char* feature = "";  // Of a CPU that computes what the description says; "": none, or not exactly.
  const char* llvm_name = "";
};
constexpr DotRow kDotRows[] = {
    {"dot_16x4_vnni", "vnni", "uint8", "int8", "int32", 16, 4, "avx512vnni"},
    {"dot_8x4_avxvnni", "avxvnni", "uint8", "int8", "int32", 8, 4, "avxvnni"},
    {"dot_16x2_avx512bf16", "avx512bf16", "bfloat16", "bfloat16", "float32", 16, 2, "avx512bf16"},
    {"dot_16x4_avx512", "avx512", "uint8", "int8", "int32", 16},  // Its sums of two end at 16 bits.
    {"dot_4x4_i8i8s32_neon", "neon", "int8", "int8", "int32"},
    {"dot_4x4_i8i8s32_sdot", "arm_dot", "int8", "int8", "int32", 4, 4, "dotprod", "llvm.aarch64.neon.sdot"},
    {"dot_4x4_u8u8u32_udot", "arm_dot", "uint8", "uint8", "uint32", 4, 4, "dotprod", "llvm.aarch64.neon.udot"},
    {"dot_4x4_u8u8i32_hdot", "arm_dot", "uint8", "uint8", "int32", 4, 4, "dotprod", "llvm.aarch64.neon.udot"},
    {"dp4a_s8s8s32", "dp4a", "int8", "int8", "int32"},
    {"dp4a_s8u8s32", "dp4a", "int8", "uint8", "int32"},
    {"dp4a_u8s8s32", "dp4a", "uint8", "int8", "int32"},
    {"dp4a_u8u8u32", "dp4a", "uint8", "uint8", "uint32"},
};

IntrinRow RowOf(const DotRow& dot) {
  const bool is_dp4a = std::string_view(dot.implementation) == "dp4a";
  IntrinRow row{dot.name, is_dp4a ? kDp4a : kDotProduct, "desc", dot.implementation, {}};
  row.words = {{"LANES", fmt::to_string(dot.lanes)},
               {"PARTS", fmt::to_string(dot.parts)},
               {"LLVM_NAME", fmt::format("\"{}\"", dot.llvm_name)}};
  for (const auto& [letter, type] : {std::pair('A', dot.a_type), {'B', dot.b_type}, {'C', dot.c_type}}) {
    for (const auto& [word, lanes] : {std::pair("TYPE", ""), {"X4", "x4"}, {"X16", "x16"}})
      row.words.emplace(fmt::format("{}_{}", letter, word), fmt::format("\"{}{}\"", type, lanes));
  }
  return row;
}

const std::vector<IntrinRow>& AllRows() {
  static const std::vector<IntrinRow>* const rows = [] {
    auto* made = new std::vector<IntrinRow>(CudaIntrinRows());
    for (const DotRow& row : kDotRows) made->push_back(RowOf(row));
    return made;
  }();
  return *rows;
}

std::optional<IntrinRow> RowNamed(std::string_view name) {
  const std::vector<IntrinRow>& rows = AllRows();
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const IntrinRow& each) { return each.name == name; });
  return row == rows.end() ? AmxIntrinRow(name) : std::optional(*row);
}

// The text of one function, from its decorator to the next.
std::string_view FunctionText(std::string_view file, std::string_view name) {
  constexpr std::string_view kDecorator = "@T.prim_func\n";
  const size_t at = file.find(fmt::format("def {}(", name));
  CHECK(at != std::string_view::npos) << "no function " << name;
  const size_t begin = file.rfind(kDecorator, at), end = file.find(kDecorator, at);
  return file.substr(begin, end == std::string_view::npos ? end : end - begin);
}

bool IsOfWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::string Substituted(std::string_view text, const IntrinRow& row) {
  std::string result;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin;
    while (end < text.size() && IsOfWord(text[end])) ++end;
    const std::string_view word = text.substr(begin, std::max<size_t>(end - begin, 1));
    const auto found = row.words.find(word);
    result += found == row.words.end() ? word : std::string_view(found->second);
    begin += word.size();
  }
  return result;
}

StatusOr<PrimFunc> Read(const IntrinRow& row, std::string_view function) {
  return ParsePrimFunc("from tvm.script import tir as T\n" + Substituted(FunctionText(row.file, function), row),
                       row.name);
}

}  // namespace

StatusOr<std::shared_ptr<const TensorIntrin>> MakeBuiltinIntrin(std::string_view name) {
  const std::optional<IntrinRow> row = RowNamed(name);
  if (!row) return NotFound(fmt::format("tensor intrinsic \"{}\" is not registered", name));
  ASSIGN_OR_RETURN(PrimFunc description, Read(*row, row->description));
  ASSIGN_OR_RETURN(PrimFunc implementation, Read(*row, row->implementation));
  return MakeTensorIntrin(std::move(description), std::move(implementation));
}

std::vector<std::string_view> BuiltinIntrinNames() {
  std::vector<std::string_view> names;
  for (const IntrinRow& row : AllRows()) names.push_back(row.name);
  return names;
}

std::span<const DotIntrin> DotIntrins() {
  static const std::vector<DotIntrin>* const intrins = [] {
    auto* made = new std::vector<DotIntrin>;
    for (const DotRow& row : kDotRows) {
      if (*row.feature == '\0') continue;
      made->push_back({row.name, row.feature, *DataType::Parse(row.a_type), *DataType::Parse(row.b_type),
                       *DataType::Parse(row.c_type), row.lanes, row.parts});
    }
    return made;
  }();
  return *intrins;
}

}  // namespace lathe
