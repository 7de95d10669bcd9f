"""InlinePrivateFunctions: what TVM 0.27 makes of the same modules; variables for addresses as TVM 0.18 has them."""
import tvm
import tvm.testing
from tvm import tir
from tvm.script import ir as I
from tvm.script import tir as T


class _Inlines(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.InlinePrivateFunctions()


class TestACallBecomesItsBody(_Inlines):
    def before(self):
        @I.ir_module
        class Module:
            @T.prim_func
            def main(A: T.Buffer((80, 16), "float32"), B: T.Buffer((64, 16), "float32")):
                for i in range(64):
                    Module.rows(T.address_of(A[i, 0]), T.address_of(B[i, 0]))

            @T.prim_func(private=True)
            def rows(A_data: T.handle("float32"), B_data: T.handle("float32")):
                A = T.decl_buffer((16, 16), "float32", data=A_data)
                B = T.decl_buffer((16,), "float32", data=B_data)
                for i in range(16):
                    B[i] = T.float32(0)
                    for j in range(16):
                        B[i] = B[i] + A[i, j]

        return Module

    def expected(self):
        @I.ir_module
        class Module:
            @T.prim_func
            def main(A: T.Buffer((80, 16), "float32"), B: T.Buffer((64, 16), "float32")):
                for i in range(64):
                    A_data: T.handle("float32") = T.address_of(A[i, 0])
                    A_1 = T.decl_buffer((16, 16), "float32", data=A_data)
                    B_data: T.handle("float32") = T.address_of(B[i, 0])
                    B_1 = T.decl_buffer((16,), "float32", data=B_data)
                    for k in range(16):
                        B_1[k] = T.float32(0)
                        for j in range(16):
                            B_1[k] = B_1[k] + A_1[k, j]

        return Module


class TestCallsOfCallsAndOfSeveral(_Inlines):
    """Functions that nobody calls go, those with a symbol stay, and calls of those."""

    def before(self):
        @I.ir_module
        class Module:
            @T.prim_func
            def main(A: T.Buffer((80,), "float32"), n: T.int32):
                Module.twice(A.data, n)

            @T.prim_func(private=True)
            def twice(A_data: T.handle("float32"), n: T.int32):
                Module.one(A_data, n + 1)
                Module.one(A_data, n + 2)

            @T.prim_func(private=True)
            def one(A_data: T.handle("float32"), n: T.int32):
                A = T.decl_buffer((80,), "float32", data=A_data)
                A[n] = T.float32(1)

            @T.prim_func
            def public(A_data: T.handle("float32"), n: T.int32):
                A = T.decl_buffer((80,), "float32", data=A_data)
                A[n] = T.float32(2)

            @T.prim_func
            def user(A_data: T.handle("float32"), n: T.int32):
                Module.public(A_data, n)

            @T.prim_func(private=True)
            def unused(A_data: T.handle("float32"), n: T.int32):
                A = T.decl_buffer((80,), "float32", data=A_data)
                A[n] = T.float32(3)

        return Module

    def expected(self):
        @I.ir_module
        class Module:
            @T.prim_func
            def main(A: T.Buffer((80,), "float32"), n: T.int32):
                A_1 = T.decl_buffer((80,), "float32", data=A.data)
                A_1[n + 1] = T.float32(1)
                A_2 = T.decl_buffer((80,), "float32", data=A.data)
                A_2[n + 2] = T.float32(1)

            @T.prim_func
            def public(A_data: T.handle("float32"), n: T.int32):
                A = T.decl_buffer((80,), "float32", data=A_data)
                A[n] = T.float32(2)

            @T.prim_func
            def user(A_data: T.handle("float32"), n: T.int32):
                Module.public(A_data, n)

        return Module


class TestFunctionsThatCallThemselvesStay(_Inlines):
    def before(self):
        @I.ir_module
        class Module:
            @T.prim_func
            def main(A: T.Buffer((80,), "float32"), n: T.int32):
                Module.down(A.data, n)

            @T.prim_func(private=True)
            def down(A_data: T.handle("float32"), n: T.int32):
                A = T.decl_buffer((80,), "float32", data=A_data)
                if n > 0:
                    Module.down(A.data, n - 1)
                A[n] = T.float32(1)

        return Module

    expected = before


class TestFunctionsOfOtherTargetsStay(_Inlines):
    def before(self):
        @I.ir_module
        class Module:
            @T.prim_func
            def main(A: T.Buffer((80,), "float32")):
                T.func_attr({"target": T.target("llvm")})
                Module.kernel(A.data)

            @T.prim_func(private=True)
            def kernel(A_data: T.handle("float32")):
                T.func_attr({"target": T.target("cuda")})
                A = T.decl_buffer((80,), "float32", data=A_data)
                A[0] = T.float32(1)

        return Module

    expected = before


class TestResultsAndBuffersAsParametersStay(_Inlines):
    def before(self):
        @I.ir_module
        class Module:
            @T.prim_func
            def main(A: T.Buffer((80,), "float32"), n: T.int32):
                Module.store(A.data)
                if Module.value(n) > 3:
                    A[0] = T.float32(3)

            @T.prim_func(private=True)
            def store(A: T.Buffer((80,), "float32")):
                A[0] = T.float32(1)

            @T.prim_func(private=True)
            def value(k: T.int32) -> T.int32:
                T.ret(k * 2)

        return Module

    expected = before


class TestAnArgumentIsReadOnce(_Inlines):
    """TVM 0.27 reads n[0] again after the body wrote it."""

    def before(self):
        @I.ir_module
        class Module:
            @T.prim_func
            def main(n: T.Buffer((80,), "int32")):
                Module.store(n.data, n[0])

            @T.prim_func(private=True)
            def store(A_data: T.handle("int32"), k: T.int32):
                A = T.decl_buffer((80,), "int32", data=A_data)
                A[0] = 5
                A[1] = k

        return Module

    def expected(self):
        @I.ir_module
        class Module:
            @T.prim_func
            def main(n: T.Buffer((80,), "int32")):
                k: T.int32 = n[0]
                A = T.decl_buffer((80,), "int32", data=n.data)
                A[0] = 5
                A[1] = k

        return Module


if __name__ == "__main__":
    tvm.testing.main()
