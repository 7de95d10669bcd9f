"""What is said to an Analyzer, and how facts, types and iter maps are compared."""
import pytest
import tvm
from tvm import te, tir
from tvm.arith import Analyzer, ConstIntBound, ModularSet
from tvm.ir import Range

x, y, n = te.var("x"), te.var("y"), te.var("n")


@pytest.mark.parametrize("first, second", [
    (Range(0, 4), Range(0, 8)),
    (Range(0, 8), Range(0, 4)),
    (Range(0, n), Range(0, n + 1)),
    (3, 4),
    (3, Range(0, 4)),
    (Range(0, 4), y),
    (y, y + 1),
    (ConstIntBound(0, 4), ConstIntBound(0, 9)),
    (Range(0, 4), ConstIntBound(0, 9)),
    (ConstIntBound(0, 4), Range(0, 9)),
    (ModularSet(4, 1), ModularSet(3, 1)),
])
def test_other_facts_of_a_variable_are_refused_unless_they_replace_it(first, second):
    analyzer = Analyzer()
    say(analyzer, first)
    with pytest.raises(tvm.error.InternalError, match="has the (range|remainder) .* already, not"):
        say(analyzer, second)
    say(analyzer, second, True)
    say(analyzer, second)


def say(analyzer, fact, *replaces):
    (analyzer.update if isinstance(fact, (ConstIntBound, ModularSet)) else analyzer.bind)(x, fact, *replaces)


@pytest.mark.parametrize("facts", [
    [Range(0, 4), Range(0, 4), ConstIntBound(0, 3), ModularSet(2, 1)],
    [Range.from_min_extent(3, 1), 3, tir.IntImm("int32", 3), ConstIntBound(3, 3)],
    [Range(0, n), Range(0, n)],
    [ModularSet(3, 1), Range(0, 4)],
])
def test_a_fact_may_be_said_again(facts):
    analyzer = Analyzer()
    for fact in facts:
        say(analyzer, fact)
    with analyzer.constraint_scope(x < 2):
        say(analyzer, facts[-1])


def test_a_range_leaves_what_is_known_of_remainders():
    analyzer = Analyzer()
    analyzer.update(x, ModularSet(3, 1))
    analyzer.bind(x, Range(0, 4))
    assert analyzer.modular_set(x).coeff == 3 and analyzer.const_int_bound(x).max_value == 3


def iter_sum(extent, base):
    mark = tvm.arith.IterMark(x, extent)
    return tvm.arith.IterSumExpr([tvm.arith.IterSplitExpr(mark, tir.const(4), tir.const(4), tir.const(2))], base)


@pytest.mark.parametrize("make, other", [
    (lambda: tvm.ir.PrimType("int32"), tvm.ir.PrimType("int64")),
    (lambda: tvm.ir.PointerType(tvm.ir.PrimType("int32"), "shared"), tvm.ir.PointerType(tvm.ir.PrimType("int32"), "local")),
    (lambda: tvm.ir.TupleType([tvm.ir.PrimType("int32")]), tvm.ir.TupleType([])),
    (lambda: tvm.target.Target("llvm"), tvm.target.Target("llvm", "llvm")),
    (lambda: iter_sum(16, 3), iter_sum(16, 4)),
    (lambda: iter_sum(16, 3), iter_sum(32, 3)),
    (lambda: tvm.arith.ConstIntBound(0, ConstIntBound.POS_INF), ConstIntBound(0, 4)),
    (lambda: ModularSet(4, 1), ModularSet(4, 2)),
    (lambda: tvm.arith.IntervalSet(0, n), tvm.arith.IntervalSet(0, n + 1)),
])
def test_types_targets_facts_and_iter_maps_are_compared_by_structure(make, other):
    tvm.ir.assert_structural_equal(make(), make())
    assert tvm.ir.structural_hash(make()) == tvm.ir.structural_hash(make())
    assert not tvm.ir.structural_equal(make(), other) and not tvm.ir.structural_equal(make(), x)


@pytest.mark.parametrize("vector, ends", [
    (tir.Ramp(0, 2, 4), (0, 6)),
    (tir.Ramp(8, -2, 4), (2, 8)),
    (tir.Broadcast(3, 4), (3, 3)),
    (tir.Ramp(0, 2, 4) * tir.Broadcast(3, 4) + tir.Broadcast(1, 4), (1, 19)),
    (tir.const(5, "int32"), (5, 5)),
])
def test_the_set_of_a_vector_holds_its_lanes(vector, ends):
    found = tvm.arith.IntSet.vector(vector)
    assert (int(found.min_value), int(found.max_value)) == ends


def test_what_is_no_iter_map_stands_for_itself():
    assert tvm.arith.normalize_iter_map_to_expr(x).same_as(x)


def test_targets_of_gpus_have_an_architecture():
    assert tvm.target.cuda(arch="sm_80").arch == "sm_80"
    assert tvm.target.cuda("a100", options="-arch=sm_80 -max_num_threads=512").max_num_threads == 512
    assert tvm.target.mali().device_name == "mali" and tvm.target.mali().kind.name == "opencl"


def test_boxes_are_a_name_of_arith():
    A = tir.decl_buffer((16,), name="A")
    loop = tir.For(x, 0, 8, tir.ForKind.SERIAL, tir.BufferStore(A, tir.const(1.0, "float32"), [x]))
    assert [int(box.extent) for box in tvm.arith._ffi_api.DomainTouched(loop, A, True, True)] == [8]
