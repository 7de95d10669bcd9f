// What reading and writing a function costs. A coordinator reads a text per workload and per replayed trace; 200 lines
// must take < 2 ms.
#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include "compiler/script/canonical.h"
#include "compiler/script/parser.h"
#include "compiler/script/printer.h"

namespace lathe {
namespace {

// `blocks` stages of 8 lines each, as a fused chain of operators prints.
std::string Chain(int64_t blocks) {
  std::string text =
      "@T.prim_func\ndef main(B0: T.Buffer((64, 56, 56), \"float32\"), out: T.Buffer((64, 56, 56), \"float32\")):\n";
  for (int64_t i = 1; i <= blocks; ++i) text += fmt::format("    B{} = T.alloc_buffer((64, 56, 56), \"float32\")\n", i);
  for (int64_t i = 1; i <= blocks; ++i) {
    text += fmt::format(
        "    for i0, i1, i2, k in T.grid(64, 56, 56, 64):\n        with T.block(\"stage{0}\"):\n"
        "            v0, v1, v2, vk = T.axis.remap(\"SSSR\", [i0, i1, i2, k])\n"
        "            T.reads(B{1}[v0, v1, v2])\n            T.writes(B{0}[v0, v1, v2])\n            with T.init():\n"
        "                B{0}[v0, v1, v2] = T.float32(0)\n"
        "            B{0}[v0, v1, v2] = B{0}[v0, v1, v2] + T.max(B{1}[v0, v1, v2], T.float32(0)) * T.exp(B{1}[vk, v1, "
        "v2])\n",
        i, i - 1);
  }
  return text;
}

void BM_Parse(benchmark::State& state) {
  const std::string text = Chain(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(ParsePrimFunc(text, "chain.py").ok());
  state.counters["lines"] = double(std::count(text.begin(), text.end(), '\n'));
  state.SetBytesProcessed(state.iterations() * int64_t(text.size()));
}
BENCHMARK(BM_Parse)->Arg(1)->Arg(22)->Arg(220)->Unit(benchmark::kMicrosecond);

void BM_Print(benchmark::State& state) {
  const PrimFunc func = *ParsePrimFunc(Chain(state.range(0)), "chain.py");
  for (auto _ : state) benchmark::DoNotOptimize(Print(func).size());
}
BENCHMARK(BM_Print)->Arg(1)->Arg(22)->Arg(220)->Unit(benchmark::kMicrosecond);

void BM_WorkloadDigest(benchmark::State& state) {
  const PrimFunc func = *ParsePrimFunc(Chain(state.range(0)), "chain.py");
  for (auto _ : state) benchmark::DoNotOptimize(WorkloadDigest(func));
}
BENCHMARK(BM_WorkloadDigest)->Arg(1)->Arg(22)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace lathe

BENCHMARK_MAIN();
