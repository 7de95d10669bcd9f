"""Errors, registered functions, tensors and facts as programs for v0.18 handle them."""
import importlib
import subprocess
import sys

import numpy as np
import pytest
import tvm
import tvm.testing
from tvm import te, topi


def test_expressions_that_differ_are_a_value_error():
    x, y = te.var("x"), te.var("y")
    tvm.testing.assert_prim_expr_equal(x + y, y + x)
    with pytest.raises(ValueError, match="x and y are not equal"):
        tvm.testing.assert_prim_expr_equal(x, y)


def test_elements_of_a_tensor_are_set_all_at_once():
    a = tvm.nd.empty((3, 4))
    a[:] = np.ones((3, 4), "float32")
    assert a.numpy().sum() == 12
    for refused, error in ((lambda: a.__setitem__(0, np.ones(4, "float32")), ValueError),
                           (lambda: a.__setitem__(slice(0, 2), np.ones((2, 4), "float32")), ValueError),
                           (lambda: a.__setitem__(slice(None), 3.0), TypeError)):
        with pytest.raises(error):
            refused()
    assert a.handle.value is not None


def test_copyto_copies_bytes_and_copyfrom_converts():
    a, wide, numbers = tvm.nd.array(np.ones((3, 4), "float32")), tvm.nd.empty((3, 4), "float64"), tvm.nd.empty((12,), "int32")
    with pytest.raises(tvm.TVMError, match="48 bytes .* do not fit into 96"):
        a.copyto(wide)
    assert wide.copyfrom(a.numpy()).numpy().sum() == 12
    assert a.copyto(numbers).numpy().tolist() == [0x3F800000] * 12


def test_elements_are_those_of_an_array_of_the_same_shape():
    a = tvm.nd.array(np.zeros((2, 3), "float32"))
    for refused in (lambda: a.copyfrom(np.ones(6, "float32")), lambda: a.copyfrom(np.ones((3, 2), "float32")),
                    lambda: a.__setitem__(slice(None), np.ones((6, 1), "float32")), lambda: a.copyfrom([1.0] * 6),
                    lambda: a.copyfrom(tvm.nd.array(np.ones(6, "float32")))):
        with pytest.raises(ValueError, match=r"source has shape \[.*\], \[2, 3\] required"):
            refused()
    a[:] = np.ones((3, 2), "float32").T
    number = tvm.nd.array(np.array(7, "float32"))
    assert a.numpy().sum() == 6 and number.shape == () and number.copyfrom(np.float32(8)).numpy() == 8


def test_facts_are_values_and_marks_are_themselves():
    x, analyzer = te.var("x"), tvm.arith.Analyzer()
    mark = tvm.arith.IterMark(x, 12)
    split = tvm.arith.IterSplitExpr(mark, 1, 4, 1)
    assert mark.same_as(mark) and split.source.same_as(mark) and not mark.same_as(tvm.arith.IterMark(x, 12))
    assert tvm.arith.ConstIntBound(0, 5).same_as(tvm.arith.ConstIntBound(0, 5))
    analyzer.update(x, tvm.arith.ConstIntBound(0, 10))
    with pytest.raises(TypeError, match="neither a ConstIntBound"):
        analyzer.update(x, 5)


def test_errors_of_operators_are_pythons_too():
    assert issubclass(tvm.error.OpAttributeRequired, (AttributeError, tvm.error.OpError))
    assert issubclass(tvm.error.OpAttributeInvalid, AttributeError)
    assert issubclass(tvm.error.OpAttributeUnImplemented, NotImplementedError)
    assert issubclass(tvm.error.RPCSessionTimeoutError, TimeoutError)

    @tvm.error.register_error
    class OwnError(RuntimeError):
        pass

    assert tvm.error.ERROR_TYPE["OwnError"] is OwnError


def test_generic_functions_are_those_of_the_target():

    @tvm.target.generic_func
    def what(x):
        return "generic", x

    @what.register("cpu")
    def _(x):
        return "cpu", x

    @what.register(["cuda", "rocm"])
    def _(x):
        return "gpu", x

    assert what(1) == ("generic", 1)
    with tvm.target.Target("llvm"):
        assert what(2) == ("cpu", 2)
    with tvm.target.Target("rocm"):
        assert what(3) == ("gpu", 3)
    with pytest.raises(ValueError, match="registered already"):
        what.register("cpu", lambda x: x)

    @tvm.target.override_native_generic_func("test_values_and_registries.native")
    def native():
        return 7

    assert tvm.target.get_native_generic_func("test_values_and_registries.native") is native and native() == 7


def test_functions_of_python_are_packed():
    from tvm._ffi.registry import list_global_func_names, register_func, remove_global_func
    packed = tvm.runtime.convert(lambda x: x + 1)
    assert isinstance(packed, tvm.runtime.PackedFunc) and packed(2) == 3 and tvm.runtime.convert(packed) is packed
    register_func("test_values_and_registries.one", lambda: 1)
    assert "test_values_and_registries.one" in list_global_func_names()
    remove_global_func("test_values_and_registries.one")
    assert "test_values_and_registries.one" not in list_global_func_names()


def test_types_know_their_bytes():
    assert tvm.DataType("float32x4").itemsize == 16 and tvm.DataType("float16").itemsize() == 2


def test_a_function_takes_several_attributes():
    A = te.placeholder((4,), name="A")
    func = te.create_prim_func([A, te.compute((4,), lambda i: A[i] + 1, name="B")]).with_attrs({"a": 1, "b": "two"})
    assert int(func.attrs["a"]) == 1 and func.attrs["b"] == "two"


def test_parameters_are_bytes_and_back():
    params = {"w": tvm.nd.array(np.arange(6, dtype="float32").reshape(2, 3)), "n": tvm.nd.array(np.array([3], "int64"))}
    saved = tvm.runtime.save_param_dict(params)
    assert saved[:8] == (0xF7E58D4F05049CB7).to_bytes(8, "little") and len(saved) == 186
    loaded = tvm.runtime.load_param_dict(saved)
    assert list(loaded) == ["w", "n"] and loaded["n"].dtype == "int64"
    np.testing.assert_array_equal(loaded["w"].numpy(), params["w"].numpy())
    for broken in (saved[:-1], saved[8:], b""):
        with pytest.raises(tvm.TVMError, match="load_param_dict"):
            tvm.runtime.load_param_dict(broken)


def test_shapes_and_places_are_numbers():
    utils = topi.utils
    assert utils.get_shape((1, 2, 3, 4), "NCHW", "NHWC") == (1, 3, 4, 2)
    assert utils.ravel_index([1, 2, 3], [4, 5, 6]) == 45 and utils.unravel_index(45, [4, 5, 6]) == [1, 2, 3]
    assert utils.get_max_power2_factor(24) == 8 and utils.get_max_power2_factor(64, 10) == 8
    assert utils.is_dynamic_shape([4, te.var("n")]) and not utils.is_dynamic_shape([4, 5])
    assert utils.nchw_pack_layout("NCHW1n16c") and not utils.nchw_pack_layout("NCHW16c")
    with tvm.target.Target("llvm"):
        assert utils.is_target("llvm") and not utils.is_target(["cuda"])
    matrix, out = np.arange(6, dtype="float32").reshape(2, 3), tvm.nd.empty((2, 3))
    tvm.build(te.create_prim_func([utils.const_matrix(matrix)]), target="llvm")(out)
    np.testing.assert_array_equal(out.numpy(), matrix)


def test_stages_say_their_paths():
    A = te.placeholder((4, 8), name="A")
    B = te.compute((4, 8), lambda i, j: A[i, j] + 1, name="B")
    C = te.compute((4, 8), lambda i, j: B[i, j] * 2, name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[1])
    paths = te.schedule.CreateAttachPath(s)
    assert [axis.var.name for axis in paths[B.op]] == ["j", "i"] and len(paths[C.op]) == 0


def test_the_old_places_of_functions_are_there():
    from tvm.driver import build_module
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i] + 1, name="B")
    binds, args = build_module.get_binds([A, B])
    assert binds[A].same_as(args[0]) and args[1].name == "B"
    assert build_module.schedule_to_module(te.create_schedule(B.op), [A, B])["main"].params
    assert tvm.target.Target("cuda -arch=sm_80").supports_integer_dot_product
    assert topi.x86.schedule_elemwise(B) is not None


PLACES = [
    ("tvm.runtime.packed_func", "PackedFunc"), ("tvm.runtime.container", "String"), ("tvm.runtime.object_generic", "convert"), ("tvm._ffi.base", "TVMError"),
    ("tvm._ffi.runtime_ctypes", "DataType"), ("tvm.arith.pattern", "detect_linear_equation"), ("tvm.arith.int_solver", "IntGroupBounds"),
    ("tvm.tir.function", "IndexMap"), ("tvm.tir.buffer", "DataProducer"), ("tvm.topi.nn.pad", "mirror_pad"), ("tvm.topi.nn.conv2d", "conv2d_nchw"),
    ("tvm.testing.utils", "requires_cuda"), ("tvm.testing.utils", "device_enabled"),
]


@pytest.mark.parametrize("place,name", PLACES, ids=[".".join(place) for place in PLACES])
def test_names_are_where_programs_import_them_from(place, name):
    assert hasattr(importlib.import_module(place), name)


def test_operators_stay_what_their_names_mean_when_modules_are_imported():
    program = ("import lathe.compat; lathe.compat.install_as('tvm'); import tvm.topi.nn.conv2d; from tvm import te, topi;"
               "assert callable(topi.nn.conv2d) and callable(topi.nn.pad);"
               "assert isinstance(te.placeholder((4,)), tvm.tir.DataProducer)")
    subprocess.run([sys.executable, "-c", program], check=True)


def test_registered_functions_are_packed():
    tvm.register_func("tests.packed", lambda a, b: a + b, override=True)
    assert isinstance(tvm.get_global_func("tests.packed"), tvm.runtime.PackedFunc) and tvm.get_global_func("tests.packed")(1, 2) == 3


def test_lengths_of_te_are_the_variables_of_the_function():
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * 2, name="B")
    func = te.create_prim_func([n, A, B])
    lowered = tvm.lower(te.create_schedule(B.op), [n, A, B])["main"]
    for each in (func, lowered):
        assert each.params[0].same_as(n) and each.buffer_map[each.params[1]].shape[0].same_as(n)
    assert func.specialize({n: 16}).buffer_map[func.specialize({n: 16}).params[0]].shape[0] == 16
    assert tvm.tir.stmt_functor.substitute(lowered.body, {n: tvm.tir.const(8, "int32")}).extent == 8
