"""tvm.script.ir_builder: what frames make is what the same text makes."""
import pytest

import tvm
from tvm.script import tir as T
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import ir as I
from tvm.script.ir_builder import tir as B


@T.prim_func
def total(A: T.Buffer((8, 4), "float32"), C: T.Buffer((8,), "float32")):
    for i, j in T.grid(8, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SR", [i, j])
            T.block_attr({"mark": 1})
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vj]


def test_blocks_are_completed_and_get_a_root():
    with IRBuilder() as ib:
        with B.prim_func():
            B.func_name("total")
            A = B.arg("A", B.Buffer((8, 4), "float32"))
            C = B.arg("C", B.Buffer((8,), "float32"))
            with B.grid(8, 4) as (i, j):
                with B.block("C"):
                    vi, vj = B.axis.remap("SR", [i, j])
                    B.block_attr({"mark": 1})
                    with B.init():
                        B.buffer_store(C, 0.0, [vi])
                    B.buffer_store(C, C[vi] + A[vi, vj], [vi])
    tvm.ir.assert_structural_equal(ib.get(), total)
    assert ib.get().attrs["global_symbol"] == "total"


@T.prim_func
def shifted(a: T.handle, n: T.int32):
    A = T.match_buffer(a, (8,), "int32")
    B = T.alloc_buffer((8,), "int32", scope="shared")
    for i in T.thread_binding(8, thread="threadIdx.x"):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            T.where(i < 6)
            T.reads(A[0:8])
            T.writes(B[vi])
            if n < 4:
                B[vi] = A[vi]
            else:
                B[vi] = n
    while A[0] < 8:
        A[0] = A[0] + 1


def test_handles_branches_loops_and_predicates():
    with IRBuilder() as ib:
        with B.prim_func():
            B.func_name("shifted")
            a, n = B.arg("a", B.handle()), B.arg("n", B.int32())
            buf = B.match_buffer(a, (8,), "int32")
            copy = B.alloc_buffer((8,), "int32", scope="shared")
            with B.thread_binding(8, thread="threadIdx.x") as i:
                with B.block("B"):
                    vi = B.axis.spatial(8, i)
                    B.where(i < 6)
                    B.reads(buf[0:8])
                    B.writes(copy[vi])
                    with B.If(n < 4):
                        with B.Then():
                            B.buffer_store(copy, buf[vi], [vi])
                        with B.Else():
                            B.buffer_store(copy, n, [vi])
            with B.While(buf[0] < 8):
                B.buffer_store(buf, buf[0] + 1, [0])
    tvm.ir.assert_structural_equal(ib.get(), shifted)


def test_pointers_have_elements_and_a_scope():
    for made, scope in ((B.ptr("int32"), "global"), (B.ptr("float32", "shared"), "shared"),
                        (B.ptr(dtype="int32", storage_scope="local", is_size_var=False), "local")):
        assert made.dtype == "handle" and made.type_annotation.storage_scope == scope
    assert str(B.ptr("int32").type_annotation.element_type.dtype) == "int32"


def test_names_lets_attributes_and_assertions():
    with IRBuilder() as ib:
        with B.prim_func():
            A = B.arg("A", B.Buffer((8,), "int32"))
            with B.serial(1, 8, annotations={"mark": 2}) as i:
                IRBuilder.name("row", i)
                with B.LetStmt(i * 2) as x:
                    with B.attr("thing", "key", 3):
                        with B.Assert(x < 16, "too large"):
                            B.buffer_store(A, x, [i])
    loop = ib.get().body
    assert loop.loop_var.name == "row" and dict(loop.annotations) == {"mark": 2}
    lines = [line.strip() for line in ib.get().script().splitlines()[4:]]
    assert lines == ['for row in T.serial(1, 8, annotations={"mark": 2}):', "v: T.int32 = row * 2",
                     'T.attr("thing", "key", 3)', 'assert v < 16, "too large"', "A[row] = v"]


def test_modules():
    with IRBuilder() as ib:
        with I.ir_module():
            for name in ("one", "two"):
                with B.prim_func():
                    B.func_name(name)
                    B.evaluate(0)
    assert sorted(var.name_hint for var in ib.get().get_global_vars()) == ["one", "two"]


def test_statements_alone():
    with IRBuilder() as ib:
        with B.unroll(4):
            B.evaluate(1)
    assert int(ib.get().extent) == 4


def test_errors():
    with pytest.raises(ValueError):
        B.evaluate(0)
    with IRBuilder() as ib, pytest.raises(ValueError):
        B.where(True)
    with pytest.raises(IndexError):
        ib.get()


def test_names_of_axes_buffers_and_lets():
    with IRBuilder() as ib:
        with B.prim_func():
            a = B.arg("a", B.handle())
            X = IRBuilder.name("X", B.match_buffer(a, (8,), "int32"))
            Y = IRBuilder.name("Y", B.alloc_buffer((8,), "int32"))
            with IRBuilder.name("i", B.serial(8)) as i:
                IRBuilder.name("i", i)
                with B.block("b"):
                    vi = IRBuilder.name("vi", B.axis.spatial(8, i))
                    with B.LetStmt(X[vi]) as x:
                        IRBuilder.name("lv", x)
                        B.buffer_store(Y, x, [vi])

    @T.prim_func(private=True)
    def main(a: T.handle):
        X = T.match_buffer(a, (8,), "int32")
        Y = T.alloc_buffer((8,), "int32")
        for i in range(8):
            with T.block("b"):
                vi = T.axis.spatial(8, i)
                lv: T.int32 = X[vi]
                Y[vi] = lv
    tvm.ir.assert_structural_equal(ib.get(), main)
    assert ib.get().script() == main.script()


def test_attributes_of_a_module():
    with IRBuilder() as ib:
        with I.ir_module():
            I.module_attrs({"mark": 1})
            I.module_set_attr("other", "x")
            assert I.module_get_attr("mark") == 1
            with pytest.raises(ValueError):
                I.module_attrs({"mark": 2})
    assert dict(ib.get().attrs) == {"mark": 1, "other": "x"}
