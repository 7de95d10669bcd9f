"""Lists and choices of the program as arguments in scripts: strides, shapes, regions."""
import pytest
import tvm
import tvm.testing
from tvm.script import tir as T

lst, dense, flag, nothing = [16, 1], (16, 1), False, None


def _strides(func):
    return [int(stride) for stride in func.buffer_map[func.params[0]].strides]


def test_strides_may_be_a_list_of_the_program():
    @T.prim_func
    def by_name(a: T.handle):
        A = T.match_buffer(a, (8, 8), "float32", strides=lst)
        A[0, 0] = T.float32(1)

    @T.prim_func
    def by_call(a: T.handle):
        A = T.match_buffer(a, (8, 8), "float32", strides=list(dense))
        A[0, 0] = T.float32(1)

    @T.prim_func
    def by_choice(a: T.handle):
        A = T.match_buffer(a, (8, 8), "float32", strides=[8, 1] if flag else lst[:])
        A[0, 0] = T.float32(1)

    @T.prim_func
    def none_chosen(a: T.handle):
        A = T.match_buffer(a, (8, 8), "float32", strides=[16, 1] if flag else None)
        A[0, 0] = T.float32(1)

    assert _strides(by_name) == _strides(by_call) == _strides(by_choice) == [16, 1]
    assert _strides(none_chosen) == []


def test_strides_of_the_wrong_number_are_refused():
    with pytest.raises(tvm.error.DiagnosticError, match="expected 3 strides, got 2"):

        @T.prim_func
        def func(a: T.handle):
            A = T.match_buffer(a, (8, 8, 8), "float32", strides=lst)
            A[0, 0, 0] = T.float32(1)


def test_lists_are_added_and_repeated():
    @T.prim_func
    def func(A: T.Buffer([8] * 2, "float32"), b: T.handle):
        B = T.match_buffer(b, [4] + [2] * 2, "float32")
        C = T.alloc_buffer([8] * 2, "float32")
        for i, j in T.grid(*[8] * 2):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads([A[vi, vj]] + [B[0, 0, 0]])
                T.writes([C[vi, vj]] + [])
                C[vi, vj] = A[vi, vj] + B[0, 0, 0]

    @T.prim_func
    def plain(A: T.Buffer((8, 8), "float32"), b: T.handle):
        B = T.match_buffer(b, (4, 2, 2), "float32")
        C = T.alloc_buffer((8, 8), "float32")
        for i, j in T.grid(8, 8):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj], B[0, 0, 0])
                T.writes(C[vi, vj])
                C[vi, vj] = A[vi, vj] + B[0, 0, 0]

    tvm.ir.assert_structural_equal(func.with_attr("global_symbol", "plain"), plain)


def test_regions_are_chosen_and_slices_of_them_stay_slices():
    def part(buffer, row):
        return buffer[row, 0:8]

    @T.prim_func
    def func(A: T.Buffer((8, 8), "float32")):
        for i in range(8):
            with T.block("b"):
                v = T.axis.spatial(8, i)
                T.reads([A[v, 0]] if flag else [A[v, 0:4], A[v, 4:8]])
                T.writes(A[v, 0:1] if flag else A[v, 0:8])
                for j in range(8):
                    A[v, j] = T.float32(1)

    block = func.body.block.body.body.block
    assert [str(region) for region in block.writes] == ["A[v, 0:8]"]
    assert [str(region) for region in block.reads] == ["A[v, 0:4]", "A[v, 4:8]"]
    tvm.ir.assert_structural_equal(tvm.script.from_source(func.script()), func)


if __name__ == "__main__":
    tvm.testing.main()
