// ldmatrix, mma.sync and wmma by TVM's names. Where an element of a tile lies is a fact of the PTX ISA.
#include <fmt/format.h>

#include "compiler/schedule/intrin_row.h"

namespace lathe {
namespace {

constexpr std::string_view kWmma =
#include "wmma_intrin.inc"
    ;
constexpr std::string_view kMma =
#include "mma_intrin.inc"
    ;
constexpr std::string_view kM16n8k8 =
#include "m16n8k8_intrin.inc"
    ;

using Words = std::map<std::string, std::string, std::less<>>;

struct ElementType {
  const char *name, *in_wmma, *in_mma, *in_ptx, *zero;
};
constexpr ElementType kFloat16{"float16", "f16", "f16", "fp16", "T.float16(0.0)"},
    kFloat32{"float32", "f32", "f32", "fp32", "T.float32(0.0)"}, kInt32{"int32", "s32", "i32", "int32", "0"},
    kInt8{"int8", "s8", "i8", "int8", ""}, kInt4{"int4", "s4", "i4", "int4", ""},
    kE4m3{"float8_e4m3fn", "", "e4m3", "e4m3", ""}, kE5m2{"float8_e5m2", "", "e5m2", "e5m2", ""};

std::string Quoted(std::string_view text) { return fmt::format("\"{}\"", text); }

std::string InName(std::string_view scope) { return scope == "shared.dyn" ? "shared_dyn" : std::string(scope); }

struct Shape {
  int m, n, k;
  std::string Name() const { return fmt::format("{}x{}x{}", m, n, k); }
  Words AsWords() const { return {{"M", fmt::to_string(m)}, {"N", fmt::to_string(n)}, {"K", fmt::to_string(k)}}; }
};

Words FragmentWords(const Shape& shape, int rows, int columns, const ElementType& type, std::string_view scope) {
  Words words = shape.AsWords();
  words.insert({{"FRAG_ROWS", fmt::to_string(rows)},
                {"FRAG_COLUMNS", fmt::to_string(columns)},
                {"FRAG_TYPE", Quoted(type.name)},
                {"FRAG_OFFSET", fmt::to_string(columns)},
                {"FRAG_SCOPE", Quoted(scope)},
                {"ZERO", type.zero}});
  return words;
}

IntrinRow WmmaSync(const Shape& shape, const ElementType& in, const ElementType& out, bool trans_b) {
  const int rows = trans_b ? shape.n : shape.k, columns = trans_b ? shape.k : shape.n;
  Words words = shape.AsWords();
  words.insert({{"B_ROWS", fmt::to_string(rows)},
                {"B_COLUMNS", fmt::to_string(columns)},
                {"A_OFFSET", fmt::to_string(shape.k)},
                {"B_OFFSET", fmt::to_string(columns)},
                {"C_OFFSET", fmt::to_string(shape.n)},
                {"IN_TYPE", Quoted(in.name)},
                {"OUT_TYPE", Quoted(out.name)},
                {"B_AT", trans_b ? "vjj, vkk" : "vkk, vjj"}});
  return {
      fmt::format("wmma_sync_{}_{}{}{}{}", shape.Name(), in.in_wmma, in.in_wmma, out.in_wmma, trans_b ? "_trans" : ""),
      kWmma, "sync_desc", "sync", std::move(words)};
}

IntrinRow WmmaLoad(const Shape& shape, const ElementType& type, bool is_b, bool is_trans, std::string_view scope) {
  const bool is_row_of_k = is_b == is_trans;  // Whether its columns run along K.
  const int length = is_b ? shape.n : shape.m;
  Words words = FragmentWords(shape, is_row_of_k ? length : shape.k, is_row_of_k ? shape.k : length, type,
                              is_b ? "wmma.matrix_b" : "wmma.matrix_a");
  words.insert({{"SCOPE", Quoted(scope)}, {"MAJOR", is_trans ? "\"col_major\"" : "\"row_major\""}});
  return {fmt::format("wmma_load_{}_{}_{}{}_{}", shape.Name(), type.in_wmma, is_b ? "b" : "a", is_trans ? "_trans" : "",
                      InName(scope)),
          kWmma, "load_desc", "load", std::move(words)};
}

IntrinRow WmmaFill(const Shape& shape, const ElementType& type) {
  return {fmt::format("wmma_fill_{}_{}", shape.Name(), type.in_wmma), kWmma, "fill_desc", "fill",
          FragmentWords(shape, shape.m, shape.n, type, "wmma.accumulator")};
}

IntrinRow WmmaStore(const Shape& shape, const ElementType& type, std::string_view scope) {
  Words words = FragmentWords(shape, shape.m, shape.n, type, "wmma.accumulator");
  words.emplace("SCOPE", Quoted(scope));
  return {fmt::format("wmma_store_{}_{}_{}", shape.Name(), type.in_wmma, InName(scope)), kWmma, "store_desc", "store",
          std::move(words)};
}

void AddWmma(const Shape& shape, std::initializer_list<ElementType> outs, std::vector<IntrinRow>& rows) {
  for (const ElementType& out : outs) {
    rows.push_back(WmmaFill(shape, out));
    for (const char* scope : {"shared", "shared.dyn", "global"}) rows.push_back(WmmaStore(shape, out, scope));
  }
}

void AddWmmaLoads(const Shape& shape, const ElementType& type, bool only_trans_b, std::vector<IntrinRow>& rows) {
  for (const char* scope : {"shared", "shared.dyn"}) {
    for (const bool is_b : {false, true}) {
      for (const bool is_trans : {false, true})
        if (!only_trans_b || is_b == is_trans) rows.push_back(WmmaLoad(shape, type, is_b, is_trans, scope));
    }
  }
}

void AddAllWmma(std::vector<IntrinRow>& rows) {
  const Shape square{16, 16, 16}, long_k{8, 8, 32};
  AddWmma(square, {kFloat16, kFloat32, kInt32}, rows);
  AddWmma(long_k, {kInt32}, rows);
  AddWmmaLoads(square, kFloat16, false, rows);
  AddWmmaLoads(square, kInt8, false, rows);
  AddWmmaLoads(long_k, kInt4, true, rows);
  for (const bool trans_b : {false, true}) {
    rows.push_back(WmmaSync(square, kFloat16, kFloat32, trans_b));
    rows.push_back(WmmaSync(square, kFloat16, kFloat16, trans_b));
    rows.push_back(WmmaSync(square, kInt8, kInt32, trans_b));
  }
  rows.push_back(WmmaSync(long_k, kInt4, kInt32, true));
}

// Lane and register of element (row, column): of 16 x 16 elements of 16 bits, of 16 x 32 bytes along the rows, of
// 32 x 16 bytes along the columns.
enum class Layout { k16x16, k16x32, k32x16 };
std::string LaneAndRegister(Layout layout, std::string_view row, std::string_view column) {
  const char* const form =
      layout == Layout::k16x16   ? "4 * ({0} % 8) + {1} % 8 // 2, 4 * ({1} // 8) + {0} // 8 * 2 + {1} % 2"
      : layout == Layout::k16x32 ? "4 * ({0} % 8) + {1} % 16 // 4, 8 * ({1} // 16) + {0} // 8 * 4 + {1} % 4"
                                 : "{0} % 16 // 4 + 4 * ({1} % 8), 8 * ({1} // 8) + {0} // 16 * 4 + {0} % 4";
  return fmt::format(fmt::runtime(form), row, column);
}

// Bytes lie along K. Only B that is not transposed has K as its rows.
Layout LayoutOf(const ElementType& type, bool is_b, bool is_trans) {
  if (type.in_ptx == kFloat16.in_ptx) return Layout::k16x16;
  return is_b && !is_trans ? Layout::k32x16 : Layout::k16x32;
}

// Where in the tile the row of eight elements begins that lane tx hands to ldmatrix.
std::string SharedAt(Layout layout, bool is_trans) {
  if (layout == Layout::k32x16) return "s0";  // No instruction loads these: what lowers the call needs the stride only.
  if (layout == Layout::k16x16)
    return is_trans ? "s0 * 8 * (tx // 16) + s0 * (tx % 8) + 8 * (tx % 16 // 8)" : "s0 * (tx % 16) + 8 * (tx // 16)";
  return is_trans ? "s0 * 8 * (tx // 16) + tx % 8 * s0 + 16 * (tx % 16 // 8)" : "s0 * (tx % 16) + 16 * (tx // 16)";
}

IntrinRow Ldmatrix(const ElementType& type, bool is_b, bool is_trans, std::string_view scope) {
  const Layout layout = LayoutOf(type, is_b, is_trans);
  const int rows = layout == Layout::k32x16 ? 32 : 16, columns = layout == Layout::k16x32 ? 32 : 16;
  Words words = {{"LOCAL", layout == Layout::k16x16 ? "8" : "16"},
                 {"TYPE", Quoted(type.name)},
                 {"OFFSET", fmt::to_string(columns)},
                 {"ROWS", fmt::to_string(rows)},
                 {"COLUMNS", fmt::to_string(columns)},
                 {"SCOPE", Quoted(scope)},
                 {"TRANS", is_b == is_trans ? "False" : "True"},
                 {"TILE_AT", LaneAndRegister(layout, "v0", "v1")},
                 {"SHARED_AT", SharedAt(layout, is_trans)}};
  return {fmt::format("mma_ldmatrix_{}_{}{}{}", type.in_mma, is_b ? "b" : "a", is_trans ? "_trans" : "",
                      scope == "shared" ? "" : "_dyn"),
          kMma, "ldmatrix_desc", "ldmatrix", std::move(words)};
}

IntrinRow MmaSync(const ElementType& in, const ElementType& out, bool trans_a, bool trans_b) {
  const Layout a = LayoutOf(in, false, trans_a), b = LayoutOf(in, true, trans_b);
  const bool is_half = a == Layout::k16x16;
  Words words = {{"LOCAL", is_half ? "8" : "16"},
                 {"HALF", is_half ? "4" : "8"},
                 {"K", is_half ? "16" : "32"},
                 {"SHAPE", is_half ? "\"m16n8k16\"" : "\"m16n8k32\""},
                 {"A_OFFSET", is_half ? "16" : "32"},
                 {"B_OFFSET", b == Layout::k16x32 ? "32" : "16"},
                 {"IN_TYPE", Quoted(in.name)},
                 {"OUT_TYPE", Quoted(out.name)},
                 {"IN_PTX", Quoted(in.in_ptx)},
                 {"OUT_PTX", Quoted(out.in_ptx)},
                 {"A_AT", trans_a ? LaneAndRegister(a, "vk", "vi") : LaneAndRegister(a, "vi", "vk")},
                 {"B_AT", trans_b ? LaneAndRegister(b, "vj", "vk") : LaneAndRegister(b, "vk", "vj")},
                 {"C_AT", LaneAndRegister(Layout::k16x16, "vi", "vj")}};
  return {fmt::format("mma_{}{}{}{}{}", in.in_mma, in.in_mma, out.in_mma, trans_a ? "_trans_a" : "",
                      trans_b ? "_trans_b" : ""),
          kMma, "sync_desc", "sync", std::move(words)};
}

Words TileWords(const ElementType& type, std::string_view scope) {
  return {{"TYPE", Quoted(type.name)},
          {"ZERO", type.zero},
          {"SCOPE", Quoted(scope)},
          {"TILE_AT", LaneAndRegister(Layout::k16x16, "v0", "v1")}};
}

void AddMmaFillAndStores(const ElementType& type, std::vector<IntrinRow>& rows) {
  rows.push_back({fmt::format("mma_fill_16x16_{}", type.in_mma), kMma, "fill_desc", "fill", TileWords(type, "warp")});
  for (const char* scope : {"global", "shared.dyn"}) {
    for (const bool is_simple : {false, true}) {
      rows.push_back({fmt::format("mma_store_16x16_{}_{}_{}", type.in_mma, InName(scope), is_simple ? "simple_" : ""),
                      kMma, "store_desc", is_simple ? "store_simple" : "store", TileWords(type, scope)});
    }
  }
}

void AddAllMma(std::vector<IntrinRow>& rows) {
  for (const bool is_b : {false, true}) {
    for (const bool is_trans : {false, true}) {
      for (const char* scope : {"shared", "shared.dyn"}) rows.push_back(Ldmatrix(kFloat16, is_b, is_trans, scope));
      for (const ElementType& type : {kInt8, kE4m3, kE5m2})
        if (is_b || !is_trans) rows.push_back(Ldmatrix(type, is_b, is_trans, "shared"));
    }
  }
  for (const bool trans_b : {false, true}) {
    for (const bool trans_a : {false, true}) {
      for (const ElementType& out : {kFloat16, kFloat32}) rows.push_back(MmaSync(kFloat16, out, trans_a, trans_b));
    }
    rows.push_back(MmaSync(kInt8, kInt32, false, trans_b));
    rows.push_back(MmaSync(kE4m3, kFloat32, false, trans_b));
    rows.push_back(MmaSync(kE5m2, kFloat32, false, trans_b));
  }
  for (const ElementType& type : {kFloat16, kFloat32, kInt32}) AddMmaFillAndStores(type, rows);
}

// Four matrices of 8 x 8 are loaded at once: 32 rows of A, 32 columns of B.
IntrinRow LoadM16n8k8(bool is_b) {
  Words words = {{"ROWS", is_b ? "8" : "32"},
                 {"COLUMNS", is_b ? "32" : "8"},
                 {"FRAG_SCOPE", is_b ? "\"m16n8k8.matrixB\"" : "\"m16n8k8.matrixA\""},
                 {"TRANS", is_b ? "True" : "False"},
                 {"SHARED_AT", is_b ? "tx % 8 * s0 + tx // 8 * 8" : "tx * s0"},
                 {"FRAG_AT", is_b ? "(dst.elem_offset // d0 // 8 * (d0 // 32) + dst.elem_offset % d0 // 32) * 8 + "
                                    "dst.elem_offset % d0 % 32 // 8 * 2"
                                  : "(dst.elem_offset // d0 // 32 * (d0 // 8) + dst.elem_offset % d0 // 8) * 8 + "
                                    "dst.elem_offset // d0 % 32 // 16 * 4"}};
  return {fmt::format("mma_load_m16n8k8_f16_{}_shared_dyn", is_b ? "B" : "A"), kM16n8k8, "load_desc", "load",
          std::move(words)};
}

void AddM16n8k8(std::vector<IntrinRow>& rows) {
  for (const ElementType& type : {kFloat16, kFloat32}) {
    const Words words = {{"TYPE", Quoted(type.name)}, {"ZERO", type.zero}};
    const std::string suffix = type.in_mma;
    rows.push_back({"mma_init_m16n8k8_" + suffix, kM16n8k8, "init_desc", "init", words});
    rows.push_back({"mma_sync_m16n8k8_f16f16" + suffix, kM16n8k8, "sync_desc", "sync", words});
    rows.push_back({"mma_store_m16n8k8_" + suffix + "_global", kM16n8k8, "store", "store", words});
  }
  for (const bool is_b : {false, true}) rows.push_back(LoadM16n8k8(is_b));
}

}  // namespace

std::vector<IntrinRow> CudaIntrinRows() {
  std::vector<IntrinRow> rows;
  AddAllWmma(rows);
  AddAllMma(rows);
  AddM16n8k8(rows);
  return rows;
}

}  // namespace lathe
