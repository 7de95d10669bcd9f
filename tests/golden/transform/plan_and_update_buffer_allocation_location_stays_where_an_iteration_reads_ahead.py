# In one iteration of i, j reads what later iterations of j write: the value of the last i.
# pass: plan_and_update_buffer_allocation_location
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        for j in range(8):
            with T.block("fill"):
                vi, vj = T.axis.remap("OO", [i, j])
                B[vj] = A[vj]
                C[vi, vj] = B[7 - vj]
# expected:
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for i, j in T.grid(8, 8):
        with T.block("fill"):
            vi = T.axis.opaque(8, i)
            vj = T.axis.opaque(8, j)
            T.reads(A[vj], B[7 - vj])
            T.writes(B[vj], C[vi, vj])
            B[vj] = A[vj]
            C[vi, vj] = B[7 - vj]
