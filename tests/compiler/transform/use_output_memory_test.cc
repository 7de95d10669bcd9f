#include "compiler/transform/use_output_memory.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "compiler/interpreter/interpreter.h"
#include "compiler/ir/structural.h"
#include "compiler/lower.h"
#include "compiler/script/parser.h"
#include "compiler/script/printer.h"

namespace lathe {
namespace {

using testing::HasSubstr;
using testing::Not;

// Rows of 8192 in two tasks; `body` is indented by four, for each row `i`.
PrimFunc Rows(std::string_view body, std::string_view memory = "8192", std::string_view kind = "parallel") {
  const std::string text = fmt::format(R"(
@T.prim_func
def main(A: T.Buffer((2, 8192), "float32"), B: T.Buffer((2, 8192), "float32")):
    for i in T.{}(2):
        E = T.decl_buffer(({},), scope="local")
        F = T.decl_buffer((8192,), scope="local")
{})",
                                       kind, memory, body);
  StatusOr<PrimFunc> func = ParsePrimFunc(text, "rows.py");
  CHECK(func.ok()) << func.status().ToString();
  return *std::move(func);
}

constexpr char kFill[] = R"(        for k in range(8192):
            E[k] = A[i * 8192 + k] * T.float32(2)
)";
constexpr char kWriteOut[] = R"(        for k_0, k_1 in T.grid(512, 16):
            B[i * 8192 + k_0 * 16 + k_1] = E[k_0 * 16 + k_1] + T.float32(1)
)";

std::vector<double> ResultOf(const PrimFunc& func) {
  std::vector<double> values(2 * 8192);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * 7919 % 1021);
  std::vector<Tensor> args{Tensor::FromDoubles(DataType::Float(32), {2, 8192}, values),
                           Tensor::Uninitialized(DataType::Float(32), {2, 8192})};
  const Status status = Interpret(func, args);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return args[1].ToDoubles();
}

TEST(UseOutputMemory, ComputesTheSameInOneMemory) {
  const PrimFunc func = Rows(std::string(kFill) + kWriteOut);
  const PrimFunc after = UseOutputMemory(func);
  EXPECT_THAT(Print(after), Not(HasSubstr("E = ")));
  EXPECT_EQ(ResultOf(after), ResultOf(func));
}

TEST(UseOutputMemory, GivesAnOutputToOneMemoryOnly) {
  const PrimFunc func = Rows(std::string(kFill) + R"(        for k in range(8192):
            F[k] = A[i * 8192 + k] * T.float32(3)
        for k in range(8192):
            B[i * 8192 + k] = E[k] * F[k]
)");
  const PrimFunc after = UseOutputMemory(func);
  EXPECT_THAT(Print(after), Not(HasSubstr("E = ")));
  EXPECT_THAT(Print(after), HasSubstr("F = "));
  EXPECT_EQ(ResultOf(after), ResultOf(func));
}

struct StaysCase {
  const char* name;
  std::string body;
  const char* memory = "8192";
  const char* kind = "parallel";
};
class UseOutputMemoryStaysTest : public testing::TestWithParam<StaysCase> {};

TEST_P(UseOutputMemoryStaysTest, LeavesTheFunctionAsItIs) {
  const PrimFunc func = Rows(GetParam().body, GetParam().memory, GetParam().kind);
  EXPECT_TRUE(StructuralEqual(UseOutputMemory(func), func)) << Print(UseOutputMemory(func));
}

INSTANTIATE_TEST_SUITE_P(
    Reasons, UseOutputMemoryStaysTest,
    testing::Values(StaysCase{"IsSmall", R"(        for k in range(2048):
            E[k] = A[i * 8192 + k]
        for k in range(2048):
            B[i * 8192 + k] = E[k]
)",
                              "2048"},
                    StaysCase{"IsWrittenOutInPart", std::string(kFill) + R"(        for k in range(4096):
            B[i * 8192 + k] = E[k]
)"},
                    StaysCase{"IsReadAfterwards", std::string(kFill) + kWriteOut + R"(        F[0] = E[3]
)"},
                    StaysCase{"ReadsANeighbour", std::string(kFill) + R"(        for k in range(8192):
            B[i * 8192 + k] = E[k] + E[8191 - k]
)"},
                    StaysCase{"IsWrittenOutInAnotherOrder",
                              std::string(kFill) + R"(        for k_0, k_1 in T.grid(2, 4096):
            B[i * 8192 + k_0 * 4096 + k_1] = E[k_1 * 2 + k_0]
)"},
                    StaysCase{"IsWrittenOutUnderACondition", std::string(kFill) + R"(        for k in range(8192):
            if A[k] < T.float32(5):
                B[i * 8192 + k] = E[k]
)"},
                    StaysCase{"OutputIsWrittenBefore", R"(        for k in range(8192):
            B[i * 8192 + k] = A[k]
)" + std::string(kFill) + kWriteOut},
                    StaysCase{"OutputIsRead", std::string(kFill) + R"(        for k in range(8192):
            B[i * 8192 + k] = E[k] + B[k]
)"},
                    StaysCase{"TasksShareAPart", std::string(kFill) + R"(        for k in range(8192):
            B[k] = E[k]
)"},
                    StaysCase{"TasksOverlap", R"(        for k in range(8192):
            E[k] = A[k]
        for k in range(8192):
            B[i * 4096 + k] = E[k]
)"}),
    [](const auto& info) { return info.param.name; });

// One after the other they may.
TEST(UseOutputMemory, SharesAPartAmongTurnsOfASerialLoop) {
  const PrimFunc func = Rows(std::string(kFill) + R"(        for k in range(8192):
            B[k] = E[k]
        for k in range(1):
            F[k] = T.float32(0)
)",
                             "8192", "serial");
  EXPECT_THAT(Print(UseOutputMemory(func)), Not(HasSubstr("E = ")));
}

}  // namespace
}  // namespace lathe
