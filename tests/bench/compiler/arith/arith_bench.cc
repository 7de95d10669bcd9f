// What one call costs on the index expressions that splits and fuses leave behind.
#include <benchmark/benchmark.h>

#include "compiler/arith/analyzer.h"

namespace lathe {
namespace {

// i of 0..7, j of 0..16, k of 0..32: a tiled and fused loop nest.
struct Loops {
  Var i{"i"}, j{"j"}, k{"k"};
  Analyzer analyzer;
  Loops() {
    analyzer.Bind(i, {0, 7});
    analyzer.Bind(j, {0, 16});
    analyzer.Bind(k, {0, 32});
  }
};

void BM_SimplifySplitIndex(benchmark::State& state) {
  const Loops l;
  const Expr index = FloorDiv((l.i * 16 + l.j) * 32 + l.k, 32) * 32 + FloorMod((l.i * 16 + l.j) * 32 + l.k, 32);
  for (auto _ : state) benchmark::DoNotOptimize(l.analyzer.Simplify(index));
}
BENCHMARK(BM_SimplifySplitIndex);

void BM_SimplifyUnchanged(benchmark::State& state) {
  const Loops l;
  const Expr index = (l.i * 16 + l.j) * 1 + l.k;
  for (auto _ : state) benchmark::DoNotOptimize(l.analyzer.Simplify(index));
}
BENCHMARK(BM_SimplifyUnchanged);

void BM_SimplifyFusedIndex(benchmark::State& state) {
  const Var fused("fused");
  Analyzer analyzer;
  analyzer.Bind(fused, {0, 7 * 16 * 32});
  const Expr index = FloorDiv(fused, 512) * 512 + FloorMod(FloorDiv(fused, 32), 16) * 32 + FloorMod(fused, 32);
  for (auto _ : state) benchmark::DoNotOptimize(analyzer.Simplify(index));
}
BENCHMARK(BM_SimplifyFusedIndex);

void BM_ProvePredicate(benchmark::State& state) {
  const Loops l;
  const Expr condition = Less(l.i * 16 + l.j, 112);
  for (auto _ : state) benchmark::DoNotOptimize(l.analyzer.CanProve(condition));
}
BENCHMARK(BM_ProvePredicate);

}  // namespace
}  // namespace lathe

BENCHMARK_MAIN();
