"""What str and repr say of nodes that are no part of a script."""
import re

import tvm
from tvm import arith, te, tir


def test_operations_and_stages():
    A = te.placeholder((4, 8), name="A")
    k = te.reduce_axis((0, 8), name="k")
    B = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    assert re.fullmatch(r"placeholder\(A, 0x[0-9a-f]+\)", str(A.op)) and repr(A.op) == str(A.op) == str(A.op.output(0).op)
    text = str(B.op)
    assert text.startswith("compute(B, body=[T.reduce(") and text.endswith("reduce_axis=[" + str(k) + "], tag=, attrs={})")
    assert f"axis=[{B.op.axis[0]}]" in text
    assert str(s[B]) == f"stage(B, {text})" and re.fullmatch(r"schedule\(0x[0-9a-f]+\)", str(s))
    group = s.create_group(outputs=B, inputs=A, include_inputs=False)
    assert re.fullmatch(r"group-stage\(0x[0-9a-f]+\)", repr(group))
    E = te.extern((4,), [B], lambda ins, outs: tir.Evaluate(0), name="E")
    assert re.fullmatch(r"extern\(E, 0x[0-9a-f]+\)", str(E.op))


def test_integer_constraints_and_iter_maps():
    x, y = te.var("x"), te.var("y")
    problem = arith.IntConstraints([x], {x: tvm.ir.Range(0, 8)}, [x < 5])
    assert str(problem) == f"IntConstraints([x], {{x: {tvm.ir.Range(0, 8)}}}, [x < 5])"
    text = repr(arith.IntConstraintsTransform(problem, arith.IntConstraints([y], {}, []), {x: y}, {y: x}))
    assert text == f"IntConstraintsTransform(\n\t{problem}\n\tIntConstraints([y], {{}}, [])\n\t{{x: y}}\n\t{{y: x}}\n)"
    found = arith.detect_iter_map([x // 4, x % 4], {x: tvm.ir.Range(0, 8)})
    assert str(found) == f"IterMapResult(indices={found.indices}, errors=[], padding_predicate={found.padding_predicate})"


def test_contexts_of_passes():
    context = tvm.transform.PassContext(opt_level=3, disabled_pass=["tir.Simplify"], config={"tir.disable_vectorize": True})
    assert str(context) == ("Pass context information: \n\topt_level: 3\n\trequired passes: []\n\tdisabled passes: "
                            f"['tir.Simplify']\n\tinstruments: []\n\tconfig: {context.config}\n")
