// The tensor intrinsics of AMX, by which x86 processors multiply matrices in tiles: registers of up to 16 rows of 64
// bytes.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "compiler/ir/data_type.h"

namespace lathe {

// How an instruction multiplies a tile of A with one of B, whose steps of the depth lie in groups of `parts`:
//   for i, j, k in T.grid(rows, 16, depth): C[i, j] += A[i, k] * B[k // parts, j, k % parts]
struct AmxProduct {
  std::string_view instruction, feature;  // By LLVM's names.
  DataType a, b, c;
  int parts;  // Neighbours that are multiplied and added up at once: as many as fill 32 bits.
  int most_depth() const { return 16 * parts; }
};
inline constexpr int kAmxMostRows = 16, kAmxColumns = 16;
std::span<const AmxProduct> AmxProducts();

// Its intrinsics for tiles of `rows` rows, of which accumulators may be in scope "amx.tmm". What they compute:
struct AmxIntrins {
  std::string multiply;  // The above; `depth` is a multiple of the parts, at most most_depth().
  std::string zero;      // for i, j in T.grid(rows, 16): C[i, j] = 0
  std::string store;     // for i, j in T.grid(rows, 16): D[i, j] = C[i, j]
};
AmxIntrins AmxIntrinsFor(const AmxProduct& product, int64_t rows, int64_t depth);

}  // namespace lathe
