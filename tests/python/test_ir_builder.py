"""tir.ir_builder: statements in the order in which a program emits them."""
import pickle

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


def _allocated(loop_first):
    builder, n = tir.ir_builder.create(), tir.Var("n", "int32")
    if loop_first:
        with builder.for_range(0, n, name="i") as i:
            Q = builder.allocate("float32", 200, name="Q", scope="global")
            Q[i] = 1.2
    else:
        Q = builder.allocate("float32", 200, name="Q", scope="global")
        with builder.for_range(0, n, name="i") as i:
            Q[i] = 1.2
    return tir.PrimFunc([n], builder.get())


def _through_a_pointer():
    builder, n = tir.ir_builder.create(), tir.Var("n", "int32")
    p = builder.pointer("float32", name="p")
    builder.emit(tir.Evaluate(n))
    with builder.if_scope(n > 3):
        p[0] = p[0] + 1.0
    with builder.for_range(0, n, name="i") as i:
        p[i] = p[i] + 1.0
    return tir.PrimFunc([n, p.asobject().data], builder.get())


def _two_views_of_a_let():
    q = tir.Var("q", tvm.ir.PointerType(tvm.ir.PrimType("float32"), "global"))
    rows, flat = (tir.decl_buffer(shape, "float32", name="Q", data=q) for shape in ((2, 4), (8,)))
    handle = tir.Var("h", "handle")
    one = tir.const(1.0, "float32")
    stores = tir.SeqStmt([rows.vstore([0, 0], one), tir.Evaluate(1), flat.vstore([5], one)])
    return tir.PrimFunc([handle], tir.LetStmt(q, tir.reinterpret("handle", tir.const(0, "uint64")), stores))


def _views_of_a_parameter():
    A = tir.decl_buffer((4, 4), "float32", name="A")
    flat = tir.decl_buffer((16,), "float32", name="A", data=A.data)
    handle = tir.Var("a", "handle")
    loop_var = tir.Var("i", "int32")
    loop = tir.For(loop_var, 0, 4, tir.ForKind.SERIAL, flat.vstore([loop_var], A.vload([0, 0])))
    return tir.PrimFunc([handle], loop, buffer_map={handle: A})


@pytest.mark.parametrize("make, lines", [
    (lambda: _allocated(True),
     ['for i in range(n):', '    Q = T.allocate([200], "float32", "global")', '    Q_1 = T.Buffer((200,), data=Q)',
      '    Q_1[i] = T.float32(1.2']),
    (lambda: _allocated(False),
     ['Q = T.allocate([200], "float32", "global")', 'for i in range(n):', '    Q_1 = T.Buffer((200,), data=Q)',
      '    Q_1[i] = T.float32(1.2']),
    (_through_a_pointer, ["T.evaluate(n)", "p_1 = T.Buffer((1,), data=p)", "if n > 3:"]),
    (_two_views_of_a_let, ['q: T.handle("float32", "global") = T.reinterpret("handle", T.uint64(0))',
                           "Q = T.Buffer((2, 4), data=q)", "Q[0, 0] = T.float32(1.0)", "T.evaluate(1)",
                           "Q_1 = T.Buffer((8,), data=q)", "Q_1[5] = T.float32(1.0)"]),
    (_views_of_a_parameter, ["for i in range(4):", "    A_1 = T.Buffer((16,), data=A.data)", "    A_1[i] = A[0, 0]"]),
])
def test_texts_say_which_memory_a_buffer_lies_over(make, lines):
    func = make()
    assert "\n    ".join(lines) in func.script()
    for again in (tvm.script.from_source(func.script()), tvm.ir.load_json(tvm.ir.save_json(func)),
                  pickle.loads(pickle.dumps(func))):
        tvm.ir.assert_structural_equal(again, func)
        assert tvm.ir.structural_hash(again) == tvm.ir.structural_hash(func)


def test_texts_of_statements_say_it_too():
    data = tir.Var("p", tvm.ir.PointerType(tvm.ir.PrimType("float32"), "global"))
    flat, rows = (tir.decl_buffer(shape, "float32", name=name, data=data) for shape, name in (((8,), "A"), ((4, 2), "B")))
    text = rows.vstore([0, 1], flat.vload([3])).script()
    assert text == "B = T.Buffer((4, 2))\nA = T.Buffer((8,), data=B.data)\nB[0, 1] = A[3]"
    assert tir.SeqStmt([tir.Evaluate(data), flat.vstore([0], tir.const(1.0, "float32"))]).script().startswith(
        'p = T.handle("float32", "global")\nA = T.Buffer((8,), data=p)\n')


def test_views_of_other_memory_are_others():
    def stored(through_second):
        first, second = (tir.Var(name, tvm.ir.PointerType(tvm.ir.PrimType("float32"), "global")) for name in "pq")
        view = tir.decl_buffer((8,), "float32", name="B", data=second if through_second else first)
        return tir.PrimFunc([first, second], view.vstore([0], tir.const(1.0, "float32")))

    tvm.ir.assert_structural_equal(stored(True), stored(True))
    assert not tvm.ir.structural_equal(stored(True), stored(False))
    assert tvm.ir.structural_hash(stored(True)) != tvm.ir.structural_hash(stored(False))


def test_a_frame_that_declares_a_buffer_makes_its_memory():
    from tvm.script.ir_builder import IRBuilder
    from tvm.script.ir_builder import tir as frames
    with IRBuilder() as builder:
        with frames.prim_func():
            frames.func_name("main")
            with frames.decl_buffer((8,), "float32") as B:
                frames.evaluate(B[0])
    body = builder.get().body
    assert isinstance(body, tir.Allocate) and body.body.buffer.data.same_as(body.buffer_var)
