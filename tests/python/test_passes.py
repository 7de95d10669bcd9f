"""tir.transform, Sequential, PassContext, prim_func_pass, CompareBeforeAfter."""
import numpy as np
import pytest
import tvm
import tvm.testing
from programs import elementwise
from tvm import tir
from tvm.script import tir as T


class TestSimplifyDropsABranchThatIsNeverTaken(tvm.testing.CompareBeforeAfter):
    transform = tvm.tir.transform.Simplify()

    def before(A: T.Buffer((16,), "int32")):
        for i in range(16):
            if i < 32:
                A[i] = i * 2 + i
            else:
                A[i] = 0

    def expected(A: T.Buffer((16,), "int32")):
        for i in range(16):
            A[i] = i * 3


class TestRemoveNoOpDropsEmptyLoops(tvm.testing.CompareBeforeAfter):
    transform = tvm.tir.transform.RemoveNoOp()

    @T.prim_func
    def before(A: T.Buffer((16,), "int32")):
        for i in range(16):
            T.evaluate(0)
        A[0] = 1

    @T.prim_func
    def expected(A: T.Buffer((16,), "int32")):
        A[0] = 1


class TestUnrollByAMethodThatGivesThePass(tvm.testing.CompareBeforeAfter):
    def transform(self):
        return tvm.transform.Sequential([tvm.tir.transform.UnrollLoop(), tvm.tir.transform.Simplify()])

    def before(self):
        @T.prim_func
        def func(A: T.Buffer((2,), "int32")):
            for i in T.unroll(2):
                A[i] = i

        return func

    def expected(self):
        @T.prim_func
        def func(A: T.Buffer((2,), "int32")):
            A[0] = 0
            A[1] = 1

        return func


class TestAnExpectedExceptionMustCome(tvm.testing.CompareBeforeAfter):
    def transform(self):
        @tvm.tir.transform.prim_func_pass(opt_level=0)
        def refuse(func, mod, ctx):
            raise tvm.TVMError("refused")

        return refuse

    def before(A: T.Buffer((1,), "int32")):
        A[0] = 0

    expected = tvm.TVMError


def test_sequential_leaves_out_what_the_context_forbids():
    seen = []

    @tvm.tir.transform.prim_func_pass(opt_level=0, name="always")
    def always(func, mod, ctx):
        seen.append(("always", ctx.opt_level, ctx.config.get("tir.vtcm_capacity")))
        return func

    @tvm.transform.module_pass(opt_level=3, name="late")
    def late(mod, ctx):
        seen.append("late")
        return mod

    passes = tvm.transform.Sequential([always, late])
    mod = tvm.IRModule.from_expr(elementwise)
    with tvm.transform.PassContext(opt_level=1, config={"tir.vtcm_capacity": 7}):
        passes(mod)
    with tvm.transform.PassContext(opt_level=3, disabled_pass=["always"]):
        passes(mod)
    assert seen == [("always", 1, 7), "late"]


def test_lower_gives_plain_statements():
    lowered = tvm.lower(elementwise)["main"]
    kinds = set()
    tir.stmt_functor.post_order_visit(lowered.body, lambda node: kinds.add(type(node)))
    assert tir.BlockRealize not in kinds and tir.For in kinds


def test_well_formed_functions_verify():
    assert tvm.tir.analysis.verify_well_formed(elementwise)
    assert tvm.tir.analysis.verify_well_formed(tvm.IRModule.from_expr(elementwise))


extent = tvm.testing.parameter(3, 8)
shape, size = tvm.testing.parameters(((2, 3), 6), ((4,), 4))


@tvm.testing.fixture
def doubled(extent):
    return 2 * extent


def test_parameters_reach_tests_and_fixtures(extent, doubled, shape, size):
    product = 1
    for each in shape:
        product *= each
    assert doubled == 2 * extent and product == size


@tvm.testing.requires_cuda
def test_what_needs_a_gpu_is_skipped():
    pytest.fail("there is no CUDA here")


if __name__ == "__main__":
    tvm.testing.main()


def test_simplify_knows_launched_threads():
    @T.prim_func
    def before(B: T.Buffer((64,), "float32")):
        tx = T.launch_thread("threadIdx.x", 16)
        if tx < 16:
            B[tx // 16 * 32 + tx] = T.float32(0)

    @T.prim_func
    def after(B: T.Buffer((64,), "float32")):
        tx = T.launch_thread("threadIdx.x", 16)
        B[tx] = T.float32(0)

    simplified = tvm.tir.transform.Simplify()(tvm.IRModule({"main": before}))["main"]
    tvm.ir.assert_structural_equal(simplified, after.with_attr("global_symbol", "before"))


def test_memory_of_a_thread_moves_into_its_loop():
    @T.prim_func
    def before(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
        B = T.alloc_buffer((4, 8), scope="local")
        for i in T.thread_binding(4, thread="blockIdx.x"):
            for j in T.thread_binding(8, thread="threadIdx.x"):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    T.reads(A[vi, vj])
                    T.writes(B[vi, vj])
                    T.evaluate(T.call_extern("int32", "load", T.address_of(B[vi, vj]), T.address_of(A[vi, vj])))
                with T.block("C"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = B[vi, vj]

    module = tvm.tir.transform.PlanAndUpdateBufferAllocationLocation()(tvm.IRModule({"main": before}))
    lines = [line.strip() for line in module.script().splitlines()]
    assert lines.index('B = T.alloc_buffer((4, 8), scope="local")') > lines.index(
        'for j in T.thread_binding(8, thread="threadIdx.x"):')


def place_of(module, allocation):
    """The loop in which the line `allocation` stands after planning, or "the function"."""
    passes = [tvm.tir.transform.LowerInitBlock(), tvm.tir.transform.PlanAndUpdateBufferAllocationLocation()]
    lines = tvm.transform.Sequential(passes)(module).script().splitlines()
    at = next(i for i, line in enumerate(lines) if line.strip().startswith(allocation))
    depth = len(lines[at]) - len(lines[at].lstrip())
    for line in reversed(lines[:at]):
        if len(line) - len(line.lstrip()) < depth and not line.strip().startswith(("with", "#")):
            return "the function" if line.strip().startswith("def ") else line.strip()


@T.prim_func
def sums_of_windows(A: T.Buffer((4, 34), "float32"), O: T.Buffer((4, 32), "float32")):
    P = T.alloc_buffer((4, 34))
    for c, h in T.grid(4, 34):
        with T.block("P"):
            vc, vh = T.axis.remap("SS", [c, h])
            P[vc, vh] = A[vc, vh] * 2.0
    for c, h, r in T.grid(4, 32, 3):
        with T.block("O"):
            vc, vh, vr = T.axis.remap("SSR", [c, h, r])
            with T.init():
                O[vc, vh] = T.float32(0)
            O[vc, vh] = O[vc, vh] + P[vc, vh + vr]


def test_what_is_rolled_is_allocated_where_it_begins_anew():
    schedule = tvm.tir.Schedule(sums_of_windows)
    schedule.compute_at("P", schedule.get_loops("O")[1])
    schedule.rolling_buffer("P", 0)
    passes = [getattr(tvm.tir.transform, name)() for name in (
        "LowerInitBlock", "PlanAndUpdateBufferAllocationLocation", "ConvertBlocksToOpaque", "CompactBufferAllocation")]
    text = tvm.transform.Sequential(passes)(schedule.mod).script()
    assert "P = T.alloc_buffer((1, 3))" in text
    assert place_of(schedule.mod, "P = T.alloc_buffer") == "for c in range(4):"
    a = np.random.default_rng(0).random((4, 34), "float32")
    out = tvm.nd.array(np.zeros((4, 32), "float32"))
    tvm.build(schedule.mod)(tvm.nd.array(a), out)
    np.testing.assert_allclose(out.numpy(), 2 * (a[:, :-2] + a[:, 1:-1] + a[:, 2:]), rtol=1e-5)


def test_blocks_that_take_addresses_touch_what_they_declare():
    @T.prim_func
    def before(A: T.Buffer((64, 8), "float32"), C: T.Buffer((64,), "float32")):
        B = T.alloc_buffer((64,), scope="local")
        for i in range(64):
            with T.block("fill"):
                vi = T.axis.S(64, i)
                T.reads()
                T.writes(B[vi])
                T.evaluate(T.call_extern("int32", "fill", T.address_of(B[vi])))
            for k in range(8):
                with T.block("B"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    T.reads(B[vi], A[vi, vk])
                    T.writes(B[vi])
                    T.evaluate(T.call_extern("int32", "add", T.address_of(B[vi]), T.address_of(A[vi, vk])))
            with T.block("C"):
                vi = T.axis.S(64, i)
                C[vi] = B[vi]

    assert place_of(tvm.IRModule({"main": before}), "B = ") == "for i in range(64):"


@pytest.mark.parametrize("reads, place", [("", "for i in range(4):"), ("b[vi * 16:vi * 16 + 16]", "the function")])
def test_memory_that_a_call_fills_through_a_view_moves_into_the_loop_unless_it_reads_it(reads, place):
    func = tvm.script.from_source(f'''
@T.prim_func
def main(C: T.Buffer((64,), "float32")):
    with T.block("root"):
        b = T.alloc_buffer((64,), scope="local")
        for i in range(4):
            with T.block("X"):
                vi = T.axis.S(4, i)
                T.reads({reads})
                T.writes(b[vi * 16:vi * 16 + 16])
                view = T.match_buffer(b[vi * 16:vi * 16 + 16], (16,), offset_factor=1, scope="local")
                T.evaluate(T.call_extern("int32", "fill", view.access_ptr("w")))
            for j in range(16):
                with T.block("C"):
                    v = T.axis.S(64, i * 16 + j)
                    C[v] = b[v]
''')
    assert place_of(tvm.IRModule({"main": func}), "b = ") == place


def test_threads_that_reduce_write_their_result():
    @T.prim_func
    def before(A: T.Buffer((64, 32), "float32"), C: T.Buffer((64,), "float32")):
        for i in T.thread_binding(64, thread="blockIdx.x"):
            for k in T.thread_binding(32, thread="threadIdx.x"):
                with T.block("C"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        C[vi] = T.float32(0)
                    C[vi] += A[vi, vk]

    lowered = tvm.tir.transform.LowerCrossThreadReduction()(tvm.IRModule({"main": before}))
    assert place_of(lowered, "cross_thread_C = ") == 'for k in T.thread_binding(32, thread="threadIdx.x"):'


def test_memory_read_under_the_condition_that_wrote_it_moves_into_the_loop():
    @T.prim_func
    def before(A: T.Buffer((64, 8), "float32"), C: T.Buffer((64, 8), "float32")):
        B = T.alloc_buffer((64, 8), scope="local")
        for i in range(64):
            for j in range(8):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    T.where(j < 5)
                    B[vi, vj] = A[vi, vj]
            for j in range(8):
                with T.block("C"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = T.if_then_else(vj < 5, B[vi, vj], T.float32(0))

    assert place_of(tvm.IRModule({"main": before}), "B = ") == "for i in range(64):"


def test_memory_with_another_name_stays():
    @T.prim_func
    def before(A: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")):
        B = T.alloc_buffer((1,), "int32")
        for i in range(4):
            with T.block("B"):
                vi = T.axis.S(4, i)
                T.reads(A[vi])
                T.writes(B[0], C[vi])
                other = T.decl_buffer((1,), "int32", data=B.data)
                C[vi] = other[0]
                B[0] = A[vi]

    assert place_of(tvm.IRModule({"main": before}), "B = ") == "the function"


def test_a_number_has_no_strides_to_align():
    @T.prim_func
    def before(C: T.Buffer((4,), "float32")):
        B = T.alloc_buffer(())
        with T.block("B"):
            T.reads()
            T.writes(B[()])
            T.block_attr({"buffer_dim_align": [[0, 0, 16, 4]]})
            B[()] = T.float32(1)
        for i in range(4):
            with T.block("C"):
                vi = T.axis.spatial(4, i)
                C[vi] = B[()]

    compacted = tvm.tir.transform.CompactBufferAllocation()(tvm.IRModule({"main": before}))
    assert "B = T.alloc_buffer(())" in compacted.script()


def test_launched_threads_become_narrow():
    @T.prim_func
    def before(B: T.Buffer((T.int64(128),), "float32")):
        tx = T.launch_thread("threadIdx.x", T.int64(128))
        B[tx] = T.float32(1)

    narrow = tvm.tir.transform.NarrowDataType(32)(tvm.IRModule({"main": before}))["main"]
    assert 'tx = T.launch_thread("threadIdx.x", 128)' in narrow.script()


@pytest.mark.parametrize("bits, extent, loop", [
    (16, 100, "for i in range(T.int16(100)):"), (16, 100000, "for i in range(100000):"),
    (32, 100, "for i in range(100):"), (64, 100, "for i in range(100):")])
def test_loops_become_as_narrow_as_is_asked(bits, extent, loop):
    i = tir.Var("i", "int32")
    A = tir.decl_buffer((100000,), "float32", "A")
    body = tir.For(i, 0, extent, tir.ForKind.SERIAL, tir.BufferStore(A, tir.const(1, "float32"), [i]))
    func = tir.PrimFunc([A.data], body, buffer_map={})
    assert loop in tir.transform.NarrowDataType(bits)(tvm.IRModule({"main": func}))["main"].script()


@pytest.mark.parametrize("place, fits", [("", False), (", elem_offset=16", False), (", elem_offset=32", True),
                                         (", offset_factor=16", True)])
def test_a_view_begins_where_it_says(place, fits):
    func = tvm.script.from_source(f'''
@T.prim_func
def main(A: T.Buffer((4, 16), "float32")):
    for i in range(16):
        with T.block("b"):
            vi = T.axis.S(16, i)
            T.reads()
            T.writes(A[2, vi])
            row = T.match_buffer(A[2, 0:16], (16,){place})
            row[vi] = T.float32(1)
''')
    lower = tir.transform.LowerMatchBuffer()
    if fits:
        assert "A[2, vi] = T.float32(1.0)" in lower(tvm.IRModule({"main": func})).script()
    else:
        with pytest.raises(tvm.TVMError, match="offset is .*, of the source 32"):
            lower(tvm.IRModule({"main": func}))


def test_vectors_of_the_program_become_wider():
    @T.prim_func
    def before(A: T.Buffer((16,), "float32"), B: T.Buffer((4,), "float32x4"), C: T.Buffer((16,), "float32")):
        for v in T.vectorized(4):
            C[T.Ramp(v * 4, 1, 4)] = A[T.Ramp(v * 4, 1, 4)] * T.Broadcast(T.float32(2), 4)
        for v in T.vectorized(4):
            B[v] = T.Broadcast(T.float32(1), 4)
        for v in T.vectorized(4):  # Every fourth element of one step, the next of the next.
            C[T.Ramp(v, 4, 4)] = A[T.Ramp(v * 4, 1, 4)]

    wide = tir.transform.VectorizeLoop()(tvm.IRModule({"main": before}))["main"].script()
    assert "C[0:16] = A[0:16] * T.Broadcast(T.float32(2.0), 16)" in wide
    assert "B[0:4] = T.Broadcast(T.float32(1.0), 16)" in wide
    assert "for v in range(4):" in wide and "C[v:v + 16:4] = A[v * 4:v * 4 + 4]" in wide


def test_what_does_nothing_goes_and_calls_stay():
    @T.prim_func
    def before(A: T.Buffer((16,), "int32"), n: T.int32):
        for i in range(T.call_extern("int32", "count")):
            T.evaluate(0)
        A[T.call_extern("int32", "place")] = A[T.call_extern("int32", "place")]
        if T.call_extern("bool", "asks"):
            T.evaluate(0)
        with T.LetStmt(n + 1) as x:
            T.evaluate(x)
        A[n] = A[n]

    left = tir.transform.RemoveNoOp()(tvm.IRModule({"main": before}))["main"].script()
    body = [line.strip() for line in left.splitlines() if line.startswith("    ")]
    place = 'T.call_extern("int32", "place")'
    assert body == ['T.call_extern("int32", "count")', f"A[{place}] = A[{place}]", 'T.call_extern("bool", "asks")']


def test_what_is_asserted_holds_after_it():
    @T.prim_func
    def before(A: T.Buffer((16,), "int32"), n: T.int32):
        if n < 8:
            A[0] = 1
        assert n < 8, "few"
        if n < 8:
            A[n // 8] = 2

    simple = tir.transform.Simplify()(tvm.IRModule({"main": before}))["main"].script()
    assert simple.count("if n < 8:") == 1 and "A[n // 8]" in simple  # n may be negative
    assert simple.index("assert") < simple.index("A[n // 8] = 2")


def test_unrolled_loops_of_no_iterations_are_gone():
    @T.prim_func
    def before(A: T.Buffer((16,), "int32")):
        for i in T.unroll(0):
            A[i] = 1
        A[1] = 2

    unrolled = tir.transform.UnrollLoop()(tvm.IRModule({"main": before}))["main"].script()
    assert "for i in" not in unrolled and "evaluate" not in unrolled and "A[1] = 2" in unrolled


def test_indices_of_compacted_memory_stay_as_they_come():
    @T.prim_func
    def before(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
        for i in range(16):
            with T.block():
                T.reads(A[i])
                T.writes(C[i])
                B = T.alloc_buffer((16,))
                B[i] = A[i]
                C[i] = B[i]

    mod = tir.transform.CompactBufferAllocation()(tvm.IRModule({"main": before}))
    assert "B[i - i] = A[i]" in mod.script() and "B[0] = A[i]" in tir.transform.Simplify()(mod).script()


def test_regions_of_blocks_that_passes_make_may_go_beyond_the_shape():
    @T.prim_func
    def before(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
        P = T.alloc_buffer((16, 18))
        for i in range(16):
            for j in range(18):
                with T.block("P"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    P[vi, vj] = T.if_then_else(1 <= vj and vj < 17, A[vi, vj - 1], T.float32(0))
            for j in range(16):
                with T.block("C"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = P[vi, vj] + P[vi, vj + 2]

    text = tir.transform.PlanAndUpdateBufferAllocationLocation()(tvm.IRModule({"main": before})).script()
    assert "T.reads(A[i, -1:17])" in text


def test_lower_names_a_function_and_says_that_nothing_aliases():
    @T.prim_func
    def func(A: T.Buffer((8,), "float32")):
        for i in range(8):
            A[i] = T.float32(1)

    for given in (func, func.without_attr("global_symbol")):
        assert dict(tvm.lower(given)["main"].attrs) == {"global_symbol": "main", "tir.noalias": True}
        assert dict(tvm.lower(given, name="other")["other"].attrs) == {"global_symbol": "other", "tir.noalias": True}
    with tvm.transform.PassContext(config={"tir.noalias": False}):
        assert "tir.noalias" not in tvm.lower(func)["main"].attrs
    assert "tir.noalias" not in tvm.lower(tvm.IRModule({"main": func}))["main"].attrs
