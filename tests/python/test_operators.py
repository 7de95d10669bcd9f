"""What operators and named operations fold and refuse, as TVM does."""
import numpy as np
import pytest
import tvm
import tvm.testing
from tvm import tir

c = tir.const


def var(name="x", dtype="int32"):
    return tir.Var(name, dtype)


@pytest.mark.parametrize("make", [
    lambda x: x + 0.0, lambda x: 0.0 + x, lambda x: x - 0.0, lambda x: x * 1.0, lambda x: 1.0 * x, lambda x: x / 1.0,
])
def test_neutral_floats_leave_the_other_operand(make):
    x = var("x", "float32")
    assert make(x).same_as(x)


def test_numbers_are_folded():
    assert isinstance(c(1.5) + c(2.5), tir.FloatImm) and (c(1.5) + c(2.5)).value == 4.0
    assert bool(c(1.5) < c(2.5)) is True and (var("f", "float32") * 0.0).value == 0.0
    assert (c(6) & 3) == 2 and (c(6) | 3) == 7 and (c(6) ^ 3) == 5 and (c(1) << 3) == 8 and (c(16) >> 2) == 4
    assert c(1.7).astype("int32") == 1 and tir.floor(c(1.5)).value == 1.0 and tir.round(c(2.5)).value == 2.0
    assert tir.abs(c(-3)) == 3 and tir.if_then_else(c(True), 1, 2) == 1
    assert 0 // var() == 0 and 0 % var() == 0 and tir.max(x := var(), x).same_as(x)


@pytest.mark.parametrize("fold", [
    lambda e: e // 1, lambda e: tir.truncdiv(e, 1), lambda e: e + 0, lambda e: e - 0, lambda e: e * 1, lambda e: 1 * e,
])
def test_what_is_left_of_an_operation_is_not_taken_for_the_operation(fold):
    for operand in (0 - var(), tir.Sub(c(0), var("y"))):
        assert fold(operand).same_as(operand)


def test_rounding_and_questions_of_integers_need_no_call():
    i = var()
    assert tir.floor(i).same_as(i) and tir.isnan(i).value == 0 and tir.isfinite(i).value == 1
    assert isinstance(tir.abs(i), tir.Select) and (i << 0).same_as(i)
    assert tir.likely(c(True, "bool")).value == 1


@pytest.mark.parametrize("dtype, low, high", [
    ("int8", -128, 127), ("uint8", 0, 255), ("int32", -2147483648, 2147483647), ("int64", -2**63, 2**63 - 1),
    ("float16", -65504.0, 65504.0), ("float32", -np.finfo("float32").max, np.finfo("float32").max),
    ("float64", -np.finfo("float64").max, np.finfo("float64").max),
])
def test_types_have_a_least_and_a_greatest_number(dtype, low, high):
    assert tir.min_value(dtype).value == low and tir.max_value(dtype).value == high
    assert tir.min_value(dtype).dtype == dtype


def test_infinity_is_a_float():
    assert tir.infinity("float32").value == float("inf")
    with pytest.raises(tvm.TVMError):
        tir.infinity("int32")


@pytest.mark.parametrize("make", [
    lambda i, f: i << -1, lambda i, f: i << 32, lambda i, f: i // 0, lambda i, f: i % 0, lambda i, f: tir.truncdiv(i, 0),
    lambda i, f: f // f, lambda i, f: f & 1, lambda i, f: i / i, lambda i, f: tir.Not(i), lambda i, f: tir.And(i, i),
])
def test_what_has_no_meaning_is_refused(make):
    with pytest.raises(tvm.TVMError):
        make(var(), var("f", "float32"))


def test_an_equality_is_an_expression_wherever_one_is_wanted():
    x, y = var("x"), var("y")
    analyzer = tvm.arith.Analyzer()
    analyzer.bind(x, tvm.ir.Range(0, 8))
    assert analyzer.simplify(x == 9).value == 0 and analyzer.can_prove(x * 2 % 2 == 0)
    assert isinstance(tir.all(x == 3, y == 4), tir.And) and isinstance(tir.Not(x == y), tir.Not)
    assert isinstance(tir.Select(x == y, 1, 2), tir.Select)


def test_numbers_of_numpy_keep_their_kind():
    assert (var() + np.int32(3)).b == 3
    assert (var("f", "float32") + np.float32(1.5)).b.value == 1.5


def test_axes_take_pairs_and_names():
    axis = tir.IterVar((0, 10), "i", tir.IterVar.ThreadIndex, "threadIdx.x")
    assert axis.var.name == "i" and axis.dom.extent == 10 and axis.thread_tag == "threadIdx.x"
    assert isinstance(axis + 1, tir.Add)


def test_buffers_know_their_memory():
    A = tir.decl_buffer((8, 16), "float32", name="A")
    i, j = var("i"), var("j")
    (offset,) = A.offset_of([i, j])
    tvm.testing.assert_prim_expr_equal(offset, i * 16 + j)
    assert [extent.value for extent in A.get_flattened_buffer().shape] == [128]
    load = A.vload([i, 0], "float32x4")
    assert load.dtype == "float32x4" and isinstance(load.indices[1], tir.Ramp)
    store = A.vstore([i, 0], tir.Broadcast(c(1.0), 4))
    assert isinstance(store, tir.BufferStore) and isinstance(store.indices[1], tir.Ramp)
    pointer = A.access_ptr("rw", offset=4)
    assert pointer.dtype == "handle" and pointer.args[1].same_as(A.data)
    assert pointer.args[2] == 4 and pointer.args[3] == 124 and pointer.args[4] == 3
    separated = tir.decl_buffer((2, 3, 4), "int8", axis_separators=[2]).get_flattened_buffer()
    assert [extent.value for extent in separated.shape] == [6, 4]


def test_stores_take_no_other_type():
    A = tir.decl_buffer((8,), "float32", name="A")
    with pytest.raises(TypeError, match="dtype mismatch"):
        tir.BufferStore(A, c(1, "int32"), [0])


def test_loops_know_their_threads():
    body = tir.Evaluate(0)
    serial = tir.For(var("i"), 0, 8, tir.ForKind.SERIAL, body)
    bound = tir.For(var("i"), 0, 8, tir.ForKind.THREAD_BINDING, body, tir.IterVar((0, 8), "t", 1, "threadIdx.x"))
    assert serial.thread_binding is None and bound.thread_binding.thread_tag == "threadIdx.x"


def test_operations_have_what_programs_say_of_them():
    exp = tvm.ir.Op.get("tir.exp")
    assert exp.get_attr("ftest") is None and not exp.has_attr("ftest")
    tvm.ir.register_op_attr("tir.exp", "ftest", lambda x: x + 1)
    assert tvm.ir.Op.get("tir.exp").get_attr("ftest")(10) == 11
    with pytest.raises(tvm.TVMError, match="level 10 already"):
        exp.set_attr("ftest", 3)
    exp.set_attr("ftest", 4, plevel=11)
    assert exp.get_attr("ftest") == 4
    exp.reset_attr("ftest")
    assert exp.get_attr("ftest") is None
    with pytest.raises(tvm.TVMError):
        tvm.ir.register_op_attr("tir.no_such_operation", "ftest", 1)


def test_rules_of_programs_lower_operations():
    from tvm.script import tir as T

    @T.prim_func(private=True)
    def func(A: T.Buffer((4,), "float32"), i: T.int32):
        A[0] = T.tanh(A[i // 8])

    @tvm.ir.register_intrin_lowering("tir.tanh", "llvm")  # noqa: F841
    def rule(call):
        return tir.call_extern("float32", "tanhf", call.args[0])

    try:
        module = tir.transform.BindTarget(tvm.target.Target("llvm"))(tvm.IRModule({"main": func}))
        lowered = tir.transform.LowerIntrin()(module)["main"].without_attr("target")

        @T.prim_func(private=True)
        def expected(A: T.Buffer((4,), "float32"), i: T.int32):
            A[0] = T.call_extern("float32", "tanhf", A[T.shift_right(i, 3)])

        tvm.ir.assert_structural_equal(lowered, expected)
    finally:
        tvm.ir.Op.get("tir.tanh").reset_attr("llvm.FLowerIntrinsic")
    with pytest.raises(tvm.TVMError, match="no rule of a target for tanh"):
        tir.transform.LowerIntrin()(module)


if __name__ == "__main__":
    tvm.testing.main()


def test_the_one_of_ceildiv_has_the_type_of_its_operands():
    x, y = var("x", "int8"), var("y", "int8")
    assert str(tir.ceildiv(x, y)) == "(x + y - T.int8(1)) // y" and tir.ceildiv(x, y).dtype == "int8"


def test_unsigned_integers_have_one_quotient():
    x, y = var("x", "uint8"), var("y", "int8")
    assert isinstance(x / x, tir.Div) and (x / y).dtype == "uint8"
    with pytest.raises(tvm.TVMError, match="truncdiv"):
        y / y


def test_operations_say_what_calls_of_them_do():
    effect = lambda name: tvm.ir.Op.get(name).get_attr("TCallEffectKind")
    assert effect("tir.exp") == 1 and effect("tir.call_extern") == 3 and tvm.ir.Op.get("tir.exp").get_attr("none") is None
    assert "tir.exp" in tvm.ir.Op.list_op_names()


@pytest.mark.parametrize("value, dtype, text", [
    (2**64 - 1, "uint64", "T.uint64(18446744073709551615)"), (2**63, "uint64", "T.uint64(9223372036854775808)"),
    (2**63, "uint64x4", "T.Broadcast(T.uint64(9223372036854775808), 4)"),
    (np.int8(2), None, "T.int8(2)"), (np.float64(2), None, "T.float64(2.0)"), (np.bool_(True), None, "T.bool(True)"),
    (1e39, None, "T.float64(999999999999999939709166371603178586112.0)"), (1.5, None, "T.float32(1.5)"),
    (2**70, "float32", "T.float32(1180591620717411303424.0)"), (-2**63, "int64", "T.int64(-9223372036854775808)"),
])
def test_constants_of_64_bits(value, dtype, text):
    assert str(c(value, dtype)) == text


@pytest.mark.parametrize("make", [
    lambda: c(2**63, "int64"), lambda: c(2**64, "uint64"), lambda: c(2**63), lambda: c(-2**63 - 1, "int64"),
    lambda: c(1e40, "float32"), lambda: c(70000.0, "float16"), lambda: c(-1, "uint64"), lambda: tir.IntImm("int64", 2**63),
])
def test_constants_that_leave_their_type(make):
    with pytest.raises(ValueError):
        make()


def test_texts_are_no_constants():
    with pytest.raises(TypeError):
        c("x")


def test_equalities_are_operands():
    n, m, f = var("n"), var("m"), var("f", "float32")
    assert str((n == m) + 1) == 'T.Cast("int32", n == m) + 1' and str(f * (n != m)) == 'f * T.Cast("float32", n != m)'
    assert str(~(n == m)) == str(tir.bitwise_not(n == m)) and str((n == m) & (m < n)) == "T.bitwise_and(n == m, m < n)"
    for boolean in (n == m, n < m):
        with pytest.raises(ValueError, match="boolean"):
            -boolean
    assert not (n == m) and (n == n) and (n != m) and {n == m: 1}


def test_float_operations_of_integers_are_calls():
    call = tir.exp(var("n"))
    assert call.dtype == "int32" and str(call) == "T.exp(n)" and str(tir.atan2(var("n"), 1)) == "T.atan2(n, 1)"
    with pytest.raises(tvm.TVMError, match="truncdiv"):
        tir.truncdiv(var("f", "float32"), var("g", "float32"))


def test_offsets_are_merged():
    n, m, a, b = (var(name) for name in "nmab")
    assert str(tir.decl_buffer((n, m)).offset_of([a // m, a % m])[0]) == "a"
    strided = tir.decl_buffer((64, 8), strides=[8, 1], elem_offset=16)
    assert str(strided.offset_of([a, b + 3])[0]) == "a * 8 + b + 19"


def test_limits_and_scalable_lanes():
    assert tir.max_value("float8_e4m3fn").value == 448 and tir.min_value("float8_e5m2").value == -57344
    assert str(tir.get_vscale_expr("int8", 128)) == "16 * T.vscale()" and tir.undef().dtype == "int32"
