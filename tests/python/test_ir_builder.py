"""tir.ir_builder: statements in the order in which a program emits them."""
import numpy as np
import pytest
import tvm
from tvm import te, tir


def test_loops_and_branches_hold_what_is_emitted_inside():
    builder, n = tir.ir_builder.create(), te.size_var("n")
    A = builder.pointer("float32", name="A")
    with builder.for_range(0, n, name="i") as i:
        with builder.if_scope(tir.truncmod(i, 2) == 0):
            A[i] = A[i] + 1
        with builder.else_scope():
            A[0] = A[i] + 2
    loop = builder.get()
    assert isinstance(loop, tir.For) and loop.extent.same_as(n)
    branch = loop.body
    assert isinstance(branch, tir.IfThenElse) and isinstance(branch.condition, tir.EQ)
    assert isinstance(branch.else_case, tir.BufferStore)


def test_what_opens_a_scope_holds_the_rest():
    builder = tir.ir_builder.create()
    A = builder.buffer_ptr(tir.decl_buffer((4, 8), "float32", name="A"))
    thread = te.thread_axis("threadIdx.x")
    builder.scope_attr(thread, "thread_extent", 16)
    B = builder.allocate("float32", 16, name="B", scope="local")
    B[0] = A[13]
    x = builder.let("x", tir.const(3))
    builder.emit(tir.call_extern("int32", "f", x))
    attr = builder.get()
    assert isinstance(attr, tir.AttrStmt) and attr.attr_key == "thread_extent"
    assert isinstance(attr.body, tir.Allocate) and attr.body.buffer_var.type_annotation.storage_scope == "local"
    store, let = attr.body.body.seq
    assert [int(index) for index in store.value.indices] == [1, 5]  # One index counts the elements of all dimensions.
    assert isinstance(let, tir.LetStmt) and isinstance(let.body, tir.Evaluate)


def test_loops_without_a_name_are_named_in_order_and_kinds_are_tvms():
    builder = tir.ir_builder.create()
    names = []
    for kind in ("serial", "parallel", "vectorize", "unroll"):
        with builder.for_range(0, 4, kind=kind) as i:
            names.append(i.name)
            builder.emit(tir.Evaluate(i))
    kinds = [loop.kind for loop in builder.get().seq]
    assert names == ["i", "j", "k", "i_0"]
    assert kinds == [tir.ForKind.SERIAL, tir.ForKind.PARALLEL, tir.ForKind.VECTORIZED, tir.ForKind.UNROLLED]


def test_mistakes_are_said():
    builder = tir.ir_builder.create()
    A = builder.pointer("float32", name="A")
    with pytest.raises(RuntimeError, match="can only follow an if_scope"):
        builder.else_scope()
    with pytest.raises(ValueError, match="does not match"):
        A[0] = tir.const(1, "int32")
    with builder.for_range(0, 3):
        with pytest.raises(RuntimeError, match="inside construction scope"):
            builder.get()


def test_an_extern_is_built_by_it():
    def double(ins, outs):
        builder = tir.ir_builder.create()
        source, result = builder.buffer_ptr(ins[0]), builder.buffer_ptr(outs[0])
        with builder.for_range(0, 16) as i:
            result[i] = source[i] * 2.0
        return builder.get()

    A = te.placeholder((16,), name="A")
    B = te.extern((16,), [A], double, name="B", dtype="float32")
    func = tvm.build(te.create_schedule(B.op), [A, B], "llvm")
    a, b = tvm.nd.array(np.arange(16, dtype="float32")), tvm.nd.empty((16,))
    func(a, b)
    np.testing.assert_array_equal(b.numpy(), a.numpy() * 2)


def test_a_packed_call_takes_buffers_as_arrays():
    A = tir.decl_buffer((16, 4), "float32", name="A")
    call = tir.call_packed("my.function", A, 3)
    array = call.args[1]
    assert str(array.op) == "Op(tir.tvm_stack_make_array)" and int(array.args[3]) == 2


def test_what_a_new_scope_opens_ends_with_it():
    builder = tvm.tir.ir_builder.create()
    with builder.new_scope():
        builder.scope_attr("a", "key", 1)
        builder.emit(tvm.tir.Evaluate(1))
    builder.emit(tvm.tir.Evaluate(2))
    first, second = builder.get()
    assert isinstance(first, tvm.tir.AttrStmt) and second.value == 2
