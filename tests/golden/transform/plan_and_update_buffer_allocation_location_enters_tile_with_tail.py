# The tail's predicate keeps writes inside of B; reads are under the same one.
# pass: plan_and_update_buffer_allocation_location
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((10,), "float32"), C: T.Buffer((10,), "float32")):
    B = T.alloc_buffer((10,))
    for i in range(3):
        for j in range(4):
            with T.block("fill"):
                v = T.axis.spatial(10, i * 4 + j)
                T.where(i * 4 + j < 10)
                B[v] = A[v]
        for j in range(4):
            with T.block("use"):
                v = T.axis.spatial(10, i * 4 + j)
                T.where(i * 4 + j < 10)
                C[v] = B[v]
# expected:
@T.prim_func
def main(A: T.Buffer((10,), "float32"), C: T.Buffer((10,), "float32")):
    for i in range(3):
        with T.block(""):
            B = T.alloc_buffer((10,), "float32")
            T.reads(A[i * 4:i * 4 + 4])
            T.writes(C[i * 4:i * 4 + 4])
            for j in range(4):
                with T.block("fill"):
                    v = T.axis.spatial(10, i * 4 + j)
                    T.where(i * 4 + j < 10)
                    T.reads(A[v])
                    T.writes(B[v])
                    B[v] = A[v]
            for j in range(4):
                with T.block("use"):
                    v = T.axis.spatial(10, i * 4 + j)
                    T.where(i * 4 + j < 10)
                    T.reads(B[v])
                    T.writes(C[v])
                    C[v] = B[v]
