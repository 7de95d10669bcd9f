// What one call costs on the index expressions that splits and fuses leave behind.
#include <benchmark/benchmark.h>

#include "compiler/arith/analyzer.h"
#include "compiler/arith/int_set.h"
#include "compiler/arith/iter_map.h"

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

IterDomain DomainOf(const Loops& l) { return {{l.i, {0, 7}}, {l.j, {0, 16}}, {l.k, {0, 32}}}; }

void BM_DetectTrivial(benchmark::State& state) {
  const Loops l;
  const IterDomain domain = DomainOf(l);
  const std::vector<Expr> indices{l.i, l.j, l.k};
  for (auto _ : state)
    benchmark::DoNotOptimize(DetectIterMap(indices, domain, True(), {.level = IterMapLevel::kBijective}, Analyzer()));
}
BENCHMARK(BM_DetectTrivial);

void BM_DetectSplit(benchmark::State& state) {
  const Loops l;
  const IterDomain domain = DomainOf(l);
  const std::vector<Expr> indices{l.i * 16 + l.j, l.k};
  for (auto _ : state)
    benchmark::DoNotOptimize(DetectIterMap(indices, domain, True(), {.level = IterMapLevel::kBijective}, Analyzer()));
}
BENCHMARK(BM_DetectSplit);

void BM_DetectGuardedSplit(benchmark::State& state) {
  const Loops l;
  const IterDomain domain = DomainOf(l);
  const std::vector<Expr> indices{l.i * 16 + l.j, l.k};
  const Expr predicate = Less(l.i * 16 + l.j, 100);
  for (auto _ : state)
    benchmark::DoNotOptimize(
        DetectIterMap(indices, domain, predicate, {.level = IterMapLevel::kBijective}, Analyzer()));
}
BENCHMARK(BM_DetectGuardedSplit);

void BM_DetectFuseThenSplit(benchmark::State& state) {
  const Loops l;
  const IterDomain domain = DomainOf(l);
  const Expr fused = (l.i * 16 + l.j) * 32 + l.k;
  const std::vector<Expr> indices{FloorDiv(fused, 14), FloorMod(fused, 14)};
  for (auto _ : state)
    benchmark::DoNotOptimize(DetectIterMap(indices, domain, True(), {.level = IterMapLevel::kBijective}, Analyzer()));
}
BENCHMARK(BM_DetectFuseThenSplit);

void BM_RelaxStencil(benchmark::State& state) {
  const Loops l;
  DomMap vars;
  vars.Add(l.j, {0, 16});
  vars.Add(l.k, {0, 3});
  Analyzer analyzer;
  analyzer.Bind(l.i, {0, 7});
  const std::vector<Range> region{{l.i * 16 + l.j + l.k, 1}};
  for (auto _ : state) benchmark::DoNotOptimize(RelaxRegion(region, vars, analyzer));
}
BENCHMARK(BM_RelaxStencil);

// Symbolic loops, one inside the other: each has a fact of its own beside its bounds.
void BM_BindSymbolicLoops(benchmark::State& state) {
  std::vector<Var> loops, extents;
  for (int64_t i = 0; i < state.range(0); ++i) {
    loops.emplace_back("i");
    extents.emplace_back("n");
  }
  for (auto _ : state) {
    Analyzer analyzer;
    for (size_t i = 0; i < loops.size(); ++i) analyzer.Bind(loops[i], Range{0, extents[i]});
    benchmark::DoNotOptimize(analyzer.CanProve(Less(loops.back(), extents.back())));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_BindSymbolicLoops)->Arg(8)->Arg(64)->Arg(512);

// A condition below many loops, as padding has it: every part is simplified knowing those before it.
void BM_SimplifyConditionUnderLoops(benchmark::State& state) {
  Analyzer analyzer;
  std::vector<Var> loops;
  for (int64_t i = 0; i < state.range(0); ++i) {
    loops.emplace_back("i");
    analyzer.Bind(loops.back(), {0, 16});
  }
  const Expr y = loops[0] * 16 + loops[1] - 3, x = loops[2] * 16 + loops[3] - 3;
  const Expr inside = And(And(LessEqual(0, y), Less(y, 224)), And(LessEqual(0, x), Less(x, 224)));
  const Expr choice = MakeSelect(inside, MakeSelect(Less(y, x), y, x), 0);
  for (auto _ : state) benchmark::DoNotOptimize(analyzer.Simplify(choice));
}
BENCHMARK(BM_SimplifyConditionUnderLoops)->Arg(4)->Arg(16)->Arg(64);

}  // namespace
}  // namespace lathe

BENCHMARK_MAIN();
