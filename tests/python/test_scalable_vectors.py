"""Vectors whose length the machine says: T.vscale() times as many lanes."""
import pytest
import tvm
from tvm import tir
from tvm.script import tir as T

SVE = tvm.target.Target("llvm -device=arm_cpu -mtriple=aarch64-linux-gnu -mattr=+sve")
PLAIN = tvm.target.Target("llvm -mtriple=x86_64-linux-gnu")


@pytest.mark.parametrize("lanes", [tir.vscale() * 4, 4 * tir.vscale()])
def test_lanes_are_an_expression(lanes):
    ramp, broadcast = tir.Ramp(0, 1, lanes), tir.Broadcast(tir.FloatImm("float32", 1), lanes)
    assert ramp.dtype == "int32xvscalex4" and broadcast.dtype == "float32xvscalex4"
    assert isinstance(ramp.lanes, tir.Mul) and ramp.lanes.b == 4
    assert str(ramp) == "T.Ramp(0, 1, T.vscale() * 4)"
    assert tir.Ramp(0, 1, 4).lanes == 4 and tir.Ramp(0, 1, 4).lanes.value == 4


@pytest.mark.parametrize("lanes", [tir.vscale() + 4, tir.Var("n", "int32"), tir.Var("n", "int32") * tir.vscale(), 0])
def test_other_lanes_are_refused(lanes):
    with pytest.raises(tvm.TVMError, match="Ramp: expected"):
        tir.Ramp(0, 1, lanes)
    with pytest.raises(tvm.TVMError, match="Broadcast: expected"):
        tir.Broadcast(1, lanes)


def test_operators_spread_scalars_over_the_lanes():
    vector = tir.Ramp(0, 1, tir.vscale() * 4)
    assert str(vector + 3) == "T.Ramp(0, 1, T.vscale() * 4) + T.Broadcast(3, T.vscale() * 4)"
    assert (vector < 3).dtype == "boolxvscalex4"
    assert str(tir.const(1, "float32xvscalex2")) == "T.Broadcast(T.float32(1.0), T.vscale() * 2)"
    with pytest.raises(tvm.TVMError, match="vectors of one length"):
        vector + tir.Ramp(0, 1, 4)


def test_simplify():
    x, lanes = tir.Var("x", "int32"), tir.vscale() * 4
    simplify = tvm.arith.Analyzer().simplify
    assert str(simplify(tir.Ramp(0, 1, lanes) + tir.Broadcast(x, lanes))) == "T.Ramp(x, 1, T.vscale() * 4)"
    assert str(simplify(tir.Ramp(8, 4, lanes) // 4)) == "T.Ramp(2, 1, T.vscale() * 4)"
    assert str(simplify(tir.Ramp(0, 1, lanes) // 64)).startswith("T.Ramp(0, 1")  # As many lanes as nobody knows.
    assert simplify(tir.vscale() * 8 - lanes * 2) == 0


def test_proofs_under_a_target_with_scalable_vectors():
    vscale, analyzer = tir.vscale(), tvm.arith.Analyzer()
    assert not analyzer.can_prove(vscale * 32 < vscale * 64)
    with SVE:
        assert analyzer.can_prove(vscale * 32 < vscale * 64)
        assert analyzer.can_prove(vscale * 4 <= 64)
        assert not analyzer.can_prove(vscale * 4 <= 60)
    with PLAIN:
        assert not analyzer.can_prove(vscale * 32 < vscale * 64)


def test_loads_and_stores_with_predicates():
    A, lanes = tir.decl_buffer((16,), "float32", "A"), tir.vscale() * 4
    mask = tir.get_active_lane_mask("uint1xvscalex4", 0, 13)
    load = A.vload([tir.Ramp(0, 1, lanes)], predicate=mask)
    assert load.dtype == "float32xvscalex4" and load.predicate.same_as(mask)
    assert A.vload([0], "float32xvscalex4").indices[0].dtype == "int32xvscalex4"
    store = A.vstore([tir.Ramp(0, 1, lanes)], tir.Broadcast(tir.FloatImm("float32", 0), lanes), predicate=mask)
    assert store.predicate.dtype == "uint1xvscalex4"
    for wrong in (tir.Broadcast(tir.IntImm("bool", 1), 4), tir.Broadcast(tir.IntImm("bool", 1), tir.vscale() * 2)):
        with pytest.raises(tvm.TVMError, match="a boolean for each lane"):
            tir.BufferLoad(A, [tir.Ramp(0, 1, lanes)], predicate=wrong)


@pytest.mark.parametrize("extent, target", [(4, PLAIN), (T.vscale() * 4, SVE), (4 * T.vscale(), SVE)])
def test_vectorize_loop(extent, target):
    @T.prim_func
    def before(A: T.Buffer((16,), "float32")):
        T.func_attr({"target": target})
        for j in T.vectorized(0, extent):
            A[j] = 1

    @T.prim_func
    def after(A: T.Buffer((16,), "float32")):
        T.func_attr({"target": target})
        A[T.Ramp(0, 1, extent)] = T.Broadcast(1, extent)

    mod = tir.transform.VectorizeLoop()(tvm.IRModule.from_expr(before))
    tvm.ir.assert_structural_equal(mod["before"], after.with_attr("global_symbol", "before"))


@pytest.mark.parametrize("extent, target", [(T.vscale() * 4, PLAIN), (T.vscale() * 4 + 1, SVE),
                                            (T.vscale() * T.vscale(), SVE)])
def test_other_extents_are_refused(extent, target):
    @T.prim_func
    def before(A: T.Buffer((16,), "float32")):
        for j in T.vectorized(0, extent):
            A[j] = 1

    with target, pytest.raises(tvm.TVMError, match="failed to vectorize it for target"):
        tir.transform.VectorizeLoop()(tvm.IRModule.from_expr(before))


def _vectorized(func, target=SVE, **config):
    with target, tvm.transform.PassContext(config=config):
        return tir.transform.VectorizeLoop()(tvm.IRModule.from_expr(func.with_attr("global_symbol", "main")))["main"]


@T.prim_func(private=True)
def tail(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(4):
        for j in T.vectorized(4):
            if i * 4 + j < 14:
                B[i * 4 + j] = A[i * 4 + j] + T.float32(1)


@T.prim_func(private=True)
def masked_tail(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(4):
        load = T.meta_var(A.vload([T.Ramp(i * 4, 1, 4)], predicate=T.get_active_lane_mask("uint1x4", i * 4, 14)))
        B.vstore([T.Ramp(i * 4, 1, 4)], load + T.Broadcast(T.float32(1), 4),
                 predicate=T.get_active_lane_mask("uint1x4", i * 4, 14))


@T.prim_func(private=True)
def serial_tail(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i, j in T.grid(4, 4):
        if i * 4 + j < 14:
            B[i * 4 + j] = A[i * 4 + j] + T.float32(1)


@pytest.mark.parametrize("target, config, expected", [
    (SVE, {}, masked_tail), (PLAIN, {}, serial_tail), (PLAIN, {"tir.enable_buffer_level_predication": True}, masked_tail),
    (SVE, {"tir.enable_buffer_level_predication": False}, serial_tail)])
def test_conditions_become_predicates(target, config, expected):
    result = _vectorized(tail, target, **config)
    tvm.ir.assert_structural_equal(result, expected.with_attr("global_symbol", "main"))


def _loops(text):
    """What is left of a loop over four scalable lanes under a condition: True where it is serial."""
    body = "\n".join("            " + line for line in text.splitlines())
    func = tvm.script.from_source(f"""
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), n: T.int32):
    for j in T.vectorized(T.vscale() * 4):
        if True:
{body}
""")
    return isinstance(_vectorized(func).body, tir.For)


@pytest.mark.parametrize("text, is_serial", [
    ("if j < n:\n    B[j] = A[j]", False),
    ("if j < n:\n    B[j] = A[j * 2]", False),  # Lane by lane the same.
    ("if j * 2 < n:\n    B[j] = A[j]", True),
    ("if j <= n:\n    B[j] = A[j]", True),
    ("if j < n:\n    B[j] = A[j + 1]", True),
    ("if j < n:\n    B[j] = A[0]", True),
    ("if j < n:\n    if j < 3:\n        B[j] = A[j]", True),  # TVM 0.27 forgets the inner condition.
    ("if j < n:\n    B[j] = A[j]\nelse:\n    B[j] = T.float32(0)", True),
    ('if j < n:\n    B[j] = A[j]\n    T.evaluate(T.call_extern("int32", "f"))', True),
    ("B[j] = T.if_then_else(j < n, A[j], T.float32(0))", True),
    ("B[j] = T.Select(j < n, A[j], T.float32(0))", False),
])
def test_conditions_that_are_no_predicates_make_serial_loops(text, is_serial):
    assert _loops(text) == is_serial


def test_choices_between_lanes_make_serial_loops():
    @T.prim_func(private=True)
    def choice(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), n: T.int32):
        for j in T.vectorized(4):
            B[j] = T.if_then_else(j < n, A[j], T.float32(1))

    assert isinstance(_vectorized(choice, PLAIN).body, tir.For)


def test_text_reads_back():
    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32xvscalex4")):
        A[T.ramp(0, 1, T.vscale() * 4)] = T.broadcast(T.float32(2), 4 * T.vscale()) + T.exp(A[0:T.vscale() * 4])
        B[0] = T.Cast("float32xvscalex4", T.Ramp(0, 2, T.vscale() * 4))

    tvm.ir.assert_structural_equal(tvm.script.from_source(main.script()), main)


@T.prim_func
def fill(A: T.Buffer((128,), "float32")):
    for i in range(128):
        with T.block("A"):
            v = T.axis.remap("S", [i])
            A[v] = T.float32(1)


def _split(**options):
    schedule = tir.Schedule(fill)
    loops = schedule.split(schedule.get_loops("A")[0], **options)
    return schedule, loops


@pytest.mark.parametrize("factors", [[None, 4 * T.vscale()], [T.ceildiv(128, 4 * T.vscale()), 4 * T.vscale()]])
def test_split(factors):
    schedule, _ = _split(factors=factors)

    @T.prim_func
    def expected(A: T.Buffer((128,), "float32")):
        for i_0, i_1 in T.grid((T.vscale() * 4 + 127) // (T.vscale() * 4), T.vscale() * 4):
            with T.block("A"):
                v = T.axis.spatial(128, i_0 * (T.vscale() * 4) + i_1)
                T.where(i_0 * (T.vscale() * 4) + i_1 < 128)
                A[v] = T.float32(1)

    tvm.ir.assert_structural_equal(schedule.mod["main"], expected.with_attr("global_symbol", "main"))
    again = tir.Schedule(fill)
    schedule.trace.apply_to_schedule(again, remove_postproc=False)
    tvm.ir.assert_structural_equal(again.mod, schedule.mod)


def test_split_without_a_guard_becomes_vectors():
    schedule, (_, lanes) = _split(factors=[None, 4 * T.vscale()], disable_predication=True)
    schedule.vectorize(lanes)
    passes = [tir.transform.ConvertBlocksToOpaque(), tir.transform.LowerOpaqueBlock(), tir.transform.Simplify()]
    with SVE:
        func = tvm.transform.Sequential([*passes, tir.transform.VectorizeLoop()])(schedule.mod)["main"]
    assert func.body.body.value.dtype == "float32xvscalex4"


def test_split_that_does_not_cover_is_refused():
    with pytest.raises(tir.ScheduleError, match="no less than the extent"):
        _split(factors=[2, 4 * T.vscale()])
    with pytest.raises(tir.ScheduleError, match="known to be positive"):
        _split(factors=[None, T.vscale() - 1])
