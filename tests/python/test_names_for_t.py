"""Names that stand for single members of the dialect T, and annotations that Python evaluates."""
import pytest
import tvm
import tvm.script.tir
from tvm import tir
from tvm.script import from_source
from tvm.script import tir as T

B, i64, spatial, axis_of_t, region = T.Buffer, T.int64, T.axis.spatial, T.axis, T.reads
vector = T.Buffer((4,), "float32")
shared = T.handle("float16", "shared")


def plain():
    @T.prim_func
    def f(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32"), n: T.int64):
        for i in range(4):
            with T.block("b"):
                vi = T.axis.spatial(4, i)
                T.reads(b[vi])
                T.writes(a[vi])
                a[vi] = b[vi] + T.Cast("float32", n)
    return f


def test_names_for_types_axes_and_blocks():
    @T.prim_func
    def f(a: B((4,), "float32"), b: B[(4,), "float32"], n: i64):
        for i in range(4):
            with T.block("b"):
                vi = spatial(4, i)
                region(b[vi])
                T.writes(a[vi])
                a[vi] = b[vi] + T.Cast("float32", n)
    tvm.ir.assert_structural_equal(f, plain())


def test_members_are_imported():
    from tvm.script.tir import Buffer, axis, block, float32, grid

    @T.prim_func
    def f(a: Buffer((4, 4), "float32")):
        for i, j in grid(4, 4):
            with block("b"):
                vi, vj = axis.remap("SS", [i, j])
                a[vi, vj] = float32(1)

    @T.prim_func
    def expected(a: T.Buffer((4, 4), "float32")):
        for i, j in T.grid(4, 4):
            with T.block("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                a[vi, vj] = T.float32(1)
    tvm.ir.assert_structural_equal(f, expected)


def test_a_text_imports_members():
    func = from_source("""
from tvm.script import tir as T
from tvm.script.tir import Buffer, grid as nest
@T.prim_func
def f(a: Buffer((4, 4), "float32")):
    for i, j in nest(4, 4):
        a[i, j] = 1.0
""")
    assert "for i, j in T.grid(4, 4):" in func.script()


def test_the_dialect_in_full():
    @T.prim_func
    def f(a: tvm.script.tir.Buffer((4,), "float32")):
        for i in tvm.script.tir.serial(4):
            a[i] = 1.0
    assert f.buffer_map[f.params[0]].shape[0] == 4 and isinstance(f.body, tir.For)


def test_parameters_are_like_what_the_program_made():
    def made(size):
        return T.Buffer((size,), "float16")
    kinds = {"x": T.Buffer((tir.Var("n", "int32"),), "float32")}

    @T.prim_func
    def f(a: vector, b: vector, c: made(8), d: kinds["x"], p: shared):
        a[0] = b[0]
    a, b, c, d = (f.buffer_map[param] for param in f.params[:4])
    assert [each.name for each in (a, b, c, d)] == ["a", "b", "c", "d"]
    assert not a.data.same_as(b.data) and c.dtype == "float16" and c.shape[0] == 8 and d.shape[0].name == "n"
    pointer = f.params[4].type_annotation
    assert f.params[4].name == "p" and (pointer.element_type.dtype, pointer.storage_scope) == ("float16", "shared")


def test_what_is_no_type_is_refused():
    for annotation in ("nothing", "3", "T.Buffer", "None"):
        with pytest.raises(tvm.error.DiagnosticError, match="expected"):
            from_source(f"@T.prim_func\ndef f(a: {annotation}):\n    T.evaluate(0)\n")


def test_local_names_hide_members():
    spatial_of = {"value": 3}

    @T.prim_func
    def f(a: B((8,), "int32"), axis_of_t: T.int32):
        a[axis_of_t] = spatial_of["value"]
    assert f.params[1].name == "axis_of_t"


def test_texts_know_tvm_and_t():
    func = from_source("""
@T.prim_func
def f(a: T.Buffer((4,), "int32")):
    for i in range(T.Range(0, 4).extent):
        a[i] = tvm.tir.const(7, "int32") + len(T.grid.__name__)
""")
    assert func.body.extent == 4 and func.body.body.value == 11


@pytest.mark.parametrize("body", [
    "A = n", "n = n + 1", "for i in range(4):\n        i = i + 1", "for i, j in T.grid(4, 4):\n        j = i",
    "A = T.alloc_buffer((4,))",
])
def test_parameters_and_loop_variables_are_not_bound_again(body):
    with pytest.raises(tvm.error.DiagnosticError, match="defined already in this scope"):
        from_source(f'@T.prim_func\ndef f(A: T.Buffer((4,), "float32"), n: T.int32):\n    {body}\n')


def test_inner_scopes_may_use_a_name_again():
    @T.prim_func
    def f(A: T.Buffer((4,), "float32"), n: T.int32):
        for i in range(4):
            with T.block("b"):
                i = T.axis.spatial(4, i)
                A[i] = 1.0
        for n in range(4):
            A[n] = 2.0
    assert isinstance(f.body.block.body, tir.SeqStmt)
