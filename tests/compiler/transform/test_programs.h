// Programs in the form that schedules leave them in, with random tile sizes, loop kinds and annotations.
#pragma once

#include "compiler/ir/visitor.h"
#include "support/random.h"

namespace lathe {

inline Stmt Loop(const Var& var, int64_t extent, Stmt body, ForKind kind = ForKind::kSerial, AttrMap annotations = {}) {
  return For{var, 0, Expr(extent), kind, "", std::move(annotations), std::move(body)};
}
inline Stmt Realize(BlockNode block, std::vector<Expr> values, Expr predicate = True()) {
  return BlockRealize{std::move(values), std::move(predicate), Block(std::move(block))};
}
inline IterVar Spatial(const Var& var, int64_t extent) { return {{0, Expr(extent)}, var, IterKind::kSpatial}; }
inline IterVar Reduce(const Var& var, int64_t extent) { return {{0, Expr(extent)}, var, IterKind::kReduce}; }
inline int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// C = A * B, tiled, accumulated in a local buffer that is declared at the root, copied back inside of the tile loops.
inline PrimFunc TiledMatmul(Random& random) {
  const int64_t m = 1 + random.Below(20), n = 1 + random.Below(20), depth = 1 + random.Below(9);
  const int64_t tm = 1 + random.Below(6), tn = 1 + random.Below(9);
  const DataType type = random.Below(3) == 0 ? DataType::Int(32) : DataType::Float(32);
  const Buffer a = MakeBuffer("A", {m, depth}, type), b = MakeBuffer("B", {depth, n}, type),
               c = MakeBuffer("C", {m, n}, type);
  const Buffer acc = MakeBuffer("C_local", {m, n}, type, random.Below(2) ? "local" : "global");
  const Var i0("i0"), j0("j0"), i1("i1"), j1("j1"), k("k"), vi("vi"), vj("vj"), vk("vk"), ci("ci"), cj("cj"), i2("i2"),
      j2("j2");
  BlockNode update{.name = "update",
                   .body = MakeStore(acc, Load(acc, {vi, vj}) + Load(a, {vi, vk}) * Load(b, {vk, vj}), {vi, vj})};
  update.iter_vars = {Spatial(vi, m), Spatial(vj, n), Reduce(vk, depth)};
  update.init = MakeStore(acc, type.is_float() ? FloatConst(type, 0) : IntConst(type, 0), {vi, vj});
  BlockNode copy{.name = "copy", .body = MakeStore(c, Load(acc, {ci, cj}), {ci, cj})};
  copy.iter_vars = {Spatial(ci, m), Spatial(cj, n)};
  const auto at = [&](const Var& outer, const Var& inner, int64_t tile) { return outer * Expr(tile) + inner; };
  const auto inside = [&](const Expr& row, const Expr& column) {
    return And(m % tm == 0 ? True() : Less(row, Expr(m)), n % tn == 0 ? True() : Less(column, Expr(n)));
  };
  const auto kind = [&] {
    return std::array{ForKind::kSerial, ForKind::kVectorized, ForKind::kUnrolled}[random.Below(3)];
  };
  const Expr r1 = at(i0, i1, tm), c1 = at(j0, j1, tn), r2 = at(i0, i2, tm), c2 = at(j0, j2, tn);
  Stmt compute = Realize(update, {r1, c1, k}, inside(r1, c1));
  compute = random.Below(2) ? Loop(k, depth, Loop(i1, tm, Loop(j1, tn, compute, kind())))
                            : Loop(i1, tm, Loop(k, depth, Loop(j1, tn, compute, kind())));
  const Stmt back = Loop(i2, tm, Loop(j2, tn, Realize(copy, {r2, c2}, inside(r2, c2)), kind()));
  AttrMap annotations;
  if (random.Below(2))
    annotations = {{"pragma_auto_unroll_max_step", static_cast<int64_t>(random.Below(64))},
                   {"pragma_unroll_explicit", static_cast<int64_t>(random.Below(2))}};
  BlockNode root{.name = "root",
                 .body = Loop(i0, CeilDiv(m, tm), Loop(j0, CeilDiv(n, tn), MakeSeq({compute, back})),
                              random.Below(2) ? ForKind::kParallel : ForKind::kSerial, annotations)};
  root.alloc_buffers = {acc};
  return MakePrimFunc("main", {a, b, c}, Realize(root, {}));
}

// T = A * 3, computed for each tile of B[i] = T[i-1] + T[i] + T[i+1] with zeros outside; T is declared at the root.
inline PrimFunc TiledStencil(Random& random) {
  const int64_t n = 2 + random.Below(30), tile = 1 + random.Below(8);
  const DataType type = random.Below(2) ? DataType::Int(8) : DataType::Float(16);
  const Buffer a = MakeBuffer("A", {n}, type), t = MakeBuffer("T", {n}, type), b = MakeBuffer("B", {n}, type);
  const Var i0("i0"), i1("i1"), i2("i2"), vt("vt"), vi("vi");
  const Expr zero = type.is_float() ? FloatConst(type, 0) : IntConst(type, 0),
             three = type.is_float() ? FloatConst(type, 3) : IntConst(type, 3);
  BlockNode produce{.name = "T", .body = MakeStore(t, Load(a, {vt}) * three, {vt})};
  produce.iter_vars = {Spatial(vt, n)};
  const auto guarded = [&](const Expr& at) {
    return MakeCall(type, "if_then_else", {And(LessEqual(0, at), Less(at, Expr(n))), Load(t, {at}), zero});
  };
  BlockNode consume{.name = "B", .body = MakeStore(b, guarded(vi - 1) + guarded(vi) + guarded(vi + 1), {vi})};
  consume.iter_vars = {Spatial(vi, n)};
  const Expr at1 = i0 * Expr(tile) + i1 - 1, at2 = i0 * Expr(tile) + i2;
  const auto kind = [&] {
    return std::array{ForKind::kSerial, ForKind::kVectorized, ForKind::kUnrolled}[random.Below(3)];
  };
  const Stmt first = Loop(i1, tile + 2, Realize(produce, {at1}, And(LessEqual(0, at1), Less(at1, Expr(n)))), kind());
  const Stmt second = Loop(i2, tile, Realize(consume, {at2}, Less(at2, Expr(n))), kind());
  BlockNode root{.name = "root",
                 .body = Loop(i0, CeilDiv(n, tile), MakeSeq({first, second}),
                              random.Below(2) ? ForKind::kParallel : ForKind::kSerial)};
  root.alloc_buffers = {t};
  return MakePrimFunc("main", {a, b}, Realize(root, {}));
}

// A running sum in a buffer that lives across the loop: its allocation must not enter it.
inline PrimFunc PrefixSum(Random& random) {
  const int64_t n = 1 + random.Below(12);
  const DataType type = DataType::Int(32);
  const Buffer a = MakeBuffer("A", {n}, type), sum = MakeBuffer("sum", {1}, type), b = MakeBuffer("B", {n}, type);
  const Var i("i"), vi("vi");
  BlockNode step{
      .name = "step",
      .body = MakeSeq({IfThenElse{Equal(vi, 0), MakeStore(sum, IntConst(type, 0), {0}), std::nullopt},
                       MakeStore(sum, Load(sum, {0}) + Load(a, {vi}), {0}), MakeStore(b, Load(sum, {0}), {vi})})};
  step.iter_vars = {{{0, Expr(n)}, vi, IterKind::kOpaque}};
  BlockNode root{.name = "root", .body = Loop(i, n, Realize(step, {i}))};
  root.alloc_buffers = {sum};
  return MakePrimFunc("main", {a, b}, Realize(root, {}));
}

// Works on 2-D tiles of a fused loop through match_buffer views, with a strided source.
inline PrimFunc TilesThroughViews(Random& random) {
  const int64_t rows = 1 + random.Below(4), columns = 1 + random.Below(4), tile = 1 + random.Below(4);
  const DataType type = DataType::Int(32);
  BufferNode padded = *MakeBuffer("A", {rows * tile, columns * tile}, type);
  padded.strides = {columns * tile + static_cast<int64_t>(random.Below(3)), 1};
  padded.elem_offset = static_cast<int64_t>(random.Below(3));
  const Buffer a(padded), b = MakeBuffer("B", {columns * tile, rows * tile}, type);
  const Var f("f"), vr("vr"), vc("vc"), s0("s0"), s1("s1"), offset("off"), i("i"), j("j");
  BufferNode view_node = *MakeBuffer("V", {tile, tile}, type);
  view_node.strides = {s0, s1};
  view_node.elem_offset = offset;
  const Buffer view(view_node);
  BlockNode block{
      .name = "tile",
      .body = Loop(i, tile,
                   Loop(j, tile, MakeStore(b, Load(view, {i, j}) + 1, {vc * Expr(tile) + j, vr * Expr(tile) + i}),
                        random.Below(2) ? ForKind::kVectorized : ForKind::kSerial))};
  block.iter_vars = {Spatial(vr, rows), Spatial(vc, columns)};
  block.match_buffers = {{view, {a, {{vr * Expr(tile), Expr(tile)}, {vc * Expr(tile), Expr(tile)}}}}};
  BlockNode root{
      .name = "root",
      .body = Loop(f, rows * columns, Realize(block, {FloorDiv(f, Expr(columns)), FloorMod(f, Expr(columns))}),
                   random.Below(2) ? ForKind::kParallel : ForKind::kSerial)};
  return MakePrimFunc("main", {a, b}, Realize(root, {}));
}

}  // namespace lathe
