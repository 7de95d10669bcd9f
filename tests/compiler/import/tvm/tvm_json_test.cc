#include "compiler/import/tvm/tvm_json.h"

#include <gmock/gmock.h>

namespace lathe {
namespace {

struct TextCase {
  const char* name;
  const char* read;
  const char* theirs;  // What TVM writes for the value.
  const char* plain;   // JSON proper.
};
class TvmJsonTest : public testing::TestWithParam<TextCase> {};

TEST_P(TvmJsonTest, IsReadAndWritten) {
  const StatusOr<TvmJson> json = ParseTvmJson(GetParam().read);
  ASSERT_TRUE(json.ok()) << json.status().ToString();
  EXPECT_EQ(ToTvmText(*json), GetParam().theirs);
  EXPECT_EQ(ToPlainText(*json), GetParam().plain);
}

// TVM 0.27 wrote the texts of the second column.
INSTANTIATE_TEST_SUITE_P(
    Values, TvmJsonTest,
    testing::Values(
        TextCase{"Null", " null ", "null", "null"},
        TextCase{"Booleans", "[true,false]", "[true,false]", "[true,false]"}, TextCase{"WholeFloat", "1.0", "1", "1"},
        TextCase{"MinusZero", "-0", "-0", "-0.0"},
        TextCase{"NotFinite", "[Infinity,-Infinity,NaN]", "[Infinity,-Infinity,NaN]", "[Infinity,-Infinity,NaN]"},
        TextCase{"Tenth", "0.1", "0.10000000000000000555", "0.10000000000000000555"},
        TextCase{"Large", "1e30", "1.0000000000000000199e+30", "1.0000000000000000199e+30"},
        TextCase{"BeyondInt64", "1e19", "10000000000000000000", "10000000000000000000"},
        TextCase{"KeysInOrder", R"({"b":1, "a":[1,2.5]})", R"({"a":[1,2.5],"b":1})", R"({"a":[1,2.5],"b":1})"},
        TextCase{"NotAscii", R"("\xC3\xA9")", R"("\xC3\xA9")", "\"\xC3\xA9\""},
        TextCase{"Utf8", "\"\xC3\xA9\"", R"("\xC3\xA9")", "\"\xC3\xA9\""},
        TextCase{"Unicode", R"("\u00e9\ud83d\ude00")", R"("\xC3\xA9\xF0\x9F\x98\x80")", "\"\xC3\xA9\xF0\x9F\x98\x80\""},
        TextCase{"Controls", R"("\b\f\n\r\t\u000b")", R"("\x08\x0C\n\r\t\x0B")", R"("\u0008\u000c\n\r\t\u000b")"},
        TextCase{"Quotes", R"("a\"b\\c\/")", R"("a\"b\\c/")", R"("a\"b\\c/")"},
        TextCase{"Empty", "[[],{},\"\"]", "[[],{},\"\"]", "[[],{},\"\"]"}),
    [](const auto& info) { return info.param.name; });

TEST(TvmJsonTextTest, IsWrittenWithBytesAsTheyAreFor027ToRead) {
  EXPECT_EQ(ToRawText(TvmJson("\xC3\xA9\x01\n\"")), "\"\xC3\xA9\x01\\n\\\"\"");
}

struct BadText {
  const char* name;
  std::string text;
  const char* message;
};
class TvmJsonErrorTest : public testing::TestWithParam<BadText> {};

TEST_P(TvmJsonErrorTest, NamesTheByte) {
  const StatusOr<TvmJson> json = ParseTvmJson(GetParam().text);
  ASSERT_FALSE(json.ok());
  EXPECT_THAT(json.status().message(), testing::HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(Texts, TvmJsonErrorTest,
                         testing::Values(BadText{"Nothing", "", "byte 0: expected a value, got the end"},
                                         BadText{"Rest", "1 2", "byte 2: expected the end of the text"},
                                         BadText{"OpenList", "[1", "byte 2: expected ',' or ']'"},
                                         BadText{"OpenString", "\"a", "byte 2: expected '\"'"},
                                         BadText{"Escape", "\"\\q\"", "byte 2: expected an escape"},
                                         BadText{"HalfByte", "\"\\x4\"", "expected hexadecimal digits"},
                                         BadText{"HalfCharacter", "\"\\ud83d\\u0041\"", "second half"},
                                         BadText{"KeyTwice", "{\"a\":1,\"a\":2}", "no key twice"},
                                         BadText{"NotANumber", "[nan]", "byte 1: expected a value"},
                                         BadText{"TwoSigns", "--1", "byte 0: expected a value"},
                                         BadText{"Deep", std::string(300, '['), "at most 200 levels"}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lathe
