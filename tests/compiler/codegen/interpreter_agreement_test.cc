// Random programs: what generated code computes is what the interpreter computes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "compiler/interpreter/interpreter.h"
#include "compiler/ir/visitor.h"
#include "compiler/lower.h"
#include "compiler/script/printer.h"
#include "compiler/transform/legalize_math.h"
#include "support/random.h"
#include "tests/compiler/codegen/loaded_kernels.h"
#include "tests/compiler/random_ir.h"
#include "tests/compiler/transform/test_programs.h"
#include "tests/property_runs.h"

namespace lathe {
namespace {

// Operations that are not correctly rounded where there is no FMA: results differ in their last digits, and anything
// may follow from that. exp, tanh, pow ... are arithmetic, see below.
bool HasApproximateCalls(const Stmt& body) {
  static constexpr std::string_view kExact[] = {
      "abs",       "assume",   "bitwise_and", "bitwise_not",  "bitwise_or", "bitwise_xor", "ceil",      "copysign",
      "floor",     "fmod",     "fmuladd",     "if_then_else", "infinity",   "isnan",       "max_value", "min_value",
      "nearbyint", "popcount", "reinterpret", "scalef",       "shift_left", "shift_right", "sqrt",      "trunc"};
  bool found = false;
  PostOrderVisit(body, std::function<void(const Expr&)>([&](const Expr& e) {
                   const auto* call = e.As<Call>();
                   found = found || (call != nullptr && std::find(std::begin(kExact), std::end(kExact),
                                                                  call->op->name) == std::end(kExact));
                   const auto* binary = e.As<Binary>();
                   found = found || (binary != nullptr && e.dtype().is_float() &&
                                     (binary->op == BinaryOp::kFloorMod || binary->op == BinaryOp::kTruncMod));
                 }));
  return found;
}

std::vector<Tensor> RandomArguments(const PrimFunc& func, Random random) {
  std::vector<Tensor> args;
  for (const Param& param : ParamsOf(func)) {
    const auto* buffer = std::get_if<Buffer>(&param);
    const DataType dtype = buffer != nullptr ? (*buffer)->dtype : std::get<Var>(param).dtype();
    const std::vector<int64_t> shape = buffer != nullptr ? *ConstantShape((*buffer)->shape) : std::vector<int64_t>{};
    int64_t count = 1;
    for (const int64_t extent : shape) count *= extent;
    if (dtype.is_float()) {
      std::vector<double> values;
      for (int64_t i = 0; i < count; ++i) values.push_back(random.Unit() * 4 - 2);
      args.push_back(Tensor::FromDoubles(dtype, shape, values));
    } else {
      std::vector<int64_t> values;
      for (int64_t i = 0; i < count; ++i)
        values.push_back(dtype.is_bool() ? static_cast<int64_t>(random.Below(2))
                                         : static_cast<int64_t>(random.Below(200)) - (dtype.is_signed_int() ? 100 : 0));
      args.push_back(Tensor::FromInts(dtype, shape, values));
    }
  }
  return args;
}

// Runs `kernel` on a copy of `args` in aligned memory and copies back.
int32_t RunKernelOn(LatheKernel kernel, const PrimFunc& func, std::vector<Tensor>& args, TestContext& context) {
  std::vector<AlignedArray<std::byte>> memory;
  std::vector<void*> buffers;
  std::vector<int64_t> scalars;
  for (size_t i = 0; i < args.size(); ++i) {
    if (FindBuffer(func, func.params[i]) != nullptr) {
      memory.emplace_back(args[i].data.size() + 64);
      std::copy(args[i].data.begin(), args[i].data.end(), memory.back().begin());
      buffers.push_back(memory.back().data());
    } else {
      scalars.push_back(0);
      std::memcpy(&scalars.back(), args[i].data.data(), args[i].data.size());
      const DataType dtype = args[i].dtype;
      if (dtype.is_signed_int()) scalars.back() = scalars.back() << (64 - dtype.bits) >> (64 - dtype.bits);
    }
  }
  const int32_t code = kernel(&context.context, buffers.data(), scalars.data());
  size_t position = 0;
  for (size_t i = 0; i < args.size(); ++i) {
    if (FindBuffer(func, func.params[i]) == nullptr) continue;
    std::copy_n(memory[position++].begin(), args[i].data.size(), args[i].data.begin());
  }
  return code;
}

void ExpectSame(const Tensor& actual, const Tensor& expected, double tolerance) {
  const std::vector<double> a = actual.ToDoubles(), b = expected.ToDoubles();
  for (size_t i = 0; i < b.size(); ++i) {
    const bool is_same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) ||
                         (tolerance > 0 && std::abs(a[i] - b[i]) <= tolerance * std::max(1.0, std::abs(b[i])));
    ASSERT_TRUE(is_same) << "element " << i << ": " << a[i] << ", expected " << b[i];
  }
}

struct Family {
  const char* name;
  PrimFunc (*make)(uint64_t seed);
  int num_seeds;
  const char* target;
  double tolerance;      // 0: every bit.
  bool is_wild = false;  // Most programs use what a kernel cannot have, e.g. strided parameters.
};
class InterpreterAgreementTest : public testing::TestWithParam<Family> {};

TEST_P(InterpreterAgreementTest, HoldsForRandomPrograms) {
  Family family = GetParam();
  family.num_seeds = PropertyRuns(family.num_seeds);
  if (DetectHost().triple != "x86_64-linux-gnu") GTEST_SKIP() << "needs an x86-64 machine";
  const Target target = *Target::Parse(family.target);
  for (const char* feature : {"avx512f", "avx2"}) {
    if (target.Has(feature) && !Target::Parse("auto")->Has(feature)) GTEST_SKIP() << "this CPU has no " << feature;
  }
  constexpr int kBatch = 25;  // Compiled into one artifact: linking is what costs.
  int num_compared = 0;
  std::map<std::string, int> skipped;
  for (int first = 0; first < family.num_seeds; first += kBatch) {
    std::vector<PrimFunc> originals, lowered;
    std::vector<uint64_t> seeds;
    for (int seed = first; seed < std::min(first + kBatch, family.num_seeds); ++seed) {
      const PrimFunc written = family.make(static_cast<uint64_t>(seed));
      PrimFunc func = LegalizeMath(written);  // The interpreter's exp is libm's.
      if (HasApproximateCalls(func.body)) {
        ++skipped["approximate functions"];
        continue;
      }
      StatusOr<PrimFunc> low = Lower(written);
      if (!low.ok()) {
        ++skipped["lowering: " + low.status().message()];
        continue;
      }
      low->name = "k" + std::to_string(seed);
      if (const auto text = PrintCode({&*low, 1}, target, CodeText::kLlvmIr); !text.ok()) {  // E.g. int4.
        ++skipped["codegen: " + text.status().message().substr(text.status().message().find(':'))];
        continue;
      }
      originals.push_back(std::move(func));
      lowered.push_back(*std::move(low));
      seeds.push_back(static_cast<uint64_t>(seed));
    }
    const StatusOr<LoadedKernels> kernels = LoadedKernels::Make(lowered, target);
    ASSERT_TRUE(kernels.ok()) << kernels.status().ToString();
    for (size_t k = 0; k < lowered.size(); ++k) {
      SCOPED_TRACE(testing::Message() << family.name << " seed " << seeds[k]);
      std::vector<Tensor> expected = RandomArguments(lowered[k], Random(seeds[k])), actual = expected;
      InterpreterOptions options;
      options.check_uninitialized = false;
      options.check_races = false;  // Allocations of the original do not stand where lowering puts them.
      const Status interpreted = Interpret(originals[k], expected, options);
      if (!interpreted.ok()) {  // Undefined in a kernel.
        ++skipped["interpreter: " + interpreted.message()];
        continue;
      }
      TestContext context;
      ASSERT_EQ(RunKernelOn(kernels->Find(k, lowered[k].name), lowered[k], actual, context), 0) << context.failure;
      EXPECT_EQ(context.live_workspaces, 0);
      for (size_t i = 0; i < actual.size(); ++i)
        ExpectSame(actual[i], expected[i], expected[i].dtype.is_float() ? family.tolerance : 0);
      if (HasFailure()) FAIL() << Print(lowered[k]);
      ++num_compared;
    }
  }
  EXPECT_GT(num_compared, family.num_seeds / (family.is_wild ? 8 : 2)) << testing::PrintToString(skipped);
}

PrimFunc Anything(uint64_t seed) { return RandomPrimFunc(seed, RandomIrMode::kAnything); }
template <PrimFunc (*make)(Random&)>
PrimFunc Seeded(uint64_t seed) {
  Random random(seed);
  return make(random);
}
constexpr char kExact[] =
    "llvm -mcpu=x86-64-v3 -mattr=-fma -mtriple=x86_64-linux-gnu -num-cores=1";  // Without FMA nothing is contracted.
constexpr char kPlain[] = "llvm -mcpu=x86-64 -mtriple=x86_64-linux-gnu -num-cores=1";
INSTANTIATE_TEST_SUITE_P(Programs, InterpreterAgreementTest,
                         testing::Values(Family{"AnythingExactly", Anything, 800, kExact, 0, true},
                                         Family{"AnythingPlain", Anything, 200, kPlain, 0, true},
                                         Family{"MatmulExactly", Seeded<TiledMatmul>, 75, kExact, 0},
                                         Family{"MatmulHere", Seeded<TiledMatmul>, 75, "auto", 1e-5},
                                         // A host with FMA for float16 rounds once where the interpreter rounds twice.
                                         Family{"StencilHere", Seeded<TiledStencil>, 75, "auto", 1e-2},
                                         Family{"StencilPlain", Seeded<TiledStencil>, 75, kPlain, 0},
                                         Family{"PrefixSum", Seeded<PrefixSum>, 25, "auto", 0}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lathe
