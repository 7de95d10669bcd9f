"""Kernels built and run from Python; tensors with numpy and DLPack in and out."""
import numpy as np
import pytest
import tvm
import tvm.testing
from programs import elementwise, matmul
from tvm import te, tir
from tvm.script import tir as T


@pytest.fixture(scope="module")
def built():
    return tvm.build(tvm.IRModule({"twice": elementwise, "mm": matmul}), target="llvm")


def test_a_built_function_computes(built):
    a = np.random.default_rng(1).random((128, 128), dtype="float32")
    c = tvm.nd.empty((128, 128), "float32")
    built["twice"](tvm.nd.array(a), c)
    tvm.testing.assert_allclose(c.numpy(), a * 2 + 1)


def test_a_scheduled_function_computes_the_same(built):
    sch = tir.Schedule(matmul)
    i, j, k = sch.get_loops("update")
    i_0, i_1 = sch.split(i, [None, 8])
    sch.reorder(i_0, k, i_1, j)
    sch.parallel(i_0)
    rng = np.random.default_rng(2)
    a, b = (tvm.nd.array(rng.random((128, 128), dtype="float32")) for _ in range(2))
    plain, scheduled = tvm.nd.empty((128, 128)), tvm.nd.empty((128, 128))
    built["mm"](a, b, plain)
    tvm.build(sch.mod, target="llvm")(a, b, scheduled)
    tvm.testing.assert_allclose(scheduled, a.numpy() @ b.numpy().T, rtol=1e-4)
    tvm.testing.assert_allclose(scheduled, plain, rtol=1e-4)


def test_wrong_arguments_are_errors_not_crashes(built):
    small = tvm.nd.empty((4, 4))
    with pytest.raises(tvm.TVMError, match="2 arguments are expected, 1 given"):
        built["twice"](small)
    with pytest.raises(tvm.TVMError):
        built["twice"](small, small)
    with pytest.raises(TypeError, match="is no tensor"):
        built["twice"](small, [1, 2])
    with pytest.raises(AttributeError, match="there are: twice, mm"):
        built["no such"]


def test_a_target_without_code_may_be_named():
    assert tvm.target.Target("cuda -arch=sm_80").kind.name == "cuda"
    assert tvm.target.Target({"kind": "opencl"}).kind.name == "opencl" and tvm.target.Target("nvidia/nvidia-a100").mcpu == ""


def test_a_target_that_is_none_is_a_value_error():
    with pytest.raises(ValueError, match="nonsense"):
        tvm.target.Target("nonsense")
    with tvm.target.Target("llvm -mcpu=x86-64-v3"):
        assert tvm.target.Target.current().mcpu == "x86-64-v3"
    assert tvm.target.Target.current() is None


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "uint8", "int32", "int64", "bool"])
def test_tensors_keep_what_numpy_gave(dtype):
    values = (np.arange(12).reshape(3, 4) % 2).astype(dtype)
    tensor = tvm.nd.array(values, tvm.cpu(0))
    assert tensor.shape == (3, 4) and tensor.dtype == dtype
    np.testing.assert_array_equal(tensor.numpy(), values)
    tensor[:] = np.zeros_like(values)
    assert not tensor.numpy().any()


def test_tensors_speak_dlpack_both_ways():
    values = np.arange(6, dtype="float32").reshape(2, 3)
    tensor = tvm.nd.from_dlpack(values)
    np.testing.assert_array_equal(tensor.numpy(), values)
    shared = np.from_dlpack(tensor)
    tensor[:] = values + 42
    assert shared[0, 0] == 42


if __name__ == "__main__":
    tvm.testing.main()


def test_an_exported_library_is_loaded_again(built, tmp_path):
    path = tmp_path / "kernels.so"
    built.export_library(str(path))
    loaded = tvm.runtime.load_module(str(path))
    a, c = tvm.nd.array(np.ones((128, 128), "float32")), tvm.nd.empty((128, 128))
    loaded["twice"](a, c)
    assert loaded.implements_function("mm") and c.numpy().min() == 3
    view = c._create_view((64, 256))
    assert view.shape == (64, 256)


def test_targets_say_what_tvms_do():
    cpu = tvm.target.Target("llvm -mcpu=skylake-avx512 -num-cores=4 -device=arm_cpu")
    assert cpu.kind.name == "llvm" and cpu.keys == ["arm_cpu", "cpu"] and cpu.device_name == "arm_cpu"
    assert cpu.attrs["mcpu"] == cpu.mcpu == "skylake-avx512" and cpu.attrs["num-cores"] == 4
    gpu = tvm.target.Target({"kind": "cuda", "arch": "sm_80", "max_threads_per_block": 1024}, host="llvm")
    assert gpu.arch == "sm_80" and gpu.thread_warp_size == 32 and gpu.max_num_threads == 1024
    assert gpu.host.kind.name == "llvm" and tvm.target.Target(gpu.export()) == gpu
    assert str(tvm.target.Target("cuda")) == "cuda -keys=cuda,gpu -arch=sm_50 -max_num_threads=1024 -thread_warp_size=32"
    card = tvm.target.Target("nvidia/geforce-rtx-3070")
    assert card.tag == "nvidia/geforce-rtx-3070" and card.max_shared_memory_per_block == 49152
    for wrong in ("cuda -nope=1", "cuda -max_num_threads=many", {"arch": "sm_80"}, "llvm llvm"):
        with pytest.raises(ValueError):
            tvm.target.Target(wrong)
    with pytest.raises(tvm.TVMError, match="CPU"):
        tvm.build(elementwise, target="cuda")


UNARY = ["acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "exp10", "log10", "log1p", "sinh"]


@pytest.mark.parametrize("name", UNARY)
def test_kernels_compute_inverse_and_hyperbolic_functions(name):
    function = getattr(tir, name)

    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        for i in range(64):
            B[i] = function(A[i])

    low = 1.0 if name == "acosh" else 0.01
    a = np.linspace(low, low + 0.98, 64).astype("float32")
    b = tvm.nd.array(np.zeros(64, "float32"))
    tvm.build(main)["main"](tvm.nd.array(a), b)
    expected = {"acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan,
                "atanh": np.arctanh, "exp10": lambda x: np.power(10, x)}.get(name, getattr(np, name, None))
    np.testing.assert_allclose(b.numpy(), expected(a.astype("float64")), rtol=2e-7)


def test_memory_of_any_scope_is_memory_on_a_cpu():
    """As in TVM: what a schedule stages for another device computes here, also where its size is a parameter's."""
    @T.prim_func
    def rows(a: T.handle, c: T.handle):
        n, m = T.int32(), T.int32()
        A = T.match_buffer(a, (n, m))
        C = T.match_buffer(c, (n, m))
        for i, j in T.grid(n, m):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] * 2.0

    a = np.arange(15, dtype="float32").reshape(3, 5)
    for scope in ("shared", "shared.dyn", "local", "warp", "wmma.matrix_a"):
        sch = tir.Schedule(rows)
        copy = sch.cache_read("C", 0, scope)
        sch.compute_at(copy, sch.get_loops("C")[0])
        c = tvm.nd.empty((3, 5))
        tvm.build(sch.mod, target="llvm")(tvm.nd.array(a), c)
        tvm.testing.assert_allclose(c.numpy(), a * 2)


def test_tensors_are_built_as_the_buffers_that_are_bound_to_them():
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[i] + 1.0, name="B")
    bound = tir.decl_buffer((64,), "float32", name="bound", offset_factor=1, elem_offset=te.var("offset"))
    func = tvm.build(te.create_schedule(B.op), [A, B], "llvm", name="add", binds={A: bound})
    a, b = tvm.nd.array(np.arange(64, dtype="float32")), tvm.nd.empty((64,))
    func["add"](a, b)
    np.testing.assert_array_equal(b.numpy(), np.arange(64) + 1)


def test_a_list_of_modules_is_built_as_one():
    A = te.placeholder((64,), name="A")
    sums = [te.compute((64,), fcompute, name="B") for fcompute in (lambda i: A[i] + 1.0, lambda i: A[i] + 2.0)]
    modules = [tvm.lower(te.create_schedule(B.op), [A, B], name=name) for B, name in zip(sums, ("one", "two"))]
    built = tvm.build(modules, target="llvm")
    a, b = tvm.nd.array(np.zeros(64, "float32")), tvm.nd.empty((64,))
    for name, value in (("one", 1), ("two", 2)):
        built[name](a, b)
        np.testing.assert_array_equal(b.numpy(), np.full(64, value))


def test_c_is_for_the_same_processors(tmp_path):
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[i] + 1.0, name="B")
    built = tvm.build(te.create_schedule(B.op), [A, B], target="c", name="add")
    assert built.type_key == "c" and built.is_dso_exportable
    loaded = tvm.runtime.load_module(built.export_library(str(tmp_path / "add.so")))
    a, b = tvm.nd.array(np.arange(64, dtype="float32")), tvm.nd.empty((64,))
    loaded["add"](a, b)
    np.testing.assert_array_equal(b.numpy(), np.arange(64) + 1)


def test_functions_are_found_in_imported_modules(built):
    outer = tvm.build(elementwise, target="llvm", name="alone")
    outer.import_module(built)
    assert outer.imported_modules == [built] and not outer.implements_function("mm")
    assert outer.implements_function("mm", query_imports=True)
    a, c = tvm.nd.array(np.ones((128, 128), "float32")), tvm.nd.empty((128, 128))
    outer.get_function("twice", query_imports=True)(a, c)
    np.testing.assert_array_equal(c.numpy(), np.full((128, 128), 3))
    assert built.is_dso_exportable and not built.is_binary_serializable and not built.is_device_module


def test_stages_promise_that_nothing_aliases_unless_the_context_says_otherwise():
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    assert tvm.lower(s, [A, B])["main"].attrs["tir.noalias"]
    with tvm.transform.PassContext(config={"tir.noalias": False}):
        assert "tir.noalias" not in tvm.lower(s, [A, B])["main"].attrs


@T.prim_func
def _quotients(A: T.Buffer((5,), "int32"), Q: T.Buffer((5,), "int32"), R: T.Buffer((5,), "int32"), P: T.Buffer((5,), "int32")):
    for i in range(5):
        with T.block("Q"):
            v = T.axis.spatial(5, i)
            Q[v] = T.floordiv(A[v], -3)
            R[v] = T.floormod(A[v], -3)
            P[v] = T.floordiv(A[v], -16)


def test_the_least_number_is_divided_by_negative_ones_as_any_other():
    a = np.array([-(2**31), -(2**31) + 1, -7, 7, 2**31 - 1], "int32")
    q, r, p = (tvm.nd.empty((5,), "int32") for _ in range(3))
    tvm.build(_quotients, target="llvm")(tvm.nd.array(a), q, r, p)
    wide = a.astype("int64")
    np.testing.assert_array_equal(q.numpy(), wide // -3)
    np.testing.assert_array_equal(r.numpy(), wide % -3)
    np.testing.assert_array_equal(p.numpy(), wide // -16)


def _with_scalar(dtype):
    text = f"@T.prim_func\ndef f(s: T.{dtype}, B: T.Buffer((1,), '{dtype}')):\n    B[0] = s"
    return tvm.build(tvm.script.from_source(text), target="llvm")


@pytest.mark.parametrize("dtype, value, error, message", [
    ("int32", 3.7, TypeError, r"call default_function: argument 0 \(s\) is 3.7; an integer required"),
    ("int32", "3", TypeError, r"is '3'; an integer required"),
    ("int32", None, TypeError, r"is None; an integer required"),
    ("int32", 2**40, ValueError, r"is 1099511627776; -2147483648 to 2147483647, all of int32, required"),
    ("int64", 2**63, ValueError, r"-9223372036854775808 to 9223372036854775807, all of int64, required"),
    ("uint8", -1, ValueError, r"is -1; 0 to 255, all of uint8, required"),
    ("float32", 1 + 2j, TypeError, r"is \(1\+2j\); a number required"),
    ("float32", "1", TypeError, r"is '1'; a number required"),
    ("float32", 10**400, ValueError, r"a number that float32 holds required"),
    ("float32", 1e300, ValueError, r"is 1e\+300; a number that float32 holds required"),
])
def test_scalars_that_a_parameter_does_not_hold_are_refused(dtype, value, error, message):
    with pytest.raises(error, match=message):
        _with_scalar(dtype)(value, tvm.nd.empty((1,), dtype))


@pytest.mark.parametrize("dtype, value", [("int32", -5), ("int32", np.int64(7)), ("int32", True), ("uint8", 255), ("int64", -(2**63)),
                                          ("float32", 3), ("float32", np.float64(0.5)), ("float32", float("inf")), ("float64", 1e300)])
def test_scalars_arrive_as_they_are(dtype, value):
    out = tvm.nd.empty((1,), dtype)
    _with_scalar(dtype)(value, out)
    assert out.numpy()[0] == value


def test_a_trace_of_one_function_fits_it_under_any_name():
    named = tvm.IRModule({"mymm": matmul})
    sch = tir.Schedule(named)
    sch.work_on("mymm")
    sch.split(sch.get_loops(sch.get_block("update"))[0], [None, 8])
    other = tir.Schedule(matmul)
    tir.schedule.Trace.apply_json_to_schedule(sch.trace.as_json(), other)
    tvm.ir.assert_structural_equal(other.mod["main"].body, sch.mod["mymm"].body)


def test_a_parameter_of_too_many_dimensions_is_named():
    shape = ", ".join(["1"] * 17)
    index = ", ".join(["0"] * 17)
    text = f"@T.prim_func\ndef f(A: T.Buffer(({shape}), 'float32'), B: T.Buffer((1,), 'float32')):\n    B[0] = A[{index}]"
    with pytest.raises(tvm.TVMError, match='parameter "A" has 17 dimensions, at most 16 can be passed to a kernel; merge some of them'):
        tvm.build(tvm.script.from_source(text), target="llvm")


@pytest.mark.parametrize("shape, dtype, message", [((-3,), "float32", r"shape \(-3\): an extent is negative"),
                                                   ((2**40, 2**40), "float32", r"more than 2\^47 elements")])
def test_tensors_that_cannot_be_say_why(shape, dtype, message):
    with pytest.raises(tvm.TVMError, match=message):
        tvm.nd.empty(shape, dtype)


@pytest.mark.parametrize("read, what", [(T.prim_func, 3), (tvm.script.ir.ir_module, b"text"), (tvm.script.from_source, None)])
def test_what_is_no_program_is_named(read, what):
    with pytest.raises(TypeError, match=r"read a program: \w+ is given; a function, a class or a text required"):
        read(what)
