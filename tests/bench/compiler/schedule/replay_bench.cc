// What one search step costs without a device. Bars, per core: 6,000 replays a second of the trace of 30 instructions
// that schedules conv2d + bias + relu, at 60 instructions (two of them) not less than half; time per block the same for
// 10 blocks and for 200; a copy of a schedule in 3 us; the hash of a module of 300 lines in 50 us; 10 MB of text parsed
// a second. Every replay must succeed.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "compiler/ir/structural.h"
#include "compiler/script/parser.h"
#include "compiler/script/printer.h"
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

// One conv2d + bias + relu; {0} is its number, {1} the number of handles made before.
std::string ConvLayer(int layer) {
  return fmt::format(R"(
    for i0, i1, i2, i3 in T.grid(1, 16, 16, 16):
        with T.block("pad{0}"):
            v0, v1, v2, v3 = T.axis.remap("SSSS", [i0, i1, i2, i3])
            P{0}[v0, v1, v2, v3] = T.if_then_else(1 <= v2 and v2 < 15 and 1 <= v3 and v3 < 15, X{0}[v0, v1, v2 - 1, v3 - 1], T.float32(0))
    for n, oc, oh, ow, ic, kh, kw in T.grid(1, 16, 14, 14, 16, 3, 3):
        with T.block("conv{0}"):
            vn, voc, voh, vow, vic, vkh, vkw = T.axis.remap("SSSSRRR", [n, oc, oh, ow, ic, kh, kw])
            with T.init():
                C{0}[vn, voc, voh, vow] = T.float32(0)
            C{0}[vn, voc, voh, vow] = C{0}[vn, voc, voh, vow] + P{0}[vn, vic, voh + vkh, vow + vkw] * W{0}[voc, vic, vkh, vkw]
    for i0, i1, i2, i3 in T.grid(1, 16, 14, 14):
        with T.block("bias{0}"):
            v0, v1, v2, v3 = T.axis.remap("SSSS", [i0, i1, i2, i3])
            D{0}[v0, v1, v2, v3] = C{0}[v0, v1, v2, v3] + B{0}[v1]
    for i0, i1, i2, i3 in T.grid(1, 16, 14, 14):
        with T.block("relu{0}"):
            v0, v1, v2, v3 = T.axis.remap("SSSS", [i0, i1, i2, i3])
            X{1}[v0, v1, v2, v3] = T.max(D{0}[v0, v1, v2, v3], T.float32(0))
)",
                     layer, layer + 1);
}

std::string ConvFunc(int layers) {
  std::string params, allocs, body;
  for (int i = 0; i < layers; ++i) {
    params += fmt::format("W{0}: T.Buffer((16, 16, 3, 3)), B{0}: T.Buffer((16,)), ", i);
    allocs += fmt::format(
        "    P{0} = T.alloc_buffer((1, 16, 16, 16))\n    C{0} = T.alloc_buffer((1, 16, 14, 14))\n"
        "    D{0} = T.alloc_buffer((1, 16, 14, 14))\n",
        i);
    if (i > 0) allocs += fmt::format("    X{0} = T.alloc_buffer((1, 16, 14, 14))\n", i);
    body += ConvLayer(i).substr(1);
  }
  return fmt::format("@T.prim_func\ndef main(X0: T.Buffer((1, 16, 14, 14)), {}X{}: T.Buffer((1, 16, 14, 14))):\n{}{}",
                     params, layers, allocs, body);
}

// 30 instructions for one layer, four of which sample; `first` is the number of the first handle.
std::string ConvTrace(int layer) {
  return fmt::format(R"(
conv = sch.get_block("conv{0}")
bias = sch.get_block("bias{0}")
relu = sch.get_block("relu{0}")
pad = sch.get_block("pad{0}")
sch.compute_inline(bias)
tile = sch.cache_write(conv, 0, "register")
sch.compute_inline(tile)
n, oc, oh, ow, ic, kh, kw = sch.get_loops(conv)
c0, c1, c2 = sch.sample_perfect_tile(oc, n=3, max_innermost_factor=16)
oc0, oc1, oc2 = sch.split(oc, [c0, c1, c2])
h0, h1, h2 = sch.sample_perfect_tile(oh, n=3, max_innermost_factor=16)
oh0, oh1, oh2 = sch.split(oh, [h0, h1, h2])
w0, w1, w2 = sch.sample_perfect_tile(ow, n=3, max_innermost_factor=16)
ow0, ow1, ow2 = sch.split(ow, [w0, w1, w2])
r0, r1 = sch.sample_perfect_tile(ic, n=2, max_innermost_factor=16)
ic0, ic1 = sch.split(ic, [r0, r1])
sch.reorder(n, oc0, oh0, ow0, oc1, oh1, ow1, ic0, ic1, kh, kw, oc2, oh2, ow2)
sch.reverse_compute_at(relu, ow1, preserve_unit_loops=True)
a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10 = sch.get_loops(relu)
sch.vectorize(a10)
sch.vectorize(ow2)
sch.unroll(oh2)
sch.unroll(kw)
outer = sch.fuse(n, oc0, oh0)
sch.parallel(outer)
sch.compute_at(pad, ow0, preserve_unit_loops=True)
init = sch.decompose_reduction(conv, ic0)
sch.annotate(outer, "pragma_auto_unroll_max_step", 64)
sch.annotate(init, "meta_schedule.tiling", 1)
sch.unannotate(init, "meta_schedule.tiling")
)",
                     layer);
}

// A chain of `blocks` element-wise stages, and six instructions for each.
std::string ChainFunc(int64_t blocks) {
  std::string text = fmt::format("@T.prim_func\ndef main(B0: T.Buffer((64, 64)), B{}: T.Buffer((64, 64))):\n", blocks);
  for (int64_t i = 1; i < blocks; ++i) text += fmt::format("    B{} = T.alloc_buffer((64, 64))\n", i);
  for (int64_t i = 0; i < blocks; ++i) {
    text += fmt::format(
        "    for i, j in T.grid(64, 64):\n        with T.block(\"stage{0}\"):\n"
        "            vi, vj = T.axis.remap(\"SS\", [i, j])\n            B{1}[vi, vj] = B{0}[vi, vj] + T.float32(1)\n",
        i, i + 1);
  }
  return text;
}

std::string ChainTrace(int64_t blocks) {
  std::string text;
  for (int64_t i = 0; i < blocks; ++i) {
    text += fmt::format(
        "b = sch.get_block(\"stage{0}\")\ni, j = sch.get_loops(b)\nj0, j1 = sch.split(j, [8, 8])\n"
        "sch.reorder(j0, i, j1)\nsch.vectorize(j1)\nsch.parallel(j0)\n",
        i);
    if (i % 4 == 3) text += fmt::format("p = sch.get_block(\"stage{0}\")\nsch.compute_at(p, i)\n", i - 1);
  }
  return text;
}

PrimFunc Parse(const std::string& text) {
  StatusOr<PrimFunc> func = ParsePrimFunc(text, "workload.py");
  CHECK(func.ok()) << func.status().ToString();
  return *std::move(func);
}

ScheduleTrace Trace(const std::string& text) {
  StatusOr<ScheduleTrace> trace = ScheduleTrace::FromPython(text);
  CHECK(trace.ok()) << trace.status().ToString();
  return *std::move(trace);
}

void Replay(benchmark::State& state, const PrimFunc& func, const ScheduleTrace& trace) {
  uint64_t seed = 0;
  for (auto _ : state) {
    StatusOr<Schedule> schedule = Schedule::Create(func, ++seed);
    const Status status = trace.Replay(*schedule);
    CHECK(status.ok()) << status.ToString();
    benchmark::DoNotOptimize(schedule);
  }
  state.counters["instructions"] = static_cast<double>(trace.size());
  state.counters["replays_per_s"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

void BM_ReplayMatmulTraceWithNewDecisions(benchmark::State& state) {
  Replay(state, Parse(kMatmulRelu), Trace(kMatmulTrace));
}
BENCHMARK(BM_ReplayMatmulTraceWithNewDecisions)->Unit(benchmark::kMicrosecond);

void BM_ReplayConvBiasRelu(benchmark::State& state) {
  const int layers = static_cast<int>(state.range(0)) / 30;
  std::string trace;
  for (int i = 0; i < layers; ++i) trace += ConvTrace(i);
  Replay(state, Parse(ConvFunc(layers)), Trace(trace));
}
BENCHMARK(BM_ReplayConvBiasRelu)->Arg(30)->Arg(60)->Arg(120)->Unit(benchmark::kMicrosecond);

void BM_ReplayChain(benchmark::State& state) {
  const int64_t blocks = state.range(0);
  Replay(state, Parse(ChainFunc(blocks)), Trace(ChainTrace(blocks)));
  state.counters["us_per_block"] = benchmark::Counter(1e-6 * double(state.iterations()) * double(blocks),
                                                      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(BM_ReplayChain)->Arg(10)->Arg(50)->Arg(100)->Arg(200)->Unit(benchmark::kMicrosecond);

void BM_ReplaySketch(benchmark::State& state) {
  StatusOr<Target> target = Target::Parse("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4 -num-cores=1");
  CHECK(target.ok()) << target.status().message();
  TuneTask task{{}, Parse(state.range(0) == 0 ? kMatmulRelu : kConvBiasAddRelu), *target, {}, 0};
  StatusOr<std::vector<Sketch>> sketches = MakePostOrderApply()->Generate(task.func, task.target);
  CHECK(sketches.ok()) << sketches.status().ToString();
  Replay(state, task.func, sketches->front().trace);
}
BENCHMARK(BM_ReplaySketch)->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);

void BM_CopySchedule(benchmark::State& state) {
  std::string trace;
  for (int i = 0; i < state.range(0) / 30; ++i) trace += ConvTrace(i);
  StatusOr<Schedule> schedule = Schedule::Create(Parse(ConvFunc(static_cast<int>(state.range(0)) / 30)));
  const Status status = Trace(trace).Replay(*schedule);
  CHECK(status.ok()) << status.ToString();
  for (auto _ : state) {
    Schedule copy = *schedule;
    benchmark::DoNotOptimize(copy);
  }
}
BENCHMARK(BM_CopySchedule)->Arg(30)->Arg(60)->Unit(benchmark::kMicrosecond);

std::string Text300() {
  std::string text = Print(Parse(ChainFunc(50)));
  CHECK(std::count(text.begin(), text.end(), '\n') >= 300);
  return text;
}

void BM_StructuralHashOf300Lines(benchmark::State& state) {
  const PrimFunc func = Parse(Text300());
  for (auto _ : state) benchmark::DoNotOptimize(StructuralHash(func));
}
BENCHMARK(BM_StructuralHashOf300Lines)->Unit(benchmark::kMicrosecond);

void BM_Parse300Lines(benchmark::State& state) {
  const std::string text = Text300();
  for (auto _ : state) {
    const StatusOr<PrimFunc> func = ParsePrimFunc(text, "chain.py");
    CHECK(func.ok());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text.size()));
}
BENCHMARK(BM_Parse300Lines)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace lathe

BENCHMARK_MAIN();
