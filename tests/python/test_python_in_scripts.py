"""What Python decides while a script is read, and what T's operators make of their operands."""
import pytest
import tvm
from tvm import tir
from tvm.script import ir as I
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


@T.macro
def _set(A, i, *rest, value=3, named=None):
    A[i] = value
    if len(rest) > 0:
        A[rest[0]] = rest[1]
    if named is not None:
        A[0] = named["k"]


@T.macro
def _only_named(A, *, at):
    A[at] = 1


def test_macros_take_the_rest_names_alone_and_dicts():

    @T.prim_func
    def main(A: T.Buffer((8,), "int32")):
        _set(A, 1)
        _set(A, 2, 5, 6, value=7)
        _set(A, 3, named={"k": 4})
        _only_named(A, at=5)

    assert _body(main) == ["A[1] = 3", "A[2] = 7", "A[5] = 6", "A[3] = 3", "A[0] = 4", "A[5] = 1"]


def test_an_argument_after_a_bare_star_needs_its_name():
    with pytest.raises(tvm.error.DiagnosticError, match="the name of the argument"):
        @T.prim_func
        def main(A: T.Buffer((8,), "int32")):
            _only_named(A, 5)


def test_operators_on_texts_are_pythons():

    @T.prim_func
    def main(A: T.Buffer((8,), "int32")):
        for i in range(8):
            with T.block("b_%d_%s" % (2, "x") + "y"):
                vi = T.axis.spatial(8, i)
                A[vi] = "a" == "a"

    text = main.script()
    assert 'T.block("b_2_xy")' in text and "A[vi] = 1" in text


def test_operations_take_their_arguments_by_name():

    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "int32"), n: T.int32):
        A[0] = T.if_then_else(cond=n > 1, t=A[1], f=T.exp(x=A[2]))
        A[1] = T.pow(A[1], y=A[2]) + T.fma(x=A[0], y=A[1], z=A[2])
        A[2] = T.fmod(x1=A[1], x2=A[2])
        B[0] = T.bitwise_and(n, y=3) + T.q_multiply_shift(x=n, y=n, q=31, s=2)

    assert _body(main) == [
        "A[0] = T.if_then_else(n > 1, A[1], T.exp(A[2]))", "A[1] = T.pow(A[1], A[2]) + T.fma(A[0], A[1], A[2])",
        "A[2] = T.fmod(A[1], A[2])", "B[0] = T.bitwise_and(n, 3) + T.q_multiply_shift(n, n, 31, 2)"]
    x = tir.Var("x", "float32")
    assert str(tir.exp(x=x)) == "T.exp(x)" and str(tir.if_then_else(x > 1.0, t=x, f=2.0)) == str(tir.if_then_else(x > 1.0, x, 2.0))
    with pytest.raises(TypeError, match="no argument is named y"):
        tir.exp(x, y=x)


def test_a_number_is_a_condition():

    @T.prim_func
    def main(A: T.Buffer((8,), "int32"), n: T.int32):
        if n:
            A[0] = 1
        for i in range(8):
            if i & 1:
                A[i] = 1
        while A[1]:
            A[1] = A[1] - 1

    assert _body(main) == ["if n != 0:", "A[0] = 1", "for i in range(8):", "if T.bitwise_and(i, 1) != 0:", "A[i] = 1",
                           "while A[1] != 0:", "A[1] = A[1] - 1"]
    x = tir.Var("x", "int32")
    assert str(tir.IfThenElse(x, tir.Evaluate(x), None).condition) == "x != 0"


FREE = tir.Var("free", "int32")


def test_a_program_defines_what_it_names():
    with pytest.raises(tvm.error.DiagnosticError, match="not well-formed.*free"):
        @T.prim_func
        def main(A: T.Buffer((8,), "int32")):
            A[FREE] = 1

    @T.prim_func(check_well_formed=False)
    def unchecked(A: T.Buffer((8,), "int32")):
        A[FREE] = 1

    @T.prim_func
    def of_its_shape(A: T.Buffer((FREE,), "int32")):
        A[FREE - 1] = 1

    assert unchecked.body.indices[0].same_as(FREE)


def test_a_module_calls_functions_that_it_has():
    with pytest.raises(tvm.error.DiagnosticError, match='a function of this module, got "g"'):
        @I.ir_module
        class M:
            @T.prim_func
            def main(A: T.Buffer((8,), "int32")):
                M.g(A.data)
