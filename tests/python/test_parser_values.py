"""What a decorated function takes from the program around it: closures, helpers, comprehensions, macros."""
import inspect

import numpy as np
import pytest
import tvm
import tvm.testing
from tvm import tir
from tvm.script import ir as I
from tvm.script import tir as T

BLOCK = 16


class Config:
    dtype = "float32"
    shape = (8, 4)
    scale = 2.0

    def bias(self, x):
        return x + T.float32(self.scale)


CONFIG = Config()


def same(func, expected):
    tvm.ir.assert_structural_equal(func.with_attr("global_symbol", "main"), expected.with_attr("global_symbol", "main"))


@T.prim_func
def scaled(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32")):
    for i, j in T.grid(8, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(2.0)


def test_attributes_of_objects_and_their_methods_are_values():
    @T.prim_func
    def func(A: T.Buffer(CONFIG.shape, CONFIG.dtype), B: T.Buffer(CONFIG.shape, CONFIG.dtype)):
        for i, j in T.grid(*CONFIG.shape):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = CONFIG.bias(A[vi, vj])

    same(func, scaled)


def test_a_helper_returns_an_expression_of_its_arguments():
    def add_scale(buffer, *indices, scale=CONFIG.scale):
        return buffer[indices] + T.float32(scale)

    @T.prim_func
    def func(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32")):
        for i, j in T.grid(8, 4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = add_scale(A, vi, vj)

    same(func, scaled)


def test_shapes_names_and_dtypes_may_be_computed():
    rank, name = 2, "B"

    @T.prim_func
    def func(a: T.handle, b: T.handle):
        A = T.match_buffer(a, [BLOCK // (k + 2) if k == 0 else 2 ** rank for k in range(rank)], "float" + str(32))
        B = T.match_buffer(b, A.shape, A.dtype)
        for ij in T.grid(*A.shape):
            with T.block(f"{name}"):
                v = T.axis.remap("S" * rank, ij)
                B[v] = A[v] + T.float32(BLOCK / 8)

    same(func, scaled)


def test_a_loop_variable_may_take_the_rest():
    @T.prim_func
    def func(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32")):
        for i, *rest in T.grid(8, 4):
            with T.block("B"):
                vi, *vr = T.axis.remap("SS", [i, *rest])
                B[vi, vr[0]] = A[vi, vr[0]] + T.float32(2.0)

    same(func, scaled)


@pytest.mark.parametrize("in_place", [False, True])
def test_a_condition_of_the_program_chooses_while_reading(in_place):
    @T.prim_func
    def func(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
        for i in range(4):
            if in_place:
                A[i] = A[i] + 1
            else:
                B[i] = A[i] + 1

    stores = []
    tir.stmt_functor.post_order_visit(func.body, lambda n: stores.append(n) if isinstance(n, tir.BufferStore) else None)
    assert [store.buffer.name for store in stores] == ["A" if in_place else "B"]
    assert "if" not in func.script().replace("prim_func", "")


def test_a_condition_of_the_function_stays_one():
    @T.prim_func
    def func(A: T.Buffer((4,), "int32"), n: T.int32):
        if n > BLOCK:
            A[0] = 1

    assert isinstance(func.body, tir.IfThenElse)


def test_numpy_numbers_are_numbers():
    n, x = np.int64(4), np.float32(0.5)

    @T.prim_func
    def func(A: T.Buffer((4,), "float32")):
        for i in range(n):
            A[i] = x

    assert func.body.extent == 4 and float(func.body.body.value) == 0.5


def test_a_meta_var_is_no_let():
    @T.prim_func
    def func(A: T.Buffer((4,), "int32"), n: T.int32):
        twice = T.meta_var(n * 2)
        A[0] = twice
        once = n + 1
        A[1] = once

    assert isinstance(func.body, tir.SeqStmt) and isinstance(func.body[1], tir.LetStmt)


def test_annotations_and_attributes_may_be_dicts_of_the_program():
    annotations = {"unroll": 16, "names": ["a", "b"], "nested": {"x": 1.5}, "nothing": None}

    @T.prim_func
    def func(A: T.Buffer((4,), "int32")):
        T.func_attr({"note": annotations["names"][1], "block": BLOCK})
        for i in T.serial(4, annotations=annotations):
            A[i] = 0

    assert func.attrs["note"] == "b" and func.attrs["block"] == BLOCK
    loop = func.body.annotations
    assert loop["unroll"] == 16 and list(loop["names"]) == ["a", "b"] and float(loop["nested"]["x"]) == 1.5
    assert loop["nothing"] is None


def test_an_error_in_a_helper_has_the_place_of_its_call():
    def broken():
        raise KeyError("no such thing")

    with pytest.raises(tvm.error.DiagnosticError, match="KeyError.*no such thing") as caught:

        @T.prim_func
        def func(A: T.Buffer((4,), "int32")):
            A[0] = broken()

    line = inspect.getsourcelines(test_an_error_in_a_helper_has_the_place_of_its_call)[1] + 8
    assert f"test_parser_values.py:{line}:20: " in str(caught.value)


def test_an_object_is_no_value():
    with pytest.raises(tvm.error.DiagnosticError, match="Python object of type Config"):

        @T.prim_func
        def func(A: T.Buffer((4,), "int32")):
            A[0] = CONFIG


# ---- Macros


@T.macro
def add_to(buffer, index, value=BLOCK):
    buffer[index] = buffer[index] + value


def test_a_macro_stands_for_its_lines():
    @T.prim_func
    def func(A: T.Buffer((4,), "int32")):
        for i in range(4):
            add_to(A, i)
            add_to(A, index=i, value=i)

    @T.prim_func
    def expected(A: T.Buffer((4,), "int32")):
        for i in range(4):
            A[i] = A[i] + 16
            A[i] = A[i] + i

    same(func, expected)


def test_a_hygienic_macro_has_the_names_of_its_place():
    x = 128

    @T.macro(hygienic=True)
    def static_capture(A, B):
        B[()] = A[x]

    @T.macro(hygienic=False)
    def dynamic_capture(A, B):
        B[()] = A[x]

    def with_x(capture):
        @T.prim_func
        def func(A: T.Buffer((1024,), "int32"), B: T.Buffer((), "int32")):
            for x in T.serial(10):
                capture(A, B)

        return func

    @T.prim_func
    def by_place(A: T.Buffer((1024,), "int32"), B: T.Buffer((), "int32")):
        for x in T.serial(10):
            B[()] = A[128]

    @T.prim_func
    def by_call(A: T.Buffer((1024,), "int32"), B: T.Buffer((), "int32")):
        for x in T.serial(10):
            B[()] = A[x]

    same(with_x(static_capture), by_place)
    same(with_x(dynamic_capture), by_call)


def test_a_macro_may_be_a_method_and_its_object_may_allocate():
    class Tile:
        def __init__(self, source):
            self.data = T.alloc_buffer(source.shape, source.dtype)

        @T.macro
        def load(self, source):
            N, M = T.meta_var(self.data.shape)
            for i, j in T.grid(N, M):
                with T.block("load"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    self.data[vi, vj] = source[vi, vj]

    @T.prim_func(private=True)
    def func(a: T.handle):
        A = T.match_buffer(a, [8, 4])
        first = T.meta_var(Tile(A))
        first.load(A)
        second = T.meta_var(Tile(A))
        second.load(first.data)

    @T.prim_func(private=True)
    def expected(a: T.handle):
        A = T.match_buffer(a, [8, 4])
        X = T.alloc_buffer([8, 4])
        for i, j in T.grid(8, 4):
            with T.block("load"):
                vi, vj = T.axis.remap("SS", [i, j])
                X[vi, vj] = A[vi, vj]
        Y = T.alloc_buffer([8, 4])
        for i, j in T.grid(8, 4):
            with T.block("load"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = X[vi, vj]

    same(func, expected)


def test_macros_call_macros():
    @T.macro
    def twice(A):
        add_to(A, 0)
        add_to(A, 1)

    @T.prim_func
    def func(A: T.Buffer((4,), "int32")):
        twice(A)

    @T.prim_func
    def expected(A: T.Buffer((4,), "int32")):
        A[0] = A[0] + 16
        A[1] = A[1] + 16

    same(func, expected)


def test_an_error_in_a_macro_has_its_own_place():
    @T.macro
    def bad(A):
        A[0] = nowhere

    with pytest.raises(tvm.error.DiagnosticError, match="nowhere") as caught:

        @T.prim_func
        def func(A: T.Buffer((4,), "int32")):
            bad(A)

    line = inspect.getsourcelines(test_an_error_in_a_macro_has_its_own_place)[1] + 3
    assert f"test_parser_values.py:{line}:16: " in str(caught.value)


def test_macros_are_declared_one_way_and_called_in_functions_only():
    with pytest.raises(ValueError, match="Invalid use of T.macro"):
        T.macro("hygienic")
    with pytest.raises(ValueError, match="in a function"):
        add_to(None, 0)


def test_a_module_takes_values_and_macros_too():
    extents = [4, 8]

    @I.ir_module
    class Module:
        @T.macro
        def zero(buffer, index):
            buffer[index] = 0

        @T.prim_func
        def first(A: T.Buffer((extents[0],), "int32")):
            for i in range(extents[0]):
                zero(A, i)

        @T.prim_func
        def second(A: T.Buffer((sum(extents),), "int32")):
            for i in range(sum(extents)):
                add_to(A, i)

    assert Module["first"].body.extent == 4 and Module["second"].body.extent == 12


# ---- Tensor intrinsics


def dot_intrinsic(extent):
    @T.prim_func
    def desc(a: T.handle, b: T.handle, c: T.handle):
        A = T.match_buffer(a, (extent,), "uint8", offset_factor=1)
        B = T.match_buffer(b, (extent,), "int8", offset_factor=1)
        C = T.match_buffer(c, (1,), "int32", offset_factor=1)
        with T.block("root"):
            T.reads(C[0], A[0:extent], B[0:extent])
            T.writes(C[0])
            for i in range(extent):
                with T.block("update"):
                    vi = T.axis.remap("R", [i])
                    C[0] = C[0] + T.cast(A[vi], "int32") * T.cast(B[vi], "int32")

    @T.prim_func
    def impl(a: T.handle, b: T.handle, c: T.handle):
        A = T.match_buffer(a, (extent,), "uint8", offset_factor=1)
        B = T.match_buffer(b, (extent,), "int8", offset_factor=1)
        C = T.match_buffer(c, (1,), "int32", offset_factor=1)
        with T.block("root"):
            T.reads(C[0], A[0:extent], B[0:extent])
            T.writes(C[0])
            C[0] = C[0] + T.call_extern("int32", "dot", A.access_ptr("r"), B.access_ptr("r"))

    return desc, impl


def test_tensor_intrinsics_are_kept_by_name():
    desc, impl = dot_intrinsic(4)
    assert tir.TensorIntrin.get("test.dot", allow_missing=True) is None
    tir.TensorIntrin.register("test.dot", desc, impl)
    known = tir.TensorIntrin.get("test.dot")
    tvm.ir.assert_structural_equal(known.desc, desc)
    tvm.ir.assert_structural_equal(known.impl, impl)
    with pytest.raises(ValueError, match="already been registered"):
        tir.TensorIntrin.register("test.dot", desc, impl)
    tir.TensorIntrin.register("test.dot", *dot_intrinsic(8), override=True)
    wider = tir.TensorIntrin.get("test.dot").desc
    assert wider.buffer_map[wider.params[0]].shape[0] == 8
    with pytest.raises(ValueError, match='"test.none" is not registered'):
        tir.TensorIntrin.get("test.none")


def test_both_parts_of_a_tensor_intrinsic_take_the_same_buffers():
    @T.prim_func
    def other(a: T.handle):
        A = T.match_buffer(a, (4,), "uint8")
        A[0] = T.uint8(0)

    @T.prim_func
    def scalars(a: T.int32, b: T.int32, c: T.int32):
        T.evaluate(a + b + c)

    desc, impl = dot_intrinsic(4)
    with pytest.raises(ValueError, match="as many parameters"):
        tir.TensorIntrin.register("test.bad", desc, other)
    with pytest.raises(ValueError, match="handles of buffers"):
        tir.TensorIntrin.register("test.bad", desc, scalars)


# ---- Nodes made in Python


def test_functions_of_memory_can_be_put_together():
    A = tir.decl_buffer((16,), "float32", "A")
    p = tir.Var("p", tvm.ir.PointerType(tvm.ir.PrimType("float32"), "local"))
    B = tir.decl_buffer((4, 4), "float32", "B", data=p)
    assert B.scope() == "local" and B.data.same_as(p) and A.data.type_annotation.storage_scope == "global"
    store = tir.BufferStore(B, tir.BufferLoad(A, [3]), [0, 1])
    body = tir.Allocate(p, "float32", [16], tir.const(True, "bool"), tir.DeclBuffer(B, store), {"note": "x"})
    func = tir.PrimFunc([A], tir.AttrStmt(tir.StringImm("here"), "pragma", 1, body))

    @T.prim_func(private=True)
    def expected(A: T.Buffer((16,), "float32")):
        T.attr("here", "pragma", 1)
        p = T.allocate([16], "float32", "local", annotations={"note": "x"})
        B = T.decl_buffer((4, 4), "float32", data=p, scope="local")
        B[0, 1] = A[3]

    tvm.ir.assert_structural_equal(func, expected.without_attr("global_symbol"))
    assert func.buffer_map[func.params[0]].same_as(A)


if __name__ == "__main__":
    tvm.testing.main()


_reduces, _is_wide, _limit = False, True, None


def test_a_choice_of_the_program_may_be_of_axes_buffers_and_loops():
    @T.prim_func
    def chosen(a: T.handle, B: T.Buffer((16,), "float32")):
        A = T.match_buffer(a, (16,), "float32") if _is_wide else T.match_buffer(a, (16,), "float16")
        C = T.alloc_buffer((16,), "float32", scope="shared") if _is_wide else B
        for i in (T.parallel(16) if _is_wide else T.serial(16)):
            with T.block("C"):
                vi = T.axis.reduce(16, i) if _reduces else T.axis.spatial(16, i)
                C[vi] = A[vi]
        for i in T.serial(16 if _limit is None else _limit):
            with T.block("B"):
                vi = T.axis.spatial(16, i)
                B[vi] = C[vi] if _limit is not None else A[vi]

    @T.prim_func
    def plain(a: T.handle, B: T.Buffer((16,), "float32")):
        A = T.match_buffer(a, (16,), "float32")
        C = T.alloc_buffer((16,), "float32", scope="shared")
        for i in T.parallel(16):
            with T.block("C"):
                vi = T.axis.spatial(16, i)
                C[vi] = A[vi]
        for i in T.serial(16):
            with T.block("B"):
                vi = T.axis.spatial(16, i)
                B[vi] = A[vi]

    tvm.ir.assert_structural_equal(chosen.with_attr("global_symbol", "f"), plain.with_attr("global_symbol", "f"))


def test_strides_and_offsets_may_be_new_variables():
    @T.prim_func
    def inline(a: T.handle, B: T.Buffer((16, 16), "float32", strides=["s", 1], elem_offset=T.int32())):
        A = T.match_buffer(a, (16, 16), "float32", elem_offset=T.int32(), strides=[T.int64(), 1])
        B[0, 0] = A[0, 0]

    A, B = (inline.buffer_map[param] for param in inline.params)
    assert isinstance(A.elem_offset, tir.Var) and A.strides[0].dtype == "int64" and A.strides[1] == 1
    assert isinstance(B.elem_offset, tir.Var) and B.strides[0].name == "s"
    with pytest.raises(tvm.error.ParseError, match="a variable is declared by a line of its own"):
        @T.prim_func
        def allocated(B: T.Buffer((16,), "float32")):
            C = T.alloc_buffer([16], elem_offset=T.int32())
            C[0] = B[0]


def test_the_extent_of_a_region_is_simplified():
    @T.prim_func
    def regions(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64,), "float32"), n: T.int32):
        for i in range(8):
            with T.block("b"):
                v = T.axis.spatial(8, i)
                T.reads(A[v * 8:(v + 1) * 8, v // 4 * 2 + 1:v // 4 * 2 + 3], A[v * n:(v + 1) * n, v:v + v + 4])
                T.writes(B[T.max(v, 0):T.max(v, 0) + 8 - 1])
                for j in range(8):
                    B[v + j] = A[v * 8 + j, 0]

    block = regions.body.block.body.body.block
    assert [[str(dim.extent) for dim in read.region] for read in block.reads] == [["8", "2"], ["n", "v + 4"]]
    assert block.writes[0].region[0].extent == 7


def test_a_symbol_that_nobody_uses_needs_no_value():
    @T.prim_func
    def func(A: T.Buffer((16,), "float32")):
        m = T.int64()
        A[0] = A[1]

    assert "m = " not in func.script()


def test_a_let_of_a_declared_variable():
    @T.prim_func
    def func(A: T.Buffer((64,), "int32"), i: T.int32):
        z = T.int32()
        with T.LetStmt(A[0] + 1, var=z):
            A[i] = z

    @T.prim_func
    def named(A: T.Buffer((64,), "int32"), i: T.int32):
        z = T.int32()
        with T.LetStmt(A[0] + 1, var=z) as y:
            A[i] = y

    assert isinstance(func.body, tir.LetStmt) and func.body.var.same_as(func.body.body.value)
    tvm.ir.assert_structural_equal(func.without_attr("global_symbol"), named.without_attr("global_symbol"))
    with pytest.raises(tvm.error.ParseError, match="not yet bound"):
        @T.prim_func
        def twice(A: T.Buffer((64,), "int32"), i: T.int32):
            with T.LetStmt(A[0] + 1, var=i):
                A[i] = i


def test_intrinsics_of_llvm_are_looked_up_by_name():
    @T.prim_func
    def func(A: T.Buffer((4,), "float32")):
        A[0] = T.call_llvm_pure_intrin(T.llvm_lookup_intrinsic_id("llvm.fabs"), T.uint32(1), A[1], dtype="float32")
        A[2] = T.call_llvm_pure_intrin("float32", "llvm.fabs", T.uint32(1), A[3])

    assert [stmt.value.args[0] for stmt in func.body.seq] == ["llvm.fabs", "llvm.fabs"]
    assert T.llvm_lookup_intrinsic_id("llvm.fabs") == tvm.target.codegen.llvm_lookup_intrinsic_id("llvm.fabs") == "llvm.fabs"


def test_arrays_of_the_program_are_constants_and_lists():
    weights, extents = np.arange(6, dtype="float32").reshape(2, 3), np.array([2, 3])

    @T.prim_func
    def func(A: T.Buffer(extents, "float32")):
        W = T.allocate_const(weights, "float32", [2, 3])
        w = T.decl_buffer(extents, "float32", data=W)
        V = T.allocate_const(np.ones(2, "float32"), "float32", [2])
        for i, j in T.grid(2, 3):
            A[i, j] = w[i, j]

    np.testing.assert_array_equal(func.body.data.numpy().reshape(2, 3), weights)
    assert list(func.buffer_map[func.params[0]].shape) == [2, 3]


def test_vstore_has_lanes_as_its_value():
    @T.prim_func
    def func(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        for i in range(4):
            B.vstore([i * 4], A.vload([i * 4], "float32x4"))

    store = func.body.body
    assert isinstance(store.indices[0], tir.Ramp) and store.indices[0].lanes == 4 and store.value.dtype == "float32x4"


def test_broadcasting_buffers_are_auto():
    @T.prim_func
    def func(a: T.handle):
        A = T.match_buffer(a, (16,), "float32", buffer_type="auto")
        A[0] = 1.0

    assert func.buffer_map[func.params[0]].buffer_type == 2 and 'buffer_type="auto"' in func.script()
    tvm.ir.assert_structural_equal(tvm.script.from_source(func.script()), func)


def test_a_matched_region_has_the_shape_and_the_scope_of_its_buffer():
    text = """
@T.prim_func
def func(A: T.Buffer((16, 16), "float32")):
    with T.block("b"):
        S = T.alloc_buffer((16, 16), scope="shared")
        B = T.match_buffer({})
        B[0, 0] = 1.0
"""
    for right in ("A[0:8, 0:16], (8, 16)", "A[0:8, 0:16]", 'S[0:8, 0:16], (8, 16), scope="shared"'):
        assert len(tvm.script.from_source(text.format(right)).body.block.match_buffers) == 1
    for wrong, why in (("A[0:8, 0:16], (8, 8)", "extents of the region"), ("S[0:8, 0:16], (8, 16)", 'scope "shared"')):
        with pytest.raises(tvm.error.DiagnosticError, match=why):
            tvm.script.from_source(text.format(wrong))


def test_what_a_helper_emits_stands_where_it_is_called():
    def fill(A, n):
        for k in range(n):
            T.buffer_store(A, k, [k])
        with T.block("last"):
            T.buffer_store(A, 0, [n])

    @T.prim_func
    def func(A: T.Buffer((8,), "int32")):
        T.buffer_store(A, 7, [7])
        for i in range(2):
            fill(A, 2)
        A[3] = 3

    @T.prim_func
    def expected(A: T.Buffer((8,), "int32")):
        A[7] = 7
        for i in range(2):
            A[0] = 0
            A[1] = 1
            with T.block("last"):
                A[2] = 0
        A[3] = 3

    tvm.ir.assert_structural_equal(func.without_attr("global_symbol"), expected.without_attr("global_symbol"))

def test_numbers_of_attributes_keep_their_types():
    @T.prim_func
    def func(A: T.Buffer((8,), "int32")):
        T.func_attr({"n": T.int64(5), "plain": 5})
        for i in T.serial(8, annotations={"m": [T.int64(1), T.uint8(2)], "s": T.float64(0.5), "half": 0.5}):
            A[i] = 1

    loop = func.body
    assert [func.attrs[name].dtype for name in ("n", "plain")] == ["int64", "int32"]
    assert [number.dtype for number in loop.annotations["m"]] == ["int64", "uint8"]
    assert [loop.annotations[name].dtype for name in ("s", "half")] == ["float64", "float32"]
    assert 'T.func_attr({"n": T.int64(5), "plain": 5})' in func.script()
    tvm.ir.assert_structural_equal(tvm.script.from_source(func.script()), func)
    assert not tvm.ir.structural_equal(func.with_attr("n", 5), func)
    assert func.with_attr("n", tir.const(5, "int64")).same_as(func) and func.attrs["n"] == 5
    again = tir.For(loop.loop_var, 0, 8, loop.kind, loop.body, annotations=loop.annotations)
    tvm.ir.assert_structural_equal(again, loop)


def test_passes_read_numbers_of_any_type():
    @T.prim_func
    def func(A: T.Buffer((4,), "int32")):
        for i in T.serial(4, annotations={"pragma_auto_unroll_max_step": T.int64(16), "pragma_unroll_explicit": T.int64(1)}):
            A[i] = i

    @T.prim_func
    def plain(A: T.Buffer((4,), "int32")):
        for i in T.serial(4, annotations={"pragma_auto_unroll_max_step": 16, "pragma_unroll_explicit": 1}):
            A[i] = i

    results = [tvm.lower(tvm.IRModule({"main": each.without_attr("global_symbol")})) for each in (func, plain)]
    tvm.ir.assert_structural_equal(*results)


def test_ranges_of_the_program_are_domains_and_bounds():
    pair, part = (0, 8), tvm.ir.Range(2, 6)

    @T.prim_func
    def func(A: T.Buffer((8, 8), "int32")):
        T.prefetch(A, [part, tvm.ir.Range(0, 4)])
        for i, j in T.grid(8, 4):
            with T.block("b"):
                vi = T.axis.spatial(pair, i)
                vj = T.axis.spatial(part, j + 2)
                A[vi, vj] = 1

    @T.prim_func
    def expected(A: T.Buffer((8, 8), "int32")):
        T.prefetch(A, [T.Range(2, 6), T.Range(0, 4)])
        for i, j in T.grid(8, 4):
            with T.block("b"):
                vi = T.axis.spatial(8, i)
                vj = T.axis.spatial((2, 6), j + 2)
                A[vi, vj] = 1

    tvm.ir.assert_structural_equal(func.without_attr("global_symbol"), expected.without_attr("global_symbol"))
