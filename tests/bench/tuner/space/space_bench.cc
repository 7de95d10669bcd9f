// What the space holds: for convolutions of ResNet-18, the untuned schedule against the best of N random candidates,
// built and timed in this process on one core, beside the machine's measured peak.
//   space_bench [candidates=24] [name part]
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <numeric>

#include "compiler/codegen/llvm/compile_module.h"
#include "compiler/lower.h"
#include "compiler/script/parser.h"
#include "compiler/script/printer.h"
#include "runner/input_generator.h"
#include "runner/peak.h"
#include "runtime/artifact.h"
#include "runtime/kernel_call.h"
#include "support/status_macros.h"
#include "tuner/search/search_strategy.h"
#include "tuner/space/default_schedule.h"

namespace lathe {
namespace {

struct Conv {
  const char* name;
  int c, h, oc, k, s, p;
};
constexpr Conv kConvs[] = {
    {"stem 7x7/2 3->64@224", 3, 224, 64, 7, 2, 3}, {"3x3 64->64@56", 64, 56, 64, 3, 1, 1},
    {"3x3/2 64->128@56", 64, 56, 128, 3, 2, 1},    {"1x1/2 64->128@56", 64, 56, 128, 1, 2, 0},
    {"3x3 128->128@28", 128, 28, 128, 3, 1, 1},    {"3x3 256->256@14", 256, 14, 256, 3, 1, 1},
    {"3x3 512->512@7", 512, 7, 512, 3, 1, 1},
};

// As a legalised and fused network has it: padding, convolution with weights in panels of 16 output channels, bias,
// relu.
std::string WorkloadText(const Conv& v) {
  const int o = (v.h + 2 * v.p - v.k) / v.s + 1, ph = v.h + 2 * v.p;
  const std::string pad =
      v.p == 0 ? ""
               : fmt::format(R"(
    pad = T.alloc_buffer((1, {c}, {ph}, {ph}))
    for i0, i1, i2, i3 in T.grid(1, {c}, {ph}, {ph}):
        with T.block("pad_temp"):
            v0, v1, v2, v3 = T.axis.remap("SSSS", [i0, i1, i2, i3])
            pad[v0, v1, v2, v3] = T.if_then_else({p} <= v2 and v2 < {end} and {p} <= v3 and v3 < {end}, X[v0, v1, v2 - {p}, v3 - {p}], T.float32(0)))",
                             fmt::arg("c", v.c), fmt::arg("ph", ph), fmt::arg("p", v.p), fmt::arg("end", v.h + v.p));
  return fmt::format(R"(
@T.prim_func
def main(X: T.Buffer((1, {c}, {h}, {h}), "float32"), W: T.Buffer(({ob}, {c}, {k}, {k}, 16), "float32"), bias: T.Buffer(({oc}, 1, 1), "float32"), Y: T.Buffer((1, {oc}, {o}, {o}), "float32")):
    conv = T.alloc_buffer((1, {oc}, {o}, {o}))
    T_add = T.alloc_buffer((1, {oc}, {o}, {o})){pad}
    for n, oc, oh, ow, ic, kh, kw in T.grid(1, {oc}, {o}, {o}, {c}, {k}, {k}):
        with T.block("conv2d_nchw"):
            vn, voc, voh, vow, vic, vkh, vkw = T.axis.remap("SSSSRRR", [n, oc, oh, ow, ic, kh, kw])
            with T.init():
                conv[vn, voc, voh, vow] = T.float32(0)
            conv[vn, voc, voh, vow] = conv[vn, voc, voh, vow] + {src}[vn, vic, voh * {s} + vkh, vow * {s} + vkw] * W[voc // 16, vic, vkh, vkw, voc % 16]
    for i0, i1, i2, i3 in T.grid(1, {oc}, {o}, {o}):
        with T.block("T_add"):
            v0, v1, v2, v3 = T.axis.remap("SSSS", [i0, i1, i2, i3])
            T_add[v0, v1, v2, v3] = conv[v0, v1, v2, v3] + bias[v1, 0, 0]
    for i0, i1, i2, i3 in T.grid(1, {oc}, {o}, {o}):
        with T.block("T_relu"):
            v0, v1, v2, v3 = T.axis.remap("SSSS", [i0, i1, i2, i3])
            Y[v0, v1, v2, v3] = T.max(T_add[v0, v1, v2, v3], T.float32(0))
)",
                     fmt::arg("c", v.c), fmt::arg("h", v.h), fmt::arg("ob", v.oc / 16), fmt::arg("k", v.k),
                     fmt::arg("oc", v.oc), fmt::arg("o", o), fmt::arg("pad", pad),
                     fmt::arg("src", v.p == 0 ? "X" : "pad"), fmt::arg("s", v.s));
}

double Seconds(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

struct Timing {
  double ms = 0, build_ms = 0;
  std::string error;
};

Timing BuildAndTime(const PrimFunc& scheduled, const Target& target, ThreadPool& pool, std::vector<NDArray>& arrays) {
  Timing timing;
  const auto begin = std::chrono::steady_clock::now();
  StatusOr<PrimFunc> lowered = Lower(scheduled, {.verify = false});
  if (!lowered.ok()) return {0, 0, "lower: " + lowered.status().message()};
  StatusOr<CompiledModule> module = CompileModule(std::span(&*lowered, 1), {}, target);
  if (!module.ok()) return {0, 0, "codegen: " + module.status().message()};
  const std::string path = "/tmp/lathe_space_bench.so";
  std::remove(path.c_str());
  std::ofstream(path, std::ios::binary) << module->bytes;
  timing.build_ms = Seconds(begin) * 1e3;
  RuntimeResult<Artifact> artifact = Artifact::Open(path);
  if (!artifact.ok()) return {0, 0, "load: " + artifact.error().message};
  RuntimeResult<Artifact::Kernel> kernel = artifact->Find("");
  std::vector<TensorView> views;
  for (NDArray& array : arrays) views.push_back(array.view());
  RuntimeResult<KernelArguments> arguments = BindArguments(*kernel->meta, views);
  if (!arguments.ok()) return {0, 0, "bind: " + arguments.error().message};
  KernelContext context(pool, uint64_t{1} << 30);
  std::vector<double> samples;
  for (int i = 0; i < 7; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const RuntimeError error = CallKernel(*kernel, *arguments, context);
    if (!error.ok()) return {0, 0, "run: " + error.message};
    samples.push_back(Seconds(start) * 1e3);
  }
  std::sort(samples.begin(), samples.end());
  timing.ms = samples[samples.size() / 2];
  return timing;
}

int Main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 24;
  StatusOr<Target> target = Target::Parse("auto -num-cores=1");
  if (!target.ok()) target = Target::Parse("auto");
  CHECK(target.ok()) << target.status().message();
  auto pool = ThreadPool::Create(1);
  const double peak = MeasureMachinePeak(100'000'000).gflops_f32;
  fmt::print("target {}\npeak of one core {:.1f} GFLOP/s\n", target->ToString(), peak);
  fmt::print("{:22} {:>10} {:>10} {:>8} {:>8} {:>7} {:>9} {:>9}\n", "task", "untuned ms", "best ms", "speed-up",
             "GFLOP/s", "% peak", "build ms", "failed");
  for (const Conv& conv : kConvs) {
    if (argc > 2 && std::string(conv.name).find(argv[2]) == std::string::npos) continue;
    StatusOr<PrimFunc> func = ParsePrimFunc(WorkloadText(conv), conv.name);
    CHECK(func.ok()) << func.status().ToString();
    TuneTask task{{}, *func, *target, {}, 0};
    StatusOr<std::vector<Sketch>> sketches = MakePostOrderApply()->Generate(task.func, task.target);
    CHECK(sketches.ok()) << sketches.status().ToString();
    task.sketches = *std::move(sketches);
    std::vector<NDArray> arrays;
    for (const Param& param : ParamsOf(*func)) {
      const Buffer& buffer = std::get<Buffer>(param);
      arrays.push_back(*NDArray::Create(DType{DTypeCode::kFloat, 32, 1}, *ConstantShape(buffer->shape)));
      for (float& x : arrays.back().as<float>())
        x = 0.25f + 0.001f * static_cast<float>((&x - arrays.back().as<float>().data()) % 255);
    }
    StatusOr<Schedule> untuned = DefaultSchedule(*func, *target);
    CHECK(untuned.ok()) << untuned.status().ToString();
    const Timing base = BuildAndTime(untuned->func(), *target, **pool, arrays);
    if (!base.error.empty()) fmt::print("untuned: {}\n", base.error);
    Timing best{1e30};
    std::map<std::string, int> failures;
    double build_ms = 0;
    int failed = 0, timed = 0;
    std::optional<MeasureCandidate> winner;
    for (MeasureCandidate& candidate : MakeRandomSearch(task, 1)->Propose(count)) {
      const Timing timing = BuildAndTime(candidate.func, *target, **pool, arrays);
      if (!timing.error.empty()) {
        ++failed;
        ++failures[timing.error.substr(0, 120)];
        if (std::getenv("SHOW_FAILED"))
          fmt::print("{}\n{}\n{}\n", timing.error, Print(candidate.func), Print(*Lower(candidate.func)));
        continue;
      }
      build_ms += timing.build_ms;
      ++timed;
      if (timing.ms < best.ms) {
        best = timing;
        winner = candidate;
      }
    }
    const int o = (conv.h + 2 * conv.p - conv.k) / conv.s + 1;
    const double gflop = 2e-9 * conv.c * conv.oc * conv.k * conv.k * o * o;
    fmt::print("{:22} {:10.3f} {:10.3f} {:7.2f}x {:8.1f} {:6.1f}% {:9.1f} {:4}/{}\n", conv.name, base.ms, best.ms,
               base.ms / best.ms, gflop / best.ms * 1e3, gflop / best.ms * 1e5 / peak, timed ? build_ms / timed : 0,
               failed, failed + timed);
    for (const auto& [what, n] : failures) fmt::print("    {} x {}\n", n, what);
    if (std::getenv("SHOW") && winner) fmt::print("{}\n", Print(winner->func));
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace lathe

int main(int argc, char** argv) { return lathe::Main(argc, argv); }
