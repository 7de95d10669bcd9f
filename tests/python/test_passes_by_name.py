"""Passes by TVM's names, alone and with options: what TVM 0.27 makes of the same programs."""
import numpy
import pytest
import tvm
import tvm.testing
from tvm import tir
from tvm.script import tir as T


class TestSimplifyWritesLetsOut(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.Simplify()

    def before(A: T.Buffer((64,), "int32")):
        for i in range(16):
            x: T.int32 = i + 1
            A[x] = x * 2

    def expected(A: T.Buffer((64,), "int32")):
        for i in range(16):
            A[i + 1] = i * 2 + 2


class TestHoistMovesAConditionFromAnyDepth(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.HoistIfThenElse()

    def before(A: T.Buffer((16, 16), "float32"), n: T.int32):
        for i in range(16):
            A[i, 0] = 5.0
            for j in range(16):
                for k in range(16):
                    if A[i, j] < 3.0:
                        if n > 4:
                            A[i, j] = 1.0

    def expected(A: T.Buffer((16, 16), "float32"), n: T.int32):
        for i in range(16):
            A[i, 0] = 5.0
            if 4 < n:
                for j, k in T.grid(16, 16):
                    if A[i, j] < 3.0:
                        A[i, j] = 1.0


class TestHoistTakesTheElseAlong(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.HoistIfThenElse("basic")

    def before(A: T.Buffer((16, 16), "float32"), n: T.int32):
        for i, j in T.grid(16, 16):
            if n < 3:
                A[i, j] = 1.0
            else:
                A[i, j] = 2.0

    def expected(A: T.Buffer((16, 16), "float32"), n: T.int32):
        if n < 3:
            for i, j in T.grid(16, 16):
                A[i, j] = 1.0
        else:
            for i, j in T.grid(16, 16):
                A[i, j] = 2.0


class TestHoistLeavesPartsOfConditions(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.HoistIfThenElse()

    def before(A: T.Buffer((16, 16), "float32")):
        for i, j in T.grid(16, 16):
            if i < 3 and j < 5:
                A[i, j] = 1.0

    expected = before


@T.prim_func
def of_a_thread(A: T.Buffer((16, 16), "float32")):
    bx = T.launch_thread("blockIdx.x", 32)
    for i, j in T.grid(16, 16):
        if bx < 3:
            A[i, j] = 1.0


def apply(func, transform, **options):
    with tvm.transform.PassContext(config={"tir." + name: value for name, value in options.items()}):
        return transform(tvm.IRModule.from_expr(func.with_attr("global_symbol", "main")))["main"]


def test_hoist_crosses_threads_only_when_asked():
    assert_same(apply(of_a_thread, tir.transform.HoistIfThenElse()), of_a_thread)
    moved = apply(of_a_thread, tir.transform.HoistIfThenElse(), HoistIfThenElse={"support_block_scope_hoisting": True})
    assert isinstance(moved.body.body, tir.IfThenElse)
    kept = apply(of_a_thread, tir.transform.HoistIfThenElse("basic"),
                 HoistIfThenElse={"support_block_scope_hoisting": True})
    assert_same(kept, of_a_thread)


@T.prim_func
def guarded(A: T.Buffer((100,), "float32")):
    for i, j in T.grid(7, 16):
        if T.likely(i * 16 + j < 100):
            A[i * 16 + j] = 1.0


def assert_same(func, expected):
    """Whatever they are called."""
    tvm.ir.assert_structural_equal(*[each.with_attr("global_symbol", "main") for each in (func, expected)])


def loops_of(func):
    loops = []
    tir.stmt_functor.post_order_visit(func.body, lambda node: isinstance(node, tir.For) and loops.append(node))
    return loops


def test_loops_of_constant_extent_are_partitioned_when_asked():
    @T.prim_func
    def unlikely(A: T.Buffer((100,), "float32")):
        for i, j in T.grid(7, 16):
            if i * 16 + j < 100:
                A[i * 16 + j] = 1.0

    assert_same(apply(guarded, tir.transform.LoopPartition()), unlikely)
    split = apply(guarded, tir.transform.LoopPartition(), LoopPartition={"partition_const_loop": True})
    assert len(loops_of(split)) > 2
    with pytest.raises(AttributeError, match="Map required"):
        apply(guarded, tir.transform.LoopPartition(), LoopPartition=3)


@T.prim_func
def eight_steps(A: T.Buffer((64,), "float32"), n: T.int32):
    for i in range(n, n + 2):
        for j in range(8):
            A[j] = A[i] + 1.0


def test_unroll_takes_its_options():
    unroll = tir.transform.UnrollLoop()
    assert_same(apply(eight_steps, unroll), eight_steps)
    assert len(apply(eight_steps, unroll, UnrollLoop={"auto_max_step": 16}).body) == 16
    half = apply(eight_steps, unroll, UnrollLoop={"auto_max_step": 8, "explicit_unroll": False})
    assert half.body.kind == tir.ForKind.SERIAL and half.body.body.kind == tir.ForKind.UNROLLED
    assert len(apply(eight_steps, unroll, UnrollLoop={"auto_max_extent": 8}).body) == 16


def test_unroll_heeds_attributes_not_annotations():
    @T.prim_func
    def before(A: T.Buffer((64,), "float32")):
        for j in T.serial(4, annotations={"pragma_auto_unroll_max_step": 8}):
            A[j] = 1.0
        with T.attr(0, "pragma_auto_unroll_max_step", 8):
            for j in range(2):
                A[j] = 2.0
        with T.attr(0, "pragma_unroll_explicit", False):
            for j in T.unroll(4):
                A[j] = 3.0

    @T.prim_func
    def expected(A: T.Buffer((64,), "float32")):
        for j in T.serial(4, annotations={"pragma_auto_unroll_max_step": 8}):
            A[j] = 1.0
        A[0] = 2.0
        A[1] = 2.0
        for j in T.unroll(4):
            A[j] = 3.0

    assert_same(apply(before, tir.transform.UnrollLoop()), expected)


class TestVectorizeRunsMasksLaneByLane(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.VectorizeLoop()

    def before(A: T.Buffer((64,), "float32"), n: T.int32):
        for i in T.vectorized(4):
            if i < n:
                A[i] = 1.0
        for i in T.vectorized(4):
            if n < 4:
                A[i] = 2.0
        for i in T.vectorized(4):
            T.evaluate(i)

    def expected(A: T.Buffer((64,), "float32"), n: T.int32):
        for i in range(4):
            if i < n:
                A[i] = 1.0
        if n < 4:
            A[T.Ramp(0, 1, 4)] = T.Broadcast(T.float32(2.0), 4)
        T.evaluate(T.Ramp(0, 1, 4))


def test_vectorize_can_be_switched_off_and_refuses():
    @T.prim_func
    def copies(A: T.Buffer((64,), "float32")):
        for i in T.vectorized(4):
            A[i] = A[i + 4]

    @T.prim_func
    def symbolic(A: T.Buffer((64,), "float32"), n: T.int32):
        for i in T.vectorized(n):
            A[i] = 1.0

    @T.prim_func
    def repeats(A: T.Buffer((64,), "float32")):
        for i in T.vectorized(4):
            while A[i] < 3.0:
                A[i] = A[i] + 1.0

    assert loops_of(apply(copies, tir.transform.VectorizeLoop(False)))[0].kind == tir.ForKind.SERIAL
    assert not loops_of(apply(copies, tir.transform.VectorizeLoop()))
    for func, why in ((symbolic, "no constant"), (repeats, "holds a while")):
        with pytest.raises(tvm.TVMError, match=why):
            apply(func, tir.transform.VectorizeLoop())


def test_lowered_blocks_leave_attributes_of_threads_and_pragmas():
    @T.prim_func
    def before(A: T.Buffer((16, 16), "float32")):
        for i in T.thread_binding(16, thread="threadIdx.x"):
            for k in T.serial(16, annotations={"pragma_x": 3, "other": 4}):
                with T.block():
                    T.where(i * 4 + k < 20)
                    T.reads()
                    T.writes(A[i, k])
                    T.block_attr({"pragma_y": 1, "else": 2})
                    A[i, k] = 1.0

    body = apply(before, tir.transform.LowerOpaqueBlock()).body
    assert body.attr_key == "thread_extent" and body.node.thread_tag == "threadIdx.x" and int(body.value) == 16
    pragma = body.body
    assert pragma.attr_key == "pragma_x" and int(pragma.value) == 3
    loop = pragma.body
    assert dict(loop.annotations) == {"other": 4} and loop.body.attr_key == "pragma_y"
    assert isinstance(loop.body.body, tir.IfThenElse)


def kinds_of(node):
    """Names of the statements' classes, from the inside out."""
    kinds = []
    tir.stmt_functor.post_order_visit(node.body, lambda each: kinds.append(type(each).__name__))
    return [kind for kind in kinds if kind in ("Allocate", "DeclBuffer", "For", "BlockRealize")]


@T.prim_func
def two_steps(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.alloc_buffer((8, 8))
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.block_attr({"buffer_dim_align": [[0, 0, 12, 1]]})
            B[vi, vj] = A[vi, vj] + 1.0
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vj, vi] * 2.0


TO_OPAQUE = ("LowerInitBlock", "PlanAndUpdateBufferAllocationLocation", "ConvertBlocksToOpaque", "CompactBufferAllocation",
             "LowerMatchBuffer", "LowerOpaqueBlock")


def lowered(names):
    """two_steps after passes of these names."""
    passes = tvm.transform.Sequential([tir.transform.ThreadSync("shared") if name == "ThreadSync" else getattr(tir.transform, name)() for name in names])
    return passes(tvm.IRModule.from_expr(two_steps.with_attr("global_symbol", "main")))["main"]


def test_what_blocks_allocate_is_memory_with_a_buffer_over_it():
    func = lowered(TO_OPAQUE)
    memory = func.body
    assert isinstance(memory, tir.Allocate) and memory.buffer_var.name == "B" and memory.dtype == "float32"
    assert [int(extent) for extent in memory.extents] == [8, 13]  # Rows of 8, each 13 after the one before.
    assert int(memory.condition) == 1 and not memory.annotations
    view = memory.body
    assert isinstance(view, tir.DeclBuffer) and view.buffer.data.same_as(memory.buffer_var)
    assert [int(stride) for stride in view.buffer.strides] == [13, 1]
    assert kinds_of(func) == ["For", "For", "For", "For", "DeclBuffer", "Allocate"]
    rebuilt = tir.Allocate(memory.buffer_var, "float32", memory.extents, memory.condition, memory.body)
    tvm.ir.assert_structural_equal(func.with_body(rebuilt), func)
    seen = []
    tir.stmt_functor.ir_transform(func.body, lambda node: seen.append(node.buffer_var.name), None, ["tir.Allocate"])
    assert seen == ["B"]


@pytest.mark.parametrize("names", [["FlattenBuffer"], ["Simplify"], ["VectorizeLoop"], ["UnrollLoop"], ["RemoveNoOp"],
                                   ["FlattenBuffer", "StorageRewrite"], ["FlattenBuffer", "ThreadSync"]])
def test_every_pass_leaves_memory_a_node_of_its_own(names):
    func = lowered([*TO_OPAQUE, *names])
    assert kinds_of(func).count("Allocate") == 1 and kinds_of(func).count("DeclBuffer") >= 1


def test_a_declared_buffer_without_data_has_memory():
    @T.prim_func
    def func(A: T.Buffer((8,), "float32")):
        B = T.decl_buffer((8,), "float32")
        B[0] = 1.0
        A[0] = B[0]

    assert isinstance(func.body, tir.Allocate) and isinstance(func.body.body, tir.DeclBuffer)
    assert func.body.body.buffer.data.same_as(func.body.buffer_var)
    assert "B = T.decl_buffer((8,))" in func.script()
    for again in (tvm.script.from_source(func.script()), tvm.ir.load_json(tvm.ir.save_json(func))):
        tvm.ir.assert_structural_equal(again, func)
        assert kinds_of(again) == ["DeclBuffer", "Allocate"]


def test_lowered_texts_read_back():
    func = lowered(TO_OPAQUE)
    assert ('B = T.allocate([8, 13], "float32", "global")\n'
            '    B_1 = T.decl_buffer((8, 8), strides=(13, 1), data=B)') in func.script()
    again = tvm.script.from_source(func.script())
    tvm.ir.assert_structural_equal(again, func)
    assert [int(extent) for extent in again.body.extents] == [8, 13]
    data, result = (tvm.nd.empty((8, 8)).copyfrom(numpy.arange(64, dtype="float32").reshape(8, 8)) for _ in range(2))
    tvm.build(func, target="llvm")(data, result)
    tvm.testing.assert_allclose(result.numpy(), (data.numpy() + 1).T * 2)


class TestFlattenedParametersAreViews(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.FlattenBuffer()

    def before(A: T.Buffer((16, 16), "float32"), B: T.Buffer((256,), "float32")):
        C = T.decl_buffer((4, 4, 4), "float32")
        for i, j in T.grid(16, 16):
            C[i // 4, i % 4, 0] = A[i, j]
            B[i * 16 + j] = C[i // 4, i % 4, 0]

    def expected(A: T.Buffer((16, 16), "float32"), B: T.Buffer((256,), "float32")):
        A_1 = T.Buffer((256,), "float32", data=A.data)
        C = T.decl_buffer((64,), "float32")
        for i, j in T.grid(16, 16):
            C[i * 4] = A_1[i * 16 + j]
            B[i * 16 + j] = C[i * 4]


class TestFlatBooleansAreBytes(tvm.testing.CompareBeforeAfter):
    """As TVM 0.18 keeps them; TVM 0.27 leaves booleans."""

    transform = tir.transform.FlattenBuffer()

    def before(A: T.Buffer((4, 8), "bool"), B: T.Buffer((32,), "bool"), C: T.Buffer((32,), "int32")):
        D = T.decl_buffer((4, 8), "bool")
        for i, j in T.grid(4, 8):
            D[i, j] = not A[i, j]
            B[i * 8 + j] = D[i, j]
            if A[i, j] and j < 3:
                C[i * 8 + j] = C[i * 8 + j] + 1
        T.evaluate(T.call_extern("int32", "use", D.data, T.address_of(A[1, 2])))

    def expected(A: T.Buffer((4, 8), "bool"), B: T.Buffer((32,), "bool"), C: T.Buffer((32,), "int32")):
        A_1 = T.Buffer((32,), "int8", data=A.data)
        B_1 = T.Buffer((32,), "int8", data=B.data)
        D = T.decl_buffer((32,), "int8")
        for i, j in T.grid(4, 8):
            D[i * 8 + j] = T.Cast("int8", not T.Cast("bool", A_1[i * 8 + j]))
            B_1[i * 8 + j] = T.Cast("int8", T.Cast("bool", D[i * 8 + j]))
            if T.Cast("bool", A_1[i * 8 + j]) and j < 3:
                C[i * 8 + j] = C[i * 8 + j] + 1
        T.evaluate(T.call_extern("int32", "use", D.data, T.address_of(A_1[10])))


class TestFlatBuffersWithStridesReachBehindTheirLastRow(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.FlattenBuffer()

    def before(a: T.handle, B: T.Buffer((4, 8), "float32"), s: T.int32, t: T.int32, c: T.handle):
        A = T.match_buffer(a, (4, 8), "float32", strides=(16, 1))
        C = T.match_buffer(c, (4, 8), "float32", strides=(s, t))
        D = T.decl_buffer((4, 8), "float32", strides=(10, 1))
        for i, j in T.grid(4, 8):
            D[i, j] = A[i, j] + C[i, j]
            B[i, j] = D[i, j]

    def expected(a: T.handle, B: T.Buffer((4, 8), "float32"), s: T.int32, t: T.int32, c: T.handle):
        A = T.match_buffer(a, (4, 8), "float32", strides=(16, 1))
        C = T.match_buffer(c, (4, 8), "float32", strides=(s, t))
        A_1 = T.Buffer((64,), "float32", data=A.data)
        B_1 = T.Buffer((32,), "float32", data=B.data)
        C_1 = T.Buffer((s * 4,), "float32", data=C.data)
        D = T.decl_buffer((40,), "float32")
        for i, j in T.grid(4, 8):
            D[i * 10 + j] = A_1[i * 16 + j] + C_1[i * s + j * t]
            B_1[i * 8 + j] = D[i * 10 + j]


class TestFlatteningStopsAtAxisSeparators(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.FlattenBuffer()

    def before(A: T.Buffer((4, 8, 3), "float32", axis_separators=[1])):
        B = T.decl_buffer((2, 3, 5, 7), "float32", axis_separators=[2])
        C = T.decl_buffer((16, 16), "float32", axis_separators=[1])
        for i, j, k, l in T.grid(2, 3, 5, 7):
            B[i, j, k, l] = C[j, l] + A[i, j, 2]

    def expected(A: T.Buffer((4, 8, 3), "float32", axis_separators=[1])):
        A_1 = T.Buffer((4, 24), "float32", data=A.data, axis_separators=[1])
        B = T.decl_buffer((6, 35), "float32", axis_separators=[1])
        C = T.decl_buffer((16, 16), "float32", axis_separators=[1])
        for i, j, k, l in T.grid(2, 3, 5, 7):
            B[i * 3 + j, k * 7 + l] = C[j, l] + A_1[i, j * 3 + 2]


class TestMatchedBuffersHaveSimpleOffsets(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.LowerMatchBuffer()

    def before(A: T.Buffer((64, 64), "float32")):
        for i, j in T.grid(4, 4):
            with T.block():
                T.reads([])
                T.writes(A[i * 16:i * 16 + 16, j * 16:j * 16 + 16])
                offset = T.int32()
                B = T.match_buffer(A[i * 16:i * 16 + 16, j * 16:j * 16 + 16], (16, 16), strides=[64, 1],
                                   elem_offset=offset)
                T.evaluate(T.call_extern("int32", "f", B.data, offset))

    def expected(A: T.Buffer((64, 64), "float32")):
        for i, j in T.grid(4, 4):
            with T.block():
                T.reads([])
                T.writes(A[i * 16:i * 16 + 16, j * 16:j * 16 + 16])
                T.evaluate(T.call_extern("int32", "f", A.data, i * 1024 + j * 16))


def test_the_dtype_of_operations_of_one_type_may_be_said():
    @T.prim_func
    def said(A: T.Buffer((64,), "float32")):
        T.evaluate(T.tvm_tuple(1, 2, dtype="handle"))
        T.tvm_thread_allreduce(T.uint32(1), A[0], T.bool(True), A[1], 0, dtype="handle")

    @T.prim_func
    def unsaid(A: T.Buffer((64,), "float32")):
        T.evaluate(T.tvm_tuple(1, 2))
        T.tvm_thread_allreduce(T.uint32(1), A[0], T.bool(True), A[1], 0)

    assert_same(said, unsaid)


def hoist(func, conditionals, let_bindings=tir.transform.HoistedLetBindings.All):
    return apply(func, tir.transform.HoistExpression(),
                 HoistExpression={"hoisted_conditionals": conditionals.value, "hoisted_let_bindings": let_bindings.value})


@T.prim_func
def bound_inside(A: T.Buffer((4, 4), "float32"), n: T.int32):
    for i, j in T.grid(4, 4):
        x: T.int32 = i + 1
        if x < 3 and j < n:
            A[i, j] = 0.0


def test_hoist_expression_takes_operands_and_their_bindings_along():
    @T.prim_func
    def whole(A: T.Buffer((4, 4), "float32"), n: T.int32):
        for i, j in T.grid(4, 4):
            if i < 2 and j < n:
                A[i, j] = 0.0

    @T.prim_func
    def parted(A: T.Buffer((4, 4), "float32"), n: T.int32):
        for i in range(4):
            if i < 2:
                for j in range(4):
                    if j < n:
                        A[i, j] = 0.0

    conditionals, lets = tir.transform.HoistedConditionals, tir.transform.HoistedLetBindings
    assert_same(hoist(bound_inside, conditionals.All), parted)
    assert_same(hoist(bound_inside, conditionals.All, lets.RequiredByConditional), parted)
    assert_same(hoist(bound_inside, conditionals.All, lets.Never), whole)
    assert_same(hoist(bound_inside, conditionals.Never), whole)
    assert_same(hoist(bound_inside, conditionals.IfElseStmt), whole)


def test_hoist_expression_takes_conditions_of_values():
    @T.prim_func
    def inside(A: T.Buffer((4, 4), "float32")):
        for i, j in T.grid(4, 4):
            A[i, j] = T.if_then_else(i < 2, 1.0, 2.0)

    @T.prim_func
    def outside(A: T.Buffer((4, 4), "float32")):
        for i in range(4):
            if i < 2:
                for j in range(4):
                    A[i, j] = 1.0
            else:
                for j in range(4):
                    A[i, j] = 2.0

    conditionals = tir.transform.HoistedConditionals
    assert_same(hoist(inside, conditionals.IfElseExpr), outside)
    assert_same(apply(inside, tir.transform.HoistExpression()), outside)
    assert_same(hoist(inside, conditionals.IfElseStmt | conditionals.BooleanExpression), inside)


@T.prim_func
def below_a_launch(A: T.Buffer((4, 4), "float32"), n: T.int32):
    tx = T.launch_thread("threadIdx.x", 4)
    for j in range(4):
        if n < 3:
            A[tx, j] = 0.0


def test_hoist_expression_crosses_launches_only_when_asked():
    @T.prim_func
    def before_it(A: T.Buffer((4, 4), "float32"), n: T.int32):
        if n < 3:
            tx = T.launch_thread("threadIdx.x", 4)
            for j in range(4):
                A[tx, j] = 0.0

    @T.prim_func
    def inside_it(A: T.Buffer((4, 4), "float32"), n: T.int32):
        tx = T.launch_thread("threadIdx.x", 4)
        if n < 3:
            for j in range(4):
                A[tx, j] = 0.0

    conditionals = tir.transform.HoistedConditionals
    assert_same(hoist(below_a_launch, conditionals.All), before_it)
    assert_same(hoist(below_a_launch, conditionals.IfElseStmt), inside_it)


def test_hoist_keeps_the_other_branch():
    @T.prim_func
    def nested(A: T.Buffer((4, 4), "float32"), n: T.int32):
        for i, j in T.grid(4, 4):
            if j < i:
                A[i, j] = 0.0
            else:
                if n < 3:
                    A[i, j] = 1.0

    @T.prim_func
    def kept(A: T.Buffer((4, 4), "float32"), n: T.int32):
        if n < 3:
            for i, j in T.grid(4, 4):
                if j < i:
                    A[i, j] = 0.0
                else:
                    A[i, j] = 1.0
        else:
            for i, j in T.grid(4, 4):
                if j < i:
                    A[i, j] = 0.0

    assert_same(apply(nested, tir.transform.HoistIfThenElse()), kept)


@T.prim_func
def tiles_of_sums(A: T.Buffer((16, 16), "float32"), D: T.Buffer((16, 16), "float32")):
    C = T.alloc_buffer((16, 16))
    for io in range(2):
        for ii, j, k in T.grid(8, 16, 16):
            with T.block("C"):
                vi = T.axis.spatial(16, io * 8 + ii)
                vj, vk = T.axis.remap("SR", [j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk]
        for ii, j in T.grid(8, 16):
            with T.block("D"):
                vi = T.axis.spatial(16, io * 8 + ii)
                vj = T.axis.spatial(16, j)
                D[vi, vj] = C[vi, vj]


def test_sums_whose_init_is_a_branch_are_allocated_where_they_are_used():
    passes = [tir.transform.LowerInitBlock(), tir.transform.PlanAndUpdateBufferAllocationLocation(),
              tir.transform.ConvertBlocksToOpaque(), tir.transform.CompactBufferAllocation()]
    text = tvm.transform.Sequential(passes)(tvm.IRModule.from_expr(tiles_of_sums)).script()
    assert "C = T.alloc_buffer((8, 16))" in text
    assert text.index("for io in range(2)") < text.index("C = T.alloc_buffer")


def test_a_predicate_stands_inside_of_what_its_block_allocates():
    @T.prim_func
    def func(A: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block():
                T.where(i < 5)
                T.writes(A[i])
                B = T.alloc_buffer((1,))
                B[0] = T.float32(1)
                A[i] = B[0]

    lines = tir.transform.LowerOpaqueBlock()(tvm.IRModule.from_expr(func)).script().splitlines()
    places = {word: next(i for i, line in enumerate(lines) if word in line) for word in ("for i in", "if i < 5", "B = ")}
    assert places["for i in"] < places["B = "] < places["if i < 5"]

MATCHES = [
    ("[8, 1]", "i * 8:i * 8 + 8", 1, "stride 0 is 8, of the source 64"),
    ("[64, 1]", "i * 8 + 1:i * 8 + 9", 128, "is not known to be a multiple of 128"),
]


@pytest.mark.parametrize("strides,rows,factor,text", MATCHES, ids=["strides", "offset"])
def test_a_view_that_does_not_fit_its_source_is_refused(strides, rows, factor, text):
    source = f"""from tvm.script import tir as T
@T.prim_func
def main(A: T.Buffer((64, 64), "float32")):
    for i, j in T.grid(7, 8):
        with T.block():
            T.reads(A[{rows}, j * 8:j * 8 + 8])
            V = T.match_buffer(A[{rows}, j * 8:j * 8 + 8], (8, 8), strides={strides}, offset_factor={factor})
            T.evaluate(V[0, 0])
"""
    with pytest.raises(tvm.TVMError, match=text):
        tir.transform.LowerMatchBuffer()(tvm.IRModule.from_expr(tvm.script.from_source(source)))


@T.prim_func
def views_of_views(A: T.Buffer((64, 64), "float32")):
    for i, j in T.grid(8, 8):
        with T.block():
            T.reads(A[i * 8:i * 8 + 8, j * 8:j * 8 + 8])
            V = T.match_buffer(A[i * 8:i * 8 + 8, j * 8:j * 8 + 8], (8, 8), strides=[64, 1], offset_factor=8)
            for k in range(4):
                with T.block():
                    T.reads(V[k:k + 2, 0:8])
                    T.writes()
                    T.evaluate(V[k, 0])


def test_regions_of_views_are_regions_of_what_they_show():
    text = tir.transform.LowerMatchBuffer()(tvm.IRModule.from_expr(views_of_views)).script()
    assert "T.reads(A[i * 8 + k:i * 8 + k + 2, j * 8:j * 8 + 8])" in text


@T.prim_func
def padded(A: T.Buffer((20,), "float32"), C: T.Buffer((20,), "float32")):
    with T.block():
        B = T.alloc_buffer((20,))
        for i in range(16):
            B[i] = A[i]
        for i in range(20):
            C[i] = T.if_then_else(2 <= i and i < 18, B[i - 2], T.float32(0))


@T.prim_func
def tail(A: T.Buffer((60,), "float32"), C: T.Buffer((60,), "float32")):
    with T.block():
        B = T.alloc_buffer((64,))
        for i, j in T.grid(8, 8):
            with T.block():
                T.where(i * 8 + j < 60)
                B[i * 8 + j] = A[i * 8 + j]
        for i, j in T.grid(8, 8):
            if i * 8 + j < 60:
                C[i * 8 + j] = B[i * 8 + j]


@T.prim_func
def else_branch(A: T.Buffer((20, 20), "float32"), C: T.Buffer((20, 20), "float32")):
    with T.block():
        B = T.alloc_buffer((20, 20))
        for i, j in T.grid(20, 20):
            if i < 6:
                C[i, j] = T.float32(0)
            else:
                B[i, j] = A[i, j]
        for i, j in T.grid(20, 20):
            C[i, j] = C[i, j] + T.if_then_else(i < 7, T.float32(0), B[i, j])


@T.prim_func
def by_let(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
    for i in range(16):
        with T.block():
            B = T.alloc_buffer((64,))
            for j in range(4):
                x: T.int32 = i * 4 + j
                B[x] = A[x]
            for j in range(4):
                C[i * 4 + j] = B[i * 4 + j]


@T.prim_func
def triangle(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
    with T.block():
        B = T.alloc_buffer((64,))
        for i in range(8):
            for j in range(i):
                B[i * 2 + j] = A[i + j]
        C[0] = B[2]


@T.prim_func
def loaded(A: T.Buffer((64,), "int32"), C: T.Buffer((64,), "int32")):
    for i in range(16):
        with T.block():
            B = T.alloc_buffer((64,), "int32")
            for j in range(4):
                if A[0] <= j:
                    B[j] = A[j]
            C[i] = B[A[i]]


COMPACTED = [
    ("what_an_if_then_else_lets_through", padded, (16,)),
    ("a_predicate_about_the_index", tail, (60,)),
    ("both_branches", else_branch, (14, 20)),
    ("lets", by_let, (4,)),
    ("loops_that_depend_on_loops", triangle, (21,)),
    ("nothing_by_what_memory_says", loaded, (64,)),
]


@pytest.mark.parametrize("func,shape", [case[1:] for case in COMPACTED], ids=[case[0] for case in COMPACTED])
def test_compact_buffer_allocation_keeps(func, shape):
    compact = tir.transform.CompactBufferAllocation()(tvm.IRModule({"main": func}))["main"]
    sizes = []
    tir.stmt_functor.post_order_visit(
        compact.body, lambda node: sizes.extend(tuple(int(n) for n in buffer.shape) for buffer in node.alloc_buffers)
        if isinstance(node, tir.Block) else None)
    assert sizes == [shape]


class TestRemoveNoOpTakesAttributesOfNothing(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.RemoveNoOp()

    def before(A: T.Buffer((4,), "int32")):
        for i in range(4):
            with T.attr(0, "key", 1):
                T.evaluate(0)
        with T.attr(0, "key", T.call_extern("int32", "effect")):
            T.evaluate(0)
        A[0] = 1

    def expected(A: T.Buffer((4,), "int32")):
        T.call_extern("int32", "effect")
        A[0] = 1


def test_vectorize_loop_by_name_does_not_ask_the_context():
    @T.prim_func
    def main(A: T.Buffer((4,), "int32")):
        for i in T.vectorized(4):
            A[i] = 1

    with tvm.transform.PassContext(config={"tir.disable_vectorize": True}):
        vectorized = tir.transform.VectorizeLoop()(tvm.IRModule({"main": main}))
        serial = tir.transform.VectorizeLoop(False)(tvm.IRModule({"main": main}))
    assert "for" not in str(vectorized["main"].body) and "for" in str(serial["main"].body)


class TestVectorizeKeepsTheFormsOfTvm(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.VectorizeLoop()

    def before(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32"), D: T.Buffer((8,), "int32"), n: T.int32):
        for i in T.vectorized(4):
            A[i] = T.Select(n < 3, C[i], C[n])
        for i in T.vectorized(4):
            D[i] = i * n
        for i in T.vectorized(4):
            A[i] = T.call_llvm_pure_intrin("float32", "llvm.fabs", T.uint32(1), C[i])
        for i in T.vectorized(4):
            A[i] = C[(n * 4 + i) % 8] + C[(n * 4 + i) // 4]

    def expected(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32"), D: T.Buffer((8,), "int32"), n: T.int32):
        A[0:4] = T.Select(T.Broadcast(n < 3, 4), C[0:4], T.Broadcast(C[n], 4))
        D[0:4] = T.Ramp(0, 1, 4) * T.Broadcast(n, 4)
        A[0:4] = T.call_llvm_pure_intrin("float32x4", "llvm.fabs", T.uint32(1), C[0:4])
        A[0:4] = C[T.Ramp(n * 4, 1, 4) % T.Broadcast(8, 4)] + C[T.Ramp(n * 4, 1, 4) // T.Broadcast(4, 4)]
