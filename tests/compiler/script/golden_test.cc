// tests/golden/script/*.py: files as users have them. Each reads, prints and reads back to the same functions; its
// digests are fixed.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "compiler/ir/structural.h"
#include "compiler/script/canonical.h"
#include "compiler/script/parser.h"
#include "compiler/script/printer.h"
#include "support/random.h"
#include "tests/property_runs.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path);
  CHECK(file.good()) << "cannot read " << path.string();
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<fs::path> Goldens() {
  std::vector<fs::path> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(LATHE_SOURCE_DIR "/tests/golden/script")) {
    if (entry.path().extension() == ".py") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// The part before "# expect:", and the part after it, if there is one.
std::pair<std::string, std::string> SplitGolden(const fs::path& path) {
  const std::string text = ReadFile(path), marker = "# expect:\n";
  const size_t at = text.find(marker);
  return at == std::string::npos ? std::pair(text, std::string())
                                 : std::pair(text.substr(0, at), text.substr(at + marker.size()));
}

class GoldenTest : public testing::TestWithParam<fs::path> {};

TEST_P(GoldenTest, ReadsPrintsAndReadsBack) {
  const auto [text, expected] = SplitGolden(GetParam());
  const StatusOr<IRModule> module = ParseModule(text, GetParam().filename().string());
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  ASSERT_FALSE(module->prim_funcs.empty());
  const std::string printed = Print(*module);
  if (!expected.empty()) {
    EXPECT_EQ(printed, expected);
  }
  const StatusOr<IRModule> again = ParseModule(printed, "printed.py");
  ASSERT_TRUE(again.ok()) << again.status().ToString() << "\n" << printed;
  ASSERT_EQ(again->prim_funcs.size(), module->prim_funcs.size());
  for (size_t i = 0; i < module->prim_funcs.size(); ++i) {
    EXPECT_TRUE(StructuralEqual(module->prim_funcs[i], again->prim_funcs[i])) << printed;
  }
  EXPECT_EQ(Print(*again), printed);
}

// A change here is a change of every workload's identity: raise "lathe.workload/N" (docs/formats/workload.md) and keep
// the old reader.
TEST_P(GoldenTest, HasTheDigestOnRecord) {
  const auto [text, expected] = SplitGolden(GetParam());
  const StatusOr<PrimFunc> func = ParsePrimFunc(text, "golden.py");
  ASSERT_TRUE(func.ok()) << func.status().ToString();
  const std::string line = fmt::format("{} {}", GetParam().filename().string(), WorkloadDigest(*func).ToHex());
  EXPECT_THAT(ReadFile(LATHE_SOURCE_DIR "/tests/golden/script/digests.txt"), testing::HasSubstr(line + "\n"));
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenTest, testing::ValuesIn(Goldens()),
                         [](const auto& info) { return info.param.stem().string(); });

TEST(Canonical, HasTheTextOnRecord) {
  const PrimFunc func = *ParsePrimFunc(R"(
@T.prim_func
def add(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    T.func_attr({"b": 1, "a": "x"})
    for i in range(16):
        with T.block("add"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] + T.float32(1.5)
)",
                                       "add.py");
  EXPECT_EQ(
      CanonicalText(func),
      R"((func [b0=(buffer float32 [16:int32] [] 0:int32 "global") b1=(buffer float32 [16:int32] [] 0:int32 "global")] {"a":"x" "b":1} 
(realize [] 1:bool (block [] [] [] [] [] {} none 
 (for 0:int32 16:int32 v0:int32 serial "" {} 
  (realize [v0] 1:bool (block [(iter (range 0:int32 16:int32) v1:int32 spatial)] [] [(region b0 [(range v1 1:int32)])] [(region b1 [(range v1 1:int32)])] [] {} none 
   (store b1 (binary Add (load b0 [v1]):float32 x3ff8000000000000:float32):float32 [v1])))))))
)");
}

TEST(Canonical, WritesAssertionsBeforeWhatTheyCover) {
  const auto text = [](const std::string& body) {
    return CanonicalText(*ParsePrimFunc(
        "@T.prim_func\ndef f(A: T.Buffer((4,), \"int32\"), n: T.int32):\n" + body + "    A[1] = n\n", "f.py"));
  };
  const std::string check = "    assert n > 3, \"small\"\n";
  EXPECT_THAT(text("    A[0] = n\n" + check), testing::HasSubstr(R"((seq [
 (store b0 v0 [0:int32]) 
 (assert (binary GT v0 3:int32):bool "small") 
 (store b0 v0 [1:int32])]))"));
  EXPECT_NE(text("    A[0] = n\n" + check), text(check + "    A[0] = n\n"));
}

TEST(Canonical, IgnoresNamesOnly) {
  const auto digest = [](const char* name, const char* var, const char* block, const char* constant) {
    return WorkloadDigest(
        *ParsePrimFunc(fmt::format("@T.prim_func\ndef {0}({1}: T.Buffer((16,), \"float32\")):\n    for {1}i in "
                                   "range(16):\n        with T.block(\"{2}\"):\n"
                                   "            v = T.axis.spatial(16, {1}i)\n            {1}[v] = T.float32({3})\n",
                                   name, var, block, constant),
                       "f.py"));
  };
  const Digest one = digest("f", "A", "C", "0.1");
  EXPECT_EQ(one, digest("g", "x", "D", "0.1"));
  EXPECT_EQ(one, digest("f", "A", "C", "0.10000000149011612"));  // The same float32.
  EXPECT_NE(one, digest("f", "A", "C", "0.2"));
  EXPECT_NE(digest("f", "A", "C", "0.0"), digest("f", "A", "C", "-0.0"));
}

// Texts that are nearly TVMScript: whatever is in them, reading ends with a function or an error.
TEST(ParserFuzz, SurvivesMutatedTexts) {
  constexpr std::string_view kPieces[] = {"(",
                                          ")",
                                          "[",
                                          "]",
                                          "{",
                                          "}",
                                          ":",
                                          ",",
                                          "=",
                                          "\n",
                                          "    ",
                                          "\"",
                                          "T.",
                                          "T.block",
                                          "T.axis.remap",
                                          "with ",
                                          "for ",
                                          " in ",
                                          "if ",
                                          "-",
                                          "**",
                                          "0",
                                          "1e999",
                                          "99999999999999999999",
                                          "vi",
                                          "T.Buffer",
                                          "T.match_buffer(",
                                          "\\",
                                          "#",
                                          "\0",
                                          "T.int32()",
                                          "as x",
                                          "not ",
                                          " and ",
                                          "T.Ramp(0, 1, 0)",
                                          "T.handle",
                                          "//0"};
  const std::vector<fs::path> paths = Goldens();
  for (int seed = 0; seed < PropertyRuns(3000); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::string text = SplitGolden(paths[random.Below(paths.size())]).first;
    for (uint64_t i = 0, n = 1 + random.Below(4); i < n; ++i) {
      const size_t at = random.Below(text.size()), length = std::min<size_t>(random.Below(20), text.size() - at);
      const std::string_view piece = kPieces[random.Below(std::size(kPieces))];
      text.replace(at, random.Below(2) == 0 ? 0 : length, random.Below(3) == 0 ? std::string_view() : piece);
    }
    const StatusOr<IRModule> module = ParseModule(text, "mutated.py");
    if (!module.ok()) {
      EXPECT_THAT(module.status().message(), testing::StartsWith("mutated.py:"));
      continue;
    }
    const StatusOr<IRModule> again = ParseModule(Print(*module), "printed.py");
    ASSERT_TRUE(again.ok()) << "seed " << seed << ": " << again.status().ToString() << "\n" << text;
    for (size_t i = 0; i < module->prim_funcs.size(); ++i) {
      ASSERT_TRUE(StructuralEqual(module->prim_funcs[i], again->prim_funcs[i])) << "seed " << seed << "\n"
                                                                                << Print(*module) << "\nread back as\n"
                                                                                << Print(*again);
    }
  }
}

}  // namespace
}  // namespace lathe
