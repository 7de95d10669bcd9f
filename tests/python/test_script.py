"""Decorators, parsing, printing, errors that point into the user's file."""
import inspect
import re

import pytest
import tvm
import tvm.testing
from programs import elementwise, matmul
from tvm import tir
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


def test_a_module_says_its_attributes_where_its_functions_are():
    @I.ir_module
    class Module:
        I.module_attrs({"version": 3})

        @T.prim_func
        def main(A: T.Buffer((4,), "float32")):
            A[0] = T.float32(1)

    assert "I.module_attrs({\"version\": 3})" in Module.script()


def test_blocks_of_other_names_are_equal():
    def fill(name):
        @T.prim_func
        def func(A: T.Buffer((16,), "int32")):
            for i in range(16):
                with T.block(name):
                    vi = T.axis.spatial(16, i)
                    A[vi] = vi
        return func

    assert "T.block(\"x\")" in fill("x").script()
    assert tvm.ir.structural_equal(fill("x"), fill("y"))
    assert tvm.ir.structural_hash(fill("x")) == tvm.ir.structural_hash(fill("y"))


@T.prim_func
def scale(a: T.handle, b: T.handle, m: T.int32, n: T.int32):
    A = T.match_buffer(a, (m, n), "float32")
    B = T.match_buffer(b, (m, n), "float32")
    C = T.alloc_buffer((m, n), "float32")
    for i, j in T.grid(m, n):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(m, n):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = C[vi, vj]


def test_specialize_puts_values_in_for_parameters():
    a, _, m, n = scale.params
    by_value = scale.specialize({m: 8, n: 16})
    assert [param.name for param in by_value.params] == ["a", "b"]
    assert list(by_value.buffer_map[by_value.params[1]].shape) == [8, 16]
    assert "C = T.alloc_buffer((8, 16), \"float32\")" in by_value.script()
    assert "for i, j in T.grid(8, 16):" in by_value.script()
    by_buffer = scale.specialize({a: tir.decl_buffer((8, 16), "float32")})
    assert [param.name for param in by_buffer.params] == ["a", "b"]
    assert tvm.ir.structural_equal(by_value, by_buffer)
    partly = scale.specialize({m: n * 2})
    assert "for i, j in T.grid(n * 2, n):" in partly.script()


@pytest.mark.parametrize("param, value, why", [
    (0, 3, "it stands for a buffer, a buffer is required"),
    (2, tir.decl_buffer((8, 16), "float32"), "it stands for no buffer, an expression is required"),
    (0, tir.decl_buffer((8,), "float32"), "2 dimensions required, 1 given"),
    (0, tir.decl_buffer((8, 16), "float16"), "float32 required, float16 given"),
])
def test_specialize_says_what_does_not_fit(param, value, why):
    with pytest.raises(ValueError, match=why):
        scale.specialize({scale.params[param]: value})
    with pytest.raises(ValueError, match="the function has no such one"):
        scale.specialize({tir.Var("other", "int32"): 3})
