# Allocations become statements, predicates conditions, loops of one iteration vanish.
# pass: lower_opaque_block
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
    for i, j, u in T.grid(7, 16, 1):
        with T.block("copy"):
            T.where(i * 16 + j + u < 100)
            t = T.alloc_buffer((1,))
            t[0] = A[i * 16 + j + u]
            B[i * 16 + j + u] = t[0]
# expected:
@T.prim_func
def main(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
    for i, j in T.grid(7, 16):
        t = T.decl_buffer((1,), "float32")
        if T.Add(i * 16 + j, 0) < 100:
            t[0] = A[T.Add(i * 16 + j, 0)]
            B[T.Add(i * 16 + j, 0)] = t[0]
