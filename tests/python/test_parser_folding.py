"""What the parser makes of operators: TVM evaluates them as Python does, so constants fold while a function is read."""
import pytest
import tvm
from tvm.script import from_source
from tvm.script import tir as T

BODY = """
@T.prim_func
def f(A: T.Buffer((16,), "{dtype}"), B: T.Buffer((16,), "{dtype}")):
    for i in range(16):
        {line}
"""


def line_of(dtype, line):
    func = from_source(BODY.format(dtype=dtype, line=line))
    return func.script().splitlines()[-1].strip()


@pytest.mark.parametrize("dtype, line, read", [
    ("float32", "B[i] = T.float32(1) + T.float32(2) * T.float32(3)", "B[i] = T.float32(7.0)"),
    ("float32", "B[i] = A[i] * 1.0 + 0.0", "B[i] = A[i]"),
    ("float32", "B[i] = A[i] * 0.0 + A[i] / 1.0", "B[i] = A[i]"),
    ("float32", "B[i] = T.max(A[i], T.max(T.float32(1), T.float32(2)))", "B[i] = T.max(A[i], T.float32(2.0))"),
    ("int32", "B[i] = T.if_then_else(True, i, 3)", "B[i] = i"),
    ("int32", "B[i] = T.if_then_else(3 > 4, i, 3)", "B[i] = 3"),
    ("int32", "B[i] = (i << 0) + (T.int32(3) << 2) + T.bitwise_and(6, 3)", "B[i] = i + 12 + 2"),
    ("int64", "B[i] = (T.int64(3) << T.int64(40)) + T.bitwise_or(T.int64(6), T.int64(1))",
     "B[i] = T.int64(3298534883335)"),
    ("int32", "B[i] = T.floor(A[i]) + T.abs(-3)", "B[i] = A[i] + 3"),
    ("int32", "B[i] = 0 // i + 0 % i", "B[i] = 0"),
    ("int32", "B[i] = 2.5", "B[i] = 2"),
    ("int32", "B[i] <<= 2", "B[i] = T.shift_left(B[i], 2)"),
    ("int8", "B[i] = A[i] + 1", 'B[i] = T.Cast("int8", T.Cast("int32", A[i]) + 1)'),
    ("float16", "B[i] = A[i] * 2.0", 'B[i] = T.Cast("float16", T.Cast("float32", A[i]) * T.float32(2.0))'),
    ("int32", "B[i] = i + T.int64(0)", "B[i] = T.Cast(\"int32\", T.Cast(\"int64\", i))"),
    ("int8", "B[i] = T.max_value(\"int8\")", "B[i] = T.int8(127)"),
    ("float32", "B[i] = 7 / 2", "B[i] = T.float32(3.5)"),
])
def test_operators_fold_while_a_function_is_read(dtype, line, read):
    assert line_of(dtype, line) == read


@pytest.mark.parametrize("line, read", [
    ("B[i] = T.Select(i < 3 and True, 1, 2)", "B[i] = T.Select(T.And(i < 3, T.bool(True)), 1, 2)"),
    ("B[i] = T.Select(T.int32(3) < 4, 1, 2)", "B[i] = T.Select(T.LT(3, 4), 1, 2)"),
    ("B[i] = T.Select(not T.bool(True), 1, 2)", "B[i] = T.Select(T.Not(T.bool(True)), 1, 2)"),
])
def test_comparisons_and_logic_are_nodes_of_constants_too(line, read):
    assert line_of("int32", line) == read


@pytest.mark.parametrize("dtype, line", [
    ("int32", "B[i] = i // 0"), ("int32", "B[i] = i % 0"), ("float32", "B[i] = A[i] / 0.0"),
    ("float32", "B[i] = A[i] // 2.0"), ("float32", "B[i] = A[i] ** 2"), ("float32", "B[i] = ~A[i]"),
    ("bool", "B[i] = -A[i]"), ("int32", "B[i] = A[i] << 40"), ("int32", "B[i] = A[i] << -1"),
    ("int64", "B[i] = T.Select(A[i] < i, 1, 2)"), ("float32", "B[i] = T.Select(A[i] < i, 1.0, 2.0)"),
    ("float32", "B[i] = T.Select(i < 3.0, 1.0, 2.0)"), ("float32", "B[i] = T.Select(i < 2, A[i], 0)"),
    ("float32", "B[i] = T.reinterpret(\"float32\", T.int64(3))"), ("int32", "assert i < 16"),
    ("int32", "x: T.int64 = i + 1"),
])
def test_what_tvm_refuses_to_read_is_an_error_here(dtype, line):
    with pytest.raises(tvm.error.DiagnosticError):
        line_of(dtype, line)


@pytest.mark.parametrize("node", [
    tvm.tir.Add(tvm.tir.FloatImm("float32", 1.0), tvm.tir.FloatImm("float32", 2.0)),
    tvm.tir.EQ(tvm.tir.IntImm("int32", 3), tvm.tir.IntImm("int32", 3)),
    tvm.tir.call_intrin("int32", "tir.abs", tvm.tir.Var("x", "int32")),
    tvm.tir.Div(tvm.tir.IntImm("int32", 1), tvm.tir.IntImm("int32", 0)),
])
def test_what_would_fold_is_printed_so_that_it_reads_back(node):
    func = tvm.tir.PrimFunc([], tvm.tir.Evaluate(node))
    if "abs" in str(node):
        func = tvm.tir.PrimFunc([node.args[0]], tvm.tir.Evaluate(node))
    tvm.ir.assert_structural_equal(from_source(func.script()), func)


@T.prim_func
def with_view(A: T.Buffer((16, 16), "float32"), c: T.handle):
    C = T.match_buffer(c, (16,), "float32", offset_factor=4)
    for i in range(4):
        with T.block("b"):
            vi = T.axis.S(4, i)
            T.reads()
            T.writes(A[vi * 4:vi * 4 + 4, 0:16])
            s0 = T.int32()
            s1 = T.int32()
            view = T.match_buffer(A[vi * 4:vi * 4 + 4, 0:16], (4, 16), strides=[s0, s1], offset_factor=1)
            T.evaluate(T.call_extern("int32", "f", view.access_ptr("w"), s0 + C.elem_offset))


def test_strides_and_offsets_that_begin_with_a_buffer_are_called_by_its_name():
    text = with_view.script()
    assert "view.elem_offset" in text and "view.strides[0] + C.elem_offset" in text
    tvm.ir.assert_structural_equal(from_source(text), with_view)


def test_the_extent_of_a_loop_is_simplified():
    @T.prim_func
    def one(a: T.handle, n: T.int32):
        A = T.match_buffer(a, (n,))
        for i in range(T.ceildiv(n, 16)):
            A[i] = 0.0

    @T.prim_func
    def other(a: T.handle, n: T.int32):
        A = T.match_buffer(a, (n,))
        for i in T.grid((n + 15) // 16):
            A[i] = 0.0

    tvm.ir.assert_structural_equal(one.body, other.body, map_free_vars=True)


def test_an_axis_of_a_new_variable_can_be_written_in_place():
    @T.prim_func
    def func(A: T.Buffer((16,), "float32")):
        T.attr(T.iter_var(T.int32(), (0, 16), "ThreadIndex", "threadIdx.x"), "thread_extent", 16)
        A[0] = 0.0

    assert func.body.node.thread_tag == "threadIdx.x"
