"""Index maps and pad values as TVM takes and shows them."""
import pytest
import tvm
from tvm import tir
from tvm.script import tir as T


def test_maps_from_functions_take_names_behind_a_star():
    index_map = tir.IndexMap.from_func(lambda n, *hw, c: [n, c, *hw], ndim=4)
    assert [var.name for var in index_map.initial_indices] == ["n", "hw_0", "hw_1", "c"]
    assert [var.name for var in index_map.final_indices] == ["n", "c", "hw_0", "hw_1"]


def test_transform_layout_leaves_indices_of_one_value_alone():
    @T.prim_func
    def func(A: T.Buffer((1, 64), "float32"), B: T.Buffer((1, 64), "float32")):
        for n, i in T.grid(1, 64):
            with T.block("B"):
                vn, vi = T.axis.remap("SS", [n, i])
                B[vn, vi] = A[vn, vi]

    sch = tir.Schedule(func)
    sch.transform_layout("B", ("write", 0), lambda n, i: (i // 16, n, i % 16))
    assert "B[vi // 16, vn, vi % 16]" in sch.mod.script()


def test_pad_values_are_functions_of_indices_and_undef_takes_a_type():
    for given, text in ((0, "pad_value=lambda indices_0, indices_1: (0,)"), (lambda i, j: T.undef(dtype="int32"), "T.undef(")):
        sch = tir.Schedule(padded)
        sch.transform_layout("B", ("write", 0), lambda i: (i // 4, i % 4), pad_value=given)
        assert text in str(sch.trace)


@T.prim_func
def padded(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
    for i in range(14):
        with T.block("B"):
            vi = T.axis.spatial(14, i)
            B[vi] = A[vi]


@T.prim_func
def total(A: T.Buffer((5,), "int32"), C: T.Buffer((1,), "int32")):
    for i in range(5):
        with T.block("C"):
            vi = T.axis.reduce(5, i)
            with T.init():
                C[0] = 0
            C[0] = C[0] + A[vi]


def test_a_map_that_leaves_gaps_has_no_inverse():
    """It would run the block twice for each element, and fill no gap with the pad value."""
    every_other = tir.IndexMap.from_func(lambda i: [i * 2])
    for inverse in (every_other.inverse, every_other.non_surjective_inverse):
        with pytest.raises(tvm.TVMError, match="leave gaps"):
            inverse([5])
    with pytest.raises(tir.ScheduleError, match="not bijective"):
        tir.Schedule(total).transform_block_layout("C", lambda i: [i * 2])
    with pytest.raises(tir.ScheduleError, match="leave gaps"):
        tir.Schedule(padded).transform_layout("B", ("write", 0), lambda i: [i * 2], pad_value=0)


def test_maps_and_names_of_functions_are_compared_by_what_they_say():
    def halves(size, inverse=None):
        return tir.IndexMap.from_func(lambda i, j: [j, i // size, i % size], inverse_index_map=inverse)

    equal, hash_of = tvm.ir.structural_equal, tvm.ir.structural_hash
    assert equal(halves(4), halves(4)) and hash_of(halves(4)) == hash_of(halves(4))
    assert not equal(halves(4), halves(2)) and not equal(halves(4), halves(4, lambda j, a, b: [a * 4 + b, j]))
    assert not equal(halves(4), tir.IndexMap.from_func(lambda i: [i])) and not equal(halves(4), tir.Var("x", "int32"))
    with pytest.raises(ValueError):
        tvm.ir.assert_structural_equal([halves(4)], [halves(2)])
    name = tvm.ir.GlobalVar
    assert equal(name("f"), name("f")) and not equal(name("f"), name("g")) and not equal(name("f"), "f")
    assert hash_of(name("f")) == hash_of(name("f"))


def test_types_of_indices_do_not_make_maps_differ():
    narrow = tir.IndexMap.from_func(lambda i: [i // 8, i % 8], index_dtype="int32")
    wide = tir.IndexMap.from_func(lambda i: [i // 8, i % 8])
    assert narrow.is_equivalent_to(wide) and wide.is_equivalent_to(narrow)
    assert not narrow.is_equivalent_to(tir.IndexMap.from_func(lambda i: [i // 4, i % 4]))
