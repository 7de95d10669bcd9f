"""Passes that place memory, by TVM's names: what TVM 0.27 makes of the same programs."""
import pytest
import tvm
import tvm.testing
from tvm import tir
from tvm.script import tir as T


def module_of(func):
    return tvm.IRModule.from_expr(func.with_attr("global_symbol", "main"))


class TestAnElementIsWrittenWhereItWasRead(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.StorageRewrite()

    def before(A: T.Buffer((100,), "float32"), E: T.Buffer((100,), "float32")):
        B = T.decl_buffer((100,), "float32")
        C = T.decl_buffer((100,), "float32")
        D = T.decl_buffer((100,), "float32")
        for i in range(100):
            B[i] = A[i] + T.float32(1)
        for i in range(100):
            C[i] = B[i] * T.float32(2)
        for i in range(100):
            D[i] = C[99 - i]
        for i in range(100):
            E[i] = D[i] + C[i]

    def expected(A: T.Buffer((100,), "float32"), E: T.Buffer((100,), "float32")):
        B = T.decl_buffer((100,), "float32")
        D = T.decl_buffer((100,), "float32")
        C = T.decl_buffer((100,), "float32", data=B.data)
        for i in range(100):
            B[i] = A[i] + T.float32(1)
        for i in range(100):
            C[i] = B[i] * T.float32(2)
        for i in range(100):
            D[i] = C[99 - i]
        for i in range(100):
            E[i] = D[i] + C[i]


class TestMemoryServesOtherSizesAndTypesOutOfTheLoop(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.StorageRewrite()

    def before(A: T.Buffer((400,), "float32"), n: T.int32):
        for i in range(n):
            B_data = T.allocate([200], "float32", "global")
            B = T.Buffer((200,), "float32", data=B_data)
            for j in range(200):
                B[j] = A[j]
            for j in range(200):
                A[j + 200] = B[199 - j]
            C = T.decl_buffer((400,), "int8")
            for j in range(400):
                C[j] = T.int8(1)
            for j in range(400):
                A[j] = T.Cast("float32", C[399 - j])
            D = T.decl_buffer((300,), "float32")
            for j in range(300):
                D[j] = A[j]
            for j in range(300):
                A[j] = D[299 - j]

    def expected(A: T.Buffer((400,), "float32"), n: T.int32):
        data = T.allocate([300], "float32", "global")
        for i in range(n):
            B = T.Buffer((200,), "float32", data=data)
            for j in range(200):
                B[j] = A[j]
            for j in range(200):
                A[j + 200] = B[199 - j]
            C = T.Buffer((400,), "int8", data=data)
            for j in range(400):
                C[j] = T.int8(1)
            for j in range(400):
                A[j] = T.Cast("float32", C[399 - j])
            D = T.Buffer((300,), "float32", data=data)
            for j in range(300):
                D[j] = A[j]
            for j in range(300):
                A[j] = D[299 - j]


class TestTurnsOfAParallelLoopHaveMemoryOfTheirOwn(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.StorageRewrite()

    def before(A: T.Buffer((400,), "float32")):
        for i in T.parallel(4):
            B = T.decl_buffer((200,), "float32")
            for j in range(200):
                B[j] = A[j]
            C = T.decl_buffer((200,), "float32")
            for j in range(200):
                C[j] = B[199 - j]
            D = T.decl_buffer((200,), "float32")
            for j in range(200):
                D[j] = C[j]
            for j in range(200):
                A[j] = D[199 - j]

    def expected(A: T.Buffer((400,), "float32")):
        for i in T.parallel(4):
            B = T.decl_buffer((200,), "float32")
            C = T.decl_buffer((200,), "float32")
            for j in range(200):
                B[j] = A[j]
            for j in range(200):
                C[j] = B[199 - j]
            D = T.decl_buffer((200,), "float32", data=C.data)
            for j in range(200):
                D[j] = C[j]
            for j in range(200):
                A[j] = D[199 - j]


class TestLocalMemoryOfThreadsIsNotShared(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.StorageRewrite()

    def before(A: T.Buffer((400,), "float32")):
        bx = T.launch_thread("blockIdx.x", 4)
        tx = T.launch_thread("threadIdx.x", 4)
        B = T.decl_buffer((200,), "float32", scope="shared")
        C = T.decl_buffer((200,), "float32", scope="local")
        for j in range(50):
            B[j] = A[j]
        for j in range(50):
            C[j] = B[49 - j]
        D = T.decl_buffer((200,), "float32", scope="shared")
        E = T.decl_buffer((200,), "float32", scope="local")
        for j in range(50):
            D[j] = C[49 - j]
        for j in range(50):
            E[j] = D[49 - j]
        for j in range(50):
            A[j] = E[49 - j]

    def expected(A: T.Buffer((400,), "float32")):
        bx = T.launch_thread("blockIdx.x", 4)
        B = T.decl_buffer((200,), "float32", scope="shared")
        C = T.decl_buffer((200,), "float32", scope="local")
        E = T.decl_buffer((200,), "float32", scope="local")
        tx = T.launch_thread("threadIdx.x", 4)
        for j in range(50):
            B[j] = A[j]
        for j in range(50):
            C[j] = B[49 - j]
        D = T.decl_buffer((200,), "float32", scope="shared", data=B.data)
        for j in range(50):
            D[j] = C[49 - j]
        for j in range(50):
            E[j] = D[49 - j]
        for j in range(50):
            A[j] = E[49 - j]


class TestMemoryOfVectorsAndReadsOfTheirLanes(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.PointerValueTypeRewrite()

    def before(A: T.Buffer((16,), "float32"), B: T.Buffer((4,), "float32")):
        data = T.allocate([16], "float32", scope="local")
        C = T.Buffer((16,), "float32", data=data, scope="local")
        for i in range(4):
            C[i * 4:i * 4 + 4] = A[i * 4:i * 4 + 4]
        for i in range(4):
            B[i] = C[i * 4] + C[i * 4 + 3]

    def expected(A: T.Buffer((4,), "float32x4"), B: T.Buffer((4,), "float32")):
        data = T.allocate([4], "float32x4", scope="local")
        C = T.Buffer((4,), "float32x4", data=data, scope="local")
        for i in range(4):
            C[T.Div(i * 4, 4)] = A[T.Div(i * 4, 4)]
        for i in range(4):
            B[i] = T.Shuffle([C[T.Div(i * 4, 4)]], [0]) + T.Shuffle([C[T.Div(i * 4 + 3, 4)]], [3])


class TestSharedMemoryIsOneAllocationOfBytes(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.MergeSharedMemoryAllocations()

    def before(A: T.Buffer((512,), "float32"), O: T.Buffer((512,), "float32")):
        bx = T.launch_thread("blockIdx.x", 128)
        tx = T.launch_thread("threadIdx.x", 128)
        B_data = T.allocate([128], "float32", "shared.dyn")
        B = T.Buffer((128,), "float32", data=B_data, scope="shared.dyn")
        C = T.decl_buffer((128,), "int8", scope="shared.dyn")
        unused = T.decl_buffer((128,), "int8", scope="shared.dyn")
        S = T.decl_buffer((128,), "int8", scope="shared")
        for i in range(4):
            B[T.Ramp(tx * 4, 1, 4)] = A[T.Ramp(tx * 4, 1, 4)]
            C[T.Ramp(tx * 4, 1, 4)] = T.Broadcast(T.int8(1), 4)
        T.evaluate(T.tvm_access_ptr(T.type_annotation("float32"), B_data, 5, 10, 1))
        T.ptx_cp_async("float32", B_data, tx, A.data, tx, 4)
        O[tx] = B[tx] + T.Cast("float32", C[tx])

    def expected(A: T.Buffer((512,), "float32"), O: T.Buffer((512,), "float32")):
        bx = T.launch_thread("blockIdx.x", 128)
        data = T.allocate([640], "uint8", "shared.dyn")
        tx = T.launch_thread("threadIdx.x", 128)
        B = T.Buffer((128,), "float32", data=data, scope="shared.dyn")
        C = T.Buffer((128,), "int8", data=data, scope="shared.dyn")
        S = T.decl_buffer((128,), "int8", scope="shared")
        for i in range(4):
            B[T.Ramp(tx * 4, 1, 4) + T.Broadcast(32, 4)] = A[T.Ramp(tx * 4, 1, 4)]
            C[T.Ramp(tx * 4, 1, 4) + T.Broadcast(0, 4)] = T.Broadcast(T.int8(1), 4)
        T.evaluate(T.tvm_access_ptr(T.type_annotation("float32"), data, 37, 10, 1))
        T.ptx_cp_async("float32", data, (32 + tx) * 4, A.data, tx, 4)
        O[tx] = B[tx + 32] + T.Cast("float32", C[tx])


@T.prim_func
def takes_turns(A: T.Buffer((512,), "float32")):
    tx = T.launch_thread("threadIdx.x", 128)
    B = T.decl_buffer((128,), "float32", scope="shared")
    C = T.decl_buffer((100,), "float32", scope="shared")
    D = T.decl_buffer((300,), "float32", scope="shared")
    B[tx] = A[tx]
    C[tx] = B[127 - tx]
    A[tx] = C[127 - tx]
    D[tx] = A[tx]
    A[tx] = D[tx + 1]


def test_places_of_shared_memory_lie_over_each_other():
    mod = module_of(takes_turns)
    tvm.ir.assert_structural_equal(tir.transform.MergeSharedMemoryAllocations()(mod), mod)
    with tvm.transform.PassContext(config={"tir.merge_static_smem": True}):
        text = tir.transform.MergeSharedMemoryAllocations()(mod).script()
    assert 'buf_shmem = T.allocate([1200], "uint8", "shared")' in text


class TestPlacesThatAreJoinedKeepTheirOwn(tvm.testing.CompareBeforeAfter):
    """TVM 0.27 lays D over B, which is read after D was written."""

    transform = tir.transform.MergeSharedMemoryAllocations()

    def before(A: T.Buffer((512,), "float32")):
        tx = T.launch_thread("threadIdx.x", 64)
        B = T.decl_buffer((100,), "float32", scope="shared.dyn")
        C = T.decl_buffer((100,), "float32", scope="shared.dyn")
        D = T.decl_buffer((80,), "float32", scope="shared.dyn")
        E = T.decl_buffer((180,), "float32", scope="shared.dyn")
        B[tx] = A[tx]
        C[tx] = A[tx]
        A[tx + 64] = C[tx]
        D[tx] = A[tx]
        A[tx + 128] = D[tx]
        A[tx + 192] = B[tx]
        E[tx] = A[tx]
        A[tx + 256] = E[tx]

    def expected(A: T.Buffer((512,), "float32")):
        tx = T.launch_thread("threadIdx.x", 64)
        data = T.allocate([800], "uint8", "shared.dyn")
        B = T.decl_buffer((100,), "float32", data=data, scope="shared.dyn")
        C = T.decl_buffer((100,), "float32", data=data, scope="shared.dyn")
        D = T.decl_buffer((80,), "float32", data=data, scope="shared.dyn")
        E = T.decl_buffer((180,), "float32", data=data, scope="shared.dyn")
        B[tx] = A[tx]
        C[tx + 100] = A[tx]
        A[tx + 64] = C[tx + 100]
        D[tx + 100] = A[tx]
        A[tx + 128] = D[tx + 100]
        A[tx + 192] = B[tx]
        E[tx] = A[tx]
        A[tx + 256] = E[tx]


def test_shared_memory_of_several_launches_is_refused():
    @T.prim_func
    def func(A: T.Buffer((512,), "float32")):
        with T.launch_thread("threadIdx.x", 128) as tx:
            B = T.decl_buffer((128,), "float32", scope="shared.dyn")
            B[tx] = A[tx]
        with T.launch_thread("threadIdx.x", 128) as tx:
            B = T.decl_buffer((128,), "float32", scope="shared.dyn")
            B[tx] = A[tx]

    with pytest.raises(tvm.TVMError, match="outside of the first launch"):
        tir.transform.MergeSharedMemoryAllocations()(module_of(func))


def test_an_element_that_is_written_twice_keeps_its_source():
    @T.prim_func
    def func(A: T.Buffer((100,), "float32")):
        B = T.decl_buffer((100,), "float32")
        C = T.decl_buffer((100,), "float32")
        for i in range(100):
            B[i] = A[i]
        for i, k in T.grid(100, 2):
            C[i] = B[i] * T.float32(2)
        for i in range(100):
            A[i] = C[99 - i]

    assert count_allocations(func) == 2


def test_elements_that_several_iterations_write_keep_their_source():
    @T.prim_func
    def halves(A: T.Buffer((8,), "float32")):
        B = T.decl_buffer((8,), "float32")
        C = T.decl_buffer((8,), "float32")
        for i in range(8):
            B[i] = A[i]
        for i in range(8):
            C[i // 2] = B[i // 2] * T.float32(2)
        for i in range(8):
            A[i] = C[7 - i]

    @T.prim_func
    def twice(A: T.Buffer((8,), "float32")):
        B = T.decl_buffer((8,), "float32")
        C = T.decl_buffer((8,), "float32")
        for i in range(8):
            B[i] = A[i]
        for i in range(8):
            C[i] = B[i] + T.float32(1)
            C[i] = B[i] * T.float32(2)
        for i in range(8):
            A[i] = C[7 - i]

    @T.prim_func
    def shifted(A: T.Buffer((8,), "float32")):
        B = T.decl_buffer((8,), "float32")
        C = T.decl_buffer((8,), "float32")
        D = T.decl_buffer((7,), "float32", data=C.data, elem_offset=1)
        for i in range(8):
            B[i] = A[i]
        for i in range(7):
            D[i] = B[i] * T.float32(2)
        for i in range(7):
            A[i] = D[6 - i]

    for func in (halves, twice, shifted):
        assert count_allocations(func) == 2


def test_memory_without_dimensions_or_with_several_is_no_crash():
    @T.prim_func
    def scalar(A: T.Buffer((8,), "float32")):
        x = T.decl_buffer((), "float32")
        for i in range(8):
            x[()] = A[i]
            A[i] = x[()] + T.float32(1)

    @T.prim_func
    def views(A: T.Buffer((256,), "float32")):
        with T.launch_thread("threadIdx.x", 16) as tx:
            M = T.allocate([256], "float32", "shared.dyn")
            S = T.decl_buffer((16, 16), data=M, scope="shared.dyn")
            N = T.allocate([256], "float32", "shared.dyn")
            R = T.decl_buffer((256,), data=N, scope="shared.dyn")
            S[tx, 0] = A[tx]
            R[tx] = S[tx, 0]
            A[tx] = R[tx]

    with pytest.raises(tvm.TVMError, match="allocated with 0 dimensions .* run FlattenBuffer before"):
        tir.transform.StorageRewrite()(module_of(scalar))
    with pytest.raises(tvm.TVMError, match="run FlattenBuffer before"):
        tir.transform.MergeSharedMemoryAllocations()(module_of(views))


def count_allocations(func):
    allocations = []

    def note(node):
        if isinstance(node, tir.Allocate):
            allocations.append(node)

    tir.stmt_functor.post_order_visit(tir.transform.StorageRewrite()(module_of(func))["main"].body, note)
    return len(allocations)


@pytest.mark.parametrize("scope, count", [("global", 2), ("local", 3), ("local.L0A", 1)])
def test_memory_of_a_builder_is_shared_by_scope(scope, count):
    ib = tir.ir_builder.create()
    A = ib.allocate("float32", 200, name="A", scope=scope)
    B = ib.allocate("float32", 200, name="B", scope=scope)
    C = ib.allocate("float32", 200, name="C", scope=scope)
    with ib.for_range(0, 100) as i:
        A[i] = 1.0
    with ib.for_range(0, 100) as i:
        B[i] = A[99 - i]
    with ib.for_range(0, 100) as i:
        C[i] = B[99 - i]
    with ib.for_range(0, 100) as i:
        C[i] = C[i] + 1.0
    assert count_allocations(tir.PrimFunc([], ib.get())) == count


def test_extents_that_are_known_only_inside_are_refused():
    @T.prim_func
    def func(A: T.Buffer((100,), "int32")):
        for i in range(100):
            B = T.decl_buffer((i + 1,), "int32")
            for j in range(i + 1):
                B[j] = j
            A[i] = B[i]

    with pytest.raises(tvm.TVMError, match="not known where the memory would be"):
        tir.transform.StorageRewrite()(module_of(func))


def test_where_a_view_is_declared_does_not_count():
    @T.prim_func(private=True)
    def early(A: T.Buffer((8,), "int32")):
        B = T.Buffer((4, 2), "int32", data=A.data)
        for i in range(8):
            A[i] = 0
            B[i // 2, i % 2] = i

    @T.prim_func(private=True)
    def late(A: T.Buffer((8,), "int32")):
        for i in range(8):
            A[i] = 0
            B = T.Buffer((4, 2), "int32", data=A.data)
            B[i // 2, i % 2] = i

    tvm.ir.assert_structural_equal(early, late)
    assert tvm.ir.structural_hash(early) == tvm.ir.structural_hash(late)

    @T.prim_func(private=True)
    def other(A: T.Buffer((8,), "int32")):
        B = T.Buffer((2, 4), "int32", data=A.data)
        for i in range(8):
            A[i] = 0
            B[i // 4, i % 4] = i

    assert not tvm.ir.structural_equal(early, other)


if __name__ == "__main__":
    tvm.testing.main()


def test_threads_with_memory_are_not_launched_in_parallel():
    @T.prim_func
    def func(A: T.Buffer((64,), "float32")):
        for i in T.parallel(8):
            with T.launch_thread("threadIdx.x", 8) as tx:
                B = T.decl_buffer((4,), "float32", scope="local")
                B[0] = A[i * 8 + tx]
                A[i * 8 + tx] = B[0] + T.float32(1)

    with pytest.raises(tvm.TVMError, match="launched in parallel loop i"):
        tir.transform.StorageRewrite()(module_of(func))


def test_rows_of_a_view_that_are_no_whole_vectors_keep_the_type():
    @T.prim_func
    def func(A: T.Buffer((64,), "float32")):
        data = T.allocate((64,), "float32", "global")
        rows = T.decl_buffer((2, 30), "float32", data=data)
        for i, j in T.grid(2, 7):
            rows[i, T.ramp(j * 4, 1, 4)] = T.broadcast(A[i], 4)
            A[T.ramp(j * 4, 1, 4)] = rows[i, T.ramp(j * 4, 1, 4)]

    mod = tir.transform.PointerValueTypeRewrite()(module_of(func))
    allocated = []
    tir.stmt_functor.post_order_visit(
        mod["main"].body, lambda node: allocated.append(node.dtype) if isinstance(node, tir.Allocate) else None)
    assert allocated == ["float32"]
