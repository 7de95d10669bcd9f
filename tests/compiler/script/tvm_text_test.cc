// What TVM's own texts say, beyond loops and blocks: attributes, threads, memory, operations, macros, values of the
// program around the text.
#include <gmock/gmock.h>

#include <map>

#include "compiler/ir/structural.h"
#include "compiler/script/parser.h"
#include "compiler/script/printer.h"
#include "compiler/script/surroundings.h"

namespace lathe {
namespace {

using testing::HasSubstr;

std::string Indented(std::string_view lines) {
  std::string text = "    ";
  for (const char c : lines) {
    text += c;
    if (c == '\n') text += "    ";
  }
  return text + "\n";
}
std::string FunctionText(std::string_view params, std::string_view body) {
  return "@T.prim_func\ndef f(" + std::string(params) + "):\n" + Indented(body);
}
PrimFunc ReadOrDie(const std::string& text, const Surroundings& around = {}) {
  StatusOr<PrimFunc> func = ParsePrimFunc(text, "test.py", around);
  CHECK(func.ok()) << func.status().ToString() << "\n" << text;
  return *func;
}
std::string BodyOf(const PrimFunc& func) {
  const std::string text = Print(func);
  return text.substr(text.find("):\n") + 3);
}

constexpr char kTextParams[] =
    "A: T.Buffer((16,), \"float32\"), B: T.Buffer((16,), \"int32\"), n: T.int32, p: T.handle";

// A text, and how it is printed where that differs; the printed text reads back as the same tree.
struct TextCase {
  const char* name;
  const char* body;
  const char* printed = nullptr;
};
class TextTest : public testing::TestWithParam<TextCase> {};
TEST_P(TextTest, ReadsAndWrites) {
  const PrimFunc func = ReadOrDie(FunctionText(kTextParams, GetParam().body));
  const std::string expected = Indented(GetParam().printed != nullptr ? GetParam().printed : GetParam().body);
  EXPECT_EQ(BodyOf(func), expected);
  EXPECT_TRUE(StructuralEqual(ReadOrDie(Print(func)), func)) << Print(func);
}
INSTANTIATE_TEST_SUITE_P(
    Statements, TextTest,
    testing::Values(
        TextCase{"Attr", "with T.attr(A, \"realize_scope\", \"\"):\n    A[0] = T.float32(1.0)\nA[1] = T.float32(1.0)"},
        TextCase{"AttrOfTheRest", "T.attr(p, \"pragma_hint\", n + 1)\nA[1] = T.float32(1.0)"},
        TextCase{"PointersAreCompared", "if p != A.data:\n    A[0] = T.float32(1.0)"},
        TextCase{"AttrOfANumber", "T.attr(0, \"async_commit_queue_scope\", 0)\nA[0] = T.float32(0.0)"},
        TextCase{"AttrOfATarget", "T.attr(T.target(\"cuda\"), \"target\", 0)\nA[0] = T.float32(0.0)"},
        TextCase{"LaunchThread", "bx = T.launch_thread(\"blockIdx.x\", 16)\nA[bx] = T.float32(1.0)"},
        TextCase{"LaunchThreadWith",
                 "with T.launch_thread(\"threadIdx.x\", 16) as tx:\n    A[tx] = T.float32(1.0)\nA[0] = T.float32(1.0)"},
        TextCase{"EnvThread", "tx = T.env_thread(\"threadIdx.x\")\nT.launch_thread(tx, 16)\nA[tx] = T.float32(1.0)",
                 "tx = T.launch_thread(\"threadIdx.x\", 16)\nA[tx] = T.float32(1.0)"},
        TextCase{"VirtualThread",
                 "T.attr(T.iter_var(\"vt\", 2, \"VirtualThread\", \"vthread\"), \"virtual_thread\", 2)\nA[0] = "
                 "T.float32(1.0)",
                 "vt = T.int32()\nT.attr(T.iter_var(vt, 2, \"VirtualThread\", \"vthread\"), \"virtual_thread\", "
                 "2)\nA[0] = T.float32(1.0)"},
        TextCase{"Allocate",
                 "X = T.allocate([n, 4], \"float32x4\", \"shared\", condition=n < 4, annotations={\"a\": [1, "
                 "None]})\nT.evaluate(X)"},
        TextCase{"AllocateConst",
                 "X = T.allocate_const([1, -2, 3, 4], \"int8\", [2, 2])\nY = T.decl_buffer((2, 2), \"int8\", "
                 "data=X)\nB[0] = T.Cast(\"int32\", Y[0, 0])"},
        TextCase{"AllocateAndDeclare",
                 "X = T.allocate([4], \"float32\", \"local\")\nY = T.Buffer((4,), \"float32\", data=X, "
                 "scope=\"local\")\nY[0] = A[0]",
                 "X = T.allocate([4], \"float32\", \"local\")\nY = T.decl_buffer((4,), \"float32\", data=X)\nY[0] = "
                 "A[0]"},
        TextCase{"PredicatedStore",
                 "A.vstore([T.Ramp(0, 1, 4)], T.Broadcast(T.float32(1.0), 4), "
                 "predicate=T.Broadcast(T.bool(True), 4))"},
        TextCase{"PredicatedLoad", "A[0:4] = A.vload([T.Ramp(4, 1, 4)], predicate=T.Broadcast(n < 4, 4))",
                 "A[T.Ramp(0, 1, 4)] = A.vload([T.Ramp(4, 1, 4)], predicate=T.Broadcast(n < 4, 4))"},
        TextCase{"SlicesWithSteps", "A[0:8:2] = A[1:8:2]", "A[T.Ramp(0, 2, 4)] = A[T.Ramp(1, 2, 4)]"},
        TextCase{"ScalableVectors", "A[T.Ramp(0, 1, T.vscale() * 4)] = T.Broadcast(T.float32(1.0), T.vscale() * 4)"},
        TextCase{"RangeWithStep", "for i in range(0, 16, 4):\n    A[i] = T.float32(0.0)",
                 "for i in range(4):\n    A[i * 4] = T.float32(0.0)"},
        TextCase{"Annotations",
                 "for i in T.serial(4, annotations={\"e\": n + 1, \"m\": {\"a\": [1, 0.5]}, \"n\": None}):\n    A[i] = "
                 "T.float32(0.0)"},
        TextCase{"Return", "return n", "T.evaluate(T.ret(n))"},
        TextCase{"MetaVar", "i = T.meta_var(n * 2)\nA[i] = T.float32(0.0)", "A[n * 2] = T.float32(0.0)"},
        TextCase{"Conditional", "A[0] = A[1] if n < 4 else 2.0", "A[0] = T.if_then_else(n < 4, A[1], T.float32(2.0))"}),
    [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(
    Expressions, TextTest,
    testing::Values(
        TextCase{"Extern", "T.evaluate(T.call_extern(\"int32\", \"f\", A.data, n))"},
        TextCase{"Packed", "T.call_packed(\"tvm.f\", n, 1)", "T.evaluate(T.call_packed(\"tvm.f\", n, 1))"},
        TextCase{"PackedByItsOpName", "T.evaluate(T.tvm_call_cpacked(\"f\", p))",
                 "T.evaluate(T.call_cpacked(\"f\", p))"},
        TextCase{"Llvm", "A[0] = T.call_llvm_pure_intrin(\"float32\", \"llvm.x\", T.uint32(1), A[0])"},
        TextCase{"CallIntrinOfToday", "A[0] = T.call_intrin(\"float32\", \"tirx.exp\", A[0])", "A[0] = T.exp(A[0])"},
        TextCase{"AddressOf", "T.evaluate(T.address_of(A[4]))"},
        TextCase{"AccessPtr", "T.evaluate(A.access_ptr(\"rw\", offset=4))",
                 "T.evaluate(T.tvm_access_ptr(T.type_annotation(\"float32\"), A.data, 4, 12, 3))"},
        TextCase{"Shuffle", "A[0:2] = T.Shuffle([A[0], A[1]], [1, 0])",
                 "A[T.Ramp(0, 1, 2)] = T.Shuffle([A[0], A[1]], [1, 0])"},
        TextCase{"Let", "x = T.int32()\nB[0] = T.Let(x * x, where={x: n + 1})"},
        TextCase{"Reduce",
                 "k = T.int32()\nA[0] = T.Reduce(T.comm_reducer(lambda x, y: x + y, [T.float32(0.0)]), [A[k]], "
                 "[T.iter_var(k, 16, \"CommReduce\", \"\")], T.bool(True), 0, [])"},
        TextCase{"StructGet", "T.evaluate(T.tvm_struct_get(p, 0, 1, \"handle\"))"},
        TextCase{"Mma", "T.evaluate(T.ptx_mma(\"float32\", \"m8n8k4\", \"row\", \"col\", A.data, 0, A.data, 1))"},
        TextCase{"DtypeAsKeyword", "T.evaluate(T.ptx_ldmatrix(True, 4, A.data, dtype=\"float16\"))",
                 "T.evaluate(T.ptx_ldmatrix(\"float16\", T.bool(True), 4, A.data))"},
        TextCase{"Groups", "T.ptx_commit_group()\nT.ptx_wait_group(0)",
                 "T.evaluate(T.ptx_commit_group())\nT.evaluate(T.ptx_wait_group(0))"},
        TextCase{"WarpShuffle", "A[0] = T.tvm_warp_shuffle(T.tvm_warp_activemask(), A[0], 0, 32, 32)"},
        TextCase{"Fp8", "A[0] = T.Cast(\"float32\", T.e4m3_float8(1)) + T.Cast(\"float32\", T.float8_e5m2(2))",
                 "A[0] = T.Cast(\"float32\", T.float8_e4m3fn(1.0)) + T.Cast(\"float32\", T.float8_e5m2(2.0))"},
        TextCase{"SmallInts", "B[0] = T.Cast(\"int32\", T.int4(-8)) + T.Cast(\"int32\", T.uint1(1))"},
        TextCase{"BufferAttributes", "B[0] = T.cast(A.shape[0], A.dtype).astype(\"int32\")", "B[0] = 16"}),
    [](const auto& info) { return info.param.name; });

TEST(TvmText, KeepsSizeVariablesAndVoidPointers) {
  const std::string params = "n: T.int64(is_size_var=True), p: T.handle(\"void\", \"global\")";
  const PrimFunc func = ReadOrDie(FunctionText(params, "T.evaluate(p)"));
  EXPECT_TRUE(func.params[0].As<VarName>()->is_size);
  EXPECT_THAT(Print(func), HasSubstr(params));
}

TEST(TvmText, ReadsBothSpellingsOfBlocks) {
  const std::string old_text = R"(for i in range(16):
    with T.block("b"):
        vi = T.axis.spatial(16, i)
        T.block_attr({"x": 1})
        X = T.alloc_buffer((1,))
        A[vi] = T.float32(0.0))";
  std::string new_text = old_text;
  for (const auto& [from, to] : std::map<std::string, std::string>{
           {"T.block(", "T.sblock("}, {"T.block_attr", "T.sblock_attr"}, {"T.alloc_buffer", "T.sblock_alloc_buffer"}})
    new_text.replace(new_text.find(from), from.size(), to);
  EXPECT_TRUE(
      StructuralEqual(ReadOrDie(FunctionText(kTextParams, old_text)), ReadOrDie(FunctionText(kTextParams, new_text))));
}

TEST(TvmText, KeepsModuleAttributesPrivateFunctionsAndCallsBetweenThem) {
  const std::string text = R"(from tvm.script import ir as I
from tvm.script import tir as T


@I.ir_module
class Module:
    I.module_attrs({"runtime": "cpp"})
    @T.prim_func
    def main(n: T.int32):
        T.func_attr({"target": T.target({"keys": ["cpu"], "kind": "llvm"}, host="llvm")})
        T.evaluate(Module.helper(n, dtype="int32"))

    @T.prim_func(private=True)
    def helper(n: T.int32) -> T.int32:
        T.evaluate(T.ret(n + 1))
)";
  const StatusOr<IRModule> module = ParseModule(text, "m.py");
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  EXPECT_EQ(module->attrs.at("runtime"), Attr("cpp"));
  EXPECT_TRUE(module->prim_funcs[1].is_private);
  EXPECT_EQ(Print(*module), text);
}

// ---- Macros
constexpr char kMacros[] = R"(
SCALE = 2
@T.macro
def put(X, i, value=SCALE):
    X[i] = X[i] + value
@T.macro(hygienic=False)
def put_n(X):
    X[n] = T.float32(0.0)
)";

TEST(Macro, ExpandsWhereItIsCalled) {
  const std::string func =
      FunctionText(kTextParams, "for i in range(4):\n    put(B, i)\n    put(B, i + 1, 3)\nput_n(A)");
  EXPECT_EQ(BodyOf(ReadOrDie(kMacros + func)),
            Indented("for i in range(4):\n    B[i] = B[i] + 2\n    B[i + 1] = B[i + 1] "
                     "+ 3\nA[n] = T.float32(0.0)"));
}

TEST(Macro, SeesTheNamesAroundTheCallOnlyIfItIsNotHygienic) {
  const std::string macro = "@T.macro\ndef put_n(X):\n    X[n] = T.float32(0.0)\n";
  EXPECT_EQ(ParsePrimFunc(macro + FunctionText(kTextParams, "put_n(A)"), "m.py").status().message(),
            "m.py:3:7: expected a defined name, got \"n\"");
}

TEST(Macro, NamesMissingArgumentsAndEndlessExpansion) {
  EXPECT_THAT(ParsePrimFunc(kMacros + FunctionText(kTextParams, "put(A)"), "m.py").status().message(),
              HasSubstr("expected the argument \"i\" of put, got none"));
  const std::string endless = "@T.macro\ndef again():\n    again()\n";
  EXPECT_THAT(ParsePrimFunc(endless + FunctionText("", "again()"), "m.py").status().message(),
              HasSubstr("macro \"again\" expands itself too often"));
}

// ---- Values from outside
class Answers : public ScriptEvaluator {
 public:
  std::map<std::string, ScriptValue> values;
  std::vector<std::string> scopes;  // What came with each question.
  StatusOr<ScriptValue> Evaluate(std::string_view text, uint32_t, const ScriptScope& scope) override {
    std::string names;
    for (const auto& [name, value] : scope) names += std::string(name) + ";";
    scopes.push_back(names);
    const auto found = values.find(std::string(text));
    if (found == values.end()) return InvalidArgument("name 'x' is not defined");
    return found->second;
  }
};

TEST(Evaluator, IsAskedForWhatTheTextDoesNotDefine) {
  Answers answers;
  const auto ints = [](std::vector<int> list) {
    std::vector<ScriptValue> values;
    for (const int i : list) values.emplace_back(Expr(i));
    return ScriptValue(std::move(values));
  };
  answers.values.emplace("SHAPE", ints({4, 8}));
  answers.values.emplace("[2 * x for x in SHAPE]", ints({8, 16}));
  answers.values.emplace("cfg.dtype", Attr("float32"));
  answers.values.emplace("helper(i, k=1)", Expr(7));
  answers.values.emplace("sizes[0]", Expr(5));
  answers.values.emplace("f\"{name}_x\"", Attr("block_x"));
  const PrimFunc func = ReadOrDie(R"(@T.prim_func
def f(A: T.Buffer(SHAPE, cfg.dtype), B: T.Buffer([2 * x for x in SHAPE], "float32")):
    for i, j in T.grid(*SHAPE):
        with T.block(f"{name}_x"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + helper(i, k=1) * sizes[0]
)",
                                  {.evaluator = &answers});
  EXPECT_EQ(ConstantShape(BufferParam(func, 0)->shape), (std::vector<int64_t>{4, 8}));
  EXPECT_EQ(ConstantShape(BufferParam(func, 1)->shape), (std::vector<int64_t>{8, 16}));
  EXPECT_THAT(Print(func), HasSubstr("with T.block(\"block_x\"):"));
  EXPECT_THAT(Print(func), HasSubstr("B[vi, vj] = A[vi, vj] + T.float32(35.0)"));
  EXPECT_THAT(answers.scopes, testing::Contains("i;"));
}

TEST(Evaluator, GivesItsErrorsThePlace) {
  Answers answers;
  const StatusOr<PrimFunc> func =
      ParsePrimFunc(FunctionText("", "T.evaluate(x)"), "f.py", Surroundings{.evaluator = &answers});
  EXPECT_EQ(func.status().message(), "f.py:3:16: name 'x' is not defined");
}

TEST(Evaluator, IsMissedByWhatOnlyPythonReads) {
  EXPECT_EQ(ParsePrimFunc(FunctionText(kTextParams, "A[0] = sum(x for x in y)"), "f.py").status().message(),
            "f.py:3:12: expected a function of T, got \"sum\"");
  EXPECT_EQ(ParsePrimFunc(FunctionText("A: T.Buffer([x for x in y])", "pass"), "f.py").status().message(),
            "f.py:2:19: expected an expression of TVMScript; this one needs Python");
}

}  // namespace
}  // namespace lathe
