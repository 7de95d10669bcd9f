"""Memory of stages by where they are computed, stages of placeholders, axes fused two by two, what is inlined untold."""
import numpy as np
import pytest
import tvm
from tvm import te, tir

block, thread = te.thread_axis("blockIdx.x"), te.thread_axis("threadIdx.x")


def two_steps(rows=128, columns=64):
    A = te.placeholder((rows, columns), name="A")
    B = te.compute((rows, columns), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((rows, columns), lambda i, j: B[i, j] * 2.0, name="C")
    return A, B, C, te.create_schedule(C.op)


def allocations(s, args, **options):
    found = []

    def visit(node):
        if isinstance(node, tir.Allocate):
            kind = node.buffer_var.type_annotation.storage_scope
            found.append((node.buffer_var.name, kind, [int(extent) for extent in node.extents]))

    tir.stmt_functor.post_order_visit(tvm.lower(s, args, **options)["main"].body, visit)
    return found


@pytest.mark.parametrize("said, at_thread, held", [
    ("", True, ("local", [64])),
    ("", False, ("shared", [2048])),
    ("shared", True, ("shared", [2048])),
    ("global", True, ("global", [8192])),
])
def test_memory_is_that_of_the_threads_around_unless_it_is_said(said, at_thread, held):
    A, B, C, s = two_steps()
    outer, inner = s[C].split(C.op.axis[0], 32)
    s[C].bind(outer, block)
    s[C].bind(inner, thread)
    s[B].compute_at(s[C], inner if at_thread else outer)
    if not at_thread:
        s[B].bind(B.op.axis[0], thread)
    assert s[B].scope == ""
    if said:
        s[B].set_scope(said)
    assert allocations(s, [A, C]) == [("B", *held)]


def test_operations_of_one_name_have_each_their_memory():
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[i] + 1.0, name="B")
    other = te.compute((64,), lambda i: B[i] * 2.0, name="B")
    C = te.compute((64,), lambda i: other[i] - 3.0, name="C")
    s = te.create_schedule(C.op)
    s[C].bind(C.op.axis[0], thread)
    s[other].compute_at(s[C], C.op.axis[0])
    assert allocations(s, [A, C]) == [("B", "local", [1]), ("B", "global", [64])]


def test_the_part_of_a_reduction_that_a_thread_makes_is_its_own():
    A = te.placeholder((64, 128), name="A")
    k = te.reduce_axis((0, 128), "k")
    B = te.compute((64,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    part = s.rfactor(B, s[B].split(k, factor=16)[1])
    outer, inner = s[B].split(s[B].op.axis[0], factor=32)
    s[B].bind(outer, block)
    s[B].bind(inner, te.thread_axis("threadIdx.y"))
    s[B].bind(s[B].op.reduce_axis[0], thread)
    s[part].compute_at(s[B], s[B].op.reduce_axis[0])
    assert ("B.rf", "local", [1]) in allocations(s, [A, B], simple_mode=True)


def test_memory_that_a_loop_fills_ahead_is_double():
    A, B, C, s = two_steps()
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].double_buffer()
    assert allocations(s, [A, C]) == [("B", "global", [128])]
    assert "double_buffer_write" in tvm.lower(s, [A, C]).script()


def test_a_sum_is_filled_ahead_with_its_start():
    A = te.placeholder((16, 8, 4), name="A")
    k = te.reduce_axis((0, 4), "k")
    B = te.compute((16, 8), lambda i, j: te.sum(A[i, j, k], axis=k), name="B")
    C = te.compute((16, 8), lambda i, j: B[i, j] * 2.0, name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].reorder(k, B.op.axis[1])
    s[B].double_buffer()
    lowered = tvm.lower(s, [A, C])
    assert lowered.script().count("double_buffer_write") == 1
    a, c = tvm.nd.array(np.random.rand(16, 8, 4).astype("float32")), tvm.nd.empty((16, 8))
    tvm.build(lowered, target="llvm")(a, c)
    np.testing.assert_allclose(c.numpy(), a.numpy().sum(-1) * 2, rtol=1e-5)


def test_placeholders_have_stages():
    A, B, C, s = two_steps()
    assert [stage.op.name for stage in s.stages] == ["A", "B", "C"] and len(s.stage_map) == 3
    assert s[A].op == A.op and not s[A].leaf_iter_vars and not s[A].is_output
    copy = s.cache_read(A, "shared", [B])
    assert [stage.op.name for stage in s.stages] == ["A", "A.shared", "B", "C"] and s[copy].scope == "shared"
    with pytest.raises(tvm.TVMError, match="has no stage in this schedule"):
        s.cache_read(te.placeholder((1,), name="X"), "local", [B])


def test_axes_are_fused_two_by_two_in_either_order():
    A = te.placeholder((8, 16, 32), name="A")
    B = te.compute((8, 16, 32), lambda i, j, k: A[i, j, k] + 1.0, name="B")
    s = te.create_schedule(B.op)
    fused = s[B].fuse(*B.op.axis)
    assert fused.var.name == "i.j.fused.k.fused"
    assert [relation.fused.var.name for relation in s[B].relations] == ["i.j.fused", "i.j.fused.k.fused"]
    assert int(te.schedule.InferBound(s)[fused].extent) == 4096
    assert s[B].fuse(fused).same_as(fused) and len(s[B].relations) == 2
    outer, inner = s[B].split(fused, 4)
    assert s[B].fuse(inner, outer).var.name == f"{outer.var.name}.{inner.var.name}.fused"


def _inlined(by):
    A = te.placeholder((8, 8), name="A")
    b = te.compute((8,), lambda j: te.const(1.0), name="b")
    elemwise = te.compute((8, 8), lambda i, j: A[i, j] + 1.0, name="elemwise")
    broadcast = te.compute((8, 8), lambda i, j: elemwise[i, j] + b[j], name="broadcast")
    injective = te.compute((8, 8), lambda i, j: broadcast[j, i], name="injective")
    scheduled = te.compute((8, 8), lambda i, j: injective[i, j] * 2.0, name="scheduled")
    k = te.reduce_axis((0, 8), "k")
    total = te.compute((8,), lambda i: te.sum(scheduled[i, k], axis=k), name="total")
    result = te.compute((8,), lambda i: total[i] + 1.0, name="result")
    s = te.create_schedule(result.op)
    s[scheduled].split(scheduled.op.axis[0], 2)
    by(s)
    return [stage.op.name for stage in s.stages if stage.attach_type == 2]


@pytest.mark.parametrize("by, names", [
    (te.schedule.AutoInlineElemWise, ["elemwise", "b"]),
    (te.schedule.AutoInlineBroadcast, ["elemwise", "b", "broadcast"]),
    (te.schedule.AutoInlineInjective, ["elemwise", "b", "broadcast", "injective"]),
])
def test_what_is_plain_enough_is_inlined(by, names):
    assert _inlined(by) == names
