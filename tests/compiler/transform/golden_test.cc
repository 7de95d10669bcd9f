// tests/golden/transform/<pass>_<what>.py: "# pass: name", then before, then "# expected:" and the printed result. Run
// with LATHE_UPDATE_GOLDEN=1 to rewrite what is expected.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "compiler/ir/structural.h"
#include "compiler/lower.h"
#include "compiler/script/parser.h"
#include "compiler/script/printer.h"

namespace lathe {
namespace {

constexpr std::string_view kPassMark = "# pass: ", kExpectedMark = "# expected:\n";

std::vector<std::filesystem::path> GoldenFiles() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(LATHE_SOURCE_DIR) + "/tests/golden/transform")) {
    if (entry.path().extension() == ".py") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class TransformGoldenTest : public testing::TestWithParam<std::filesystem::path> {};
TEST_P(TransformGoldenTest, PrintsWhatIsExpected) {
  std::stringstream content;
  content << std::ifstream(GetParam()).rdbuf();
  const std::string text = content.str();
  const size_t pass_at = text.find(kPassMark), expected_at = text.find(kExpectedMark);
  ASSERT_TRUE(pass_at != std::string::npos && expected_at != std::string::npos)
      << "lacks \"# pass: \" or \"# expected:\"";
  const size_t name_at = pass_at + kPassMark.size();
  const std::string pass = text.substr(name_at, text.find('\n', name_at) - name_at);
  const StatusOr<PrimFunc> before = ParsePrimFunc(text.substr(0, expected_at), GetParam().filename().string());
  ASSERT_TRUE(before.ok()) << before.status().ToString();
  const StatusOr<PrimFunc> after = pass == "lower" ? Lower(*before) : RunPass(pass, *before);
  ASSERT_TRUE(after.ok()) << after.status().ToString();
  const std::string head = text.substr(0, expected_at + kExpectedMark.size()), actual = Print(*after);
  const StatusOr<PrimFunc> again = ParsePrimFunc(actual, "printed.py");
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_TRUE(StructuralEqual(*again, *after));
  if (std::getenv("LATHE_UPDATE_GOLDEN") != nullptr)
    std::ofstream(GetParam()) << head << actual;
  else
    EXPECT_EQ(text.substr(head.size()), actual);
}
INSTANTIATE_TEST_SUITE_P(Files, TransformGoldenTest, testing::ValuesIn(GoldenFiles()),
                         [](const auto& info) { return info.param.stem().string(); });

}  // namespace
}  // namespace lathe
