"""estimate_tir_flops, find_anchor_block, is_pure_function: what TVM 0.27 says of the same programs."""
import pytest
import tvm
import tvm.testing
from programs import matmul
from tvm import tir
from tvm.script import tir as T


def _flops(func):
    module = tir.analysis.estimate_tir_flops(tvm.IRModule({"main": func}))
    assert tir.analysis.estimate_tir_flops(func.body) == module
    return module


def test_a_product_has_two_operations_per_step():
    loops, block = 1, matmul.body.block.body
    while isinstance(block, tir.For):
        loops, block = loops * int(block.extent), block.body
    assert _flops(matmul) == 2 * loops


def test_operations_of_values_count():
    @T.prim_func
    def func(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "int32")):
        for i, j in T.grid(8, 8):
            B[i, j] = i * 8 + j + 1
            A[i, j] = T.exp(A[i, j]) * T.float32(2) + T.max(A[i, j], T.float32(1)) - T.Select(
                A[i, j] < T.float32(0), A[i, j] + T.float32(1), T.float32(3))

    assert _flops(func) == 512


def test_of_branches_the_longer_one_counts():
    @T.prim_func
    def func(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8,), "int32"), n: T.int32):
        for i, j in T.grid(8, 8):
            if A[i, j] + T.float32(1) < T.float32(3):
                A[i, j] = A[i, j] + T.float32(1)
            else:
                A[i, j] = A[i, j] + T.float32(3) - T.float32(2) * A[i, j]
        if n < 3:
            B[0] = n + 1 + n
        else:
            A[0, 0] = A[0, 1] + A[0, 2]
        A[0, 0] = T.if_then_else(n < 3, A[0, 1] + T.float32(1), A[0, 1] * A[0, 2])

    assert _flops(func) == 64 * 3 + 2 + 1 + 2


def test_loops_are_as_long_as_their_bounds_allow():
    @T.prim_func
    def triangle(B: T.Buffer((8,), "int32")):
        for i in range(8):
            for j in range(i):
                B[i] = B[i] + 1

    @T.prim_func
    def symbolic(a: T.handle, n: T.int32):
        A = T.match_buffer(a, (n, 8), "float32")
        for i, j in T.grid(n, 8):
            A[i, j] = A[i, j] + T.float32(1)

    assert _flops(triangle) == 56
    assert _flops(symbolic) == 8 * (2**31 - 1)


def test_conditions_indices_inits_and_launches_do_not_count():
    @T.prim_func
    def func(A: T.Buffer((8,), "float32"), B: T.Buffer((64,), "int32"), n: T.int32):
        for i, j in T.grid(8, 8):
            with T.block("b"):
                vi, vj = T.axis.remap("SR", [i, j])
                T.where(i * 8 + j < n + 5)
                with T.init():
                    B[vi] = n * 2
                B[vi + 1] = B[vi * 2] + 1
        with T.launch_thread("threadIdx.x", 8) as tx:
            A[tx] = A[tx] + T.float32(1)
        T.evaluate(n * 2 + 3)

    assert _flops(func) == 65


def test_a_function_may_say_it_itself():
    func = matmul.with_attr("estimated_flops", 123)
    assert tir.analysis.estimate_tir_flops(tvm.IRModule({"main": func, "other": matmul})) == 123 + _flops(matmul)


@T.prim_func
def two_reductions(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32"),
                   D: T.Buffer((8,), "float32")):
    for i, j in T.grid(8, 8):
        with T.block("D"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                D[vi] = T.float32(0)
            D[vi] = D[vi] + A[vi, vj]
    for i, j, k in T.grid(8, 8, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j, k in T.grid(8, 8, 80):
        with T.block("E"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


def test_the_anchor_is_the_reduction_that_computes_most():
    assert tir.analysis.find_anchor_block(tvm.IRModule({"main": two_reductions})).name_hint == "C"

    @T.prim_func
    def spatial(B: T.Buffer((8,), "int32")):
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = 1

    assert tir.analysis.find_anchor_block(tvm.IRModule({"main": spatial})) is None


def _is_pure(func):
    pure = tir.analysis.is_pure_function(func)
    if pure:
        assert tir.analysis.assert_pure_function(func) is True
    else:
        with pytest.raises(AssertionError, match="a pure function must not"):
            tir.analysis.assert_pure_function(func)
    return pure


def test_reading_computing_and_returning_are_pure():
    @T.prim_func
    def func(B: T.Buffer((8,), "int32"), n: T.int32) -> T.int32:
        T.evaluate(T.assume(n > 3))
        T.evaluate(T.call_pure_extern("int32", "f", n))
        T.ret(B[0] * n)

    assert _is_pure(func)


def test_writing_what_is_allocated_inside_is_pure():
    @T.prim_func
    def func(n: T.int32) -> T.int32:
        C = T.decl_buffer((3,), "int32")
        V = T.decl_buffer((1, 3), "int32", data=C.data)
        V[0, 1] = n
        T.ret(C[1])

    assert _is_pure(func)


def test_writing_what_is_given_is_not():
    @T.prim_func
    def func(B: T.Buffer((8,), "int32")):
        V = T.decl_buffer((4, 2), "int32", data=B.data)
        V[0, 0] = 1

    assert not _is_pure(func)


def test_calls_of_unknown_effect_are_not():
    @T.prim_func
    def extern(n: T.int32):
        T.evaluate(T.call_extern("int32", "f", n))

    @T.prim_func
    def barrier():
        T.evaluate(T.tvm_storage_sync("shared"))

    assert not _is_pure(extern) and not _is_pure(barrier)


if __name__ == "__main__":
    tvm.testing.main()
