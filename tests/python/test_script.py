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
    assert "C = T.alloc_buffer((8, 16))" in by_value.script()
    assert "for i, j in T.grid(8, 16):" in by_value.script()
    by_buffer = scale.specialize({a: tir.decl_buffer((8, 16), "float32")})
    assert [param.name for param in by_buffer.params] == ["a", "b"]
    assert tvm.ir.structural_equal(by_value, by_buffer)
    partly = scale.specialize({m: n * 2})
    assert "for i, j in T.grid(n * 2, n):" in partly.script()


def test_specialize_folds_what_it_puts_in():
    @T.prim_func
    def func(a: T.handle, n: T.int32):
        A = T.match_buffer(a, (16, n + 2), "float32")
        for i, j in T.grid(16, n * 2 + 2):
            if n > 3 and i + 0 < 8:
                A[i, j // 1 + (n - 8)] = T.float32(0)

    @T.prim_func
    def expected(a: T.handle):
        A = T.match_buffer(a, (16, 10), "float32")
        for i, j in T.grid(16, 18):
            if i < 8:
                A[i, j] = T.float32(0)

    tvm.ir.assert_structural_equal(func.specialize({func.params[1]: 8}), expected.with_attr("global_symbol", "func"))


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


def test_only_what_is_a_variable_alone_takes_another_value():
    @T.prim_func
    def func(a: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n, 8, n * 2), "float32")
        T.evaluate(A[0, 0, 0])
    for shape, why in [((16, 8, 33), r"n \* 2 required, 33 given"), ((16, 9, 32), "8 required, 9 given")]:
        with pytest.raises(TypeError, match="specialize parameter \"a\": " + why):
            func.specialize({func.params[0]: tir.decl_buffer(shape, "float32")})


def first_lines(text, count):
    return "\n".join(text.split("\n")[:count])


def test_script_looks_as_tvms():
    @T.prim_func
    def func(a: T.handle, B: T.Buffer((16,), "int32")):
        A = T.match_buffer(a, (16, 16), strides=("s0", "s1"), offset_factor=1)
        C = T.alloc_buffer((16,))
        for i in range(16):
            with T.block("b"):
                vi = T.axis.spatial(16, i)
                C[vi] = A[vi, 0]
        T.evaluate(T.call_extern("int32", "f", T.truncdiv(B[0], 3)))

    text = func.script()
    assert first_lines(text, 7) == """# from tvm.script import tir as T

@T.prim_func
def func(a: T.handle, B: T.Buffer((16,), "int32")):
    A = T.match_buffer(a, (16, 16), strides=("s0", "s1"), offset_factor=1)
    # with T.block("root"):
    C = T.alloc_buffer((16,))"""
    assert text.endswith("""    T.call_extern("int32", "f", T.Div(B[0], 3))""") and str(func) == text
    tvm.ir.assert_structural_equal(tvm.script.from_source(text), func)
    module = tvm.IRModule({"func": func})
    assert first_lines(module.script(), 5) == """# from tvm.script import ir as I
# from tvm.script import tir as T

@I.ir_module
class Module:"""


def test_script_takes_tvms_options():
    sugarless = elementwise.script(syntax_sugar=False)
    assert "T.grid" not in sugarless and "T.axis.remap" not in sugarless and "with T.block(\"root\"):" in sugarless
    tvm.ir.assert_structural_equal(tvm.script.from_source(sugarless), elementwise)
    assert "def other(" in elementwise.script(name="other") and "class Mine:" in Module.script(name="Mine")
    other = Module.script(tir_prefix="X", ir_prefix="Y", indent_spaces=2)
    assert "# from tvm.script import tir as X" in other and "@Y.ir_module" in other and "\n  @X.prim_func\n" in other
    assert "range(T.int32(128))" in tir.Schedule(elementwise).mod["main"].script(int_dtype="int64", syntax_sugar=False)


def test_what_a_text_uses_and_does_not_define_is_declared():
    x, i = tir.Var("x", "int32"), tir.Var("i", "int32")
    B = tir.decl_buffer((16, x), "float32", name="B")
    text = str(tir.For(i, 0, 4, tir.ForKind.SERIAL, tir.BufferStore(B, tir.const(1.0, "float32"), [i, 0])))
    assert text == "x = T.int32()\nB = T.Buffer((16, x))\nfor i in range(4):\n    B[i, 0] = T.float32(1.0)"
    assert "@T.prim_func(private=True)\ndef main():" in tir.PrimFunc([], tir.Evaluate(0)).script()


def test_frames_are_read_as_python_statements_are():
    @T.prim_func
    def frames(A: T.Buffer((4,), "int32"), n: T.int32):
        with T.While(A[0] < 20):
            A[0] = A[0] + 3
        with T.If(n > 3):
            with T.Then():
                A[1] = 0
            with T.Else():
                A[1] = 9
        n + 1

    @T.prim_func
    def statements(A: T.Buffer((4,), "int32"), n: T.int32):
        while A[0] < 20:
            A[0] = A[0] + 3
        if n > 3:
            A[1] = 0
        else:
            A[1] = 9
        T.evaluate(n + 1)

    tvm.ir.assert_structural_equal(frames, statements.with_attr("global_symbol", "frames"))


def test_functions_of_a_class_inside_of_a_function_are_called_by_its_name():
    @I.ir_module
    class Local:
        @T.prim_func(private=True)
        def inner(A: T.Buffer((4,), "float32")):
            A[0] = 1.0

        @T.prim_func
        def main(A: T.Buffer((4,), "float32")):
            Local.inner(A.data)

    assert "Module.inner(A.data)" in Local.script()


@pytest.mark.parametrize("lines,message", [
    (["with T.block('b'):", "    T.where(n < 3)", "    T.where(n < 4)", "    A[0] = 1.0"], "one T.where"),
    (["with T.block('b'):", "    T.block_attr({'a': 1})", "    T.block_attr({'b': 1})", "    A[0] = 1.0"],
     "one T.block_attr"),
    (["with T.block('b'):", "    T.func_attr({'a': 1})", "    A[0] = 1.0"], "lines of the function itself"),
    (["T.func_attr({'a': 1})", "T.func_attr({'a': 2})", "A[0] = 1.0"], "set twice"),
    (["with T.If(n < 3):", "    A[0] = 1.0"], "T.Then or T.Else"),
])
def test_what_tvm_refuses_is_refused(lines, message):
    text = "@T.prim_func\ndef f(A: T.Buffer((4,), 'float32'), n: T.int32):\n    " + "\n    ".join(lines)
    with pytest.raises(tvm.error.DiagnosticError, match=message):
        tvm.script.from_source(text, {"T": T})


def test_floats_have_the_digits_of_tvm():
    @T.prim_func
    def scaled(A: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("A"):
                vi = T.axis.spatial(8, i)
                A[vi] = A[vi] * T.float32(0.1) + T.float32(1e-5) + T.float32(2) + T.float32(0.25)

    assert "A[vi] * T.float32(0.10000000000000001) + T.float32(1.0000000000000001e-05) + T.float32(2.0) + T.float32(0.25)" in scaled.script()
    sch = tvm.tir.Schedule(scaled)
    sch.sample_categorical([1, 2], [0.2, 0.8], decision=0)
    assert "probs=[0.20000000000000001, 0.80000000000000004]" in str(sch.trace)


def test_a_call_of_another_function_is_a_statement():
    @tvm.script.ir_module
    class Calls:
        @T.prim_func
        def fill(a: T.Buffer((4,), "float32")):
            a[0] = T.float32(1)

        @T.prim_func
        def main(a: T.Buffer((4,), "float32")):
            Calls.fill(a.data)

    assert "\n        Module.fill(a.data)" in Calls.script()
    tvm.ir.assert_structural_equal(tvm.script.from_source(Calls.script()), Calls)


def test_operations_and_texts_are_spelled_as_in_tvm():
    f = tir.Var("f", "float32")
    assert str(tir.abs(f)) == "T.fabs(f)" and tir.abs(f).op.name == "tir.fabs"
    assert tvm.ir.structural_equal(tir.call_intrin("float32", "tir.fabs", f), tir.abs(f))
    func = tir.PrimFunc([], tir.Evaluate(tir.call_extern("int32", "a\tb\rc", 1)))
    assert 'T.call_extern("int32", "a\\tb\\rc", 1)' in func.script()
    tvm.ir.assert_structural_equal(tvm.script.from_source(func.script()), func)
    assert str(tir.const(0.1, "float32")) == "T.float32(0.10000000000000001)"


def test_names_of_the_dialects_are_taken():
    loop, inner = tir.Var("T", "int32"), tir.Var("R", "int32")
    buffer = tir.decl_buffer((16, 16), "float32", "I")
    store = tir.BufferStore(buffer, tir.const(1.0, "float32"), [loop, inner])
    text = tir.For(loop, 0, 16, 0, tir.For(inner, 0, 16, 0, store)).script()
    assert "for T_1, R_1 in T.grid(16, 16):" in text and "I_1[T_1, R_1]" in text


def test_an_attribute_may_name_the_variable_of_a_loop_below():
    i = tir.Var("i", "int32")
    func = tir.PrimFunc([], tir.AttrStmt(i, "pragma_x", 1, tir.For(i, 0, 16, 0, tir.Evaluate(i))))
    lines = [line.strip() for line in func.script().splitlines()[4:]]
    assert lines == ["i = T.int32()", 'T.attr(i, "pragma_x", 1)', "for i in range(16):", "T.evaluate(i)"]
    tvm.ir.assert_structural_equal(tvm.script.from_source(func.script()), func, map_free_vars=True)
    attr = tvm.script.from_source(func.script()).body
    assert attr.node.same_as(attr.body.loop_var)


def test_options_of_script_change_expressions():
    x, f = tir.Var("x", "int32"), tir.Var("f", "float32")
    assert (f * 2).script(float_dtype="float32") == "f * 2.0"
    assert tir.const(1, "int64").script(int_dtype="int64") == "1"
    assert (x + 1).script(verbose_expr=True) == "x = T.int32()\nx + 1"
    assert (x + 1).script() == "x + 1"
    buffer = tir.decl_buffer((4,), "float16", "A")
    assert 'T.Buffer((4,))' in tir.BufferStore(buffer, buffer[1], [0]).script(buffer_dtype="float16")
    with pytest.raises(TypeError, match="unexpected keyword argument 'nosuch'"):
        x.script(nosuch=1)


def test_a_body_that_is_one_block_without_iter_vars_is_the_root():
    @T.prim_func
    def func(A: T.Buffer((16,), "float32")):
        with T.block("b"):
            A[0] = T.float32(1)

    block = func.body.block
    assert block.name_hint == "b" and len(block.reads) == 0 and len(block.writes) == 0
    assert tvm.script.from_source(func.script()).body.block.name_hint == "b"
    assert tir.Schedule(func).get_sref(block).parent is None

    @T.prim_func
    def two(A: T.Buffer((16,), "float32")):
        with T.block("b"):
            A[0] = T.float32(1)
        with T.block("c"):
            A[1] = T.float32(1)

    assert two.body.block.name_hint == "root" and len(two.body.block.body[0].block.writes) == 1


def test_addresses_of_vectors_are_those_of_the_buffer():
    @T.prim_func
    def func(B: T.Buffer((16, 16), "float16")):
        T.evaluate(B.access_ptr("rw", offset=8, content_lanes=4))

    B = func.buffer_map[func.params[0]]
    tvm.ir.assert_structural_equal(func.body.value, B.access_ptr("rw", offset=8, content_lanes=4))
    assert [int(func.body.value.args[i]) for i in (2, 3)] == [0, 62]


TWICE = """
@T.prim_func
def main(A: T.Buffer((16,), "int32")):
    x = T.int32()
    with T.LetStmt(1, var=x):
        A[0] = x
    with T.LetStmt(2, var=x):
        A[1] = x
"""


def test_a_variable_is_bound_twice_where_that_is_not_checked():
    func = tvm.script.from_source(TWICE, check_well_formed=False)
    assert not tir.analysis.verify_ssa(func)
    assert tir.analysis.verify_ssa(tir.transform.ConvertSSA()(tvm.IRModule({"main": func}))["main"])
    with pytest.raises(tvm.error.DiagnosticError):
        tvm.script.from_source(TWICE)
