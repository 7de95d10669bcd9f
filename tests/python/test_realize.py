"""What loops of stages say before they are TensorIR: realized buffers and prefetches."""
import pytest
import tvm
from tvm import tir
from tvm.script import tir as T


def test_nodes_are_taken_apart():
    A = tir.decl_buffer((16, 16), "float32", "A")
    body = tir.Evaluate(0)
    realize = tir.BufferRealize(A, [tvm.ir.Range(0, 8), tvm.ir.Range(4, 16)], True, body)
    assert isinstance(realize, tir.BufferRealize) and isinstance(realize, tir.Stmt)
    assert realize.buffer.same_as(A) and realize.bounds[1].min == 4 and realize.bounds[1].extent == 12
    assert realize.body.same_as(body) and realize.condition.value == 1
    prefetch = tir.Prefetch(A, [tvm.ir.Range(0, 8), tvm.ir.Range(0, 16)])
    assert isinstance(prefetch, tir.Prefetch) and prefetch.buffer.same_as(A) and len(prefetch.bounds) == 2
    for make in (tir.Prefetch, lambda buffer, bounds: tir.BufferRealize(buffer, bounds, True, body)):
        with pytest.raises(tvm.TVMError, match="2 dimensions, got 1 ranges"):
            make(A, [tvm.ir.Range(0, 8)])


def test_an_attribute_says_the_scope():
    A = tir.decl_buffer((16,), "float32", "A")
    realize = tir.BufferRealize(A, [tvm.ir.Range(0, 16)], True, tir.Evaluate(0))
    scoped = tir.AttrStmt(A, "realize_scope", tir.StringImm("shared"), realize)
    assert scoped.storage_scope == "shared" and 'with T.realize(A[0:16], "shared"):' in str(scoped)


@T.prim_func
def realized(B: T.Buffer((16,), "float32")):
    for i in range(4):
        A = T.Buffer((16,), "float32")
        with T.realize(A[i * 4:i * 4 + 4], "local", i < 3):
            T.prefetch(B, [T.Range(i * 4, i * 4 + 4)])
            for j in range(4):
                A[i * 4 + j] = B[i * 4 + j]
            for j in range(4):
                B[i * 4 + j] = A[i * 4 + j] + T.float32(1)


def test_text_reads_back():
    text = realized.script()
    assert 'with T.realize(A[i * 4:i * 4 + 4], "local", i < 3):' in text
    assert "T.prefetch(B, [T.Range(i * 4, i * 4 + 4)])" in text
    tvm.ir.assert_structural_equal(tvm.script.from_source(text), realized)
    seen = []
    tir.stmt_functor.post_order_visit(realized.body, lambda node: seen.append(type(node).__name__))
    assert seen.count("BufferRealize") == 1 and seen.count("Prefetch") == 1


def test_a_buffer_is_realized_once():
    for line, message in [("pass", "data="), ('T.realize(B[0:4], "")', "declared by T.Buffer")]:
        with pytest.raises(tvm.error.DiagnosticError, match=message):
            tvm.script.from_source(f"""
from tvm.script import tir as T

@T.prim_func
def main(B: T.Buffer((4,), "float32")):
    A = T.Buffer((4,), "float32")
    {line}
""")


def flattened(stmt, *buffers, line=64):
    func = tvm.te.schedule.SchedulePostProcToPrimFunc(list(buffers), stmt, {})
    mod = tvm.IRModule.from_expr(func)
    passes = [tir.transform.StorageFlatten(line), tir.transform.Simplify()]
    return tvm.transform.Sequential(passes)(mod)["main"].body


@pytest.mark.parametrize("line, extents", [(64, [2, 2]), (16, [2, 8]), (4096, [1])])
def test_a_prefetch_names_every_line(line, extents):
    A = tir.decl_buffer((25, 100, 4), "float32", "A")
    box = [tvm.ir.Range.from_min_extent(*each) for each in [(3, 2), (8, 8), (0, 4)]]
    stmt, found = flattened(tir.Prefetch(A, box), A, line=line), []
    while isinstance(stmt, tir.For):
        found.append(stmt.extent.value)
        stmt = stmt.body
    assert found == extents
    assert stmt.value.op.name == "tir.prefetch" and len(stmt.value.args[0].args[0].indices) == 1


def test_realized_buffers_become_memory_for_their_bounds():
    func = realized.with_attr("from_legacy_te_schedule", True).with_attr("global_symbol", "main")
    mod = tvm.transform.Sequential([tir.transform.StorageFlatten(64), tir.transform.Simplify()])(
        tvm.IRModule.from_expr(func))

    text = mod["main"].script()
    assert "[j] = B[i * 4 + j]" in text and "B[i * 4 + j] = " in text
    assert 'T.decl_buffer((4,), scope="local")' in text and "if i < 3:" in text


@pytest.mark.parametrize("tag, scope", [("blockIdx.x", "shared"), ("threadIdx.x", "local"), (None, "global")])
def test_memory_without_a_scope_is_as_wide_as_the_threads_around(tag, scope):
    A, B = (tir.decl_buffer((16,), "float32", name) for name in "AB")
    body = A.vstore([3], B.vload([3]))
    stmt = tir.BufferRealize(A, [tvm.ir.Range(2, 10)], True, body)
    if tag:
        axis = tvm.te.thread_axis((0, 4), tag)
        stmt = tir.AttrStmt(axis, "thread_extent", 4, stmt)
    stmt = flattened(stmt, B)
    while not isinstance(stmt, tir.Allocate):
        stmt = stmt.body
    assert stmt.extents[0] == 8 and stmt.buffer_var.type_annotation.storage_scope == scope


def copied(out, ins, split=None):
    """What InjectCopyIntrin finds in the copy `out` of `ins`: the arguments of its function."""
    found = []
    s = tvm.te.create_schedule(out.op)
    axis = out.op.axis[0]
    if split:
        axis, _ = s[out].split(axis, factor=split)
    s[out].pragma(axis, "memcpy")
    stmt = tvm.te.schedule.ScheduleOps(s, tvm.te.schedule.InferBound(s))
    func = tvm.te.schedule.SchedulePostProcToPrimFunc([*ins, out], stmt, None)
    mod = tir.transform.StorageFlatten(64)(tvm.IRModule.from_expr(func))

    def lower(src, dst, pad_before, pad_after, pad_value):
        found.append((src, dst, pad_before, pad_after, pad_value))
        return tir.Evaluate(7)

    body = tir.transform.InjectCopyIntrin("memcpy", lower)(mod)["main"].body
    assert isinstance(body, tir.Evaluate) and body.value == 7
    return found[0]


def test_copies_of_two_dimensions():
    m, n = tvm.te.var("m"), tvm.te.var("n")
    A = tvm.te.placeholder((m, n), name="A")
    B = tvm.te.compute((m, n), lambda i, j: A[i, j], name="B")
    src, dst, before, after, value = copied(B, [A])
    assert len(before) == 0 and len(after) == 0 and value is None
    for buffer in (src, dst):
        assert buffer.strides[0].same_as(n) and buffer.strides[1].value == 1
        assert buffer.shape[0].same_as(m) and buffer.shape[1].same_as(n)


def test_copies_with_padding():
    m, n = tvm.te.var("m"), tvm.te.var("n")
    A = tvm.te.placeholder((m, n), name="A")
    B = tvm.te.compute((m + 2, n), lambda i, j: tir.if_then_else(tir.all(i >= 1, i < m + 1), A[i - 1, j], 1.0), name="B")
    src, dst, before, after, value = copied(B, [A])
    prove = tvm.arith.Analyzer().can_prove_equal
    assert [each.value for each in before] == [1, 0] and [each.value for each in after] == [1, 0]
    assert value.value == 1.0 and prove(src.elem_offset, 0) and prove(src.shape[0], m) and prove(dst.shape[0], m + 2)


def test_what_is_no_copy_is_refused():
    A = tvm.te.placeholder((8,), name="A")
    with pytest.raises(tvm.TVMError, match="no copy"):
        copied(tvm.te.compute((8,), lambda i: A[i] + 1, name="B"), [A])
