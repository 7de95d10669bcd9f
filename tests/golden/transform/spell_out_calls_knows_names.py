# Names of the C library and of LLVM are operations; what nobody knows stays.
# pass: spell_out_calls
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = T.call_pure_extern("float32", "sqrtf", T.call_llvm_pure_intrin("float32", "llvm.fabs", T.uint32(1), A[i]))
    T.evaluate(T.call_extern("int32", "notify", 1))
# expected:
@T.prim_func
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = T.sqrt(T.abs(A[i]))
    T.evaluate(T.call_extern("int32", "notify", 1))
