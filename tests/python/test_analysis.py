"""tir.analysis, and passes by TVM's names."""
import pytest
import tvm
import tvm.testing
from programs import elementwise, matmul
from tvm import tir
from tvm.script import tir as T


@T.prim_func
def outside(A: T.Buffer((8,), "float32")):
    for i in range(9):
        A[i] = 0.0


@T.prim_func
def guarded(A: T.Buffer((8,), "float32"), n: T.int32):
    for i in range(9):
        if i < 8:
            A[i] = 0.0
    A[n] = 1.0


def test_indices_that_leave_their_buffer_are_found():
    check = tir.analysis.OOBChecker()
    with pytest.raises(tir.ScheduleError, match="extent is 8"):
        check(tvm.IRModule.from_expr(outside))
    check(tvm.IRModule.from_expr(guarded))


def test_access_regions_of_a_block():
    block = matmul.body.block.body.body.body.body.block
    reads, writes, opaque = tir.analysis.get_block_access_region(block, {})
    assert [region.buffer.name for region in reads] == ["A", "B"] and [r.buffer.name for r in writes] == ["C"]
    assert len(opaque) == 0
    tvm.ir.assert_structural_equal(writes[0].region[0].min, block.iter_vars[0].var)
    both = tir.analysis.get_block_read_write_region(block, {})
    assert len(both) == 2 and len(both[1]) == 1


def test_accesses_have_a_scope_around_them():
    scopes = {buffer.name: scope for buffer, scope in tir.analysis.detect_buffer_access_lca(elementwise).items()}
    root = elementwise.body.block
    assert scopes["B"].same_as(root)
    assert isinstance(scopes["A"], tir.Block) and scopes["A"].name_hint == "B"
    carried = {buffer.name: scope for buffer, scope in tir.analysis.detect_buffer_access_lca(matmul).items()}
    assert isinstance(carried["C"], tir.For) and carried["C"].loop_var.name == "j"


def test_bytes_that_live_at_once():
    assert tir.analysis.calculate_allocated_bytes(elementwise)["main"]["global"] == 128 * 128 * 4
    assert tir.analysis.calculate_workspace_bytes(elementwise, 128) == 128 * 128 * 4


def test_a_variable_is_introduced_once():
    i = tir.Var("i", "int32")
    loop = tir.For(i, 0, 8, tir.ForKind.SERIAL, tir.Evaluate(i))
    twice = tir.PrimFunc([], tir.SeqStmt([loop, loop]))
    assert tir.analysis.verify_ssa(elementwise) and not tir.analysis.verify_ssa(twice)
    tx = tir.IterVar(None, "tx", tir.IterVar.ThreadIndex, "threadIdx.x")
    launch = tir.AttrStmt(tx, "thread_extent", 8, tir.Evaluate(tx.var))
    assert tir.analysis.verify_ssa(tir.PrimFunc([], tir.SeqStmt([launch, launch])))
    mod = tvm.tir.transform.ConvertSSA()(tvm.IRModule({"main": twice}))
    assert tir.analysis.verify_ssa(mod["main"])
    with pytest.raises(tvm.TVMError):
        tvm.tir.transform.VerifySSA()(tvm.IRModule({"main": twice}))


def test_free_variables_are_listed():
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    assert [var.name for var in tir.analysis.undefined_vars(x + y * x)] == ["x", "y"]
    assert [var.name for var in tir.analysis.undefined_vars(tir.Evaluate(x + y), [x])] == ["y"]


def test_passes_out_of_order_are_refused():
    mod = tvm.IRModule.from_expr(matmul)
    for early in (tvm.tir.transform.ConvertBlocksToOpaque(), tvm.tir.transform.LowerOpaqueBlock()):
        with pytest.raises(tvm.TVMError, match="run .* before"):
            early(mod)


class TestNarrowDataType(tvm.testing.CompareBeforeAfter):
    transform = tvm.tir.transform.NarrowDataType(32)

    def before(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
        for i in T.serial(0, T.int64(16)):
            for j in T.serial(0, T.int64(8)):
                with T.block():
                    vi = T.axis.spatial(T.int64(128), i * T.int64(8) + j)
                    B[vi] = A[vi] + T.float32(1)

    def expected(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
        for i in T.serial(0, 16):
            for j in T.serial(0, 8):
                with T.block():
                    vi = T.axis.spatial(128, i * 8 + j)
                    B[vi] = A[vi] + T.float32(1)


class TestForceNarrowIndexToInt32(tvm.testing.CompareBeforeAfter):
    transform = tvm.tir.transform.ForceNarrowIndexToInt32()

    def before(A: T.Buffer((T.int64(16),), "float32")):
        for i in T.serial(T.int64(16)):
            A[i] = T.float32(0)

    def expected(A: T.Buffer((16,), "float32")):
        for i in T.serial(16):
            A[i] = T.float32(0)


class TestForceNarrowRefusesData(tvm.testing.CompareBeforeAfter):
    transform = tvm.tir.transform.ForceNarrowIndexToInt32()

    def before(A: T.Buffer((16,), "int64")):
        A[0] = T.int64(0)

    expected = tvm.TVMError


class TestSimplifyKeepsLoops(tvm.testing.CompareBeforeAfter):
    transform = tvm.tir.transform.Simplify()

    def before(A: T.Buffer((16,), "float32"), n: T.int32):
        for i in T.serial(1):
            A[i] = A[i]
            if T.likely(n > 4):
                if n > 3:
                    A[i] = 1.0

    def expected(A: T.Buffer((16,), "float32"), n: T.int32):
        for i in T.serial(1):
            if T.likely(4 < n):
                A[0] = 1.0


class TestHoistIfThenElseSimplifiesWhatItMoves(tvm.testing.CompareBeforeAfter):
    transform = tvm.tir.transform.HoistIfThenElse()

    def before(A: T.Buffer((16, 16), "float32")):
        for i in range(16):
            for j in range(16):
                if i * 2 < 4:
                    A[i, j] = 1.0
                else:
                    A[i, j] = 2.0

    def expected(A: T.Buffer((16, 16), "float32")):
        for i in range(16):
            if i < 2:
                for j in range(16):
                    A[i, j] = 1.0
            else:
                for j in range(16):
                    A[i, j] = 2.0


def test_apply_filter_and_bind_target():
    mod = tvm.IRModule({"one": elementwise, "two": matmul})
    marked = tvm.tir.transform.Apply(lambda func: func.with_attr("mark", 7))(mod)
    assert all(func.attrs["mark"] == 7 for func in marked.functions.values())
    kept = tvm.tir.transform.Filter(lambda func: func.attrs["global_symbol"] == "matmul")(mod)
    assert [var.name_hint for var in kept.get_global_vars()] == ["two"]
    bound = tvm.tir.transform.BindTarget(tvm.target.Target("llvm"))(mod)
    assert bound["one"].attrs["target"].kind.name == "llvm"
    again = tvm.tir.transform.BindTarget(tvm.target.Target("llvm -mcpu=x86-64-v3"))(bound)
    assert "x86-64-v3" not in str(again["one"].attrs["target"])
    entry = tvm.tir.transform.AnnotateEntryFunc()(tvm.IRModule({"one": elementwise}))
    assert bool(entry["one"].attrs["tir.is_entry_func"])


if __name__ == "__main__":
    tvm.testing.main()


@T.prim_func
def _product(a: T.Buffer((16, 16), "float32"), b: T.Buffer((16, 16), "float32"), c: T.Buffer((16, 16), "float32")):
    for i, j, k in T.grid(16, 16, 16):
        with T.block("c"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                c[vi, vj] = T.float32(0) + T.float32(0) * a[0, 0]
            c[vi, vj] = c[vi, vj] + a[vi, vk] * b[vk, vj]


@T.prim_func
def _branches(a: T.Buffer((16,), "float32"), b: T.Buffer((16,), "int32")):
    for i in range(4):
        for j in range(i + 2):
            if b[j + 1] + 1 > 3:
                b[j] = b[j] * b[i] + 1
            else:
                a[j] = T.Select(a[i] + a[j] > T.float32(0), T.exp(a[j] - a[i]), a[j])


@T.prim_func
def _told(a: T.Buffer((16,), "float32")):
    T.func_attr({"estimated_flops": 77})
    for i in range(16):
        a[i] = a[i] + T.float32(1)


@T.prim_func
def _symbolic(p: T.handle, n: T.int32):
    a = T.match_buffer(p, (n,), "float32")
    for i in range(n):
        a[i] = a[i] + T.float32(1)


def test_flops_are_counted_as_tvm_0_27_does():
    flops = tir.analysis.estimate_tir_flops
    assert flops(tvm.IRModule({"main": _product})) == 16**3 * 2  # init costs nothing
    assert flops(_branches.body) == 4 * 5 * (2 + 1)  # of two branches the greater, by type; at most 5 times
    assert flops(tvm.IRModule({"main": _told})) == 77 and flops(_told.body) == 16
    assert flops(tvm.IRModule({"main": _told, "other": _product})) == 77 + 16**3 * 2
    assert flops(tvm.IRModule({"main": _symbolic})) == 2**31 - 1


def test_global_memory_is_that_of_all_blocks_of_threads():
    @T.prim_func
    def func(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
        B = T.alloc_buffer((64,), scope="local")
        for i in T.thread_binding(8, thread="blockIdx.x"):
            for j in T.thread_binding(8, thread="threadIdx.x"):
                with T.block("B"):
                    vi = T.axis.S(64, i * 8 + j)
                    B[vi] = A[vi]
                with T.block("C"):
                    vi = T.axis.S(64, i * 8 + j)
                    C[vi] = B[vi]

    blocks = func.body.block.body
    scopes = {buffer.name: scope for buffer, scope in tir.analysis.detect_buffer_access_lca(func).items()}
    assert scopes["A"].same_as(blocks) and scopes["C"].same_as(blocks) and scopes["B"].same_as(blocks.body)
