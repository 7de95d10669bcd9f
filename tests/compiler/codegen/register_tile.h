// A matrix multiplication micro-kernel in lowered form, as the scheduler has to produce it
// (docs/decisions/0005-register-tiles.md).
#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// C[rows, cols] += A_packed[depth, rows] * B_packed[depth, cols], repeated `repeat` times: an accumulator tile of scope
// "register", written and read by whole vectors of `lanes` elements at constant indices, around a serial loop over
// depth.
struct TileShape {
  int rows, vectors, lanes, depth;
};

inline PrimFunc RegisterTileMatmul(const TileShape& shape, bool unrolls_rows = true, int num_panels = 1) {
  const int cols = shape.vectors * shape.lanes;
  const DataType vector = DataType::Float(32, shape.lanes);
  const Buffer a = MakeBuffer("A", {shape.depth * shape.rows}), b = MakeBuffer("B", {num_panels * shape.depth * cols});
  const Buffer c = MakeBuffer("C", {num_panels * shape.rows * cols});
  const Buffer tile = MakeBuffer("acc", {shape.rows * cols}, DataType::Float(32), "register");
  const auto ramp = [&](Expr base) {
    return Expr::Make(DataType::Int(32, shape.lanes), Ramp{std::move(base), 1, shape.lanes});
  };
  const auto load = [&](const Buffer& buffer, const Expr& base) {
    return Expr::Make(vector, BufferLoad{buffer, {ramp(base)}});
  };
  Var panel("panel");
  // One statement per vector of the tile: rows unrolled (or a loop over them, which breaks the promise), vectors always
  // unrolled.
  const auto for_each_vector = [&](const char* row_name, const std::function<Stmt(Expr row, int vector)>& make) {
    std::vector<Stmt> stmts;
    Var row(row_name);
    for (int r = 0; r < (unrolls_rows ? shape.rows : 1); ++r) {
      for (int v = 0; v < shape.vectors; ++v) stmts.push_back(make(unrolls_rows ? Expr(r) : Expr(row), v));
    }
    return unrolls_rows ? MakeSeq(stmts) : MakeFor(row, shape.rows, MakeSeq(stmts));
  };
  const auto at = [&](const Expr& row, int v) { return row * cols + v * shape.lanes; };
  Var k("k");
  const Stmt init = for_each_vector(
      "r0", [&](Expr row, int v) { return Stmt(BufferStore{tile, FloatConst(vector, 0), {ramp(at(row, v))}}); });
  const Stmt update = MakeFor(
      k, shape.depth, for_each_vector("r1", [&](Expr row, int v) {
        const Expr scalar = Expr::Make(
            vector, Broadcast{Expr::Make(DataType::Float(32), BufferLoad{a, {k * shape.rows + row}}), shape.lanes});
        const Expr sum = load(tile, at(row, v)) + scalar * load(b, (panel * shape.depth + k) * cols + v * shape.lanes);
        return Stmt(BufferStore{tile, sum, {ramp(at(row, v))}});
      }));
  const Stmt write = for_each_vector("r2", [&](Expr row, int v) {
    const Expr place = panel * (shape.rows * cols) + at(row, v);
    return Stmt(BufferStore{c, load(c, place) + load(tile, at(row, v)), {ramp(place)}});
  });
  return MakePrimFunc("matmul", {a, b, c},
                      MakeFor(panel, num_panels, AllocBuffer{tile, MakeSeq({init, update, write})}));
}

}  // namespace lathe
