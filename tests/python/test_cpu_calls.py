"""Functions that return a number, that call each other, and calls by the names of the C library and of LLVM."""
import math

import numpy as np
import pytest
import tvm
from tvm import te, tir
from tvm.script import ir as I
from tvm.script import tir as T


def run_elementwise(make, data, dtype="float32"):
    a = te.placeholder((len(data),), dtype, "A")
    b = te.compute((len(data),), lambda i: make(a[i]), "B")
    out = tvm.nd.empty((len(data),), b.dtype)
    tvm.build(te.create_prim_func([a, b]), target="llvm")(tvm.nd.array(np.array(data, dtype)), out)
    return out.numpy()


def test_a_function_returns_a_number():
    @T.prim_func
    def f(a: T.int32, b: T.int32) -> T.int32:
        T.ret(a * 10 + b)

    @T.prim_func
    def scaled(a: T.float32) -> T.float32:
        T.ret(a * T.float32(1.5))

    assert tvm.build(f, target="llvm")(3, 4) == 34
    assert tvm.build(scaled, target="llvm")(3.0) == 4.5


def test_a_return_ends_the_function():
    @T.prim_func
    def find(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), x: T.int32) -> T.int32:
        for i in range(8):
            if A[i] == x:
                T.ret(i)
            B[i] = A[i]
        T.ret(-1)

    built = tvm.build(find, target="llvm")
    a, b = tvm.nd.array(np.arange(8, dtype="int32") * 2), tvm.nd.array(np.full(8, 9, "int32"))
    assert built(a, b, 6) == 3 and b.numpy().tolist() == [0, 2, 4] + [9] * 5
    assert built(a, b, 5) == -1


def test_a_loop_that_runs_side_by_side_returns_nothing():
    @T.prim_func
    def f(A: T.Buffer((8,), "int32")) -> T.int32:
        for i in T.parallel(8):
            if A[i] == 3:
                T.ret(i)
        T.ret(-1)

    with pytest.raises(tvm.TVMError, match='T.ret inside of loop "i"'):
        tvm.build(f, target="llvm")


def test_functions_of_a_module_call_each_other():
    @I.ir_module
    class M:
        @T.prim_func(private=True)
        def add(p: T.handle("float32"), n: T.int32):
            X = T.decl_buffer((4,), "float32", data=p)
            for i in range(4):
                X[i] = X[i] + T.Cast("float32", n)

        @T.prim_func(private=True)
        def square(x: T.float32) -> T.float32:
            T.ret(x * x)

        @T.prim_func
        def main(A: T.Buffer((4,), "float32")):
            M.add(A.data, 3)
            for i in range(4):
                A[i] = M.square(A[i] + M.square(T.float32(1)))

    built, a = tvm.build(M, target="llvm"), tvm.nd.array(np.arange(4, dtype="float32"))
    built["main"](a)
    assert a.numpy().tolist() == [16, 25, 36, 49]
    with pytest.raises(AttributeError):
        built["add"]


def test_a_public_function_is_called_and_there():
    @I.ir_module
    class M:
        @T.prim_func
        def first(p: T.handle("float32")):
            A = T.decl_buffer((4,), "float32", data=p)
            A[0] = 42.0

        @T.prim_func
        def main(A: T.Buffer((4,), "float32")):
            M.first(A.data)

    built = tvm.build(M, target="llvm")
    for name in ("main", "first"):
        a = tvm.nd.array(np.zeros(4, "float32"))
        built[name](a)
        assert a.numpy()[0] == 42


def test_a_function_that_calls_itself_is_refused():
    @I.ir_module
    class M:
        @T.prim_func(private=True)
        def f(a: T.int32) -> T.int32:
            T.ret(M.f(a - 1))

        @T.prim_func
        def main(A: T.Buffer((1,), "int32")):
            A[0] = M.f(3)

    with pytest.raises(tvm.TVMError, match='a call of function "f"'):
        tvm.build(M, target="llvm")


POSITIVE = [0.25, 0.5, 1.0, 1.5, 2.5, 3.25]
OF_ONE = {"sqrt": math.sqrt, "exp": math.exp, "fabs": abs, "floor": math.floor, "ceil": math.ceil, "rint": np.rint,
          "sin": math.sin, "cos": math.cos, "log": math.log, "log2": math.log2, "trunc": math.trunc}


@pytest.mark.parametrize("name", OF_ONE)
def test_names_of_the_c_library_and_of_llvm_are_known(name):
    expected = [OF_ONE[name](x) for x in POSITIVE]
    ways = {"float32": [lambda x: tir.call_pure_extern("float32", name + "f", x),
                        lambda x: tir.call_extern("float32", name + "f", x),
                        lambda x: tir.call_llvm_pure_intrin("float32", f"llvm.{name}", tir.const(1, "uint32"), x),
                        lambda x: tir.call_llvm_intrin("float32", f"llvm.{name}.f32", x)],
            "float64": [lambda x: tir.call_pure_extern("float64", name, x)]}
    for dtype, makers in ways.items():
        for make in makers:
            np.testing.assert_allclose(run_elementwise(make, POSITIVE, dtype), expected, rtol=1e-5)


@pytest.mark.parametrize("name, arguments, expected", [
    ("powi", [tir.const(3, "int32")], [x**3 for x in POSITIVE]),
    ("maxnum", [tir.const(1.0, "float32")], [max(x, 1) for x in POSITIVE]),
    ("copysign", [tir.const(-1.0, "float32")], [-x for x in POSITIVE]),
])
def test_intrinsics_of_several_arguments(name, arguments, expected):
    call = lambda x: tir.call_llvm_pure_intrin("float32", "llvm." + name, x, *arguments)
    np.testing.assert_allclose(run_elementwise(call, POSITIVE), expected, rtol=1e-5)


@pytest.mark.parametrize("name, dtype, arguments, data, expected", [
    ("ctpop", "int32", [], [7, -1, 0], [3, 32, 0]),
    ("ctlz", "int32", [tir.const(0, "bool")], [1, -1, 0], [31, 0, 32]),
    ("cttz", "int32", [tir.const(0, "bool")], [8, -1, 0], [3, 0, 32]),
    ("umax", "int32", [tir.const(3, "int32")], [-1, 0, 5], [-1, 3, 5]),
    ("smin", "int32", [tir.const(3, "int32")], [-1, 0, 5], [-1, 0, 3]),
    ("sadd.sat", "int8", [tir.const(100, "int8")], [-128, 27, 28], [-28, 127, 127]),
    ("usub.sat", "int8", [tir.const(100, "int8")], [-128, -1, 99], [28, -101, 0]),
])
def test_intrinsics_of_integers(name, dtype, arguments, data, expected):
    call = lambda x: tir.call_llvm_pure_intrin(dtype, "llvm." + name, x, *arguments)
    assert run_elementwise(call, data, dtype).tolist() == expected


@pytest.mark.parametrize("make, message", [
    (lambda x: tir.call_pure_extern("float32", "no_such_f", x), "no_such_f"),
    (lambda x: tir.call_pure_extern("float32", "sqrt", x), '"sqrt"'),  # Is of float64.
    (lambda x: tir.call_llvm_pure_intrin("float32", "llvm.nosuch", x), "llvm.nosuch"),
])
def test_names_that_are_not_known_are_refused_by_name(make, message):
    with pytest.raises(tvm.TVMError, match=message):
        run_elementwise(make, POSITIVE)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_the_remainder_of_floats_is_exact(dtype):
    info, rng = np.finfo(dtype), np.random.default_rng(7)
    x = (rng.standard_normal(400) * 10.0 ** rng.uniform(-3, 3, 400)).astype(dtype)
    y = (rng.standard_normal(400) * 10.0 ** rng.uniform(-3, 3, 400)).astype(dtype)
    odd = np.array([0, -0.0, 1, np.inf, -np.inf, np.nan, info.max, info.tiny, info.smallest_subnormal * 5], dtype)
    x, y = np.concatenate([x, np.repeat(odd, len(odd))]), np.concatenate([y, np.tile(odd, len(odd))])

    a, b = (te.placeholder((len(x),), dtype, name) for name in "AB")
    c = te.compute((len(x),), lambda i: tir.fmod(a[i], b[i]), "C")
    out = tvm.nd.empty((len(x),), dtype)
    tvm.build(te.create_prim_func([a, b, c]), target="llvm")(tvm.nd.array(x), tvm.nd.array(y), out)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(out.numpy(), np.fmod(x, y))


def test_the_exponent_of_ldexp_may_be_a_float():
    scaled = run_elementwise(lambda x: tir.ldexp(x, tir.const(2.5, "float32")), POSITIVE)
    np.testing.assert_allclose(scaled, np.array(POSITIVE) * 2**2.5, rtol=1e-6)


@pytest.mark.parametrize("shift", [-3, 0, 1])
@pytest.mark.parametrize("factor", [1395864320, 1 << 30, -5])
def test_products_of_fixed_point_numbers_round_to_nearest(shift, factor):
    data = [3, -3, 1000, 7, 2**20, -2**20, 5]
    of = lambda *values: [tir.const(value, "int32") for value in values]
    left, right = max(shift, 0), max(-shift, 0)
    expected = [((x << left) * factor + (1 << (30 + right))) >> (31 + right) for x in data]
    assert run_elementwise(lambda x: tir.q_multiply_shift(x, *of(factor, 31, shift)), data, "int32").tolist() == expected
    flags = [tir.const(left > 0, "bool"), tir.const(right > 0, "bool")]
    per_axis = lambda x: tir.q_multiply_shift_per_axis(x, *of(factor, left, right, 31), *flags)
    assert run_elementwise(per_axis, data, "int32").tolist() == expected


def test_what_is_called_by_name_is_vectorized():
    @T.prim_func
    def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        for i in T.vectorized(16):
            B[i] = T.call_pure_extern("float32", "sqrtf", A[i])

    a, b = np.arange(16, dtype="float32"), tvm.nd.empty((16,))
    tvm.build(f, target="llvm")(tvm.nd.array(a), b)
    np.testing.assert_allclose(b.numpy(), np.sqrt(a))


def test_a_function_that_returns_before_its_end_is_not_scheduled():
    @T.prim_func
    def find(A: T.Buffer((4, 4), "int32"), x: T.int32) -> T.int32:
        for i, j in T.grid(4, 4):
            with T.block("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                T.writes()
                if A[vi, vj] == x:
                    T.ret(vi * 10 + vj)
        T.ret(-1)

    with pytest.raises(tvm.TVMError, match="returns before its end"):  # The first one of another order is another one.
        tir.Schedule(find).get_block("b")


def test_what_a_return_reads_is_not_inlined():
    @T.prim_func
    def f(A: T.Buffer((16,), "int32"), D: T.Buffer((16,), "int32")) -> T.int32:
        C = T.alloc_buffer((16,), "int32")
        for i in range(16):
            with T.block("c"):
                vi = T.axis.spatial(16, i)
                C[vi] = A[vi] * 2
        for i in range(16):
            with T.block("d"):
                vi = T.axis.spatial(16, i)
                D[vi] = C[vi] * 2
        T.ret(C[3] + 1)

    sch = tir.Schedule(f)
    for inline, block in ((sch.compute_inline, "c"), (sch.reverse_compute_inline, "d")):
        with pytest.raises(tir.ScheduleError, match='reads buffer "C"'):
            inline(block)
    sch.parallel(sch.get_loops("d")[0])
    a, d = tvm.nd.array(np.arange(16, dtype="int32")), tvm.nd.empty((16,), "int32")
    assert tvm.build(sch.mod, target="llvm")(a, d) == 7 and d.numpy().tolist() == [4 * x for x in range(16)]


def test_memory_that_a_program_makes_by_hand_is_declared():
    builder = tir.ir_builder.create()
    target = tir.decl_buffer((4,), "int32", "A")
    out = builder.buffer_ptr(target)
    with builder.for_range(0, 4, "i") as i:
        memory = builder.allocate("int32", (4,), name="m", scope="global")
        memory[i] = i * i
        out[i] = memory[i]
    a = tvm.nd.empty((4,), "int32")
    tvm.build(tir.PrimFunc([target], builder.get()), target="llvm")(a)
    assert a.numpy().tolist() == [0, 1, 4, 9]
