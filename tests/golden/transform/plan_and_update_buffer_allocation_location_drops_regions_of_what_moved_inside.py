# B moves into the block "outer", which does not name it in its regions any more.
# pass: plan_and_update_buffer_allocation_location
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("outer"):
            vo = T.axis.spatial(8, i)
            with T.block("fill"):
                v = T.axis.spatial(8, vo)
                B[v] = A[v]
            with T.block("use"):
                v = T.axis.spatial(8, vo)
                C[v] = B[v]
# expected:
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("outer"):
            vo = T.axis.spatial(8, i)
            B = T.alloc_buffer((8,), "float32")
            T.reads(A[vo])
            T.writes(C[vo])
            with T.block("fill"):
                v = T.axis.spatial(8, vo)
                T.reads(A[v])
                T.writes(B[v])
                B[v] = A[v]
            with T.block("use"):
                v = T.axis.spatial(8, vo)
                T.reads(B[v])
                T.writes(C[v])
                C[v] = B[v]
