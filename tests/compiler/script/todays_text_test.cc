// Texts as TVM prints them today: T.sblock, s_tir=True, statements that 0.18 spelled otherwise. Each means what the
// text in 0.18's words means.
#include <gmock/gmock.h>

#include "compiler/ir/structural.h"
#include "compiler/script/parser.h"
#include "compiler/script/printer.h"

namespace lathe {
namespace {

struct TodayCase {
  const char* name;
  const char* today;
  const char* v018;
};
class TodaysText : public testing::TestWithParam<TodayCase> {};
TEST_P(TodaysText, MeansTheSame) {
  const StatusOr<PrimFunc> today =
      ParsePrimFunc(std::string("@T.prim_func(s_tir=True)\n") + GetParam().today, "new.py");
  const StatusOr<PrimFunc> v018 = ParsePrimFunc(std::string("@T.prim_func\n") + GetParam().v018, "old.py");
  ASSERT_TRUE(today.ok()) << today.status().ToString();
  ASSERT_TRUE(v018.ok()) << v018.status().ToString();
  EXPECT_TRUE(StructuralEqual(*today, *v018)) << Print(*today) << Print(*v018);
}
INSTANTIATE_TEST_SUITE_P(
    Spellings, TodaysText,
    testing::Values(
        TodayCase{"Blocks", R"(def f(A: T.Buffer((16,), "float32")):
    # with T.sblock("root"):
    B = T.sblock_alloc_buffer((16,), scope="shared")
    for i in range(16):
        with T.sblock("B"):
            vi = T.axis.spatial(16, i)
            T.reads(A[vi])
            T.writes(B[vi])
            T.sblock_attr({"x": 1})
            B[vi] = A[vi]
)",
                  R"(def f(A: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((16,), scope="shared")
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            T.reads(A[vi])
            T.writes(B[vi])
            T.block_attr({"x": 1})
            B[vi] = A[vi]
)"},
        TodayCase{"SymbolsOfTheSignature",
                  R"(def f(A: T.Buffer(("n", "m"), "float16", strides=(m * 2, 1)), B: T.Buffer((n, m)), n: T.int32):
    m = T.int32()
    B[0, 0] = T.Cast("float32", A[0, 0]) + T.Cast("float32", n + m)
)",
                  R"(def f(a: T.handle, b: T.handle, n: T.int32):
    m = T.int32()
    A = T.match_buffer(a, (n, m), "float16", strides=(m * 2, 1))
    B = T.match_buffer(b, (n, m))
    B[0, 0] = T.Cast("float32", A[0, 0]) + T.Cast("float32", n + m)
)"},
        TodayCase{"SymbolsOfLongIntegers", R"(def f(A: T.Buffer(("n",))):
    n = T.int64()
    A[n - T.int64(1)] = T.float32(0.0)
)",
                  R"(def f(a: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,))
    A[n - T.int64(1)] = T.float32(0.0)
)"},
        TodayCase{"Memory", R"(def f(A: T.Buffer((16,), "float32")):
    B = T.alloc_local((16,))
    C = B.view(4, 4)
    C[0, 0] = A[0]
    if A[0] > T.float32(0.0):
        D = T.alloc_shared((16,), "int32")
        D[0] = 1
    E = T.alloc_buffer((4,))
    E[0] = B[1]
)",
                  R"(def f(A: T.Buffer((16,), "float32")):
    B = T.decl_buffer((16,), scope="local")
    C = T.decl_buffer((4, 4), data=B.data)
    C[0, 0] = A[0]
    if A[0] > T.float32(0.0):
        D = T.decl_buffer((16,), "int32", scope="shared")
        D[0] = 1
    E = T.decl_buffer((4,))
    E[0] = B[1]
)"},
        TodayCase{"AttributesOfNothing", R"(def f(A: T.Buffer((16,), "float32"), n: T.int32):
    with T.attr({"pragma": n + 1, "second": "text"}):
        A[1] = T.float32(1.0)
    T.attr({"third": 1})
    A[0] = T.float32(1.0)
)",
                  R"(def f(A: T.Buffer((16,), "float32"), n: T.int32):
    with T.attr(0, "pragma", n + 1):
        T.attr(0, "second", "text")
        A[1] = T.float32(1.0)
    T.attr(0, "third", 1)
    A[0] = T.float32(1.0)
)"},
        TodayCase{"Assertions", R"(def f(n: T.int32):
    assert n > 0, ("RuntimeError", ["n is ", "positive"])
    T.tvm_storage_sync("shared", T.bool(False), -1)
)",
                  R"(def f(n: T.int32):
    assert n > 0, "n is positive"
    T.evaluate(T.tvm_storage_sync("shared", T.bool(False), -1))
)"},
        TodayCase{"TypesOfFields", R"(def f(p: T.handle):
    T.tvm_struct_get(p, 0, 1, T.handle().ty)
)",
                  R"(def f(p: T.handle):
    T.evaluate(T.tvm_struct_get(p, 0, 1, "handle"))
)"},
        TodayCase{"ScalableSlices", R"(def f(A: T.Buffer((64,), "float32")):
    A[0:T.vscale() * 4] = A[T.Ramp(4, 1, T.vscale() * 4)]
)",
                  R"(def f(A: T.Buffer((64,), "float32")):
    A[T.Ramp(0, 1, T.vscale() * 4)] = A[T.Ramp(4, 1, 4 * T.vscale())]
)"},
        TodayCase{"Returns", "def f(n: T.int32) -> T.int32:\n    return n + 1\n",
                  "def f(n: T.int32) -> T.int32:\n    T.evaluate(T.ret(n + 1))\n"}),
    [](const auto& info) { return info.param.name; });

TEST(TodaysText, IsWrittenWhereItIsAskedFor) {
  const std::string text = R"(from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def f(A: T.Buffer((16,), "float32")):
        B = T.sblock_alloc_buffer((16,), "float32", scope="shared")
        for i in range(16):
            with T.sblock("B"):
                vi = T.axis.spatial(16, i)
                T.reads(A[vi])
                T.writes(B[vi])
                T.sblock_attr({"x": 1})
                B[vi] = T.call_intrin("float32", "tirx.if_then_else", 1, A[vi], A[vi])

    @T.prim_func(s_tir=True)
    def g(A: T.Buffer((16,), "float32")):
        B = T.alloc_buffer((16,), "float32", scope="local")
        B[0] = A[0]
)";
  const StatusOr<IRModule> module = ParseModule(text, "m.py");
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  EXPECT_EQ(Print(*module, {.spelling = Spelling::kToday}), text);
  const StatusOr<IRModule> again = ParseModule(Print(*module), "m.py");
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  for (size_t i = 0; i < 2; ++i) EXPECT_TRUE(StructuralEqual(again->prim_funcs[i], module->prim_funcs[i]));
}

struct RefusedCase {
  const char* name;
  const char* body;
  const char* message;
};
class WhatTheTreeCannotHold : public testing::TestWithParam<RefusedCase> {};
TEST_P(WhatTheTreeCannotHold, IsAnErrorWithItsPlace) {
  const std::string text =
      "@T.prim_func(s_tir=True)\ndef f(A: T.Buffer((16,), \"float32\"), n: T.int32, p: T.handle):\n    " +
      std::string(GetParam().body) + "\n";
  const StatusOr<PrimFunc> func = ParsePrimFunc(text, "f.py");
  ASSERT_FALSE(func.ok()) << Print(*func);
  EXPECT_THAT(func.status().message(), testing::HasSubstr(GetParam().message));
}
INSTANTIATE_TEST_SUITE_P(
    Texts, WhatTheTreeCannotHold,
    testing::Values(
        RefusedCase{"OtherErrors", "assert n > 0, (\"ValueError\", [\"x\"])", "f.py:3:20: expected a RuntimeError"},
        RefusedCase{"Partitions", "B = A.partition(num_tiles=(8,))", "f.py:3:9: expected vload, access_ptr or scope"},
        RefusedCase{"ViewsOfOtherTypes", "B = A.view(16, dtype=\"int32\")", "f.py:3:9: expected the extents of a view"},
        RefusedCase{"Realize", "T.realize(A[0:4], \"global\")", "f.py:3:15: expected a buffer declared by T.Buffer"},
        RefusedCase{"UnknownKeywords", "B = T.sblock_alloc_buffer((4,), layout=None)",
                    "expected a parameter of T.sblock_alloc_buffer, got \"layout\""},
        RefusedCase{"Breaks", "T.break_loop()", "f.py:3:5: expected an operation of TensorIR, got \"T.break_loop\""},
        RefusedCase{"UnknownAxisKinds", "T.evaluate(T.iter_var(n, 4, \"Strange\", \"\"))", "expected an operation"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lathe
