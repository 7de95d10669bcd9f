#include "tuner/space/space_rule.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>
#include <set>
#include <sstream>

#include "compiler/script/parser.h"
#include "tests/tuner/space/workloads.h"
#include "tuner/space/auto_inline.h"
#include "tuner/space/space_generator.h"
#include "tuner/space/target_space.h"

namespace lathe {
namespace {

const char kVnni[] = "llvm -mtriple=x86_64-linux-gnu -mcpu=cascadelake -num-cores=1";
const char kAmx[] = "llvm -mtriple=x86_64-linux-gnu -mcpu=sapphirerapids -num-cores=1";
const char kCortexA72[] = "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72 -num-cores=4";

std::vector<std::string> TracesBy(std::span<const SpaceRule> rules, const char* workload, const char* target) {
  const StatusOr<PrimFunc> func = ParsePrimFunc(workload, "workload.py");
  CHECK(func.ok()) << func.status().ToString();
  const StatusOr<std::vector<Sketch>> sketches = MakePostOrderApply(rules)->Generate(*func, *Target::Parse(target));
  CHECK(sketches.ok()) << sketches.status().ToString();
  std::vector<std::string> traces;
  for (const Sketch& sketch : *sketches) traces.push_back(sketch.trace.ToJson());
  return traces;
}

struct RuleCase {
  const char* name;
  const char* workload;
  const char* target;
  const char* sketches;  // How many of each rule that has some.
};
class SpaceRuleTest : public testing::TestWithParam<RuleCase> {};

std::string CountByRule(const RuleCase& given, std::vector<std::string>& in_order) {
  Schedule inlined = *Schedule::Create(*ParsePrimFunc(given.workload, "workload.py"));
  CHECK(AutoInline(inlined).ok());
  std::string counts;
  for (const SpaceRule& rule : CpuSpaceRules()) {
    const size_t count = rule.apply(inlined, *Target::Parse(given.target)).size();
    if (count == 0) continue;
    for (std::string& trace : TracesBy({&rule, 1}, given.workload, given.target)) in_order.push_back(std::move(trace));
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", rule.name, count);
  }
  if (in_order.empty()) in_order = TracesBy({}, given.workload, given.target);
  return counts;
}

TEST_P(SpaceRuleTest, GivesItsSketchesInTheOrderOfTheTable) {
  std::vector<std::string> in_order;
  EXPECT_EQ(CountByRule(GetParam(), in_order), GetParam().sketches);
  EXPECT_EQ(TracesBy(CpuSpaceRules(), GetParam().workload, GetParam().target), in_order);
}

constexpr RuleCase kCases[] = {
    {"MatmulRelu", kMatmulRelu, kVnni, "vector_tiles 1"},
    {"ConvBiasAddRelu", kConvBiasAddRelu, kVnni, "vector_tiles 5"},
    {"MaxPool", kMaxPool, kVnni, ""},
    {"MaxPoolInBlocks", kMaxPoolInBlocks, kVnni, "window_tiles 1"},
    {"Depthwise14", kDepthwise14, kVnni, "vector_tiles 1"},
    {"ProductWithTransposed", kProductWithTransposed, kVnni, "packed_tiles 1, rows 1"},
    {"ProductInPanels", kProductInPanels, kVnni, "dot_tiles 1, vector_tiles 1"},
    {"ProductInPanelsWithTiles", kProductInPanels, kAmx, "dot_tiles 1, amx_tiles 1, vector_tiles 1"},
    {"ProductInPanelsWithoutInstruction", kProductInPanels, kCortexA72, "vector_tiles 1"},
    {"Elementwise", kElementwise, kVnni, ""},
    {"RowSums", kRowSums, kVnni, "rows 1"},
    {"MatrixTimesVector", kMatrixTimesVector, kVnni, "rows 1"},
    {"NormalizedRows", kNormalizedRows, kVnni, "rows 2"},
    {"CentredRows", kCentredRows, kVnni, "rows 2"},
    {"ProductsOfReducedRows", kProductsOfReducedRows, kVnni, "chain_tiles 2"},
    {"ColumnSums", kColumnSums, kVnni, "reduction_tiles 1"},
    {"VectorTimesMatrix", kVectorTimesMatrix, kVnni, "vector_tiles 1, reduction_tiles 1"},
    {"TransposedPlusBias", kTransposedPlusBias, kVnni, "transposed_tiles 1"},
};
INSTANTIATE_TEST_SUITE_P(Workloads, SpaceRuleTest, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

TEST(TargetSpaces, EachKindOfTargetHasOne) {
  for (const char* text : {"auto", "llvm -mcpu=znver4", "raspberry-pi/4b-aarch64"}) {
    const StatusOr<Target> target = Target::Parse(text);
    ASSERT_TRUE(target.ok()) << target.status().message();
    EXPECT_EQ(SpaceOf(*target).kind, "llvm");
  }
}

TEST(SpaceRules, HaveAWorkloadEach) {
  std::string all;
  for (const RuleCase& each : kCases) all += each.sketches;
  for (const SpaceRule& rule : CpuSpaceRules()) EXPECT_THAT(all, testing::HasSubstr(std::string(rule.name)));
}

TEST(SpaceRules, AreTheTableOfTheHowTo) {
  std::ifstream file(LATHE_SOURCE_DIR "/docs/how-to-add-a-space-rule.md");
  std::stringstream page;
  page << file.rdbuf();
  std::string table;
  for (const SpaceRule& rule : CpuSpaceRules()) table += fmt::format("| `{}` | {} |\n", rule.name, rule.purpose);
  EXPECT_THAT(page.str(), testing::HasSubstr("|---|---|\n" + table));
}

}  // namespace
}  // namespace lathe
