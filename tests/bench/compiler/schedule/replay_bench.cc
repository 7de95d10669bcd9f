// What one search step costs without a device. Bar: a matmul trace of 20 instructions replays with new decisions 2,000
// times a second.
#include <benchmark/benchmark.h>

#include "compiler/script/parser.h"
#include "tests/tuner/space/workloads.h"
#include "tuner/search/search_strategy.h"

namespace lathe {
namespace {

// 20 instructions by hand, three of which sample.
constexpr char kMatmulTrace[] = R"(
b0 = sch.get_block("matmul")
b1 = sch.get_block("relu")
b2 = sch.cache_write(b0, 0, "register")
sch.compute_inline(b2)
l3, l4, l5 = sch.get_loops(b0)
v6, v7, v8 = sch.sample_perfect_tile(l3, n=3, max_innermost_factor=16)
l9, l10, l11 = sch.split(l3, [v6, v7, v8])
v12, v13, v14 = sch.sample_perfect_tile(l4, n=3, max_innermost_factor=64)
l15, l16, l17 = sch.split(l4, [v12, v13, v14])
v18, v19 = sch.sample_perfect_tile(l5, n=2, max_innermost_factor=16)
l20, l21 = sch.split(l5, [v18, v19])
sch.reorder(l9, l15, l10, l16, l20, l21, l11, l17)
sch.reverse_compute_at(b1, l16)
sch.vectorize(l17)
sch.unroll(l11)
sch.unroll(l21)
l22 = sch.fuse(l9, l15)
sch.parallel(l22)
b23 = sch.decompose_reduction(b0, l20)
sch.annotate(l20, "pragma_auto_unroll_max_step", 16)
)";

PrimFunc Parse(const char* text) {
  StatusOr<PrimFunc> func = ParsePrimFunc(text, "workload.py");
  CHECK(func.ok()) << func.status().ToString();
  return *std::move(func);
}

void BM_ReplayMatmulTraceWithNewDecisions(benchmark::State& state) {
  const PrimFunc func = Parse(kMatmulRelu);
  const StatusOr<ScheduleTrace> trace = ScheduleTrace::FromPython(kMatmulTrace);
  CHECK(trace.ok()) << trace.status().ToString();
  uint64_t seed = 0;
  for (auto _ : state) {
    StatusOr<Schedule> schedule = Schedule::Create(func, ++seed);
    const Status status = trace->Replay(*schedule);
    CHECK(status.ok()) << status.ToString();
    benchmark::DoNotOptimize(schedule);
  }
  state.counters["instructions"] = static_cast<double>(trace->size());
  state.counters["replays_per_s"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_ReplayMatmulTraceWithNewDecisions);

void BM_ReplaySketch(benchmark::State& state) {
  StatusOr<Target> target = Target::Parse("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4 -num-cores=1");
  CHECK(target.ok()) << target.status().message();
  TuneTask task{{}, Parse(state.range(0) == 0 ? kMatmulRelu : kConvBiasAddRelu), *target, {}, 0};
  StatusOr<std::vector<Sketch>> sketches = MakePostOrderApply()->Generate(task.func, task.target);
  CHECK(sketches.ok()) << sketches.status().ToString();
  uint64_t seed = 0;
  for (auto _ : state) {
    StatusOr<Schedule> schedule = Schedule::Create(task.func, ++seed);
    const Status status = sketches->front().trace.Replay(*schedule);
    benchmark::DoNotOptimize(status);
  }
  state.counters["instructions"] = static_cast<double>(sketches->front().trace.size());
  state.counters["replays_per_s"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_ReplaySketch)->Arg(0)->Arg(1);

}  // namespace
}  // namespace lathe

BENCHMARK_MAIN();
