// How fast the oracle runs, with and without its checks, and what lowering costs for one candidate.
#include <benchmark/benchmark.h>

#include "compiler/interpreter/interpreter.h"
#include "compiler/lower.h"
#include "tests/compiler/transform/test_programs.h"

namespace lathe {
namespace {

PrimFunc Matmul(int64_t n) {
  const Buffer a = MakeBuffer("A", {n, n}), b = MakeBuffer("B", {n, n}), c = MakeBuffer("C", {n, n});
  const Var i("i"), j("j"), k("k"), vi("vi"), vj("vj"), vk("vk");
  BlockNode block{.name = "matmul",
                  .body = MakeStore(c, Load(c, {vi, vj}) + Load(a, {vi, vk}) * Load(b, {vk, vj}), {vi, vj})};
  block.iter_vars = {Spatial(vi, n), Spatial(vj, n), Reduce(vk, n)};
  block.init = MakeStore(c, FloatConst(DataType::Float(32), 0), {vi, vj});
  return MakePrimFunc("main", {a, b, c}, Loop(i, n, Loop(j, n, Loop(k, n, Realize(block, {i, j, k})))));
}

void BM_InterpretMatmul64(benchmark::State& state) {
  const PrimFunc func = Matmul(64);
  InterpreterOptions options;
  options.check_races = options.check_uninitialized = state.range(0) != 0;
  std::vector<Tensor> args(3, Tensor::Zeros(DataType::Float(32), {64, 64}));
  for (auto _ : state) benchmark::DoNotOptimize(Interpret(func, args, options).ok());
}
BENCHMARK(BM_InterpretMatmul64)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

void BM_LowerTiledMatmul(benchmark::State& state) {
  Random random(5);
  const PrimFunc func = TiledMatmul(random);
  LowerOptions options;
  options.verify = state.range(0) != 0;
  for (auto _ : state) benchmark::DoNotOptimize(Lower(func, options).ok());
}
BENCHMARK(BM_LowerTiledMatmul)->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace lathe

BENCHMARK_MAIN();
