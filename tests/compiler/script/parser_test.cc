#include "compiler/script/parser.h"

#include <gmock/gmock.h>

#include "compiler/ir/structural.h"
#include "compiler/script/printer.h"

namespace lathe {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

constexpr char kMatmul[] = R"(# from tvm.script import ir as I
from tvm.script import ir as I, tir as T
import tvm

M, N = 128, 128  # module-level constants
K = M * 2

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((M, K), "float32"), B: T.Buffer((K, N), "float32"), C: T.Buffer((M, N), "float32")):
        """Matrix product."""
        T.func_attr({"global_symbol": "matmul", "tir.noalias": T.bool(True)})
        for i, j, k in T.grid(M, N, K):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)";

PrimFunc ParseOrDie(std::string_view text) {
  StatusOr<PrimFunc> func = ParsePrimFunc(text, "test.py");
  CHECK(func.ok()) << func.status().ToString() << "\n" << text;
  return *func;
}

// A function around `body`, whose lines have no indentation of their own.
std::string Function(std::string_view params, std::string_view body) {
  std::string text = "@T.prim_func\ndef f(" + std::string(params) + "):\n    ";
  for (const char c : body) {
    text += c;
    if (c == '\n') text += "    ";
  }
  return text + "\n";
}

std::string PrintedBody(std::string_view params, std::string_view body) {
  const std::string text = Print(ParseOrDie(Function(params, body)));
  const std::string_view marker = "):\n";
  return text.substr(text.find(marker) + marker.size());
}

TEST(Parser, ReadsAMatmulAsTvmUsersWriteIt) {
  const PrimFunc func = ParseOrDie(kMatmul);
  EXPECT_EQ(func.name, "matmul");
  EXPECT_EQ(func.attrs.count("global_symbol"), 0u);
  EXPECT_EQ(Print(func), R"(@T.prim_func
def matmul(A: T.Buffer((128, 256), "float32"), B: T.Buffer((256, 128), "float32"), C: T.Buffer((128, 128), "float32")):
    T.func_attr({"tir.noalias": True})
    for i, j, k in T.grid(128, 128, 256):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[vi, vk], B[vk, vj])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = T.float32(0.0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)");
}

TEST(Parser, WrapsBlocksInARootBlock) {
  const PrimFunc func = ParseOrDie(kMatmul);
  const BlockRealize* root = func.body.As<BlockRealize>();
  ASSERT_NE(root, nullptr);
  EXPECT_EQ(root->block->name, "root");
  EXPECT_TRUE(root->block->iter_vars.empty());
}

TEST(Parser, LeavesFunctionsWithoutBlocksAsTheyAre) {
  const PrimFunc func = ParseOrDie(Function("A: T.Buffer((16,), \"float32\")", "for i in range(16):\n    A[i] = 0"));
  EXPECT_NE(func.body.As<For>(), nullptr);
}

TEST(Parser, BindsSymbolicShapes) {
  EXPECT_EQ(Print(ParseOrDie(R"(
@T.prim_func(private=True)
def f(a: T.handle, b: T.handle, scale: T.float32):
    n = T.int64()
    m = T.var("int32")
    A = T.match_buffer(a, (n, 128), "float16", strides=(m, 1), elem_offset=4, align=64)
    B = T.match_buffer(b, [n, 128])
    for i, j in T.grid(n, T.int64(128)):
        B[i, j] = A[i, j] * scale
)")),
            R"(@T.prim_func(private=True)
def f(a: T.handle, b: T.handle, scale: T.float32):
    n = T.int64()
    m = T.int32()
    A = T.match_buffer(a, (n, 128), "float16", strides=(m, 1), elem_offset=4)
    B = T.match_buffer(b, (n, 128), "float32")
    for i, j in T.grid(n, T.int64(128)):
        B[i, j] = T.Cast("float32", A[i, j]) * scale
)");
}

TEST(Parser, LeavesTwoBlocksTheNameThatBothHave) {
  const std::string text =
      PrintedBody("A: T.Buffer((4,), \"int32\")",
                  "for i in range(4):\n    with T.sblock(\"C\"):\n        v = T.axis.S(4, i)\n        A[v] = 1\n"
                  "for i in range(4):\n    with T.block(\"C\"):\n        v = T.axis.S(4, i)\n        A[v] = 2");
  const size_t first = text.find("T.block(\"C\")");
  ASSERT_NE(first, std::string::npos);
  EXPECT_NE(text.find("T.block(\"C\")", first + 1), std::string::npos) << text;
}

struct BodyCase {
  const char* name;
  const char* body;
  const char* printed;
};
class BodyTest : public testing::TestWithParam<BodyCase> {};
TEST_P(BodyTest, ReadsAndPrints) {
  constexpr char kParams[] = "A: T.Buffer((16, 16), \"float32\"), B: T.Buffer((16,), \"int32\"), n: T.int32, p: T.bool";
  const std::string printed = PrintedBody(kParams, GetParam().body);
  std::string expected;
  for (const char* c = GetParam().printed; *c != '\0'; ++c) {
    if (expected.empty() || expected.back() == '\n') expected += "    ";
    expected += *c;
  }
  EXPECT_EQ(printed, expected + "\n");
  EXPECT_EQ(PrintedBody(kParams, GetParam().printed), printed);
}
INSTANTIATE_TEST_SUITE_P(
    Statements, BodyTest,
    testing::Values(
        BodyCase{"LoopKinds",
                 "for i in T.parallel(4):\n    for j in T.vectorized(0, 8):\n        for k in T.unroll(2, 4):\n        "
                 "    B[i] = 1",
                 "for i in T.parallel(4):\n    for j in T.vectorized(8):\n        for k in T.unroll(2, 4):\n           "
                 " B[i] = 1"},
        BodyCase{"ThreadBinding",
                 "for i in T.thread_binding(0, 16, thread=\"threadIdx.x\", annotations={\"a\": [1, 2.5, \"x\"]}):\n    "
                 "B[i] = 1",
                 "for i in T.thread_binding(16, thread=\"threadIdx.x\", annotations={\"a\": [1, 2.5, \"x\"]}):\n    "
                 "B[i] = 1"},
        BodyCase{"LaunchThread", "with T.launch_thread(\"blockIdx.x\", 4) as bx:\n    B[bx] = 1",
                 "bx = T.launch_thread(\"blockIdx.x\", 4)\nB[bx] = 1"},
        BodyCase{"Branches", "if n > 0 and not p:\n    B[0] = 1\nelif n == 0:\n    B[0] = 2\nelse:\n    B[0] = 3",
                 "if n > 0 and not p:\n    B[0] = 1\nelif n == 0:\n    B[0] = 2\nelse:\n    B[0] = 3"},
        BodyCase{"ChainOfComparisons", "while 0 <= B[0] < n:\n    B[0] += 1",
                 "while 0 <= B[0] and B[0] < n:\n    B[0] = B[0] + 1"},
        BodyCase{"Asserts", "assert n > 0, \"n \\\"must\\\" be\\tpositive\"\nT.Assert(n < 9, \"small\")",
                 "assert n > 0, \"n \\\"must\\\" be\\tpositive\"\nassert n < 9, \"small\"\nT.evaluate(0)"},
        BodyCase{"AssertsOfABody", "with T.Assert(n > 0, \"n\"):\n    B[0] = n\nB[1] = n",
                 "with T.Assert(n > 0, \"n\"):\n    B[0] = n\nB[1] = n"},
        BodyCase{"Lets", "x: T.int32 = n * 2\nwith T.LetStmt(x + 1) as y:\n    B[0] = y\nz = x + 2\nB[1] = z",
                 "x: T.int32 = n * 2\nwith T.LetStmt(x + 1) as y:\n    B[0] = y\nz: T.int32 = x + 2\nB[1] = z"},
        BodyCase{"OldLet", "x = T.int32()\nwith T.let(x, n):\n    B[0] = x", "x: T.int32 = n\nB[0] = x"},
        BodyCase{"Allocations",
                 "with T.decl_buffer((4,), \"float32\", scope=\"local\") as X:\n    X[0] = 1\nY = T.decl_buffer([4], "
                 "\"float16\")\nY[0] = A[0, 0]",
                 "with T.decl_buffer((4,), \"float32\", scope=\"local\") as X:\n    X[0] = T.float32(1.0)\nY = "
                 "T.decl_buffer((4,), \"float16\")\nY[0] = T.Cast(\"float16\", A[0, 0])"},
        BodyCase{"FoldsAsItReads", "B[n * 1 + 0] = 2 + 3", "B[n] = 5"},
        BodyCase{"ExactOperations", "B[T.Add(n, 0)] = T.Mul(2, 3)", "B[T.Add(n, 0)] = T.Mul(2, 3)"},
        BodyCase{"IntegerDivisions",
                 "B[0] = (n + 1) // 2 - n % 4 * T.truncdiv(n, 3) + T.truncmod(n, 5) - T.ceildiv(n, 4)",
                 "B[0] = (n + 1) // 2 - n % 4 * T.Div(n, 3) + T.truncmod(n, 5) - (n + 4 - 1) // 4"},
        BodyCase{"Associativity", "B[0] = n - (n - 1) - 2", "B[0] = n - (n - 1) - 2"},
        BodyCase{"Vectors", "A[0, 0:4] = A[1, T.Ramp(0, 2, 4)] + T.Broadcast(T.float32(1), 4) * 2",
                 "A[0, T.Ramp(0, 1, 4)] = A[1, T.Ramp(0, 2, 4)] + T.Broadcast(T.float32(1.0), 4) * "
                 "T.Broadcast(T.float32(2.0), 4)"},
        BodyCase{"Functions",
                 "A[0, 0] = T.exp(A[0, 1]) + T.max(A[0, 0], 0.0) + T.if_then_else(p, A[0, 1], T.float32(\"-inf\"))",
                 "A[0, 0] = T.exp(A[0, 1]) + T.max(A[0, 0], T.float32(0.0)) + T.if_then_else(p, A[0, 1], "
                 "T.float32(\"-inf\"))"},
        BodyCase{"TypedCalls",
                 "A[0, 0] = T.reinterpret(\"float32\", B[0]) + T.call_intrin(\"float32\", \"tir.exp\", "
                 "B[0])\nT.tvm_storage_sync(\"shared\")",
                 "A[0, 0] = T.reinterpret(\"float32\", B[0]) + T.call_intrin(\"float32\", \"tir.exp\", "
                 "B[0])\nT.evaluate(T.tvm_storage_sync(\"shared\"))"},
        BodyCase{"Select", "A[0, 0] = T.Select(n < 2 or p, A[0, 1], -1.5e-7)",
                 "A[0, 0] = T.Select(n < 2 or p, A[0, 1], T.float32(-1.5e-07))"},
        BodyCase{"Casts", "B[0] = T.cast(A[0, 0], \"int32\") + T.int32(p) + T.int32(7) + T.Cast(\"int32\", n)",
                 "B[0] = T.Cast(\"int32\", A[0, 0]) + T.Cast(\"int32\", p) + 7 + T.Cast(\"int32\", n)"},
        BodyCase{"Bitwise", "B[0] = n << 2 & 7 | ~n ^ 1",
                 "B[0] = T.bitwise_or(T.bitwise_and(T.shift_left(n, 2), 7), T.bitwise_xor(T.bitwise_not(n), 1))"}),
    [](const auto& info) { return info.param.name; });

TEST(Parser, ComputesRegionsThatAreLeftOut) {
  const std::string text = PrintedBody("A: T.Buffer((18, 64), \"float32\"), B: T.Buffer((16, 64), \"float32\")",
                                       R"(for i, j in T.grid(4, 64):
    with T.block("tile"):
        vi, vj = T.axis.remap("SS", [i, j])
        X = T.alloc_buffer((4,), "float32", scope="local")
        for t in range(4):
            X[t] = A[vi * 4 + t, vj] + A[vi * 4 + t + 2, vj]
            B[vi * 4 + t, vj] = X[t])");
  EXPECT_THAT(text, HasSubstr("T.reads(A[vi * 4:vi * 4 + 6, vj])"));
  EXPECT_THAT(text, HasSubstr("T.writes(B[vi * 4:vi * 4 + 4, vj])"));
}

TEST(Parser, ReadsMatchBuffersAnnotationsAndPredicates) {
  const std::string body = R"(for i in range(5):
    with T.block("tile"):
        vi = T.axis.spatial(5, i)
        T.where(i * 4 < 18)
        T.reads(A[vi * 4:vi * 4 + 4])
        T.writes()
        T.block_attr({"meta_schedule.tiling_structure": "SSRSRS"})
        V = T.match_buffer(A[vi * 4:vi * 4 + 4], (4,), "float32", elem_offset=vi * 4)
        T.evaluate(V[0])
)";
  std::string indented;
  for (const char c : body) {
    if (indented.empty() || indented.back() == '\n') indented += "    ";
    indented += c;
  }
  EXPECT_EQ(PrintedBody("A: T.Buffer((20,), \"float32\")", body), indented);
}

TEST(Parser, LetsAViewIntroduceItsStridesAndOffset) {
  const PrimFunc func = ParseOrDie(Function("A: T.Buffer((16, 16), \"float32\")", R"(with T.block("b"):
    V = T.match_buffer(A[0:4, 4:8], (4, 4), "float32", strides=["s0", "s1"], offset_factor=4)
    T.evaluate(V[0, 0]))"));
  const std::string text = Print(func);
  EXPECT_THAT(
      text,
      HasSubstr("V = T.match_buffer(A[0:4, 4:8], (4, 4), \"float32\", strides=(s0, s1), elem_offset=V_elem_offset, "
                "offset_factor=4)"));
  EXPECT_TRUE(StructuralEqual(ParseOrDie(text), func));
}

TEST(Parser, GivesAViewsPointerTheSourcesType) {
  const PrimFunc func = ParseOrDie(Function("A: T.Buffer((16,), \"float16\")", R"(with T.block("b"):
    V = T.match_buffer(A[0:4], (4,))
    T.evaluate(V[0]))"));
  const std::string text = Print(func);
  EXPECT_THAT(text, HasSubstr("V = T.match_buffer(A[0:4], (4,), \"float16\")"));
  EXPECT_TRUE(StructuralEqual(ParseOrDie(text), func));
}

TEST(Parser, KeepsEveryFieldOfABuffer) {
  const std::string params =
      "A: T.Buffer((8, 8), \"float32\", strides=(16, 1), elem_offset=4, scope=\"shared\", align=128, offset_factor=4, "
      "buffer_type=\"auto\", axis_separators=[1])";
  const PrimFunc func = ParseOrDie(Function(params, "pass"));
  const Buffer& a = BufferParam(func, 0);
  EXPECT_EQ(a->data_alignment, 128);
  EXPECT_EQ(a->offset_factor, 4);
  EXPECT_EQ(a->buffer_type, BufferType::kAutoBroadcast);
  EXPECT_EQ(a->axis_separators, std::vector<int64_t>{1});
  EXPECT_EQ(a->data.pointer(), MakePointerType(DataType::Float(32), "shared"));
  EXPECT_EQ(func.params[0].name(), "A_handle");
  EXPECT_THAT(Print(func), HasSubstr(params));
}

TEST(Parser, TakesMinusOneAndZeroForTheDefaultsOfPromises) {
  const PrimFunc func = ParseOrDie(Function("A: T.Buffer((8,), \"float32\", align=-1, offset_factor=0)", "pass"));
  EXPECT_EQ(BufferParam(func, 0)->data_alignment, 64);
  EXPECT_EQ(BufferParam(func, 0)->offset_factor, 1);
  EXPECT_TRUE(IsConstInt(BufferParam(func, 0)->elem_offset, 0));
}

TEST(Parser, DeclaresBuffersOverMemoryThatIsThere) {
  const std::string body = R"(    B = T.decl_buffer((64,), "float32", data=A.data)
    C = T.decl_buffer((4, 8), "float32", elem_offset=32, data=A.data)
    B[0] = C[0, 0]
)";
  const std::string params = "A: T.Buffer((8, 8), \"float32\")";
  EXPECT_EQ(PrintedBody(params,
                        "B = T.Buffer((64,), \"float32\", data=A.data)\n"
                        "C = T.decl_buffer((4, 8), data=A.data, elem_offset=32)\nB[0] = C[0, 0]"),
            body);
  const PrimFunc func = ParseOrDie(Function(params, "B = T.Buffer((64,), data=A.data)\nB[0] = T.float32(0)"));
  const DeclBuffer* declaration = func.body.As<DeclBuffer>();
  ASSERT_NE(declaration, nullptr);
  EXPECT_TRUE(MayAlias(declaration->buffer, BufferParam(func, 0)));
}

TEST(Parser, TakesASecondMatchOfAHandleAsAnotherViewOfItsMemory) {
  const PrimFunc func = ParseOrDie(Function("a: T.handle, b: T.handle", R"(B = T.match_buffer(b, (16,), "int32")
A = T.match_buffer(a, (8, 8), "float32")
F = T.match_buffer(a, (64,), "float32")
F[0] = A[0, 1])"));
  ASSERT_EQ(func.buffer_map.size(), 2u);
  EXPECT_EQ(func.buffer_map[0].buffer->name, "A");  // In the order of the parameters.
  const DeclBuffer* second = func.body.As<DeclBuffer>();
  ASSERT_NE(second, nullptr);
  EXPECT_TRUE(MayAlias(second->buffer, BufferParam(func, 0)));
  EXPECT_FALSE(MayAlias(second->buffer, BufferParam(func, 1)));
  EXPECT_TRUE(StructuralEqual(ParseOrDie(Print(func)), func)) << Print(func);
}

TEST(Parser, ReadsHandlesThatSayWhatTheyPointTo) {
  const std::string params = "p: T.handle(\"float32\", \"shared\"), q: T.handle, n: T.int32";
  const PrimFunc func = ParseOrDie(Function(params, "T.evaluate(p)\nT.evaluate(q)"));
  EXPECT_EQ(func.params[0].pointer(), MakePointerType(DataType::Float(32), "shared"));
  EXPECT_EQ(func.params[1].pointer(), nullptr);
  EXPECT_THAT(Print(func), HasSubstr("def f(" + params + ")"));
}

TEST(Parser, KeepsWhatAFunctionReturns) {
  const PrimFunc func = ParseOrDie("@T.prim_func\ndef f(n: T.int32) -> T.int32:\n    pass\n");
  EXPECT_EQ(func.ret_type, DataType::Int(32));
  EXPECT_THAT(Print(func), HasSubstr("def f(n: T.int32) -> T.int32:"));
  EXPECT_EQ(ParseOrDie("@T.prim_func\ndef f() -> None:\n    pass\n").ret_type, std::nullopt);
}

TEST(Parser, LetsAnInnerScopeHideAName) {
  EXPECT_EQ(PrintedBody("A: T.Buffer((16,), \"float32\")", R"(for i in range(4):
    for i in range(8):
        A[i] = 1.0
    A[i] = 2.0)"),
            R"(    for i in range(4):
        for i_1 in range(8):
            A[i_1] = T.float32(1.0)
        A[i] = T.float32(2.0)
)");
}

TEST(Parser, TakesTheTypeThatAnOperationHasAnyhow) {
  EXPECT_EQ(PrintedBody("A: T.Buffer((16,), \"float32\")", "A[0] = T.exp(A[1], dtype=\"float32\")"),
            "    A[0] = T.exp(A[1])\n");
}

TEST(Parser, WidensTheRegionsOfABlockThatDeclaresABuffer) {
  const std::string text = PrintedBody("A: T.Buffer((8, 8), \"float32\")", R"(for i in range(1):
    with T.block("b"):
        B = T.decl_buffer((64,), "float32", data=A.data)
        B[3] = A[0, 0])");
  EXPECT_THAT(text, HasSubstr("T.reads(A[0, 0])\n            T.writes(A[0:8, 0:8])"));
}

// ---- Errors --------------------------------------------------------------------------------------------------------

struct ErrorCase {
  const char* name;
  const char* body;
  const char* message;
};
class ErrorTest : public testing::TestWithParam<ErrorCase> {};
TEST_P(ErrorTest, SaysWhereAndWhat) {
  const StatusOr<PrimFunc> func =
      ParsePrimFunc(Function("A: T.Buffer((16, 16), \"float32\"), h: T.handle, n: T.int32", GetParam().body), "f.py");
  ASSERT_FALSE(func.ok());
  EXPECT_EQ(func.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(func.status().message(), GetParam().message);
}
INSTANTIATE_TEST_SUITE_P(
    Bodies, ErrorTest,
    testing::Values(
        ErrorCase{"Undefined", "A[0, x] = 1.0", "f.py:3:10: expected a defined name, got \"x\""},
        ErrorCase{"IndexCount", "A[0, 1, 2] = 1.0", "f.py:3:5: expected 2 indices of buffer \"A\", got 3"},
        ErrorCase{"FlatIndexInABlock", "with T.block(\"b\"):\n        A[0] = 1.0",
                  "f.py:4:13: expected 2 indices of buffer \"A\", got 1"},
        ErrorCase{"LoopRedefined", "for i, i in T.grid(4, 4):\n    A[i, i] = 1.0",
                  "f.py:3:12: expected a new name, got \"i\", which is defined already in this scope"},
        ErrorCase{"LoopVariableBoundAgain", "for i in range(4):\n    i = n\n    A[i, i] = 1.0",
                  "f.py:4:9: expected a new name, got \"i\", which is defined already in this scope"},
        ErrorCase{"ReadsTwice", "with T.block(\"b\"):\n    T.reads(A[0, 0])\n    T.reads(A[0, 1])\n    A[0, 0] = 1.0",
                  "f.py:5:9: expected one T.reads in a block"},
        ErrorCase{"FloatIndex", "A[0, 1.5] = 1.0", "f.py:3:10: expected an integer, got float32"},
        ErrorCase{"Condition", "if A[0, 0]:\n    A[0, 0] = 1", "f.py:3:8: expected a boolean, got float32"},
        ErrorCase{"IntegerDivision", "A[0, n / 2] = 1",
                  "f.py:3:12: expected floats around \"/\", got int32 and int32; write \"//\" or T.truncdiv"},
        ErrorCase{"UnknownOperation", "A[0, 0] = T.frobnicate(1)",
                  "f.py:3:15: expected an operation of TensorIR, got \"T.frobnicate\""},
        ErrorCase{"ArgumentCount", "A[0, 0] = T.exp()", "f.py:3:15: expected 1 arguments of T.exp, got 0"},
        ErrorCase{"FloatFunctionOfBool", "A[0, 0] = T.exp(n < 1)",
                  "f.py:3:15: expected a float as argument of T.exp, got bool"},
        ErrorCase{"HandleAsBuffer", "A[0, 0] = h[0]",
                  "f.py:3:15: expected a buffer, got handle \"h\"; give it a shape with T.match_buffer"},
        ErrorCase{"BufferWithoutData", "B = T.Buffer((4,), \"float32\")",
                  "f.py:3:9: expected data= of a buffer in the body; T.decl_buffer makes memory of its own"},
        ErrorCase{"DataThatIsNone", "B = T.decl_buffer((4,), data=n)",
                  "f.py:3:34: expected the data of a buffer or another handle variable"},
        ErrorCase{"AllocationOverData", "B = T.alloc_buffer((4,), data=A.data)",
                  "f.py:3:35: expected memory of its own; other views are declared by T.decl_buffer"},
        ErrorCase{"BufferType", "B = T.decl_buffer((4,), buffer_type=\"wide\")",
                  "f.py:3:41: expected \"default\" or \"auto\", got \"wide\""},
        ErrorCase{"AxisSeparators", "B = T.decl_buffer((4,), axis_separators=[2])",
                  "f.py:3:45: expected increasing axes of 1 dimensions"},
        ErrorCase{"UnknownAttribute", "T.evaluate(A.color)",
                  "f.py:3:16: expected data, elem_offset, dtype, shape or strides of a buffer, got \"color\""},
        ErrorCase{"Syntax", "A[0, 0] = = 1", "f.py:3:15: expected an expression, got \"=\""},
        ErrorCase{"Unclosed", "A[0, 0 = 1", "f.py:3:12: expected \",\" or \"]\", got \"=\""},
        ErrorCase{"NotTvmScript", "raise 1", "f.py:3:5: expected a statement of TVMScript, got \"raise\""},
        ErrorCase{"UnboundSymbol", "m = T.int32()\nA[0, m] = 1.0",
                  "f.py:3:5: expected \"m\" in the shape of a T.match_buffer; nothing gives it a value"},
        ErrorCase{"SymbolThatALetDefines",  // Printed, it would be two variables.
                  "m = T.int32(1)\nC = T.match_buffer(h, (m + 2,))",
                  "f.py:4:9: expected a shape of parameters and of variables declared as n = T.int32(), got \"m\", to "
                  "which a statement of the body gives a value"},
        ErrorCase{"StarredExtentThatIsNoInteger", "for i in T.grid(*0.5):\n    A[0, 0] = 1.0",
                  "f.py:3:21: expected an integer, got float32"},
        ErrorCase{"AllocateOfAFraction", "X = T.allocate([0.5], \"float32\")",
                  "f.py:3:20: expected an integer, got float32"},
        ErrorCase{"AxisOutsideBlock", "vi = T.axis.spatial(16, n)", "f.py:3:10: expected T.axis directly in a block"},
        ErrorCase{
            "SecondInit",
            "with T.block(\"b\"):\n    with T.init():\n        A[0, 0] = 1\n    with T.init():\n        A[0, 0] = 1",
            "f.py:6:14: expected one T.init in a block, got a second"},
        ErrorCase{"TooBig", "A[0, 0] = T.int8(200)", "f.py:3:22: expected a value of int8"},
        ErrorCase{"Keyword", "for i in T.serial(4, annotation={}):\n    A[i, i] = 1",
                  "f.py:3:37: expected a parameter of T.serial, got \"annotation\""}),
    [](const auto& info) { return info.param.name; });

TEST(ParserErrors, ShowTheLineWithACaret) {
  const Status status = ParsePrimFunc(Function("", "T.evaluate(x)"), "f.py").status();
  EXPECT_THAT(status.ToString(),
              EndsWith("f.py:3:16: expected a defined name, got \"x\"\n      T.evaluate(x)\n                 ^"));
}

TEST(ParserErrors, NameEveryFunctionWhereOneIsWanted) {
  const std::string two = "@T.prim_func\ndef f():\n    pass\n@T.prim_func\ndef g():\n    pass\n";
  EXPECT_EQ(ParsePrimFunc(two, "f.py").status().message(), "read f.py: expected one @T.prim_func, got \"f\", \"g\"");
  EXPECT_EQ(ParsePrimFunc("", "f.py").status().message(), "read f.py: expected one @T.prim_func, got none");
}

TEST(ParserErrors, RefuseASecondFunctionOfOneName) {
  const std::string two = "@T.prim_func\ndef f():\n    pass\n@T.prim_func\ndef f():\n    pass\n";
  EXPECT_THAT(ParseModule(two, "f.py").status().message(),
              HasSubstr("f.py:5:1: expected one function \"f\", got a second"));
}

TEST(ParserErrors, SayThatIndentationDoesNotFit) {
  EXPECT_THAT(ParsePrimFunc("@T.prim_func\ndef f():\n        pass\n    pass\n", "f.py").status().message(),
              HasSubstr("f.py:4:5: expected the indentation of an enclosing line"));
}

// Texts that nest without end; each is one clean error.
TEST(ParserErrors, SayThatATextEndsWithinAnEscape) {
  EXPECT_THAT(ParseModule("'a\\", "end.py").status().message(),
              HasSubstr("end.py:1:1: expected ' at the end of the string"));
}

TEST(ParserErrors, LimitNesting) {
  const auto repeat = [](std::string_view part, int n) {
    std::string text;
    for (int i = 0; i < n; ++i) text += part;
    return text;
  };
  std::string lets;
  for (int i = 0; i < 1100; ++i) lets += "x" + std::to_string(i) + ": T.int32 = n\n";
  for (const std::string& body :
       {"T.evaluate(" + repeat("(", 100000) + ")", "T.evaluate(" + repeat("-", 100000) + "n)",
        "T.evaluate(n" + repeat(" + n", 100000) + ")", "T.evaluate(" + repeat("T.exp(", 3000) + "1.0)",
        "T.evaluate(n" + repeat(" < n", 5000) + ")", "T.evaluate(n" + repeat(".a", 5000) + ")",
        repeat("if n == 1:\n    pass\nel", 3000) + "if n == 2:\n    pass", lets + "pass", repeat("[", 100000),
        repeat("{1:", 100000), "T.evaluate(n" + repeat(" ** n", 3000) + ")",
        "T.evaluate(" + repeat("not ", 3000) + "n)"}) {
    const StatusOr<PrimFunc> func = ParsePrimFunc(Function("n: T.int32", body), "f.py");
    ASSERT_FALSE(func.ok()) << body.substr(0, 50);
    EXPECT_THAT(func.status().message(), HasSubstr("nested more than 1000 deep")) << body.substr(0, 50);
  }
  std::string text = "@T.prim_func\ndef f():\n";
  for (int i = 0; i < 1100; ++i)
    text += std::string(size_t(i) + 1, ' ') + "for i" + std::to_string(i) + " in range(2):\n";
  text += std::string(1101, ' ') + "pass\n";
  EXPECT_THAT(ParsePrimFunc(text, "f.py").status().message(), HasSubstr("nested more than 1000 deep"));
}

TEST(Parser, AcceptsDeepButLegalNesting) {
  std::string sum = "n";
  for (int i = 0; i < 900; ++i) sum = "n - (" + sum + ")";
  std::string text = "@T.prim_func\ndef f(n: T.int32):\n";
  for (int i = 0; i < 900; ++i)
    text += std::string(size_t(i) + 1, ' ') +
            (i % 2 == 0 ? "while n < 1:\n" : "for i" + std::to_string(i) + " in range(2):\n");
  const PrimFunc func = ParseOrDie(text + std::string(901, ' ') + "T.evaluate(" + sum + ")\n");
  EXPECT_TRUE(StructuralEqual(ParseOrDie(Print(func)), func));
}

}  // namespace
}  // namespace lathe
