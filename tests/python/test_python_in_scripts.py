"""What Python decides while a script is read, and what T's operators make of their operands."""
import pytest
import tvm
from tvm import tir
from tvm.script import tir as T


def _body(func):
    return [line.strip() for line in func.script().split("def main(")[1].splitlines()[1:]]


def test_in_and_is_over_captured_values_decide_at_once():
    mode, bias = "relu", None

    @T.prim_func
    def main(A: T.Buffer((4,), "int32")):
        if mode in ["relu", "tanh"]:
            A[0] = 1
        if mode not in ("relu", "tanh"):
            A[1] = 1
        if bias is not None:
            A[2] = 1
        if bias is None and mode in {"relu": 1}:
            A[3] = 1

    assert _body(main) == ["A[0] = 1", "A[3] = 1"]


@T.macro
def _choose(A, i, is_first, what, none):
    if is_first:
        A[i] = 1
    else:
        A[i] = 2
    if what == "x":
        A[i] = 3
    if none is None:
        A[i] = 4


def test_literals_given_to_a_macro_decide_at_once():

    @T.prim_func
    def main(A: T.Buffer((4,), "int32")):
        _choose(A, 0, True, "x", None)
        _choose(A, 1, is_first=False, what="y", none=3)

    assert _body(main) == ["A[0] = 1", "A[0] = 3", "A[0] = 4", "A[1] = 2"]


def test_operations_that_only_the_module_has_and_starred_arguments():

    @T.prim_func
    def main(A: T.Buffer((4,), "int32"), n: T.int32):
        for i in range(4):
            if tir.all(i < n, n > 2):
                A[i] = T.min(*[n, 3])
            if tir.any(i < n, n == 2):
                A[i] = T.floordiv(n, **{"b": 2})

    assert _body(main) == ["for i in range(4):", "if i < n and n > 2:", "A[i] = T.min(n, 3)", "if i < n or n == 2:",
                           "A[i] = n // 2"]


@pytest.mark.parametrize("sign,call", [("&=", "bitwise_and"), ("|=", "bitwise_or"), ("^=", "bitwise_xor"),
                                       ("<<=", "shift_left"), (">>=", "shift_right")])
def test_bits_in_place(sign, call):
    source = f"""from tvm.script import tir as T
@T.prim_func
def main(A: T.Buffer((4,), "int32")):
    for i in range(4):
        A[i] {sign} 1
"""
    assert _body(tvm.script.from_source(source))[-1] == f"A[i] = T.{call}(A[i], 1)"


def test_names_for_several_values_at_once():

    @T.prim_func
    def main(A: T.Buffer((5,), "int32"), B: T.Buffer((5,), "int32"), p: T.Ptr("float16")):
        buffers = T.meta_var([A, B])
        for i in range(4):
            a, b = T.meta_var((i, i + 1))
            buffers[0][a] = buffers[1][b] + b

    assert _body(main)[-1] == "A[i] = B[i + 1] + (i + 1)"
    assert main.params[2].type_annotation.element_type.dtype == "float16"


def test_a_buffer_is_indexed_in_each_dimension():
    with pytest.raises(tvm.DiagnosticError, match='expected 2 indices of buffer "B", got 1'):

        @T.prim_func
        def main(B: T.Buffer((4, 4), "int32")):
            B[0] = 1


I8, I32, U32, I64 = (tir.Var(name, name) for name in ("int8", "int32", "uint32", "int64"))
OPERATORS = [
    ("bits of two signs", lambda: tir.bitwise_and(I32, U32), 'T.bitwise_and(T.Cast("uint32", int32), uint32)'),
    ("shift of two signs", lambda: U32 << I32, 'T.shift_left(uint32, T.Cast("uint32", int32))'),
    ("branches of two widths", lambda: tir.if_then_else(I32 > 1, I8, 1),
     'T.if_then_else(int32 > 1, T.Cast("int32", int8), 1)'),
]


@pytest.mark.parametrize("make,text", [case[1:] for case in OPERATORS], ids=[case[0] for case in OPERATORS])
def test_operands_come_to_one_type_as_those_of_plus(make, text):
    assert str(make()) == text


def test_leading_zeros_are_int32():
    assert tir.clz(I64).dtype == "int32"


def test_slices_of_a_buffer_outside_of_a_script():
    A = tir.decl_buffer((4, 64), "float32", name="A")
    region, row, lanes = A[0:2, 0:16], A[1], A[0, 0:17:2]
    assert str(region) == "A[0:2, 0:16]" and str(row) == "A[1, 0:64]"
    assert str(lanes.indices[1]) == "T.Ramp(0, 2, 9)" and lanes.dtype == "float32x9"
    with pytest.raises(ValueError, match="constant length and a step from 1 on"):
        A[0, I32:U32:2]
