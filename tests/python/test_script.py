"""Decorators, parsing, printing, errors that point into the user's file."""
import inspect
import re

import pytest
import tvm
import tvm.testing
from programs import elementwise, matmul
from tvm.script import ir as I
from tvm.script import tir as T


@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] + 1.0

    @T.prim_func
    def other(A: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("A"):
                vi = T.axis.spatial(8, i)
                A[vi] = 0.0


def test_a_module_has_its_functions_by_name_and_by_global_var():
    assert isinstance(Module, tvm.IRModule)
    assert [var.name_hint for var in Module.get_global_vars()] == ["main", "other"]
    assert Module["main"].attrs["global_symbol"] == "main"
    assert "other" in Module and "third" not in Module
    tvm.ir.assert_structural_equal(Module[Module.get_global_var("other")], Module["other"])
    assert {var.name_hint for var, _ in Module.functions_items()} == {"main", "other"}


def test_printed_text_parses_back():
    for program in (elementwise, matmul, Module):
        again = tvm.script.from_source(program.script())
        tvm.ir.assert_structural_equal(again, program)
        assert tvm.ir.structural_hash(again) == tvm.ir.structural_hash(program)


def test_a_missing_function_is_a_value_error_that_lists_what_there_is():
    with pytest.raises(ValueError, match='"third".*main, other'):
        Module["third"]


def test_a_parse_error_names_file_line_and_column():
    with pytest.raises(tvm.error.DiagnosticError) as caught:

        @T.prim_func
        def broken(A: T.Buffer((8,), "float32")):
            for i in range(8):
                A[i] = undefined_name

    line = inspect.getsourcelines(test_a_parse_error_names_file_line_and_column)[1] + 6
    assert re.match(rf".*test_script.py:{line}:24: ", str(caught.value)), str(caught.value)
    assert isinstance(caught.value, tvm.TVMError)


def make_copy(n, dtype, scale=2.0):
    @T.prim_func
    def copy(A: T.Buffer((n,), dtype), B: T.Buffer((n,), dtype)):
        for i in range(n):
            with T.block("B"):
                vi = T.axis.spatial(n, i)
                B[vi] = A[vi] * T.cast(scale, dtype)

    return copy


@pytest.mark.parametrize("n, dtype", [(8, "float32"), (16, "float16")])
def test_names_around_a_function_have_their_values(n, dtype):
    func = make_copy(n, dtype)
    loop = func.body.block.body
    assert loop.extent == n and loop.body.block.reads[0].buffer.dtype == dtype
    assert "2.0" in func.script()


def test_names_around_a_module_have_their_values():
    extent = tvm.tir.const(4, "int32")

    @I.ir_module
    class Fill:
        @T.prim_func
        def main(A: T.Buffer((extent,), "int32")):
            for i in range(extent):
                A[i] = extent

    assert Fill["main"].script().count("4") == 3
    source = "@T.prim_func\ndef f(A: T.Buffer((n,), 'int32')):\n    A[0] = n"
    tvm.ir.assert_structural_equal(tvm.script.from_source(source, {"n": 4}),
                                   tvm.script.from_source(source.replace("(n", "(4").replace("= n", "= 4")))


def test_what_no_expression_can_hold_is_an_unknown_name():
    extents = {"n": 4}
    with pytest.raises(tvm.error.DiagnosticError, match="extents"):

        @T.prim_func
        def func(A: T.Buffer((4,), "int32")):
            A[0] = extents


def test_a_dialect_may_have_another_name():
    from tvm.script import tir as TT

    @TT.prim_func
    def func(A: TT.Buffer((4,), "int32")):
        for i in TT.serial(4):
            A[i] = TT.int32(1)

    assert func.body.extent == 4


def test_module_functions_can_be_added_replaced_and_removed():
    mod = tvm.IRModule({"main": Module["main"]})
    mod["copy"] = Module["other"]
    mod.update(tvm.IRModule({"more": Module["other"]}))
    assert {var.name_hint for var in mod.get_global_vars()} == {"main", "copy", "more"}
    del mod["copy"]
    assert {var.name_hint for var in mod.functions} == {"main", "more"}
    assert {var.name_hint for var in Module.functions} == {"main", "other"}


def test_attributes_are_added_to_a_copy():
    func = elementwise.with_attr("tir.noalias", True).with_attr({"target_bits": 64, "note": "x"})
    assert func.attrs["tir.noalias"] and func.attrs["target_bits"] == 64 and func.attrs["note"] == "x"
    assert "note" not in elementwise.attrs
    assert "note" not in func.without_attr("note").attrs
    assert elementwise.with_attr("global_symbol", "main").attrs["global_symbol"] == "main"
    assert tvm.IRModule.from_expr(elementwise.with_attr("global_symbol", "f"))["f"].attrs["global_symbol"] == "f"


if __name__ == "__main__":
    tvm.testing.main()
