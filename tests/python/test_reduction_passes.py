"""Reductions across threads, narrow floats and default threads by passes of TVM's names: what TVM 0.27 makes of the same
programs, written as TVM 0.18 writes it."""
import numpy
import pytest
import tvm
import tvm.testing
from tvm import tir
from tvm.script import tir as T

def module_of(func):
    return tvm.IRModule.from_expr(func.with_attr("global_symbol", "main"))


class TestAllStepsAreThreads(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.LowerCrossThreadReduction()

    def before(A: T.Buffer((8, 4, 16), "float32"), B: T.Buffer((8,), "float32")):
        for i in T.thread_binding(8, thread="blockIdx.x"):
            for k in T.thread_binding(4, thread="threadIdx.y"):
                for l in T.thread_binding(16, thread="threadIdx.x"):
                    with T.block("B"):
                        vi, vk, vl = T.axis.remap("SRR", [i, k, l])
                        T.reads(A[vi, vk, vl])
                        T.writes(B[vi])
                        with T.init():
                            B[vi] = T.float32(1)
                        B[vi] = B[vi] * A[vi, vk, vl]

    def expected(A: T.Buffer((8, 4, 16), "float32"), B: T.Buffer((8,), "float32")):
        cross_thread_B = T.alloc_buffer((1,), strides=(1,), scope="local")
        for i in T.thread_binding(8, thread="blockIdx.x"):
            for k in T.thread_binding(4, thread="threadIdx.y"):
                for l in T.thread_binding(16, thread="threadIdx.x"):
                    with T.block("B_cross_thread"):
                        vi, vk, vl = T.axis.remap("SRR", [i, k, l])
                        T.reads(A[vi, vk, vl])
                        T.writes(cross_thread_B[0])
                        T.attr(
                            T.comm_reducer(lambda x, y: x * y, [T.float32(1)]),
                            "reduce_scope",
                            T.reinterpret(T.uint64(0), dtype="handle"),
                        )
                        T.tvm_thread_allreduce(
                            T.uint32(1), A[vi, vk, vl], True, cross_thread_B[0], k, l, dtype="handle"
                        )
                    with T.block("B_write_back"):
                        vi = T.axis.spatial(8, i)
                        T.where(k == 0 and l == 0)
                        T.reads(cross_thread_B[0])
                        T.writes(B[vi])
                        B[vi] = cross_thread_B[0]


class TestThreadsReduceForThemselvesBefore(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.LowerCrossThreadReduction()

    def before(A: T.Buffer((8, 100), "float32"), B: T.Buffer((8,), "float32")):
        for i_0 in T.thread_binding(4, thread="blockIdx.x"):
            for i_1, k_0 in T.grid(3, 4):
                for k_1 in T.thread_binding(32, thread="threadIdx.y"):
                    with T.block("B"):
                        vi = T.axis.spatial(8, i_0 * 3 + i_1)
                        vk = T.axis.reduce(100, k_0 * 32 + k_1)
                        T.where(i_0 * 3 + i_1 < 8 and k_0 * 32 + k_1 < 100)
                        T.reads(A[vi, vk])
                        T.writes(B[vi])
                        with T.init():
                            B[vi] = T.min_value("float32")
                        B[vi] = T.max(B[vi], A[vi, vk])

    def expected(A: T.Buffer((8, 100), "float32"), B: T.Buffer((8,), "float32")):
        cross_thread_B = T.alloc_buffer((1,), strides=(1,), scope="local")
        in_thread_B = T.alloc_buffer((1,), strides=(1,), scope="local")
        for i_0 in T.thread_binding(4, thread="blockIdx.x"):
            for i_1 in range(3):
                for k_1 in T.thread_binding(32, thread="threadIdx.y"):
                    with T.block("B_in_thread_init"):
                        T.reads()
                        T.writes(in_thread_B[0])
                        in_thread_B[0] = T.min_value("float32")
                    for k_0 in range(4):
                        with T.block("B_in_thread"):
                            vi = T.axis.spatial(8, i_0 * 3 + i_1)
                            vk = T.axis.reduce(100, k_0 * 32 + k_1)
                            T.where(i_0 * 3 + i_1 < 8 and k_0 * 32 + k_1 < 100)
                            T.reads(A[vi, vk])
                            T.writes(in_thread_B[0])
                            in_thread_B[0] = T.max(in_thread_B[0], A[vi, vk])
                    with T.block("B_cross_thread"):
                        T.reads(in_thread_B[0])
                        T.writes(cross_thread_B[0])
                        T.attr(
                            T.comm_reducer(lambda x, y: T.max(x, y), [T.min_value("float32")]),
                            "reduce_scope",
                            T.reinterpret(T.uint64(0), dtype="handle"),
                        )
                        T.tvm_thread_allreduce(
                            T.uint32(1), in_thread_B[0], True, cross_thread_B[0], k_1, dtype="handle"
                        )
                    with T.block("B_write_back"):
                        vi = T.axis.spatial(8, i_0 * 3 + i_1)
                        T.where(i_0 * 3 + i_1 < 8 and k_1 == 0)
                        T.reads(cross_thread_B[0])
                        T.writes(B[vi])
                        B[vi] = cross_thread_B[0]


class TestPairsAreReducedTogether(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.LowerCrossThreadReduction()

    def before(
        I: T.Buffer((8, 64), "int32"),
        V: T.Buffer((8, 64), "float32"),
        AI: T.Buffer((8,), "int32"),
        AV: T.Buffer((8,), "float32"),
    ):
        for i in range(8):
            for k_0 in range(2):
                for k_1 in T.thread_binding(32, thread="threadIdx.x"):
                    with T.block("argmax"):
                        vi = T.axis.spatial(8, i)
                        vk = T.axis.reduce(64, k_0 * 32 + k_1)
                        T.reads(I[vi, vk], V[vi, vk])
                        T.writes(AI[vi], AV[vi])
                        with T.init():
                            AI[vi] = -1
                            AV[vi] = T.min_value("float32")
                        v_AI: T.int32 = T.Select(AV[vi] >= V[vi, vk], AI[vi], I[vi, vk])
                        v_AV: T.float32 = T.Select(AV[vi] >= V[vi, vk], AV[vi], V[vi, vk])
                        AI[vi] = v_AI
                        AV[vi] = v_AV

    def expected(
        I: T.Buffer((8, 64), "int32"),
        V: T.Buffer((8, 64), "float32"),
        AI: T.Buffer((8,), "int32"),
        AV: T.Buffer((8,), "float32"),
    ):
        cross_thread_AI = T.alloc_buffer((1,), "int32", strides=(1,), scope="local")
        cross_thread_AV = T.alloc_buffer((1,), strides=(1,), scope="local")
        in_thread_AI = T.alloc_buffer((1,), "int32", strides=(1,), scope="local")
        in_thread_AV = T.alloc_buffer((1,), strides=(1,), scope="local")
        for i in range(8):
            for k_1 in T.thread_binding(32, thread="threadIdx.x"):
                with T.block("argmax_in_thread_init"):
                    T.reads()
                    T.writes(in_thread_AI[0], in_thread_AV[0])
                    in_thread_AI[0] = -1
                    in_thread_AV[0] = T.min_value("float32")
                for k_0 in range(2):
                    with T.block("argmax_in_thread"):
                        vi = T.axis.spatial(8, i)
                        vk = T.axis.reduce(64, k_0 * 32 + k_1)
                        T.reads(I[vi, vk], V[vi, vk])
                        T.writes(in_thread_AI[0], in_thread_AV[0])
                        v_AI: T.int32 = T.Select(in_thread_AV[0] >= V[vi, vk], in_thread_AI[0], I[vi, vk])
                        v_AV: T.float32 = T.Select(in_thread_AV[0] >= V[vi, vk], in_thread_AV[0], V[vi, vk])
                        in_thread_AI[0] = v_AI
                        in_thread_AV[0] = v_AV
                with T.block("argmax_cross_thread"):
                    T.reads(in_thread_AI[0], in_thread_AV[0])
                    T.writes(cross_thread_AI[0], cross_thread_AV[0])
                    T.attr(
                        T.comm_reducer(
                            lambda x0, x1, y0, y1: (T.Select(x1 >= y1, x0, y0), T.Select(x1 >= y1, x1, y1)),
                            [T.int32(-1), T.min_value("float32")],
                        ),
                        "reduce_scope",
                        T.reinterpret(T.uint64(0), dtype="handle"),
                    )
                    T.tvm_thread_allreduce(
                        T.uint32(2),
                        in_thread_AI[0],
                        in_thread_AV[0],
                        True,
                        cross_thread_AI[0],
                        cross_thread_AV[0],
                        k_1,
                        dtype="handle",
                    )
                with T.block("argmax_write_back"):
                    vi = T.axis.spatial(8, i)
                    T.where(k_1 == 0)
                    T.reads(cross_thread_AI[0], cross_thread_AV[0])
                    T.writes(AI[vi], AV[vi])
                    AI[vi] = cross_thread_AI[0]
                    AV[vi] = cross_thread_AV[0]


class TestReadersOfTheResultRunOnOneThread(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.LowerCrossThreadReduction()

    def before(A: T.Buffer((8, 16), "float32"), C: T.Buffer((8,), "float32"), D: T.Buffer((8, 16), "float32")):
        B = T.alloc_buffer((8,), scope="local")
        for i in T.thread_binding(8, thread="blockIdx.x"):
            for k in T.thread_binding(16, thread="threadIdx.x"):
                with T.block("B"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    T.reads(A[vi, vk])
                    T.writes(B[vi])
                    with T.init():
                        B[vi] = T.float32(0)
                    B[vi] = B[vi] + A[vi, vk]
            for k in T.thread_binding(16, thread="threadIdx.x"):
                with T.block("D"):
                    vi, vk = T.axis.remap("SS", [i, k])
                    T.reads(B[vi])
                    T.writes(D[vi, vk])
                    D[vi, vk] = B[vi]
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                T.reads(B[vi])
                T.writes(C[vi])
                C[vi] = B[vi]

    def expected(A: T.Buffer((8, 16), "float32"), C: T.Buffer((8,), "float32"), D: T.Buffer((8, 16), "float32")):
        B = T.alloc_buffer((8,), scope="local")
        cross_thread_B = T.alloc_buffer((1,), strides=(1,), scope="local")
        for i in T.thread_binding(8, thread="blockIdx.x"):
            for k in T.thread_binding(16, thread="threadIdx.x"):
                with T.block("B_cross_thread"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    T.reads(A[vi, vk])
                    T.writes(cross_thread_B[0])
                    T.attr(
                        T.comm_reducer(lambda x, y: x + y, [T.float32(0)]),
                        "reduce_scope",
                        T.reinterpret(T.uint64(0), dtype="handle"),
                    )
                    T.tvm_thread_allreduce(T.uint32(1), A[vi, vk], True, cross_thread_B[0], k, dtype="handle")
                with T.block("B_write_back"):
                    vi = T.axis.spatial(8, i)
                    T.reads(cross_thread_B[0])
                    T.writes(B[vi])
                    B[vi] = cross_thread_B[0]
            for k in T.thread_binding(16, thread="threadIdx.x"):
                with T.block("D"):
                    vi, vk = T.axis.remap("SS", [i, k])
                    T.reads(B[vi])
                    T.writes(D[vi, vk])
                    D[vi, vk] = B[vi]
            for tx in T.thread_binding(16, thread="threadIdx.x"):
                with T.block("C"):
                    vi = T.axis.spatial(8, i)
                    T.where(tx == 0)
                    T.reads(B[vi])
                    T.writes(C[vi])
                    C[vi] = B[vi]


@T.prim_func
def loop_between(A: T.Buffer((32, 8), "float32"), B: T.Buffer((8,), "float32")):
    for k in T.thread_binding(32, thread="threadIdx.x"):
        for i in range(8):
            with T.block("B"):
                vk, vi = T.axis.remap("RS", [k, i])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vk, vi]


@T.prim_func
def over_blocks(A: T.Buffer((8, 32), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        for k in T.thread_binding(32, thread="blockIdx.x"):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]


@T.prim_func
def no_reducer(A: T.Buffer((8, 32), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        for k in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] - A[vi, vk]


@pytest.mark.parametrize(
    "func, why", [(loop_between, "innermost"), (over_blocks, "blockIdx.x"), (no_reducer, "reducer")]
)
def test_what_does_not_reduce_across_threads_is_a_value_error(func, why):
    with pytest.raises(ValueError, match=why) as error:
        tir.transform.LowerCrossThreadReduction()(module_of(func))
    assert isinstance(error.value, tvm.TVMError)


def reduced_by(target, func):
    mod = tir.transform.BindTarget(tvm.target.Target(target))(module_of(func))
    return tir.transform.LowerThreadAllreduce()(mod)["main"].without_attr("target").without_attr("global_symbol")


def sum_of(threads, others=1):
    """A sum across `threads` times `others`, as LowerOpaqueBlock and FlattenBuffer leave it."""

    @T.prim_func(private=True)
    def func(A: T.Buffer((threads * others,), "float32"), B: T.Buffer((others,), "float32")):
        ty = T.launch_thread("threadIdx.y", others)
        tx = T.launch_thread("threadIdx.x", threads)
        C = T.decl_buffer((1,), scope="local")
        with T.attr(
            T.comm_reducer(lambda x, y: x + y, [T.float32(0)]),
            "reduce_scope",
            T.reinterpret(T.uint64(0), dtype="handle"),
        ):
            T.tvm_thread_allreduce(T.uint32(1), A[ty * threads + tx], True, C[0], tx, dtype="handle")
        if tx == 0:
            B[ty] = C[0]

    return func


def test_a_part_of_a_warp_shuffles():
    @T.prim_func(private=True)
    def expected(A: T.Buffer((32,), "float32"), B: T.Buffer((4,), "float32")):
        ty = T.launch_thread("threadIdx.y", 4)
        tx = T.launch_thread("threadIdx.x", 8)
        red_buf0 = T.decl_buffer((1,), scope="local")
        with T.attr(
            T.comm_reducer(lambda x, y: x + y, [T.float32(0)]),
            "reduce_scope",
            T.reinterpret(T.uint64(0), dtype="handle"),
        ):
            mask = T.decl_buffer((1,), "uint32", scope="local")
            t0 = T.decl_buffer((1,), scope="local")
            red_buf0[0] = A[ty * 8 + tx]
            mask[0] = T.tvm_warp_activemask()
            t0[0] = T.tvm_warp_shuffle_down(mask[0], red_buf0[0], 4, 32, 32)
            red_buf0[0] = red_buf0[0] + t0[0]
            t0[0] = T.tvm_warp_shuffle_down(mask[0], red_buf0[0], 2, 32, 32)
            red_buf0[0] = red_buf0[0] + t0[0]
            t0[0] = T.tvm_warp_shuffle_down(mask[0], red_buf0[0], 1, 32, 32)
            red_buf0[0] = red_buf0[0] + t0[0]
            red_buf0[0] = T.tvm_warp_shuffle(mask[0], red_buf0[0], 8 * ty, 32, 32)
        if tx == 0:
            B[ty] = red_buf0[0]

    tvm.ir.assert_structural_equal(reduced_by("cuda", sum_of(8, 4)), expected)


def test_warps_shuffle_and_the_first_what_they_made():
    @T.prim_func(private=True)
    def expected(A: T.Buffer((64,), "float32"), B: T.Buffer((1,), "float32")):
        ty = T.launch_thread("threadIdx.y", 1)
        tx = T.launch_thread("threadIdx.x", 64)
        red_result_data = T.allocate((1,), "float32", "shared")
        T.attr(red_result_data, "volatile_scope", 1)
        red_result = T.decl_buffer((1,), data=red_result_data, scope="shared")
        with T.attr(
            T.comm_reducer(lambda x, y: x + y, [T.float32(0)]),
            "reduce_scope",
            T.reinterpret(T.uint64(0), dtype="handle"),
        ):
            red_buf0_1 = T.decl_buffer((1,), scope="local")
            mask_1 = T.decl_buffer((1,), "uint32", scope="local")
            t0_1 = T.decl_buffer((1,), scope="local")
            red_buf0 = T.decl_buffer((1,), scope="local")
            mask = T.decl_buffer((1,), "uint32", scope="local")
            t0 = T.decl_buffer((1,), scope="local")
            red_buf_staging = T.decl_buffer((2,), scope="shared")
            red_buf0[0] = A[ty * 64 + tx]
            mask[0] = T.tvm_warp_activemask()
            t0[0] = T.tvm_warp_shuffle_down(mask[0], red_buf0[0], 16, 32, 32)
            red_buf0[0] = red_buf0[0] + t0[0]
            t0[0] = T.tvm_warp_shuffle_down(mask[0], red_buf0[0], 8, 32, 32)
            red_buf0[0] = red_buf0[0] + t0[0]
            t0[0] = T.tvm_warp_shuffle_down(mask[0], red_buf0[0], 4, 32, 32)
            red_buf0[0] = red_buf0[0] + t0[0]
            t0[0] = T.tvm_warp_shuffle_down(mask[0], red_buf0[0], 2, 32, 32)
            red_buf0[0] = red_buf0[0] + t0[0]
            t0[0] = T.tvm_warp_shuffle_down(mask[0], red_buf0[0], 1, 32, 32)
            red_buf0[0] = red_buf0[0] + t0[0]
            if tx % 32 == 0:
                red_buf_staging[tx // 32] = red_buf0[0]
            T.tvm_storage_sync("shared")
            if tx < 2:
                red_buf0_1[0] = red_buf_staging[tx]
            mask_1[0] = T.tvm_warp_activemask()
            t0_1[0] = T.tvm_warp_shuffle_down(mask_1[0], red_buf0_1[0], 1, 32, 32)
            red_buf0_1[0] = red_buf0_1[0] + t0_1[0]
            if tx == 0:
                red_result[0] = red_buf0_1[0]
            T.tvm_storage_sync("shared")
        if tx == 0:
            B[ty] = red_result[0]

    tvm.ir.assert_structural_equal(reduced_by("cuda", sum_of(64)), expected)


def test_without_shuffles_threads_reduce_in_shared_memory():
    @T.prim_func(private=True)
    def expected(A: T.Buffer((12,), "float32"), B: T.Buffer((2,), "float32")):
        ty = T.launch_thread("threadIdx.y", 2)
        tx = T.launch_thread("threadIdx.x", 6)
        red_buf0_data = T.allocate((12,), "float32", "shared")
        T.attr(red_buf0_data, "volatile_scope", 1)
        red_buf0 = T.decl_buffer((12,), data=red_buf0_data, scope="shared")
        with T.attr(
            T.comm_reducer(lambda x, y: x + y, [T.float32(0)]),
            "reduce_scope",
            T.reinterpret(T.uint64(0), dtype="handle"),
        ):
            T.tvm_storage_sync("shared")
            red_buf0[ty * 6 + tx] = A[ty * 6 + tx]
            T.tvm_storage_sync("shared")
            if tx < 2:
                red_buf0[ty * 6 + tx] = red_buf0[ty * 6 + tx] + red_buf0[ty * 6 + tx + 4]
            T.tvm_storage_sync("shared")
            if tx < 2:
                red_buf0[ty * 6 + tx] = red_buf0[ty * 6 + tx] + red_buf0[ty * 6 + tx + 2]
            T.tvm_storage_sync("shared")
            if tx < 1:
                red_buf0[ty * 6 + tx] = red_buf0[ty * 6 + tx] + red_buf0[ty * 6 + tx + 1]
            T.tvm_storage_sync("shared")
        if tx == 0:
            B[ty] = red_buf0[ty * 6]

    tvm.ir.assert_structural_equal(reduced_by("cuda", sum_of(6, 2)), expected)


def test_the_last_steps_are_of_one_warp():
    @T.prim_func(private=True)
    def expected(A: T.Buffer((4,), "float32"), B: T.Buffer((1,), "float32")):
        ty = T.launch_thread("threadIdx.y", 1)
        tx = T.launch_thread("threadIdx.x", 4)
        red_buf0_data = T.allocate((4,), "float32", "shared")
        T.attr(red_buf0_data, "volatile_scope", 1)
        red_buf0 = T.decl_buffer((4,), data=red_buf0_data, scope="shared")
        with T.attr(
            T.comm_reducer(lambda x, y: x + y, [T.float32(0)]),
            "reduce_scope",
            T.reinterpret(T.uint64(0), dtype="handle"),
        ):
            T.tvm_storage_sync("shared")
            red_buf0[tx] = A[ty * 4 + tx]
            T.tvm_storage_sync("shared")
            if tx < 2:
                with T.LetStmt(red_buf0[tx] + red_buf0[tx + 2]) as w_2_0:
                    T.tvm_storage_sync("warp")
                    red_buf0[tx] = w_2_0
                    T.tvm_storage_sync("warp")
                w_1_0: T.float32 = red_buf0[tx] + red_buf0[tx + 1]
                T.tvm_storage_sync("warp")
                red_buf0[tx] = w_1_0
                T.tvm_storage_sync("warp")
            T.tvm_storage_sync("shared")
        if tx == 0:
            B[ty] = red_buf0[0]

    tvm.ir.assert_structural_equal(
        reduced_by({"kind": "opencl", "thread_warp_size": 32}, sum_of(4)), expected
    )


def test_threads_of_a_reduction_are_launched_around_it():
    @T.prim_func
    def outside(A: T.Buffer((8,), "float32"), B: T.Buffer((1,), "float32"), i: T.int32):
        C = T.decl_buffer((1,), scope="local")
        with T.attr(T.comm_reducer(lambda x, y: x + y, [T.float32(0)]), "reduce_scope", 0):
            T.tvm_thread_allreduce(T.uint32(1), A[i], True, C[0], i, dtype="handle")
        B[0] = C[0]

    with pytest.raises(tvm.TVMError, match="Not all reduce index are presented"):
        reduced_by("cuda", outside)
    with pytest.raises(tvm.TVMError, match="Require the target attribute"):
        tir.transform.LowerThreadAllreduce()(module_of(sum_of(8)))


def to_float32(value):
    return T.reinterpret("float32", T.shift_left(T.Cast("uint32", T.reinterpret("uint16", value)), T.uint32(16)))


def to_bfloat16(value):
    bits = T.reinterpret("uint32", value)
    bias = T.bitwise_and(T.shift_right(bits, T.uint32(16)), T.uint32(1)) + T.uint32(32767)
    return T.reinterpret("bfloat16", T.Cast("uint16", T.shift_right(bits + bias, T.uint32(16))))


def test_bfloat16_is_computed_in_float32():
    @T.prim_func(private=True)
    def before(A: T.Buffer((100,), "bfloat16"), D: T.Buffer((100,), "bfloat16"), E: T.Buffer((100,), "float32")):
        C = T.decl_buffer((100,), "bfloat16")
        for i in range(100):
            C[i] = A[i] + A[i]
            D[i] = T.exp(C[i]) * T.bfloat16(2)
            E[i] = T.Cast("float32", C[i])
            D[i] = C[i]
            D[i] = A[i]
            C[i] = A[i]
            D[i] = T.Select(C[i] < A[i], C[i], T.bfloat16(0))

    @T.prim_func(private=True)
    def expected(A: T.Buffer((100,), "bfloat16"), D: T.Buffer((100,), "bfloat16"), E: T.Buffer((100,), "float32")):
        C = T.decl_buffer((100,), "float32")
        for i in range(100):
            C[i] = to_float32(A[i]) + to_float32(A[i])
            D[i] = to_bfloat16(T.exp(C[i]) * T.float32(2))
            E[i] = C[i]
            D[i] = to_bfloat16(C[i])
            D[i] = A[i]
            C[i] = to_float32(A[i])
            D[i] = to_bfloat16(T.Select(C[i] < to_float32(A[i]), C[i], T.float32(0)))

    mod = tvm.IRModule({"main": before})
    tvm.ir.assert_structural_equal(tir.transform.BF16ComputeLegalize()(mod)["main"], expected)


def test_bfloat16_is_kept_in_uint16():
    @T.prim_func(private=True)
    def before(Aptr: T.handle("bfloat16"), Dptr: T.handle("bfloat16")):
        A = T.decl_buffer((100,), "bfloat16", data=Aptr)
        D = T.decl_buffer((100,), "bfloat16", data=Dptr)
        C = T.decl_buffer((100,), "bfloat16")
        for i in range(100):
            C[i] = A[i]
            D[i] = to_bfloat16(to_float32(C[i]))

    @T.prim_func(private=True)
    def expected(Aptr: T.handle("uint16"), Dptr: T.handle("uint16")):
        A = T.decl_buffer((100,), "uint16", data=Aptr)
        D = T.decl_buffer((100,), "uint16", data=Dptr)
        C = T.decl_buffer((100,), "uint16")
        for i in range(100):
            C[i] = A[i]
            bits = T.meta_var(
                T.reinterpret("uint32", T.reinterpret("float32", T.shift_left(T.Cast("uint32", C[i]), T.uint32(16))))
            )
            bias = T.meta_var(T.bitwise_and(T.shift_right(bits, T.uint32(16)), T.uint32(1)) + T.uint32(32767))
            D[i] = T.Cast("uint16", T.shift_right(bits + bias, T.uint32(16)))

    mod = tvm.IRModule({"main": before})
    tvm.ir.assert_structural_equal(tir.transform.BF16StorageLegalize()(mod)["main"], expected)


def test_storage_is_legalized_after_computation_and_the_api():
    @T.prim_func
    def buffers(A: T.Buffer((4,), "bfloat16")):
        A[0] = A[1]

    @T.prim_func
    def computes(Aptr: T.handle("bfloat16")):
        A = T.decl_buffer((4,), "bfloat16", data=Aptr)
        A[0] = A[1] + A[2]

    with pytest.raises(tvm.TVMError, match="must be called after MakePackedAPI"):
        tir.transform.BF16StorageLegalize()(module_of(buffers))
    with pytest.raises(tvm.TVMError, match="run BF16ComputeLegalize"):
        tir.transform.BF16StorageLegalize()(module_of(computes))


def test_targets_that_compute_with_bfloat16_do():
    @T.prim_func
    def func(A: T.Buffer((4,), "bfloat16")):
        A[0] = A[1] + A[2]

    for target, stays in (("cuda -arch=sm_80", True), ("cuda -arch=sm_75", False), ("llvm", False)):
        mod = tir.transform.BindTarget(tvm.target.Target(target))(module_of(func))
        assert tvm.ir.structural_equal(tir.transform.BF16ComputeLegalize()(mod), mod) == stays


def test_floats_of_8_bits_are_computed_in_wider_ones():
    @T.prim_func
    def func(A: T.Buffer((256,), "float8_e4m3fn"), B: T.Buffer((256,), "float32")):
        for i in range(256):
            B[i] = T.Cast("float32", A[i])

    @T.prim_func
    def narrow(A: T.Buffer((256,), "float16"), B: T.Buffer((256,), "float8_e5m2")):
        for i in range(256):
            B[i] = T.Cast("float8_e5m2", A[i])

    @T.prim_func
    def expected(A: T.Buffer((256,), "float8_e4m3fn"), B: T.Buffer((256,), "float32")):
        for i in range(256):
            bits = T.meta_var(T.reinterpret("uint8", A[i]))
            mantissa = T.meta_var(T.bitwise_and(T.shift_left(T.Cast("uint32", bits), T.uint32(20)), T.uint32(8388607)))
            exponent = T.meta_var(T.shift_right(T.shift_left(bits, T.uint8(1)), T.uint8(4)) + T.uint8(120))
            sign = T.meta_var(T.shift_left(T.Cast("uint32", T.shift_right(bits, T.uint8(7))), T.uint32(31)))
            B[i] = T.reinterpret(
                "float32",
                T.bitwise_or(
                    T.bitwise_or(mantissa, T.shift_left(T.Cast("uint32", exponent), T.uint32(23))), sign
                ),
            )

    tvm.ir.assert_structural_equal(
        tir.transform.FP8ComputeLegalize()(module_of(func)), module_of(expected)
    )
    text = tir.transform.FP8ComputeLegalize("float16")(module_of(narrow)).script()
    assert 'T.Cast("uint8"' in text and "float8_e5m2" in text
    with pytest.raises(tvm.TVMError, match="float16 or float32"):
        tir.transform.FP8ComputeLegalize("float64")(module_of(func))


@T.prim_func
def unscheduled(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32"), C: T.Buffer((64,), "float32")):
    for i, j in T.grid(64, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
    for i, k in T.grid(64, 64):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + B[vi, vk]


def test_functions_that_nobody_scheduled_get_threads():
    @T.prim_func
    def expected(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32"), C: T.Buffer((64,), "float32")):
        T.func_attr({"tir.is_scheduled": True})
        for i_j_fused_0 in T.thread_binding(4, thread="blockIdx.x"):
            for i_j_fused_1 in T.thread_binding(1024, thread="threadIdx.x"):
                with T.block("B"):
                    vi = T.axis.spatial(64, (i_j_fused_0 * 1024 + i_j_fused_1) // 64)
                    vj = T.axis.spatial(64, (i_j_fused_0 * 1024 + i_j_fused_1) % 64)
                    B[vi, vj] = A[vi, vj] + T.float32(1)
        for i_0 in T.thread_binding(1, thread="blockIdx.x"):
            for i_1 in T.thread_binding(64, thread="threadIdx.x"):
                for k in range(64):
                    with T.block("C"):
                        vi = T.axis.spatial(64, i_0 * 64 + i_1)
                        vk = T.axis.reduce(64, k)
                        with T.init():
                            C[vi] = T.float32(0)
                        C[vi] = C[vi] + B[vi, vk]

    with tvm.target.Target("cuda"):
        got = tir.transform.DefaultGPUSchedule()(module_of(unscheduled))
    tvm.ir.assert_structural_equal(got, module_of(expected))
    with tvm.target.Target("cuda"):
        tvm.ir.assert_structural_equal(tir.transform.DefaultGPUSchedule()(got), got)
    with pytest.raises(tvm.TVMError, match="Target is not set"):
        tir.transform.DefaultGPUSchedule()(module_of(unscheduled))


class TestDivisionsMoveInside(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.RenormalizeSplitPattern()

    def before(A: T.Buffer((4096,), "float32"), B: T.Buffer((4096,), "float32"), n: T.int32):
        for i, j in T.grid(64, 64):
            B[(i * 64 + j) % 512 // 16] = A[(i * 64 + j) // 128]
            if i * 16 + j < 512:
                B[(i * 128 + j * 32 + n) // 64] = 1.0
            if i >= 3 and j <= 5 and not (i < 7) and i > 2:
                B[i] = A[(i * 64 + j) % 128 // 4 % 8]
            B[(n % 48) // 16] = A[(n % 50) // 16]
            B[T.ramp(i * 64 + j, 1, 4) % T.broadcast(512, 4) // T.broadcast(16, 4)] = T.broadcast(A[0], 4)

    def expected(A: T.Buffer((4096,), "float32"), B: T.Buffer((4096,), "float32"), n: T.int32):
        for i, j in T.grid(64, 64):
            B[(i * 4 + j // 16) % 32] = A[(i + j // 64) // 2]
            if (i + j // 16) // 32 < 1:
                B[i * 2 + (j + n // 32) // 2] = 1.0
            if 1 <= i // 3 and j <= 5 and 1 <= i // 7 and 2 < i:
                B[i] = A[(i * 16 + j // 4) % 32 % 8]
            B[n // 16 % 3] = A[n % 50 // 16]
            B[T.ramp(i * 64 + j, 1, 4) // T.broadcast(16, 4) % T.broadcast(32, 4)] = T.broadcast(A[0], 4)


def lowered_for_llvm(func):
    mod = tir.transform.BindTarget(tvm.target.Target("llvm"))(module_of(func))
    return tir.transform.LowerIntrin()(mod)["main"].without_attr("target")


def test_divisions_that_round_down_are_of_the_machine():
    @T.prim_func
    def before(A: T.Buffer((4096,), "int32"), C: T.Buffer((64,), "int16"), x: T.int32, y: T.int32, w: T.int16):
        A[0] = x // 8
        A[1] = x % 8
        A[2] = x // 7
        A[3] = x % 7
        C[0] = w // T.int16(7)
        C[1] = w % T.int16(7)
        for i in range(100):
            A[i] = i // 7 * 7 + i % 7
            A[i + 2] = (i - 50) // 7
            A[i + 3] = (i - 50) % 7
            A[i + 4] = T.Select(y >= 0, T.max(x // y, 0), 0)
            A[i + 5] = T.Select(y > 0, x // y, 0)
            A[i + 6] = T.Select(x % y == 0, 1, 0)
            A[i + 7] = T.if_then_else(y > 0 and x >= 0, x % y, 0)
            if y > 0:
                A[i + 8] = x // y

    @T.prim_func
    def expected(A: T.Buffer((4096,), "int32"), C: T.Buffer((64,), "int16"), x: T.int32, y: T.int32, w: T.int16):
        A[0] = T.shift_right(x, 3)
        A[1] = T.bitwise_and(x, 7)
        A[2] = T.truncdiv(x, 7) + T.shift_right(T.truncmod(x, 7), 31)
        A[3] = T.truncmod(x, 7) + T.bitwise_and(7, T.shift_right(T.truncmod(x, 7), 31))
        C[0] = T.Select(
            T.truncmod(w, T.int16(7)) >= T.int16(0),
            T.truncdiv(w, T.int16(7)),
            T.truncdiv(w, T.int16(7)) - T.int16(1),
        )
        C[1] = T.Select(
            T.truncmod(w, T.int16(7)) >= T.int16(0),
            T.truncmod(w, T.int16(7)),
            T.truncmod(w, T.int16(7)) + T.int16(7),
        )
        for i in range(100):
            A[i] = T.truncdiv(i, 7) * 7 + T.truncmod(i, 7)
            A[i + 2] = T.truncdiv(i - 50 + 56, 7) - 8
            A[i + 3] = T.truncmod(i - 50 + 56, 7)
            A[i + 4] = T.Select(y >= 0, T.max(T.truncdiv(x, y), 0), 0)
            A[i + 5] = T.Select(y > 0, T.truncdiv(x, y) + T.shift_right(T.truncmod(x, y), 31), 0)
            A[i + 6] = T.Select(T.truncmod(x, y) == 0, 1, 0)
            A[i + 7] = T.if_then_else(y > 0 and x >= 0, T.truncmod(x, y), 0)
            if y > 0:
                A[i + 8] = T.truncdiv(x, y) + T.shift_right(T.truncmod(x, y), 31)

    tvm.ir.assert_structural_equal(lowered_for_llvm(before).body, expected.body, map_free_vars=True)


def test_divisions_of_unsigned_numbers_round_down_as_they_are():
    @T.prim_func
    def before(A: T.Buffer((4,), "uint32"), x: T.uint32, y: T.uint32, B: T.Buffer((4,), "uint8"), w: T.uint8):
        A[0] = x // y
        A[1] = x % y
        A[2] = x // T.uint32(8)
        B[0] = w // T.uint8(7)

    @T.prim_func
    def expected(A: T.Buffer((4,), "uint32"), x: T.uint32, y: T.uint32, B: T.Buffer((4,), "uint8"), w: T.uint8):
        A[0] = T.truncdiv(x, y)
        A[1] = T.truncmod(x, y)
        A[2] = T.shift_right(x, T.uint32(3))
        B[0] = T.truncdiv(w, T.uint8(7))

    tvm.ir.assert_structural_equal(lowered_for_llvm(before).body, expected.body, map_free_vars=True)


def test_divisions_by_numbers_of_either_sign_keep_their_values():
    @T.prim_func
    def func(X: T.Buffer((21,), "int32"), Y: T.Buffer((21,), "int32"), Q: T.Buffer((21,), "int32")):
        for i in range(21):
            Q[i] = X[i] // Y[i] * 1000 + X[i] % Y[i]

    lowered = lowered_for_llvm(func)
    assert "//" not in lowered.script().replace("# from", "")
    x = numpy.arange(-10, 11, dtype="int32")
    y = numpy.array([-3, 2, 7] * 7, dtype="int32")
    got = tvm.nd.empty((21,), "int32")
    tvm.build(tvm.IRModule({"main": lowered.with_attr("global_symbol", "main")}), target="llvm")(
        tvm.nd.array(x), tvm.nd.array(y), got)
    numpy.testing.assert_array_equal(got.numpy(), x // y * 1000 + x % y)


def test_operations_with_rules_of_targets_are_refused():
    @T.prim_func
    def exponent(A: T.Buffer((8,), "float32")):
        A[0] = T.exp(A[1])

    @T.prim_func
    def product(A: T.Buffer((8,), "float32")):
        A[0] = A[1] * A[2] + A[3]

    for func, why in ((exponent, "exp"), (product, "product")):
        with pytest.raises(tvm.TVMError, match=why):
            lowered_for_llvm(func)
    with pytest.raises(tvm.TVMError, match="Require the target attribute"):
        tir.transform.LowerIntrin()(module_of(exponent))


class TestWeightsComeInTheirLayout(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.RemoveWeightLayoutRewriteBlock()

    def before(A: T.Buffer((16,), "float32"), W: T.Buffer((16, 16), "float32"), C: T.Buffer((16,), "float32")):
        W1 = T.alloc_buffer((4, 16, 4))
        for i, j in T.grid(16, 16):
            with T.block("layout_rewrite"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(W[vi, vj])
                T.writes(W1[vj // 4, vi, vj % 4])
                T.block_attr({"meta_schedule.layout_rewrite_preproc": True})
                W1[vj // 4, vi, vj % 4] = W[vi, vj]
        for i, k in T.grid(16, 16):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A[vk], W1[vi // 4, vk, vi % 4])
                T.writes(C[vi])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vk] * W1[vi // 4, vk, vi % 4]

    def expected(A: T.Buffer((16,), "float32"), W1: T.Buffer((4, 16, 4), "float32"), C: T.Buffer((16,), "float32")):
        for i, j in T.grid(16, 16):
            with T.block("layout_rewrite"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads()
                T.writes()
                T.block_attr({"meta_schedule.layout_rewrite_preproc": True})
                T.evaluate(0)
        for i, k in T.grid(16, 16):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A[vk], W1[vi // 4, vk, vi % 4])
                T.writes(C[vi])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vk] * W1[vi // 4, vk, vi % 4]


def test_a_layout_that_is_computed_stays():
    @T.prim_func
    def func(W: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
        for i in range(16):
            with T.block("layout_rewrite"):
                vi = T.axis.spatial(16, i)
                T.block_attr({"meta_schedule.layout_rewrite_preproc": True})
                C[vi] = W[vi] + T.float32(1)

    with pytest.raises(tvm.TVMError, match="more than one copy"):
        tir.transform.RemoveWeightLayoutRewriteBlock()(module_of(func))


class TestWhatIsAssertedIsSkipped(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.SkipAssert()

    def before(A: T.Buffer((16,), "float32"), n: T.int32):
        assert n > 0, "too few"
        for i in range(n):
            assert n < 16, "too many"
            A[i] = 1.0

    def expected(A: T.Buffer((16,), "float32"), n: T.int32):
        for i in range(n):
            A[i] = 1.0


class TestParallelLoopsAreSerial(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.ConvertForLoopsToSerial()

    def before(A: T.Buffer((4, 4), "float32")):
        for i in T.parallel(4):
            for j in T.vectorized(4):
                A[i, j] = 1.0

    def expected(A: T.Buffer((4, 4), "float32")):
        for i in range(4):
            for j in T.vectorized(4):
                A[i, j] = 1.0


def test_memory_of_an_unknown_scope_is_not_compacted():
    @T.prim_func
    def func(A: T.Buffer((8,), "float32")):
        with T.block("root"):
            B = T.alloc_buffer((8,), scope="somewhere")
            for i in range(8):
                B[i] = A[i]

    with pytest.raises(tvm.TVMError, match="no storage scope"):
        tir.transform.CompactBufferAllocation()(module_of(func))
