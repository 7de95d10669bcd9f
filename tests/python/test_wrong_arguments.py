"""What a call says that is given something of another kind: the operation, the argument and what it is."""
import inspect

import numpy as np
import pytest
import tvm
from programs import elementwise
from tvm import te, tir, topi

A = tir.decl_buffer((8,), "float32", "A")
P = te.placeholder((4, 4), name="P")
x = tir.Var("x", "float32")


@pytest.mark.parametrize("call, words", [
    (lambda: tir.exp(A), "exp: argument 1 is a Buffer; an expression is required"),
    (lambda: tir.exp(None), "exp: argument 1 is None; an expression is required"),
    (lambda: tir.if_then_else(None, 1, 2), "if_then_else: argument 1 is None; an expression is required"),
    (lambda: tir.if_then_else(True, 1, [2]), "if_then_else: argument 3 is a list; an expression is required"),
    (lambda: x + None, "Add: argument 2 is None; an expression is required"),
    (lambda: te.compute((4,), lambda i: None), "None"),
    (lambda: te.create_prim_func([P, [P]]), r"argument 1\[1\] is a list"),
    (lambda: tir.schedule.Trace(5, None), r"^Trace: \(5, None\) is given; \(insts: List\[Instruction\], decisions: dict\) is required"),
    (lambda: te.reduce_axis(4), r"axis: expected a Range or \(begin, end\), got 4"),
    (lambda: tvm.IRModule({"main": 3}), 'IRModule: "main" is 3; a PrimFunc is required'),
])
def test_the_argument_is_named(call, words):
    with pytest.raises(TypeError, match=words):
        call()


@pytest.mark.parametrize("call", [
    lambda: tir.exp(np.zeros(3)), lambda: x + np.zeros(3), lambda: tir.max(x, np.array([1, 2])),
])
def test_arrays_are_no_expressions(call):
    with pytest.raises(TypeError, match="argument [12] is an? ndarray; an expression is required"):
        call()


def test_arrays_of_no_dimension_are_numbers():
    assert tir.exp(np.array(1.0)).args[0].dtype == "float64"
    assert (tir.Var("i", "int32") + np.array(3)).b.value == 3


def test_build_says_what_it_takes():
    with pytest.raises(ValueError, match="build: expected an IRModule, a PrimFunc or a schedule, got <class 'NoneType'>"):
        tvm.build(None)


@pytest.mark.parametrize("name, call", [
    ("sort", lambda: topi.sort(P, axis=9)), ("cumsum", lambda: topi.cumsum(P, axis=5)),
    ("tensordot", lambda: topi.tensordot(P, P, ([3], [0]))), ("topk", lambda: topi.topk(P, axis=-3)),
])
def test_axes_that_a_tensor_has_not_are_named(name, call):
    with pytest.raises(ValueError, match=f"{name}: .* is no axis of P, which has 2 dimensions"):
        call()


@pytest.mark.parametrize("options", [{"number": 0}, {"number": -1}, {"repeat": 0}])
def test_nothing_is_timed_no_times(options):
    with pytest.raises(ValueError, match="time_evaluator: number is .*; both are at least 1"):
        tvm.build(elementwise, target="llvm").time_evaluator("main", **options)


@pytest.mark.parametrize("call, words", [
    (lambda sch, i: sch.split(i, factors=[128 / 4, None]), r"split: factors\[0\] is 32.0; give an integer"),
    (lambda sch, i: sch.split(i, factor=[4, None]), 'split: no argument is named "factor"; known: loop, factors'),
    (lambda sch, i: sch.get_loops(i), "get_loops: argument \"block\" is l.*; give a block of this schedule or its name"),
    (lambda sch, i: sch.rfactor(i, "x"), "^rfactor: an attribute is no integer"),
])
def test_primitives_speak_of_calls_not_of_traces(call, words):
    sch = tir.Schedule(elementwise)
    with pytest.raises(TypeError, match=words):
        call(sch, sch.get_loops("B")[0])


def test_help_shows_what_primitives_take():
    assert str(inspect.signature(tir.Schedule.split)) == (
        "(self, loop, factors, preserve_unit_iters=True, disable_predication=False)")
    assert str(inspect.signature(tir.Schedule.reorder)) == "(self, *loops)"
    assert tir.Schedule.split.__doc__.startswith("Replaces the loop by one loop per factor")
    sch = tir.Schedule(elementwise)
    for name, member in inspect.getmembers(tir.Schedule, inspect.isroutine):
        assert name.startswith("_") or member.__doc__, name
    assert "loop" in inspect.signature(sch.parallel).parameters


def test_threads_are_not_built_for_a_cpu():
    sch = tir.Schedule(elementwise)
    sch.bind(sch.get_loops("B")[0], "threadIdx.x")
    with pytest.raises(tvm.TVMError, match='loop ".*" is bound to threadIdx.x after lowering; threads need a GPU'):
        tvm.build(sch.mod, target="llvm")


def test_a_mistake_of_ours_is_an_exception():
    from lathe import _lib
    _lib._check(True)
    with pytest.raises(tvm.error.InternalError, match="lib.cc:[0-9]+: internal error, holds does not hold: (.|\n)*bug of Lathe"):
        _lib._check(False)


@pytest.mark.parametrize("name, instead", [("meta_schedule", "lathe tune"), ("relax", "lathe compile"), ("rpc", "lathe device")])
def test_modules_whose_work_is_done_elsewhere_say_where(name, instead):
    import importlib
    with pytest.raises(ImportError, match=f"lathe has no {name}: .*{instead}"):
        importlib.import_module(f"tvm.{name}")
    with pytest.raises(ImportError, match=f"lathe has no {name}: .*{instead}"):
        exec(f"from tvm import {name}")
    assert not hasattr(tvm, name)
