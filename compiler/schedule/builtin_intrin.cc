#include "compiler/schedule/builtin_intrin.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

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

// One intrinsic: functions of a file, in which names in capitals are what the row says.
struct Row {
  std::string_view name, file, implementation, a_type, b_type, c_type;
  int lanes = 4;
  std::string_view llvm_name = "";
};

constexpr Row kRows[] = {
    {"dot_16x4_vnni", kDotProduct, "vnni", "uint8", "int8", "int32", 16},
    {"dot_16x4_avx512", kDotProduct, "avx512", "uint8", "int8", "int32", 16},
    {"dot_4x4_i8i8s32_neon", kDotProduct, "neon", "int8", "int8", "int32"},
    {"dot_4x4_i8i8s32_sdot", kDotProduct, "arm_dot", "int8", "int8", "int32", 4, "llvm.aarch64.neon.sdot"},
    {"dot_4x4_u8u8u32_udot", kDotProduct, "arm_dot", "uint8", "uint8", "uint32", 4, "llvm.aarch64.neon.udot"},
    {"dot_4x4_u8u8i32_hdot", kDotProduct, "arm_dot", "uint8", "uint8", "int32", 4, "llvm.aarch64.neon.udot"},
    {"dp4a_s8s8s32", kDp4a, "dp4a", "int8", "int8", "int32"},
    {"dp4a_s8u8s32", kDp4a, "dp4a", "int8", "uint8", "int32"},
    {"dp4a_u8s8s32", kDp4a, "dp4a", "uint8", "int8", "int32"},
    {"dp4a_u8u8u32", kDp4a, "dp4a", "uint8", "uint8", "uint32"},
};

std::string ConstantsOf(const Row& row) {
  std::string text = fmt::format("LANES = {}\nLLVM_NAME = \"{}\"\n", row.lanes, row.llvm_name);
  for (const auto& [letter, type] : {std::pair('A', row.a_type), {'B', row.b_type}, {'C', row.c_type}})
    text += fmt::format("{0}_TYPE = \"{1}\"\n{0}_X4 = \"{1}x4\"\n{0}_X16 = \"{1}x16\"\n", letter, type);
  return text;
}

// The text of one function, from its decorator to the next.
std::string_view FunctionText(std::string_view file, std::string_view name) {
  constexpr std::string_view kDecorator = "@T.prim_func\n";
  const size_t at = file.find(fmt::format("def {}(", name));
  CHECK(at != std::string_view::npos) << "no function " << name;
  const size_t begin = file.rfind(kDecorator, at), end = file.find(kDecorator, at);
  return file.substr(begin, end == std::string_view::npos ? end : end - begin);
}

StatusOr<PrimFunc> Read(const Row& row, std::string_view function) {
  const std::string text =
      fmt::format("from tvm.script import tir as T\n{}{}", ConstantsOf(row), FunctionText(row.file, function));
  return ParsePrimFunc(text, row.name);
}

}  // namespace

StatusOr<std::shared_ptr<const TensorIntrin>> MakeBuiltinIntrin(std::string_view name) {
  const Row* row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& each) { return each.name == name; });
  if (row == std::end(kRows)) return NotFound(fmt::format("tensor intrinsic \"{}\" is not registered", name));
  ASSIGN_OR_RETURN(PrimFunc description, Read(*row, "desc"));
  ASSIGN_OR_RETURN(PrimFunc implementation, Read(*row, row->implementation));
  return MakeTensorIntrin(std::move(description), std::move(implementation));
}

std::vector<std::string_view> BuiltinIntrinNames() {
  std::vector<std::string_view> names;
  for (const Row& row : kRows) names.push_back(row.name);
  return names;
}

}  // namespace lathe
