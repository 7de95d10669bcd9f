// docs/formats/trace.md says what the code does: its examples are read, written and, where it says so, refused.
#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <regex>

#include "compiler/schedule/trace.h"

namespace lathe {
namespace {

using testing::HasSubstr;

std::string Document() {
  std::ifstream file(LATHE_SOURCE_DIR "/docs/formats/trace.md");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// What stands in ```language blocks, in order.
std::vector<std::string> Blocks(const std::string& language) {
  const std::string document = Document(), begin = "```" + language + "\n";
  std::vector<std::string> blocks;
  for (size_t at = document.find(begin); at != std::string::npos; at = document.find(begin, at)) {
    at += begin.size();
    blocks.push_back(document.substr(at, document.find("```", at) - at));
  }
  return blocks;
}

// The rows of the table below "### heading", as cells.
std::vector<std::vector<std::string>> Rows(const std::string& heading) {
  const std::string document = Document();
  const size_t begin = document.find("### " + heading + "\n");
  EXPECT_NE(begin, std::string::npos) << heading;
  std::istringstream section(document.substr(begin, document.find("\n#", begin + 1) - begin));
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(section, line);) {
    if (!line.starts_with("| ")) continue;
    static const std::regex kBar(R"(\s*\|\s*)");
    rows.emplace_back(std::sregex_token_iterator(line.begin() + 2, line.end(), kBar, -1), std::sregex_token_iterator());
  }
  EXPECT_GT(rows.size(), 2u) << heading;
  rows.erase(rows.begin());  // The headings of the columns.
  return rows;
}

// What stands in `quotes`.
std::vector<std::string> Examples(const std::string& cell) {
  static const std::regex kQuoted("`([^`]+)`");
  return {std::sregex_token_iterator(cell.begin(), cell.end(), kQuoted, 1), std::sregex_token_iterator()};
}

std::string TraceWith(const std::string& input, const std::string& attribute) {
  return R"([[["Annotate",["b0",)" + input + R"(],[)" + attribute + "],[]]],[]]";
}

TEST(TraceDocument, ItsTraceIsReadAndWritten) {
  const std::vector<std::string> traces = Blocks("json");
  ASSERT_FALSE(traces.empty());
  for (const std::string& text : traces) {
    const std::string line = std::regex_replace(text, std::regex("\n *"), "");
    const StatusOr<ScheduleTrace> trace = ScheduleTrace::FromJson(line);
    ASSERT_TRUE(trace.ok()) << trace.status().message();
    EXPECT_EQ(trace->ToJson(), line);
  }
}

TEST(TraceDocument, ItsPythonIsTheSameTrace) {
  const std::vector<std::string> python = Blocks("python");
  ASSERT_EQ(python.size(), 2u);
  const StatusOr<ScheduleTrace> calls = ScheduleTrace::FromPython(python[0]);
  ASSERT_TRUE(calls.ok()) << calls.status().message();
  EXPECT_EQ(calls->ToPython(), python[0]);
  EXPECT_EQ(calls->ToJson(), std::regex_replace(Blocks("json").at(0), std::regex("\n *"), ""));
  const auto functions = TracesFromPython(python[1]);
  ASSERT_TRUE(functions.ok()) << functions.status().message();
  EXPECT_EQ(functions->at("fused_conv2d_add_relu").size(), 3u);
}

TEST(TraceDocument, ItsInputsAndAttributesAreReadAndWritten) {
  for (const bool is_input : {true, false}) {
    for (const std::vector<std::string>& row : Rows(is_input ? "Inputs" : "Attributes")) {
      ASSERT_EQ(row.size(), 2u) << row[0];
      EXPECT_FALSE(Examples(row[1]).empty()) << row[0];
      for (const std::string& example : Examples(row[1])) {
        const std::string text = is_input ? TraceWith(example, R"("key")") : TraceWith("1", example);
        const StatusOr<ScheduleTrace> trace = ScheduleTrace::FromJson(text);
        ASSERT_TRUE(trace.ok()) << row[0] << ": " << trace.status().message();
        EXPECT_EQ(trace->ToJson(), text) << row[0];
      }
    }
  }
}

TEST(TraceDocument, WhatItSaysIsNotReadIsRefused) {
  for (const std::vector<std::string>& row : Rows("Not read")) {
    ASSERT_EQ(row.size(), 3u) << row[0];
    ASSERT_EQ(Examples(row[2]).size(), 1u) << row[0];
    const std::string example = Examples(row[2])[0];
    const std::string text = row[1] == "input" ? TraceWith(example, R"("key")") : TraceWith("1", example);
    const Status status = ScheduleTrace::FromJson(text).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << row[0];
    EXPECT_THAT(status.message(), HasSubstr("instruction 0 (Annotate): read trace: ")) << row[0];
  }
}

}  // namespace
}  // namespace lathe
