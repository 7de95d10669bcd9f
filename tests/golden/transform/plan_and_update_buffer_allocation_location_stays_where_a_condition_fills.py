# B is filled in the first iteration of i only (a block's predicate): it must not move into the loop.
# pass: plan_and_update_buffer_allocation_location
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((4,), "float32"), C: T.Buffer((8, 4), "float32")):
    B = T.alloc_buffer((4,))
    for i in range(8):
        for j in range(4):
            with T.block("fill"):
                v = T.axis.spatial(4, j)
                T.where(i < 1)
                B[v] = A[v]
        for j in range(4):
            with T.block("use"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vj]
# expected:
@T.prim_func
def main(A: T.Buffer((4,), "float32"), C: T.Buffer((8, 4), "float32")):
    B = T.alloc_buffer((4,), "float32")
    for i in range(8):
        for j in range(4):
            with T.block("fill"):
                v = T.axis.spatial(4, j)
                T.where(i < 1)
                T.reads(A[v])
                T.writes(B[v])
                B[v] = A[v]
        for j in range(4):
            with T.block("use"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(B[vj])
                T.writes(C[vi, vj])
                C[vi, vj] = B[vj]
