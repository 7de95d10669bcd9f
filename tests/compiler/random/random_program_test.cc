// The generator itself: its programs run without a fault, and everything that it should draw it draws often.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstdlib>

#include "compiler/interpreter/interpreter.h"
#include "compiler/script/printer.h"
#include "tests/compiler/random/features.h"
#include "tests/compiler/random/program.h"
#include "tests/property_runs.h"

namespace lathe {
namespace {

TEST(RandomProgram, RunsWithoutAFault) {
  const char* chosen = std::getenv("LATHE_SEED");
  const uint64_t first = chosen != nullptr ? std::strtoull(chosen, nullptr, 10) : 0;
  const uint64_t count = chosen != nullptr ? 1 : uint64_t(PropertyRuns(3000));
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const RandomProgram program = MakeRandomProgram(seed);
    for (const int64_t symbol : {int64_t{1}, int64_t(2 + seed % 8)}) {
      std::vector<Tensor> arguments = MakeArguments(program, Random(seed), symbol);
      const Status status = Interpret(program.func, arguments);
      ASSERT_TRUE(status.ok()) << fmt::format("LATHE_SEED={}, n = {}: ", seed, symbol) << status.ToString() << "\n"
                               << Print(program.func);
      if (!program.is_symbolic) break;
    }
    if (chosen != nullptr) std::puts(Print(program.func).c_str());
  }
}

TEST(RandomProgram, DrawsEverythingOften) {
  constexpr int kPrograms = 2000;
  std::map<std::string_view, int> counts;
  for (uint64_t seed = 0; seed < kPrograms; ++seed) {
    for (const std::string_view feature : FeaturesOf(MakeRandomProgram(seed).func)) ++counts[feature];
  }
  for (const std::string_view feature : AllFeatures()) {
    EXPECT_GE(counts[feature], kPrograms * 3 / 100) << feature << " is hardly ever drawn";
    counts.erase(feature);
  }
  EXPECT_THAT(counts, testing::IsEmpty()) << "not among AllFeatures()";
}

}  // namespace
}  // namespace lathe
