// Random primitives on random programs: the oracle says whether a schedule still computes what the program did.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstdlib>

#include "compiler/interpreter/interpreter.h"
#include "compiler/lower.h"
#include "compiler/schedule/annotate.h"
#include "compiler/schedule/cache.h"
#include "compiler/schedule/compute_at.h"
#include "compiler/schedule/compute_inline.h"
#include "compiler/schedule/decompose_reduction.h"
#include "compiler/schedule/for_kind.h"
#include "compiler/schedule/fuse.h"
#include "compiler/schedule/get_block.h"
#include "compiler/schedule/reorder.h"
#include "compiler/schedule/sampling.h"
#include "compiler/schedule/split.h"
#include "compiler/script/printer.h"
#include "tests/compiler/random_ir.h"
#include "tests/property_runs.h"

namespace lathe {
namespace {

// One random primitive with random arguments on `schedule`; most are illegal, which is half of the test.
class RandomPrimitive {
 public:
  explicit RandomPrimitive(Random& random) : random_(random) {}

  Status Apply(Schedule& schedule) {
    const std::vector<int> rows = schedule.ChildBlocksOf(schedule.RootRow());
    const BlockRV block = *GetBlock(schedule, schedule.BlockOf(Pick(rows)).name);
    const BlockRV other = *GetBlock(schedule, schedule.BlockOf(Pick(rows)).name);
    const std::vector<LoopRV> loops = *GetLoops(schedule, block), other_loops = *GetLoops(schedule, other);
    if (loops.empty() || other_loops.empty()) return OkStatus();
    switch (random_.Below(14)) {
      case 0: {
        const std::vector<std::optional<ExprRV>> factors{std::nullopt,
                                                         ExprRV(static_cast<int64_t>(1 + random_.Below(6)))};
        return Split(schedule, Pick(loops), factors, random_.Below(2) == 0).status();
      }
      case 1: {
        const LoopRV loop = Pick(loops);
        const StatusOr<std::vector<VarRV>> tile = SamplePerfectTile(schedule, loop, 2, 4);
        if (!tile.ok()) return tile.status();
        const std::vector<std::optional<ExprRV>> factors{ExprRV((*tile)[0]), ExprRV((*tile)[1])};
        return Split(schedule, loop, factors).status();
      }
      case 2: {
        const size_t first = random_.Below(loops.size()), count = 1 + random_.Below(loops.size() - first);
        return Fuse(schedule, std::span(loops).subspan(first, count), random_.Below(2) == 0).status();
      }
      case 3: {
        std::vector<LoopRV> order = loops;
        for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_.Below(i)]);
        order.resize(1 + random_.Below(order.size()));
        return Reorder(schedule, order);
      }
      case 4:
        return Parallel(schedule, Pick(loops));
      case 5:
        return Vectorize(schedule, Pick(loops));
      case 6:
        return Unroll(schedule, Pick(loops));
      case 7:
        return CacheRead(schedule, block, static_cast<int>(random_.Below(3)), "local").status();
      case 8:
        return CacheWrite(schedule, block, 0, "local").status();
      case 9:
        return ComputeAt(schedule, block, Pick(other_loops), random_.Below(2) == 0);
      case 10:
        return ReverseComputeAt(schedule, block, Pick(other_loops), random_.Below(2) == 0);
      case 11:
        return ComputeInline(schedule, block);
      case 12:
        return ReverseComputeInline(schedule, block);
      default:
        return DecomposeReduction(schedule, block, Pick(loops)).status();
    }
  }

 private:
  template <typename T>
  T Pick(const std::vector<T>& items) {
    return items[random_.Below(items.size())];
  }

  Random& random_;
};

std::vector<Tensor> RandomArguments(const PrimFunc& func, Random random) {
  std::vector<Tensor> tensors;
  for (const Param& param : func.params) {
    const Buffer& buffer = std::get<Buffer>(param);
    const std::vector<int64_t> shape = *ConstantShape(buffer->shape);
    std::vector<double> values(Tensor::Zeros(buffer->dtype, shape).NumElements());
    for (double& value : values) value = static_cast<double>(random.Below(9)) - 4;
    tensors.push_back(Tensor::FromDoubles(buffer->dtype, shape, values));
  }
  return tensors;
}

std::vector<std::vector<double>> Outputs(const PrimFunc& func, const Random& random, bool check_races,
                                         const char* stage) {
  std::vector<Tensor> tensors = RandomArguments(func, random);
  const Status status = Interpret(func, tensors, {.float_mode = FloatMode::kFloat64, .check_races = check_races});
  EXPECT_TRUE(status.ok()) << stage << ": " << status.ToString();
  std::vector<std::vector<double>> outputs;
  for (const Tensor& tensor : tensors) outputs.push_back(tensor.ToDoubles());
  return outputs;
}

void ExpectSame(const std::vector<std::vector<double>>& actual, const std::vector<std::vector<double>>& expected,
                const char* stage) {
  for (size_t i = 0; i < expected.size(); ++i) {
    for (size_t k = 0; k < expected[i].size(); ++k) {
      const double tolerance =
          1e-5 * std::max(1.0, std::abs(expected[i][k]));  // Arguments are float32; sums may be reordered.
      ASSERT_NEAR(actual[i][k], expected[i][k], tolerance) << stage << ", parameter " << i << ", element " << k;
    }
  }
}

void CheckOneProgram(uint64_t seed, std::map<std::string, int>& applied) {
  Random random(seed);
  const PrimFunc before = RandomPrimFunc(seed, RandomIrMode::kSchedulable);
  StatusOr<Schedule> schedule = Schedule::Create(before, seed);
  ASSERT_TRUE(schedule.ok()) << schedule.status().ToString();
  RandomPrimitive primitive(random);
  for (int step = 0; step < 16; ++step) {
    const PrimFunc untouched = schedule->func();
    const size_t length = schedule->trace().size();
    const Status status = primitive.Apply(*schedule);
    ASSERT_EQ(schedule->Inconsistency(), "") << "step " << step << ": " << status.message();
    if (status.ok()) {
      ++applied[std::string(schedule->trace().instruction(schedule->trace().size() - 1).kind->name)];
    } else if (schedule->trace().size() == length) {
      ASSERT_TRUE(schedule->func().body.same_as(untouched.body))
          << "a failed primitive changed the function: " << status.message();
    }
  }
  SCOPED_TRACE(schedule->trace().ToPython() + Print(before) + Print(schedule->func()));
  const Random arguments(seed + 1);
  const auto expected = Outputs(before, arguments, true, "before");
  ExpectSame(Outputs(schedule->func(), arguments, false, "scheduled"), expected, "scheduled");
  const StatusOr<PrimFunc> lowered = Lower(schedule->func());
  ASSERT_TRUE(lowered.ok()) << lowered.status().ToString();
  ExpectSame(Outputs(*lowered, arguments, true, "lowered"), expected, "lowered");

  const StatusOr<ScheduleTrace> trace = ScheduleTrace::FromJson(schedule->trace().ToJson());
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  StatusOr<Schedule> again = Schedule::Create(before, seed + 2);
  const Status replayed = trace->Replay(*again);
  ASSERT_TRUE(replayed.ok()) << replayed.ToString();
  EXPECT_EQ(Print(again->func()), Print(schedule->func()));
  const StatusOr<ScheduleTrace> python = ScheduleTrace::FromPython(schedule->trace().ToPython());
  ASSERT_TRUE(python.ok()) << python.status().ToString();
  StatusOr<Schedule> by_hand = Schedule::Create(before, seed + 3);
  ASSERT_TRUE(python->Replay(*by_hand).ok());
  EXPECT_EQ(Print(by_hand->func()), Print(schedule->func()));
}

TEST(ScheduleProperty, RandomSchedulesComputeWhatTheProgramDid) {
  const char* chosen = std::getenv("LATHE_SEED");
  const uint64_t first = chosen != nullptr ? std::strtoull(chosen, nullptr, 10) : 0;
  const uint64_t count = chosen != nullptr ? 1 : PropertyRuns(600, 3);
  std::map<std::string, int> applied;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE(fmt::format("LATHE_SEED={}", seed));
    CheckOneProgram(seed, applied);
    if (::testing::Test::HasFailure()) break;
  }
  if (chosen != nullptr || !AllRuns(600)) return;
  for (const char* kind :
       {"Split", "Fuse", "Reorder", "Parallel", "Vectorize", "Unroll", "CacheRead", "CacheWrite", "ComputeAt",
        "ReverseComputeAt", "ComputeInline", "ReverseComputeInline", "DecomposeReduction"}) {
    EXPECT_GT(applied[kind], 5) << kind << " was hardly ever legal: the test proves little about it";
  }
}

}  // namespace
}  // namespace lathe
