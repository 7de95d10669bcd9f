"""Regions, loops and macro arguments that the program around a decorated function makes."""
import pytest
import tvm
from tvm import tir
from tvm.script import tir as T


def tile(buf, i):
    return buf[i * 4:i * 4 + 4]


def same(func, expected):
    tvm.ir.assert_structural_equal(func.with_attr("global_symbol", "main"), expected.with_attr("global_symbol", "main"))


@T.prim_func
def tiled(A: T.Buffer((16,), "float32")):
    for i in range(4):
        with T.block("b"):
            vi = T.axis.spatial(4, i)
            T.reads(A[vi], A[0:8])
            T.writes(A[vi * 4:vi * 4 + 4])
            S = T.match_buffer(A[vi * 4:vi * 4 + 4], (4,), offset_factor=1)
            S[0] = T.float32(1)


def test_regions_are_what_helpers_give():
    regions = lambda A, i: [A[i], A[0:8]]  # noqa: E731

    @T.prim_func
    def func(A: T.Buffer((16,), "float32")):
        for i in range(4):
            with T.block("b"):
                vi = T.axis.spatial(4, i)
                T.reads(*regions(A, vi))
                T.writes(tile(A, vi))
                S = T.match_buffer(tile(A, vi), (4,), offset_factor=1)
                S[0] = T.float32(1)

    same(func, tiled)


def test_a_tuple_of_slices_is_an_index():
    part = (slice(0, 4), slice(0, 2))

    @T.prim_func
    def func(A: T.Buffer((4, 4), "float32")):
        with T.block("b"):
            T.reads()
            T.writes(A[part])
            A[0, 0] = T.float32(1)

    region, = func.body.block.writes
    assert [(int(each.min), int(each.extent)) for each in region.region] == [(0, 4), (0, 2)]


def test_a_region_of_something_else_is_an_error():
    what = object()
    with pytest.raises(tvm.TVMError, match="expected a buffer"):
        @T.prim_func
        def func(A: T.Buffer((16,), "float32")):
            with T.block("b"):
                T.reads(what)
                T.writes(A[0])
                A[0] = T.float32(1)


def test_loops_are_what_python_makes_of_them():
    kinds, options = [T.parallel, T.unroll], {"annotations": {"a": 1}}

    def tiles(n):
        return T.grid(n, 4)

    @T.prim_func
    def func(A: T.Buffer((16,), "float32")):
        for i in kinds[0](16):
            A[i] = T.float32(1)
        for i in T.serial(16, **options):
            A[i] = T.float32(2)
        for i, j in tiles(4):
            A[i * 4 + j] = T.float32(3)

    @T.prim_func
    def expected(A: T.Buffer((16,), "float32")):
        for i in T.parallel(16):
            A[i] = T.float32(1)
        for i in T.serial(16, annotations={"a": 1}):
            A[i] = T.float32(2)
        for i, j in T.grid(4, 4):
            A[i * 4 + j] = T.float32(3)

    same(func, expected)


def test_macros_take_keywords():
    @T.macro
    def store(buf, *args, scale=1, **options):
        buf[args[0]] = args[1] * scale + options["offset"]

    @T.prim_func
    def func(A: T.Buffer((4,), "int32")):
        for i in range(4):
            store(A, i, i * 2, offset=i, scale=3)

    @T.prim_func
    def expected(A: T.Buffer((4,), "int32")):
        for i in range(4):
            A[i] = i * 2 * 3 + i

    same(func, expected)


def test_an_allocation_in_a_loop_is_of_the_block_around():
    @T.prim_func
    def func(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
        for i in range(4):
            C = T.alloc_buffer((4,), "int32")
            C[0] = A[i]
            B[i] = C[0]

    assert [each.name for each in func.body.block.alloc_buffers] == ["C"]


def test_a_program_that_is_not_checked_may_use_free_variables():
    @T.prim_func(check_well_formed=False)
    def func(A: T.Buffer((4,), "float32")):
        n = T.int32()
        A[n] = T.float32(1)

    assert not tir.analysis.verify_well_formed(func, assert_mode=False)
    with pytest.raises(tvm.TVMError, match="nothing gives it a value"):
        @T.prim_func
        def checked(A: T.Buffer((4,), "float32")):
            n = T.int32()
            A[n] = T.float32(1)


def test_nothing_between_statements_is_dropped():
    @T.prim_func
    def func(A: T.Buffer((4,), "float32")):
        T.evaluate(0)
        A[0] = T.float32(1)

    assert isinstance(func.body, tir.BufferStore)

    @T.prim_func
    def nothing():
        T.evaluate(0)

    assert isinstance(nothing.body, tir.Evaluate)
