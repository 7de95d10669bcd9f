"""Expressions that programs make in loops: up to some depth everything walks them, deeper ones are refused."""
import threading

import pytest
import tvm
from tvm import te, tir

DEPTH = 4000  # kMaxProgramDepth of compiler/ir/expr.h.
WORDS = f"nested more than {DEPTH} deep; split it up"
x = tir.Var("x", "int32")


def nested(depth, step=lambda e: e * 3 + x):
    """Each step nests by two."""
    expr = x
    for _ in range((depth - 1) // 2):
        expr = step(expr)
    return expr


# Rules look at what stands in minima, remainders and selects again at each level: minutes, at this depth.
SLOW = {(use, shape) for use in ("simplify", "rewrite") for shape in ("min", "remainder", "select", "division")}
SHAPES = {
    "sum": lambda e: (e + x) + tir.Var("y", "int32"),
    "min": lambda e: tir.min(e, x) + x,
    "division": lambda e: (e + x) // 3,
    "remainder": lambda e: tir.floormod(e, 7) + x,
    "select": lambda e: tir.Select(e < x, x, x + 1),
    "cast": lambda e: tir.Cast("int32", tir.Cast("int64", e)),
}


USES = {
    "simplify": lambda e: tvm.arith.Analyzer().simplify(e),
    "rewrite": lambda e: tvm.arith.Analyzer().rewrite_simplify(e),
    "bound": lambda e: tvm.arith.Analyzer().const_int_bound(e),
    "str": str,
    "equal": lambda e: tvm.ir.structural_equal(e, tir.stmt_functor.substitute(e, {tir.Var("z", "int32"): x})),
    "hash": tvm.ir.structural_hash,
    "substitute": lambda e: tir.stmt_functor.substitute(e, {x: tir.Var("z", "int32")}),
    "visit": lambda e: tir.stmt_functor.post_order_visit(e, lambda node: None),
}


@pytest.mark.parametrize("use, shape", [(use, shape) for use in USES for shape in SHAPES if (use, shape) not in SLOW])
def test_what_is_as_deep_as_it_may_be_is_walked(use, shape):
    expr = nested(DEPTH, SHAPES[shape])
    thread = threading.Thread(target=lambda: USES[use](expr))
    thread.start()
    thread.join()


def test_deeper_expressions_are_refused():
    with pytest.raises(tvm.TVMError, match=WORDS):
        nested(20_000)
    with pytest.raises(tvm.TVMError, match=WORDS):
        te.compute((4,), lambda i: nested(20_000))


def test_operators_of_many_tensors_are_refused_alike():
    xs = [te.placeholder((4,), name=f"x{i}") for i in range(DEPTH + 1)]
    with pytest.raises(tvm.TVMError, match=WORDS):
        tvm.topi.elemwise_sum(xs)


def test_building_refuses_what_its_text_cannot_hold():
    value = te.placeholder((4,), name="value")

    def body(i):
        total = value[i]
        for _ in range(3000):
            total = total + value[i]
        return total

    with pytest.raises(tvm.TVMError, match="nested more than 1000 deep; split it up"):
        tvm.build(te.create_prim_func([value, te.compute((4,), body)]), target="llvm")
