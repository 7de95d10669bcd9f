"""Passes between host and device by TVM's names: regions and kernels as TVM 0.27 makes them, function ABIs as TVM 0.18's
sources say (0.27 has another)."""
import pytest
import tvm
import tvm.testing
from tvm import tir
from tvm.script import ir as I
from tvm.script import tir as T


class TestLaunchesAreOnTheDevice(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.AnnotateDeviceRegions()

    def before(A: T.Buffer((16,), "float32"), n: T.int32):
        T.func_attr({"target": T.target("cuda", host="llvm")})
        bx = T.launch_thread("blockIdx.x", n)
        A[bx] = T.float32(1)

    def expected(A: T.Buffer((16,), "float32"), n: T.int32):
        T.func_attr({"target": T.target("cuda", host="llvm")})
        T.attr(T.target("cuda"), "target", 0)
        bx = T.launch_thread("blockIdx.x", n)
        A[bx] = T.float32(1)


class TestBesideCallsOfTheHostAllIsOnTheDevice(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.AnnotateDeviceRegions()

    def before(A: T.Buffer((16,), "float32"), n: T.int32):
        T.func_attr({"target": T.target("c", host="llvm")})
        A[0] = T.float32(1)
        A[1] = T.float32(1)
        T.evaluate(T.tvm_call_packed("x", n))
        A[2] = T.float32(1)

    def expected(A: T.Buffer((16,), "float32"), n: T.int32):
        T.func_attr({"target": T.target("c", host="llvm")})
        with T.attr(T.target("c"), "target", 0):
            A[0] = T.float32(1)
            A[1] = T.float32(1)
        T.evaluate(T.tvm_call_packed("x", n))
        with T.attr(T.target("c"), "target", 0):
            A[2] = T.float32(1)


class TestWhatIsTheHostAnywayStays(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.AnnotateDeviceRegions()

    def before(A: T.Buffer((16,), "float32")):
        T.func_attr({"target": T.target("llvm", host="llvm")})
        A[0] = T.float32(1)

    expected = before


class TestRegionsBecomeKernels(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.SplitHostDevice()

    def before(self):
        @I.ir_module
        class Module:
            @T.prim_func
            def main(z: T.handle("float32"), A: T.Buffer((16,), "float32"), n: T.int32):
                T.func_attr({"target": T.target("cuda", host="llvm")})
                C = T.Buffer((16,), "float32", data=z)
                with T.attr(T.target("cuda"), "target", 0):
                    bx = T.launch_thread("blockIdx.x", n)
                    C[bx] = A[bx]
                with T.attr(T.target("c"), "target", 0):
                    A[n] = T.float32(1)

        return Module

    def expected(self):
        @I.ir_module
        class Module:
            @T.prim_func
            def main(z: T.handle("float32"), A: T.Buffer((16,), "float32"), n: T.int32):
                T.func_attr({"target": T.target("cuda", host="llvm")})
                Module.main_kernel(A.data, z, n)
                code: T.int32 = Module.main_kernel_1(A.data, n)
                assert code == 0, "Error executing compute kernel"

            @T.prim_func(private=True)
            def main_kernel(a: T.handle("float32"), z: T.handle("float32"), n: T.int32):
                T.func_attr({"target": T.target("cuda"), "tir.noalias": T.bool(True), "tir.is_global_func": True})
                A = T.Buffer((16,), "float32", data=a)
                C = T.Buffer((16,), "float32", data=z)
                bx = T.launch_thread("blockIdx.x", n)
                C[bx] = A[bx]

            @T.prim_func(private=True)
            def main_kernel_1(a: T.handle("float32"), n: T.int32) -> T.int32:
                T.func_attr({"target": T.target("c"), "tir.noalias": T.bool(True), "tir.is_global_func": True})
                A = T.Buffer((16,), "float32", data=a)
                A[n] = T.float32(1)
                return 0

        return Module


class TestCallsOfKernelsAreLaunches(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.LowerDeviceKernelLaunch()

    def before(self):
        @I.ir_module
        class Module:
            @T.prim_func
            def main(A: T.Buffer((16,), "float32"), m: T.int32):
                T.func_attr({"target": T.target("llvm")})
                Module.kernel(A.data, m + 1)
                Module.helper(A.data)

            @T.prim_func(private=True)
            def kernel(a: T.handle("float32"), n: T.int32):
                T.func_attr({"target": T.target("cuda")})
                A = T.Buffer((16,), "float32", data=a)
                S = T.allocate([16], "float32", "shared.dyn")
                bx = T.launch_thread("blockIdx.x", n * 2)
                tx = T.launch_thread("threadIdx.x", 4)
                A[bx] = T.float32(tx)

            @T.prim_func(private=True)
            def helper(a: T.handle("float32")):
                T.func_attr({"target": T.target("c")})
                A = T.Buffer((16,), "float32", data=a)
                A[0] = T.float32(0)

        return Module

    def expected(self):
        @I.ir_module
        class Module:
            @T.prim_func
            def main(A: T.Buffer((16,), "float32"), m: T.int32):
                T.func_attr({"target": T.target("llvm")})
                T.call_packed("kernel", A.data, m + 1, (m + 1) * 2, 4, 64)
                T.call_extern("void", "helper", A.data)

            @T.prim_func
            def kernel(a: T.handle("float32"), n: T.int32):
                T.func_attr({"target": T.target("cuda"), "calling_conv": 2, "tir.is_global_func": True,
                             "tir.kernel_launch_params": ["blockIdx.x", "threadIdx.x",
                                                          "tir.use_dyn_shared_memory"]})
                A = T.Buffer((16,), "float32", data=a)
                S = T.allocate([16], "float32", "shared.dyn")
                bx = T.launch_thread("blockIdx.x", n * 2)
                tx = T.launch_thread("threadIdx.x", 4)
                A[bx] = T.float32(tx)

            @T.prim_func
            def helper(a: T.handle("float32")):
                T.func_attr({"target": T.target("c"), "tir.is_global_func": True})
                A = T.Buffer((16,), "float32", data=a)
                A[0] = T.float32(0)

        return Module


def test_a_kernel_is_launched_by_its_symbol():
    @I.ir_module
    class Module:
        @T.prim_func
        def main(A: T.Buffer((16,), "float32")):
            T.func_attr({"target": T.target("llvm")})
            Module.kernel(A.data)
            Module.helper(A.data)

        @T.prim_func
        def kernel(a: T.handle("float32")):
            T.func_attr({"target": T.target("cuda"), "global_symbol": "kern"})
            A = T.Buffer((16,), "float32", data=a)
            A[0] = T.float32(0)

        @T.prim_func
        def helper(a: T.handle("float32")):
            T.func_attr({"target": T.target("c"), "global_symbol": "help"})
            A = T.Buffer((16,), "float32", data=a)
            A[0] = T.float32(0)

    text = tir.transform.LowerDeviceKernelLaunch()(Module)["main"].script()
    assert 'T.call_packed("kern", A.data)' in text and 'T.call_extern("void", "helper", A.data)' in text


class TestValuesGoInAndOutPacked(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.MakePackedAPI()

    def before(self):
        @I.ir_module
        class Module:
            @T.prim_func
            def main(n: T.int32) -> T.int32:
                T.func_attr({"target": T.target("llvm", host="llvm")})
                return n + 10

        return Module

    def expected(self):
        @I.ir_module
        class Module:
            @T.prim_func
            def main(args: T.handle, arg_type_ids: T.handle("int32"), num_args: T.int32,
                     out_ret_value: T.handle("void"), out_ret_tcode: T.handle("int32"),
                     resource_handle: T.handle) -> T.int32:
                T.func_attr({"calling_conv": 1, "target": T.target("llvm")})
                assert num_args == 1, "main: num_args should be 1"
                assert not T.isnullptr(args), "main: TVMValue* arg pointer was NULL"
                assert not T.isnullptr(arg_type_ids), "main: int* type_codes was NULL"
                type_ids = T.decl_buffer((1,), "int32", data=arg_type_ids)
                code: T.int32 = type_ids[0]
                assert code == 0, "main: Expect arg[0] to be int"
                n: T.int32 = T.Cast("int32", T.tvm_struct_get(args, 0, 12, "int64"))
                with T.attr(0, "compute_scope", "main_compute_"):
                    value = T.Buffer((1,), "int64", data=out_ret_value, strides=(1,))
                    value[0] = T.Cast("int64", n + 10)
                    tcode = T.Buffer((1,), "int32", data=out_ret_tcode, strides=(1,))
                    tcode[0] = 0
                    return 0
                return 0

        return Module


def bound(target, func):
    mod = tvm.IRModule.from_expr(func.with_attr("global_symbol", "main"))
    return tir.transform.BindTarget(target)(mod) if target else mod


@T.prim_func
def with_buffers(a: T.handle, b: T.handle, scale: T.float32):
    n = T.int32()
    A = T.match_buffer(a, (16, n), "float32")
    B = T.match_buffer(b, (n,), "int8", offset_factor=4)
    A[0, n - 1] = scale * T.Cast("float32", B[0])


def lines_of(mod):
    return [line.strip() for line in mod["main"].script().splitlines()]


def test_buffers_are_checked_where_they_are_taken_out():
    after = tir.transform.MakePackedAPI()(bound(tvm.target.Target("cuda", host="llvm"), with_buffers))
    func, lines = after["main"], "\n".join(lines_of(after))
    assert [param.name for param in func.params] == ["args", "arg_type_ids", "num_args", "out_ret_value",
                                                     "out_ret_tcode", "resource_handle"]
    assert func.attrs["calling_conv"] == 1 and str(func.attrs["target"].kind) == "llvm"
    assert not func.buffer_map
    assert "n: T.int32 = T.Cast(\"int32\", main_a_shape_1[1])" in lines
    assert lines.count("Argument main.b.shape[0] has an unsatisfied constraint") == 1
    assert lines.count("expected to be compact array") == 2
    assert "main.b.elem_offset" in lines and "Argument main.b.device_id" in lines
    assert 'T.call_packed("__tvm_set_device", 2, dev_id)' in lines


def test_nothing_is_read_of_a_tensor_before_it_is_checked():
    @T.prim_func
    def func(a: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n, 4))
        A[0, 0] = T.float32(1)

    mod = tir.transform.MakePackedAPI()(bound(tvm.target.Target("llvm", host="llvm"), func))
    tvm.ir.assert_structural_equal(tvm.script.from_source(mod.script()), mod)
    lines = lines_of(mod)
    assert ('def main(args: T.handle, arg_type_ids: T.handle("int32"), num_args: T.int32, out_ret_value: T.handle("void"), '
            'out_ret_tcode: T.handle("int32"), resource_handle: T.handle) -> T.int32:') in lines
    in_order = ['assert num_args == 1, "main: num_args should be 1"',
                'assert not T.isnullptr(args), "main: TVMValue* arg pointer was NULL"',
                'assert not T.isnullptr(arg_type_ids), "main: int* type_codes was NULL"',
                'a: T.handle = T.tvm_struct_get(args, 0, 12, "handle")',
                'assert not T.isnullptr(a), "main.a is expected to have non-NULL DLTensor* pointer"',
                'assert 2 == T.tvm_struct_get(a, 0, 4, "int32"), "main.a.ndim is expected to equal 2"',
                'n: T.int32 = T.Cast("int32", main_a_shape_1[0])',
                'assert 2 == T.tvm_struct_get(a, 0, 4, "int32"), "main.a.ndim is expected to equal 2"']
    places = [0]
    for line in in_order:
        places.append(lines.index(line, places[-1]) + 1)
    shape, data = (next(i for i, line in enumerate(lines) if f"T.tvm_struct_get(a, 0, {which}, " in line) for which in (2, 1))
    assert places[-3] <= shape < data
    empty = [line for line in lines if line.endswith('"main.a is expected to have non-NULL data pointer"')]
    assert len(empty) == 1 and empty[0].startswith("assert n * 4 == 0 or not T.isnullptr(")


def test_a_function_without_arguments_reads_none():
    @T.prim_func
    def func():
        T.evaluate(0)

    text = tir.transform.MakePackedAPI()(bound(tvm.target.Target("llvm", host="llvm"), func)).script()
    assert "num_args should be 0" in text and "isnullptr" not in text


def test_a_handle_of_the_runtime_is_no_argument():
    @T.prim_func
    def func(A: T.Buffer((4,), "float32"), device_api_context: T.handle):
        A[0] = T.float32(1)
        T.evaluate(T.call_extern("int32", "run", device_api_context))

    after = tir.transform.MakePackedAPI()(bound(tvm.target.Target("llvm", host="llvm"), func))["main"]
    assert after.params[-1].name == "device_api_context"
    assert "main: num_args should be 1" in after.script()


def test_pointers_go_in_unpacked():
    before = bound(tvm.target.Target("llvm", host="llvm"), with_buffers)
    func = tir.transform.MakeUnpackedAPI()(before)["main"]
    assert [param.name for param in func.params] == ["A", "B", "scale"]
    assert "-> T.int32" in func.script()
    outer = func.body
    assert (outer.attr_key, outer.node, outer.value) == ("device_id", "default", 0)
    assert (outer.body.attr_key, outer.body.value) == ("device_type", 1)


@pytest.mark.parametrize("name", ["MakePackedAPI", "MakeUnpackedAPI"])
def test_functions_that_nobody_calls_or_that_are_lowered_stay(name):
    make = getattr(tir.transform, name)()
    private = bound("llvm", with_buffers)
    private = tvm.IRModule({"main": private["main"].without_attr("global_symbol")})
    tvm.ir.assert_structural_equal(make(private), private)
    lowered = bound(tvm.target.Target("llvm"), with_buffers)
    tvm.ir.assert_structural_equal(make(lowered), lowered)
    with pytest.raises(tvm.TVMError, match="required the function to be annotated with tvm::attr::kTarget"):
        make(bound(None, with_buffers))


def test_variables_that_no_parameter_introduces_are_refused():
    A, x = tir.decl_buffer((4,), "int32"), tir.Var("x", "int32")
    handle = tir.Var("a", "handle")
    func = tir.PrimFunc([handle], tir.BufferStore(A, x, [0]), buffer_map={handle: A})
    with pytest.raises(tvm.TVMError, match="x.*are used, but are not passed in as API arguments"):
        tir.transform.MakePackedAPI()(bound(tvm.target.Target("llvm", host="llvm"), func))


@pytest.mark.parametrize("name, op", [("MakePackedAPI", "tir.tvm_call_cpacked"), ("MakeUnpackedAPI", "tir.call_extern")])
def test_calls_of_public_functions_follow_them(name, op):
    @I.ir_module
    class Module:
        @T.prim_func
        def main(A: T.Buffer((4,), "float32")):
            T.func_attr({"target": T.target("llvm", host="llvm")})
            Module.public(A.data)
            Module.hidden(A.data)

        @T.prim_func
        def public(a: T.handle("float32")):
            T.func_attr({"target": T.target("llvm", host="llvm")})
            T.evaluate(a)

        @T.prim_func(private=True)
        def hidden(a: T.handle("float32")):
            T.func_attr({"target": T.target("llvm", host="llvm")})
            T.evaluate(a)

    callees = []

    def note(node):
        if isinstance(node, tir.Call):
            callees.append(node.op.name_hint if isinstance(node.op, tvm.ir.GlobalVar) else node.op.name)

    tir.stmt_functor.post_order_visit(getattr(tir.transform, name)()(Module)["main"].body, note)
    assert op in callees and "hidden" in callees and "public" not in callees


class TestMemoryOfDevicesComesFromTheRuntime(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.LowerTVMBuiltin()

    def before():
        T.func_attr({"target": T.target("llvm")})
        T.attr("dummy", "device_type", 2)
        T.attr("dummy", "device_id", 0)
        data = T.allocate([16], "float32")
        buf = T.decl_buffer((16,), "float32", data=data)
        buf[0] = T.float32(0)

    def expected():
        T.func_attr({"target": T.target("llvm")})
        data: T.handle("float32") = T.TVMBackendAllocWorkspace(2, 0, T.uint64(64), 2, 32)
        T.attr(data, "storage_alignment", 64)
        if T.isnullptr(data):
            T.Call("int32", "tir.tvm_throw_last_error", [])
        buf = T.decl_buffer((16,), "float32", data=data)
        buf[0] = T.float32(0)
        if T.TVMBackendFreeWorkspace(2, 0, data) != 0:
            T.Call("int32", "tir.tvm_throw_last_error", [])


class TestSmallMemoryOfTheCpuStays(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.LowerTVMBuiltin()

    def before():
        T.func_attr({"target": T.target("llvm")})
        T.attr("dummy", "device_type", 1)
        T.attr("dummy", "device_id", 0)
        buf = T.decl_buffer((255,), "float32")
        buf[0] = T.float32(0)

    def expected():
        T.func_attr({"target": T.target("llvm")})
        buf = T.decl_buffer((255,), "float32")
        buf[0] = T.float32(0)


class TestOtherMemoryOfTheCpuHasItsSizeIn64Bits(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.LowerTVMBuiltin()

    def before(n: T.int32):
        T.func_attr({"target": T.target("llvm")})
        T.attr("dummy", "device_type", 1)
        T.attr("dummy", "device_id", 0)
        buf = T.decl_buffer((n,), "float16")
        buf[0] = T.float16(0)

    def expected(n: T.int32):
        T.func_attr({"target": T.target("llvm")})
        data: T.handle("float16") = T.TVMBackendAllocWorkspace(1, 0, T.uint64(2) * T.Cast("uint64", n), 2, 16)
        T.attr(data, "storage_alignment", 64)
        if T.isnullptr(data):
            T.Call("int32", "tir.tvm_throw_last_error", [])
        buf = T.decl_buffer((n,), "float16", data=data)
        buf[0] = T.float16(0)
        if T.TVMBackendFreeWorkspace(1, 0, data) != 0:
            T.Call("int32", "tir.tvm_throw_last_error", [])


def test_memory_of_an_unknown_device_is_refused():
    @T.prim_func(private=True)
    def func():
        T.func_attr({"target": T.target("llvm")})
        T.attr("dummy", "device_type", 2)
        buf = T.decl_buffer((16,), "float32")
        buf[0] = T.float32(0)

    with pytest.raises(tvm.TVMError, match="Unknown device id in current IR"):
        tir.transform.LowerTVMBuiltin()(tvm.IRModule({"main": func}))
    of_device = func.with_attr("target", tvm.target.Target("cuda"))
    module = tvm.IRModule({"main": of_device})
    tvm.ir.assert_structural_equal(tir.transform.LowerTVMBuiltin()(module), module)


class TestArgumentsOfPackedCallsAreOnStacks(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.LowerTVMBuiltin()

    def before(A: T.handle, n: T.int32):
        T.func_attr({"target": T.target("llvm")})
        for i in range(n):
            T.call_packed("f", n, T.call_packed("g", i), A, "text")

    def expected(A: T.handle, n: T.int32):
        T.func_attr({"target": T.target("llvm")})
        stack_tcode: T.handle("int32") = T.tvm_stack_alloca("arg_tcode", 7)
        codes = T.decl_buffer((T.int64(7),), "int32", data=stack_tcode)
        stack_value: T.handle = T.tvm_stack_alloca("arg_value", 7)
        for i in range(n):
            T.tvm_struct_set(stack_value, 5, 12, T.Cast("int64", i))
            codes[5] = 0
            T.tvm_struct_set(stack_value, 0, 12, T.Cast("int64", n))
            codes[0] = 0
            T.tvm_struct_set(stack_value, 1, 12, T.Cast("int64", T.Call("int32", "tir.tvm_call_packed_lowered", ["g", stack_value, stack_tcode, 5, 6])))
            codes[1] = 0
            T.tvm_struct_set(stack_value, 2, 12, A)
            if T.isnullptr(A):
                codes[2] = 4
            else:
                codes[2] = 3
            T.tvm_struct_set(stack_value, 3, 12, "text")
            codes[3] = 11
            T.Call("int32", "tir.tvm_call_packed_lowered", ["f", stack_value, stack_tcode, 0, 4])


def test_arrays_of_packed_calls_are_described_on_stacks_of_their_own():
    @T.prim_func(private=True)
    def func(A: T.handle("float32")):
        T.func_attr({"target": T.target("llvm")})
        T.attr("dummy", "device_type", 1)
        T.attr("dummy", "device_id", 0)
        for i in T.parallel(10):
            T.call_packed("f", T.tvm_stack_make_array(A, T.tvm_stack_make_shape(4, 8), 0, 2, T.float32(0), 0),
                          T.tvm_stack_make_array(A, T.tvm_stack_make_shape(32), 0, 1, T.float32(0), 0))

    node = tir.transform.LowerTVMBuiltin()(tvm.IRModule({"main": func}))["main"].body
    assert isinstance(node, tir.For)
    found, node = [], node.body
    while isinstance(node, (tir.LetStmt, tir.DeclBuffer)):
        if isinstance(node, tir.LetStmt):
            found.append((node.var.name, node.value.args[0].value, node.value.args[1].value))
        node = node.body
    assert found == [("stack_tcode", "arg_tcode", 3), ("stack_value", "arg_value", 3), ("stack_array", "array", 2),
                     ("stack_shape", "shape", 3)]
    text = str(node)
    assert "tvm_struct_set(stack_array, 1, 4, 1)" in text and "stack_shape[2] = T.int64(32)" in text


if __name__ == "__main__":
    tvm.testing.main()
